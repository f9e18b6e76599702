package trial

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"lakebed/trial/tomlfile"
	"lakebed/workloads"
)

// Scenario says what kind of trials there are: which clients, which faults, and what must hold. Each seed draws its own
// sizes and its own subset of faults.
type Scenario struct {
	Name       string `toml:"name"`
	About      string `toml:"about"`
	Weight     int    `toml:"weight"` // share of the default mix; zero: only when asked for
	Canary     bool   `toml:"canary"` // breaks a promise by an ordinary setting: must be caught
	WorkMillis int    `toml:"work_millis"`
	Clients    int    `toml:"clients"`
	Remote     int    `toml:"remote_clients"` // reach the bookie over the network
	PaceMicros int    `toml:"pace_micros"`    // mean pause of a client between operations
	Sync       string `toml:"journal_sync"`   // empty: group or always, as the seed says
	GroupWaits bool   `toml:"group_waits"`    // groups of the journal wait for more batches, as journalMaxGroupWaitMSec has them
	Damage     bool   `toml:"damage"`         // media may be damaged: loss must be detected
	// Lifted: more may be destroyed than the promises survive. A loss may then go unnoticed, and is told as one that has an
	// excuse (Result.Excused); an answer that is wrong has none.
	Lifted    bool `toml:"lifted"`
	Doubt     bool `toml:"doubt"` // damage strikes the journal's newest bytes, in the moment of a crash
	FaultsMin int  `toml:"faults_min"`
	FaultsMax int  `toml:"faults_max"`

	Work      Work           `toml:"work"`      // of the clients of one bookie
	Cluster   *Cluster       `toml:"cluster"`   // nil: there is one bookie
	Segments  *Segments      `toml:"segments"`  // not nil: there is one segment log, and no bookie
	CommitLog *CommitLog     `toml:"commitlog"` // not nil: there is one commit log, and no bookie
	Registers *Registers     `toml:"registers"` // not nil: there is one metadata server, and no bookie
	Faults    map[string]int `toml:"faults"`    // weight by kind
}

// Work is the clients' mix, by weight.
type Work struct {
	Add       int `toml:"add"`
	AddBatch  int `toml:"add_batch"`
	Recover   int `toml:"recover"`
	Retry     int `toml:"retry"`
	Read      int `toml:"read"`
	ReadRange int `toml:"read_range"`
	LastEntry int `toml:"last_entry"`
	Fence     int `toml:"fence"`
	Delete    int `toml:"delete"`
	List      int `toml:"list"`
	Flush     int `toml:"flush"`
}

//go:embed scenarios/*.toml
var files embed.FS

// Scenarios returns all scenarios, sorted by name.
func Scenarios() []Scenario {
	entries, err := files.ReadDir("scenarios")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var all []Scenario
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("scenarios", e.Name()))
		if err != nil {
			panic(err)
		}
		s, err := ParseScenario(text)
		if err != nil {
			panic(fmt.Sprintf("scenario file %s: %v", e.Name(), err)) // held by a test
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Scenario) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find returns the scenario of this name.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("no scenario is called %q; there are: %s", name, strings.Join(names, ", "))
}

// ParseScenario decodes a scenario file. Unknown keys and values that make no sense are errors.
func ParseScenario(text []byte) (Scenario, error) {
	var s Scenario
	if err := tomlfile.Decode(text, &s); err != nil {
		return s, fmt.Errorf("scenario: %w", err)
	}
	switch {
	case s.Name == "" || s.About == "":
		return s, fmt.Errorf("scenario %q: name and about must not be empty", s.Name)
	case s.WorkMillis < 1 || s.Clients < 1 || s.PaceMicros < 1:
		return s, fmt.Errorf("scenario %s: work_millis, clients and pace_micros must be positive", s.Name)
	case s.Doubt && !s.Damage:
		return s, fmt.Errorf("scenario %s: doubt says where damage strikes, and there is no damage", s.Name)
	case s.Lifted && !s.Damage && (s.Cluster == nil || !s.Cluster.Fragile):
		return s, fmt.Errorf("scenario %s: lifted says what damage may do, and there is no damage", s.Name)
	case s.FaultsMin < 0 || s.FaultsMax < s.FaultsMin:
		return s, fmt.Errorf("scenario %s: faults_min %d and faults_max %d", s.Name, s.FaultsMin, s.FaultsMax)
	}
	if _, err := s.mix(); err != nil {
		return s, err
	}
	switch {
	case s.Segments != nil:
		return s, s.checkSegments()
	case s.CommitLog != nil:
		return s, s.checkCommitLog()
	case s.Registers != nil:
		return s, s.checkRegisters()
	case s.Cluster != nil:
		return s, s.checkCluster()
	}
	return s, nil
}

func (s *Scenario) pace() time.Duration { return time.Duration(s.PaceMicros) * time.Microsecond }

func (s *Scenario) work() time.Duration { return time.Duration(s.WorkMillis) * time.Millisecond }

// workMix is the scenario's part of a client's mix; the seed draws the sizes.
func (w Work) workMix() workloads.Mix {
	return workloads.Mix{
		Add: w.Add, AddBatch: w.AddBatch, Recover: w.Recover, Retry: w.Retry, Read: w.Read, ReadRange: w.ReadRange,
		LastEntry: w.LastEntry, Fence: w.Fence, Delete: w.Delete, List: w.List, Flush: w.Flush,
	}
}
