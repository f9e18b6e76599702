package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"lakebed/trial"
)

// logFormat is the first thing in a log, so that nothing else is taken for one.
const logFormat = "lakebed-campaign/1"

// Header says what a campaign is: all that its outcome depends on. Campaigns with equal headers but for the shard are
// parts of one campaign. It is the first line of a log.
type Header struct {
	Kind   lineKind `json:"kind"`
	Format string   `json:"format"`
	Build  Build    `json:"build"`
	// Program is the digest of the executable: builds without a revision all look alike, and another program is another
	// world.
	Program     string           `json:"program"`
	FirstSeed   uint64           `json:"first_seed"`
	Seeds       int64            `json:"seeds"`          // zero: no bound
	Time        time.Duration    `json:"for_nanos"`      // zero: no bound
	Named       []string         `json:"scenarios"`      // as asked for; empty: the default mix
	Weights     map[string]int64 `json:"weights"`        // as asked for
	Mix         []Share          `json:"mix"`            // what that comes to
	Canaries    []string         `json:"canaries"`       // their names
	CanarySeeds int64            `json:"canary_seeds"`   // of each
	Marks       []string         `json:"required_marks"` // rare states that should be reached
	Defect      string           `json:"defect"`         // planted
	Shard       Shard            `json:"shard"`
}

// Share is a scenario of a mix with its weight.
type Share struct {
	Scenario string `json:"scenario"`
	Weight   int64  `json:"weight"`
}

// headerOf describes a campaign of this program.
func headerOf(o *Options, m *mix) Header {
	h := Header{
		Kind: headerLine, Format: logFormat, Build: ThisBuild(), FirstSeed: o.Seed, Seeds: o.Seeds, Time: o.Time,
		Named: append([]string{}, o.Scenarios...), Weights: map[string]int64{}, Mix: []Share{}, Canaries: []string{},
		CanarySeeds: o.CanarySeeds, Marks: append([]string{}, o.Catalogue.RequiredMarks...), Defect: o.Defect, Shard: o.Shard,
	}
	for name, weight := range o.Weights {
		h.Weights[name] = weight
	}
	for i, s := range m.scenarios {
		h.Mix = append(h.Mix, Share{s.Name, int64(m.weights[i])})
	}
	for _, c := range o.Catalogue.canaries() {
		h.Canaries = append(h.Canaries, c.Name)
	}
	return h
}

// Apply makes options of a campaign those of the header. What depends on the machine alone stays.
func (h *Header) Apply(o *Options) {
	o.Scenarios, o.Weights, o.Seed, o.Seeds, o.Time = h.Named, h.Weights, h.FirstSeed, h.Seeds, h.Time
	o.CanarySeeds, o.Defect, o.Shard = h.CanarySeeds, h.Defect, h.Shard
}

// isDefaultMix reports whether the campaign is held to the rare states. Others may be unable to reach some.
func (h *Header) isDefaultMix() bool { return len(h.Named) == 0 && len(h.Weights) == 0 }

// runsTwice reports whether a seed is one of those that run twice whatever comes out: one in each block of seeds, the
// first one for certain. Which one it is in a block is scattered, so that no shard gets more of them than others.
func (h *Header) runsTwice(seed uint64) bool {
	block, place := (seed-h.FirstSeed)/twiceEvery, (seed-h.FirstSeed)%twiceEvery
	return place == (scatter(block)-scatter(0))%twiceEvery
}

// mix is what the seeds of the campaign run, by name.
func (h *Header) mix() mix {
	var m mix
	for _, s := range h.Mix {
		m.add(trial.Scenario{Name: s.Scenario}, uint64(s.Weight))
	}
	return m
}

// check refuses what no campaign has written.
func (h *Header) check() error {
	if h.Kind != headerLine || h.Format != logFormat {
		return fmt.Errorf("%w: it begins with format %q, and a campaign's log with %q", ErrUsage, h.Format, logFormat)
	}
	for _, s := range h.Mix {
		if s.Weight <= 0 {
			return fmt.Errorf("%w: its header gives scenario %s the weight %d", ErrUsage, s.Scenario, s.Weight)
		}
	}
	if len(h.Mix) == 0 || h.Seeds < 0 || h.Time < 0 || h.CanarySeeds < 0 {
		return fmt.Errorf("%w: its header makes no sense", ErrUsage)
	}
	return h.Shard.check()
}

// difference names the first thing in which two campaigns differ, shards aside; empty: they are parts of one.
func (h *Header) difference(other *Header) string {
	for _, c := range []struct {
		name string
		a, b any
	}{
		{"builds", h.Build, other.Build},
		{"programs", h.Program, other.Program},
		{"planted defects", h.Defect, other.Defect},
		{"first seeds", h.FirstSeed, other.FirstSeed},
		{"numbers of seeds", h.Seeds, other.Seeds},
		{"time limits", h.Time, other.Time},
		{"scenarios", h.Named, other.Named},
		{"weights", h.Weights, other.Weights},
		{"mixes", h.Mix, other.Mix},
		{"canaries", h.Canaries, other.Canaries},
		{"numbers of canary trials", h.CanarySeeds, other.CanarySeeds},
		{"required rare states", h.Marks, other.Marks},
	} {
		if !reflect.DeepEqual(c.a, c.b) {
			return fmt.Sprintf("different %s: %v and %v", c.name, c.a, c.b)
		}
	}
	return ""
}

// thisProgram is the digest of the running executable.
var thisProgram = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("%w: find this program: %w", ErrEnvironment, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w: read this program: %w", ErrEnvironment, err)
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", fmt.Errorf("%w: read this program: %w", ErrEnvironment, err)
	}
	return hex.EncodeToString(digest.Sum(nil)[:programDigestBytes]), nil
})
