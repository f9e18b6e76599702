package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
)

// Workloads lists all, in the order in which they run.
func Workloads() []Workload { return []Workload{Appends, FioLine, ReadPaths} }

// ParseWorkloads checks names given by a user. None at all means all.
func ParseWorkloads(names []string) ([]Workload, error) {
	var asked []Workload
	for _, name := range names {
		if !slices.Contains(Workloads(), Workload(name)) {
			return nil, fmt.Errorf("%w: no workload is called %q; there are: append, fio, read, and the sub-commands world and cluster-world", ErrUsage, name)
		}
		asked = append(asked, Workload(name))
	}
	if len(asked) == 0 {
		return Workloads(), nil
	}
	return asked, nil
}

// Progress is told what is measured now, and how much of the run is done.
type Progress func(doing string, done, total int)

// Options say what to measure and for how long.
type Options struct {
	Dir       string // below which a fresh directory is made; it must be on a disk to mean anything
	Workloads []Workload
	Only      string // part of the names of the arms to measure; empty: all
	Thorough  bool
	Seed      uint64
	Progress  Progress // may be nil
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

// pace of a default run leaves time within two minutes for building and filling.
func (o Options) pace() pace {
	if o.Thorough {
		return pace{
			goalRound: time.Second, goalPairs: 16, otherRound: time.Second, otherPairs: 15,
			fioRound: time.Second, fioPairs: 15, readRound: time.Second, readRounds: 15,
		}
	}
	return pace{
		hurryAfter: 65 * time.Second, skipAfter: 95 * time.Second, hurryPairs: 3,
		goalRound: 120 * time.Millisecond, goalPairs: 11, otherRound: 50 * time.Millisecond, otherPairs: 6, fioRound: 300 * time.Millisecond, fioPairs: 10,
		readRound: 100 * time.Millisecond, readRounds: 7,
	}
}

func (o Options) wants(w Workload) bool {
	return len(o.Workloads) == 0 || slices.Contains(o.Workloads, w)
}

// arms are the arms of appends that the options ask for.
func (o Options) arms() ([]Arm, error) {
	if !o.wants(Appends) {
		return nil, nil
	}
	asked := slices.DeleteFunc(Arms(), func(a Arm) bool { return !strings.Contains(a.Name(), o.Only) })
	if len(asked) == 0 {
		return nil, fmt.Errorf("%w: no arm's name contains %q; one is %s", ErrUsage, o.Only, Arms()[0].Name())
	}
	return asked, nil
}
