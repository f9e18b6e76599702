package faults

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// The classes of failure that a caller may branch on.
var (
	ErrUnknownKind = errors.New("unknown fault kind")
	ErrInvalid     = errors.New("invalid fault plan")
	ErrNotAllowed  = errors.New("fault beyond the allowance")
)

// Plan is everything that is to go wrong in a world. Plans are values: editing returns a new one.
type Plan struct {
	Elements []Element
}

// Element is one fault: when, what, where.
type Element struct {
	ID      string // unique within the plan; names the element's random stream
	Trigger Trigger
	Kind    Kind
	Target  Target
	Params  Params
}

// Trigger is the moment of an element: At, unless Visit or Operation is set. What they point to is never changed.
type Trigger struct {
	At        time.Duration // virtual time
	Visit     *Visit
	Operation *Operation
}

// Visit is the Nth time, from 1, that a node comes to a point.
type Visit struct {
	Node  string // or AnyNode: the visits of all nodes count together
	Point string // a host.Point
	Nth   int64
	After time.Duration // virtual time from which visits are counted
}

// Operation is the Nth operation of a kind, from 1, on a volume of a node, counting only the paths that match.
type Operation struct {
	Node   string
	Volume string
	Kind   sim.DiskKind
	Path   string // a pattern, see Target.Path
	Nth    int64
	After  time.Duration // virtual time from which operations are counted
}

// Target is where an element strikes.
type Target struct {
	Node   string // or Visitor, or Named
	Volume string // of disk kinds
	// Path limits disk kinds to the files that match a pattern of path.Match: their last name if the pattern has no
	// slash, else the whole path within the volume. Empty: all.
	Path string
	// Operation limits read-error, write-error, slow-disk and stuck-disk to one kind of operation, by name. Empty: reads
	// for read-error, writes for write-error, all for the others.
	Operation string
	Peer      string // of network kinds: the other end; also Visitor or Named. Empty: every other node
}

// Names that are resolved when an element fires. An element whose target cannot be resolved then does nothing.
const (
	AnyNode = "*"        // in a Visit
	Visitor = "@visitor" // in a Target: the node whose visit triggered
	Named   = "@named"   // in a Target: a node that the mark at the trigger names in its Extra; of several, one by lot
)

// Params are what the kinds differ in. A kind accepts only those that mean something to it.
type Params struct {
	For          time.Duration // how long it lasts; within which time a cluster of latent errors appears
	Times        int64         // how many operations it hits; how many places it damages, or writes it loses, where zero means one
	Every        int64         // hit each k-th operation only
	RestartAfter time.Duration // when a node starts again, counted from the order; one that stops has to end first
	StaysDown    bool          // the node stays down until Driver.Heal
	Survival     disk.Survival // what a power cut leaves of the unsynced
	Jump         time.Duration // of the wall clock, either way
	Delay        time.Duration // of each operation of a slow disk
	Factor       int64         // how many times as long a slow disk or link takes
	Length       int64         // of a latent error, in bytes; zero: one sector
	PPM          int64         // how much faster a clock runs, in parts per million, either way
	Again        int64         // how often a rotten place rots anew when it is rewritten
}

// IDs returns the IDs of all elements, in order.
func (p Plan) IDs() []string {
	ids := make([]string, len(p.Elements))
	for i := range p.Elements {
		ids[i] = p.Elements[i].ID
	}
	return ids
}

// Without returns the plan without these elements. IDs that it does not have change nothing.
func (p Plan) Without(ids ...string) Plan {
	return p.keep(func(e *Element) bool { return !slices.Contains(ids, e.ID) })
}

// Only returns the plan with none but these elements, in its own order.
func (p Plan) Only(ids ...string) Plan {
	return p.keep(func(e *Element) bool { return slices.Contains(ids, e.ID) })
}

// OnlyKinds returns the plan with none but the elements of these kinds.
func (p Plan) OnlyKinds(kinds ...Kind) Plan {
	return p.keep(func(e *Element) bool { return slices.Contains(kinds, e.Kind) })
}

// Before returns the plan without the elements that wait for this time or a later one. Visits and operations have no
// time of their own, so those elements stay; Driver.Firings tells which of them never came.
func (p Plan) Before(t time.Duration) Plan {
	return p.keep(func(e *Element) bool { return !e.Trigger.timed() || e.Trigger.At < t })
}

func (p Plan) keep(wanted func(e *Element) bool) Plan {
	var kept Plan
	for i := range p.Elements {
		if wanted(&p.Elements[i]) {
			kept.Elements = append(kept.Elements, p.Elements[i])
		}
	}
	return kept
}

func (t Trigger) timed() bool { return t.Visit == nil && t.Operation == nil }

// matches reports whether a path within a volume matches a pattern as in Target.Path. The pattern is a valid one.
func matches(pattern, within string) bool {
	if pattern == "" {
		return true
	}
	if !strings.Contains(pattern, "/") {
		within = path.Base(within)
	}
	ok, _ := path.Match(pattern, within)
	return ok
}
