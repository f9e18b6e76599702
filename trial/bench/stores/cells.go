package stores

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Prefix starts the name of every cell of this package.
const Prefix = "store/"

// Kind is a store.
type Kind string

// The stores.
const (
	SegmentLog Kind = "seglog"
	CommitLog  Kind = "commitlog"
	EntryLog   Kind = "bookie"
)

// Kinds are all stores.
func Kinds() []Kind { return []Kind{SegmentLog, CommitLog, EntryLog} }

// Mode is when an append is acknowledged. All stores have the same four.
type Mode string

// The sync modes, from the safest to none.
const (
	Always   Mode = "always"
	Group    Mode = "group"
	Interval Mode = "interval"
	Never    Mode = "never"
)

// Modes are all sync modes.
func Modes() []Mode { return []Mode{Always, Group, Interval, Never} }

// Synced reports whether an append waits for a sync.
func (m Mode) Synced() bool { return m == Always || m == Group }

// Policy is a sync mode, and how long its groups wait for more appends.
type Policy struct {
	Mode Mode
	Wait time.Duration // mode Group only: then a group is committed when it has waited so long, or holds WaitingBytesMax
}

// WaitingBytesMax bounds a group that waits for more, soft by one append. Others have the bound of their store's default.
const WaitingBytesMax = 512 << 10

// Policies are all sync modes and, between the modes always and group, groups that wait for 5, 2 and 1 ms.
func Policies() (all []Policy) {
	for _, mode := range Modes() {
		if mode == Group {
			for _, wait := range []time.Duration{5, 2, 1} {
				all = append(all, Policy{Group, wait * time.Millisecond})
			}
		}
		all = append(all, Policy{Mode: mode})
	}
	return all
}

// String is the mode's name and, if groups wait, how long: "group-2ms".
func (p Policy) String() string {
	if p.Wait == 0 {
		return string(p.Mode)
	}
	return fmt.Sprintf("%s-%v", p.Mode, p.Wait)
}

// Cell is appends of one kind.
type Cell struct {
	Kind         Kind
	Mode         Mode
	Partitions   int
	PayloadBytes int
	Appenders    int
}

// Name is the cell's name on the command line and in files.
func (c Cell) Name() string {
	return fmt.Sprintf("%sappend/%s/%s/%d/%s/%d", Prefix, c.Kind, c.Mode, c.Partitions, sizeName(c.PayloadBytes), c.Appenders)
}

// ReadCell is reads of one kind.
type ReadCell struct {
	Kind Kind
	Way  Way
	Cold bool
}

// Way is how messages are read.
type Way string

// The ways.
const (
	Sequential Way = "sequential" // from the first on, in batches
	FromTime   Way = "from-time"  // the first message of a random time, one after the other; bookies know no times
)

// Name is the cell's name on the command line and in files.
func (c ReadCell) Name() string {
	warmth := "warm"
	if c.Cold {
		warmth = "cold"
	}
	return fmt.Sprintf("%sread/%s/%s/%s", Prefix, c.Kind, c.Way, warmth)
}

func sizeName(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%dKiB", bytes>>10)
	}
	return fmt.Sprintf("%dB", bytes)
}

const (
	manyAppenders = 64
	pagePayload   = 1 << 10
)

// Plan is what a run measures.
type Plan struct {
	Appends []Cell
	Reads   []ReadCell
}

// Empty reports whether there is nothing to measure.
func (p Plan) Empty() bool { return len(p.Appends)+len(p.Reads) == 0 }

// Steps is how often Options.Progress is called.
func (p Plan) Steps() int { return len(p.Appends) + len(p.Reads) }

// usual reports whether a default run has the cell: the goals, and every store with few and many partitions.
func (c Cell) usual() bool {
	switch {
	case c.Partitions > 1000 || c.Partitions == 10 || c.Partitions == 100 || c.Mode == Always:
		return false
	case c.Mode == Group && c.Partitions == 1:
		return true
	}
	return c.PayloadBytes == pagePayload && c.Appenders == manyAppenders
}

// Plan chooses what the options ask for.
func (o Options) Plan() (p Plan) {
	for _, kind := range Kinds() {
		for _, partitions := range []int{1, 10, 100, 1000, 10_000} {
			for _, mode := range Modes() {
				for _, payload := range []int{100, pagePayload, 16 << 10} {
					for _, appenders := range []int{1, manyAppenders} {
						p.Appends = append(p.Appends, Cell{kind, mode, partitions, payload, appenders})
					}
				}
			}
		}
		for _, way := range []Way{Sequential, FromTime} {
			if kind == EntryLog && way == FromTime {
				continue
			}
			for _, cold := range []bool{false, true} {
				p.Reads = append(p.Reads, ReadCell{kind, way, cold})
			}
		}
	}
	named := func(name string) bool { return strings.Contains(name, o.Only) }
	p.Appends = slices.DeleteFunc(p.Appends, func(c Cell) bool { return !named(c.Name()) || !o.Thorough && o.Only == "" && !c.usual() })
	p.Reads = slices.DeleteFunc(p.Reads, func(c ReadCell) bool { return !named(c.Name()) })
	return p
}
