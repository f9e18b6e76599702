package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lakebed/trial/bench/ledgers"
	"lakebed/trial/bench/stores"
)

// ErrUsage says that options make no sense; ErrEnvironment that this machine or directory cannot be measured.
var (
	ErrUsage       = errors.New("wrong use")
	ErrEnvironment = errors.New("environment")
)

// Workload is a part of a run that can be asked for by name.
type Workload string

// The workloads.
const (
	Appends   Workload = "append"
	FioLine   Workload = "fio"
	ReadPaths Workload = "read"
	Ledgers   Workload = "ledger"
	Stores    Workload = "stores"
)

// Workloads lists all, in the order in which they run.
func Workloads() []Workload { return []Workload{Appends, FioLine, ReadPaths, Ledgers, Stores} }

// ParseWorkloads checks names given by a user. None at all means all but the stores of one node, which are not the path of a
// ledger, and take as long.
func ParseWorkloads(names []string) ([]Workload, error) {
	var asked []Workload
	for _, name := range names {
		if !slices.Contains(Workloads(), Workload(name)) {
			return nil, fmt.Errorf("%w: no workload is called %q; there are: append, fio, read, ledger, stores, and the sub-commands world and cluster-world", ErrUsage, name)
		}
		asked = append(asked, Workload(name))
	}
	if len(asked) == 0 {
		return []Workload{Appends, FioLine, ReadPaths, Ledgers}, nil
	}
	return asked, nil
}

// Progress is told what is measured now, and how much of the run is done.
type Progress func(doing string, done, total int)

// Options say what to measure and for how long.
type Options struct {
	Dir       string // below which a fresh directory is made; it must be on a disk to mean anything
	Workloads []Workload
	Only      string // part of the names of what is measured; empty: all
	Thorough  bool
	Seed      uint64
	Length    time.Duration // of a round; zero: as the run's pace says
	Command   string        // that repeats the run, as a user would type it
	Progress  Progress      // may be nil

	// Of whole ledgers: see package ledgers.
	Processes  bool
	Executable string
	Rate       float64
	InFlight   int
}

// pace is how long things are measured.
type pace struct {
	hurryAfter time.Duration // from then on arms without a goal get hurryPairs; zero: never
	skipAfter  time.Duration // and from then on none
	hurryPairs int
	goalRound  time.Duration
	goalPairs  int
	otherRound time.Duration
	otherPairs int
	fioRound   time.Duration
	fioPairs   int
	readRound  time.Duration
	readRounds int
}

// pace of a default run: whoever has just cloned the repository waits for the build and for this, and is to have a page
// within five minutes on a busy machine. On a quiet one every arm gets its pairs, six at least.
func (o Options) pace() pace {
	p := o.usualPace()
	if o.Length > 0 {
		p.goalRound, p.otherRound, p.fioRound, p.readRound = o.Length, o.Length, o.Length, o.Length
	}
	return p
}

func (o Options) usualPace() pace {
	if o.Thorough {
		return pace{
			goalRound: time.Second, goalPairs: 16, otherRound: time.Second, otherPairs: 15,
			fioRound: time.Second, fioPairs: 15, readRound: time.Second, readRounds: 15,
		}
	}
	return pace{
		hurryAfter: 60 * time.Second, skipAfter: 85 * time.Second, hurryPairs: 3,
		goalRound: 100 * time.Millisecond, goalPairs: 8, otherRound: 40 * time.Millisecond, otherPairs: 6, fioRound: 200 * time.Millisecond, fioPairs: 8,
		readRound: 80 * time.Millisecond, readRounds: 6,
	}
}

func (o Options) wants(w Workload) bool {
	return len(o.Workloads) == 0 && w != Stores || slices.Contains(o.Workloads, w)
}

// plan is what a run measures.
type plan struct {
	arms    []Arm
	fio     bool
	reads   []readPlan
	ledgers ledgers.Plan
	stores  stores.Plan
}

// steps is how often the progress is told something: whole ledgers tell a little more.
func (p plan) steps() int {
	steps := len(p.arms) + len(p.reads) + p.ledgers.Steps() + p.stores.Steps()
	if p.fio {
		steps++
	}
	return steps
}

// plan chooses what the options ask for. Nothing at all is wrong use: whoever mistypes a name should not wait for nothing.
func (o Options) plan() (plan, error) {
	var p plan
	if o.Rate < 0 || o.InFlight < 0 || o.Length < 0 || o.InFlight > inFlightMax {
		return p, fmt.Errorf("%w: rate %v, %d in flight, length %v: must not be negative, at most %d in flight",
			ErrUsage, o.Rate, o.InFlight, o.Length, inFlightMax)
	}
	named := func(name string) bool { return strings.Contains(name, o.Only) }
	if o.wants(Appends) {
		p.arms = slices.DeleteFunc(Arms(), func(a Arm) bool { return !named(a.Name()) })
	}
	p.fio = o.wants(FioLine) && named(string(FioLine))
	if o.wants(ReadPaths) {
		p.reads = slices.DeleteFunc(readPlans(), func(r readPlan) bool { return !named(r.name()) })
	}
	if o.wants(Ledgers) {
		p.ledgers = o.ledgers().Plan()
	}
	if o.wants(Stores) {
		p.stores = o.stores().Plan()
	}
	if p.steps() == 0 {
		return p, fmt.Errorf("%w: nothing to measure has a name that contains %q; there are such as %s, %s and %sread/100B/cached/batch/100",
			ErrUsage, o.Only, Arms()[0].Name(), readPlans()[0].name(), ledgers.Prefix)
	}
	return p, nil
}

// inFlightMax bounds the adds of one ledger that are under way.
const inFlightMax = 16 << 10

// stores are the options of package stores.
func (o Options) stores() stores.Options {
	return stores.Options{Only: o.Only, Thorough: o.Thorough, Seed: o.Seed, Length: o.Length}
}

// ledgers are the options of package ledgers.
func (o Options) ledgers() ledgers.Options {
	return ledgers.Options{
		Only: o.Only, Thorough: o.Thorough, Seed: o.Seed, Length: o.Length,
		Processes: o.Processes, Executable: o.Executable, Rate: o.Rate, InFlight: o.InFlight,
	}
}
