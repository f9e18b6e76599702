package model

import (
	"errors"
	"fmt"
	"slices"
)

// ErrHistory is the class of all complaints about a history that contradicts itself.
var ErrHistory = errors.New("malformed history")

// EventKind says what happened to the bookie.
type EventKind uint8

// The events that matter to what a bookie may answer.
const (
	Stop   EventKind = iota + 1 // a clean stop
	Crash                       // an unclean stop
	Damage                      // the media was damaged on purpose
	eventsEnd
)

var eventNames = [eventsEnd]string{Stop: "stop", Crash: "crash", Damage: "damage"}

func (k EventKind) String() string {
	if k == 0 || k >= eventsEnd {
		return fmt.Sprintf("event %d", uint8(k))
	}
	return eventNames[k]
}

// AnyLedger and AnyEntry widen a Damage event to all of them.
const (
	AnyLedger LedgerID = -1
	AnyEntry  EntryID  = -1
)

// Event is what the world did. Ledger and Entry say what Damage may have hit; for other kinds they are zero.
type Event struct {
	At     Stamp
	Kind   EventKind
	Ledger LedgerID
	Entry  EntryID
}

// History is what the clients of one bookie saw, in any order of operations, and what the world did to it.
type History struct {
	Ops    []Op
	Events []Event

	items  []Item     // answers of ranges
	listed []LedgerID // answers of lists
}

// Append adds an operation without a range or list answer.
func (h *History) Append(op Op) {
	op.answer = span{}
	h.Ops = append(h.Ops, op)
}

// AppendRange adds a ReadRange with its answer, which is copied.
func (h *History) AppendRange(op Op, items []Item) {
	op.answer = span{uint32(len(h.items)), uint32(len(items))}
	if len(items) == 0 {
		op.answer = span{}
	}
	h.items = append(h.items, items...)
	h.Ops = append(h.Ops, op)
}

// AppendList adds a List with its answer, which is copied.
func (h *History) AppendList(op Op, ledgers []LedgerID) {
	op.answer = span{uint32(len(h.listed)), uint32(len(ledgers))}
	if len(ledgers) == 0 {
		op.answer = span{}
	}
	h.listed = append(h.listed, ledgers...)
	h.Ops = append(h.Ops, op)
}

// Items is the answer of the range at index i of Ops; nil for other kinds.
func (h *History) Items(i int) []Item {
	op := &h.Ops[i]
	if op.Kind != ReadRange || op.answer.count == 0 {
		return nil
	}
	return h.items[op.answer.from:][:op.answer.count:op.answer.count]
}

// Listed is the answer of the list at index i of Ops; nil for other kinds.
func (h *History) Listed(i int) []LedgerID {
	op := &h.Ops[i]
	if op.Kind != List || op.answer.count == 0 {
		return nil
	}
	return h.listed[op.answer.from:][:op.answer.count:op.answer.count]
}

// Event adds an event of the world.
func (h *History) Event(e Event) { h.Events = append(h.Events, e) }

// Validate says what is wrong with the history itself, wrapped in ErrHistory. The checkers do not look at a history
// that fails it.
func (h *History) Validate() error {
	for i := range h.Ops {
		if err := h.validateOp(i); err != nil {
			return fmt.Errorf("%w: operation %d: %w", ErrHistory, i, err)
		}
	}
	for i, e := range h.Events {
		if err := e.validate(); err != nil {
			return fmt.Errorf("%w: event %d: %w", ErrHistory, i, err)
		}
	}
	return h.validateIncarnations()
}

func (h *History) validateOp(i int) error {
	op := &h.Ops[i]
	switch {
	case op.Kind == 0 || op.Kind >= kindsEnd:
		return fmt.Errorf("no such kind: %s", op.Kind)
	case op.Outcome == 0 || op.Outcome >= outcomesEnd || legalOutcomes[op.Kind]&(1<<op.Outcome) == 0:
		return fmt.Errorf("%s cannot end with %s", op.Kind, op.Outcome)
	case op.Call == Never || op.Return < op.Call:
		return fmt.Errorf("call at %d, return at %d", op.Call, op.Return)
	case op.Return == Never && op.Outcome != Unknown:
		return fmt.Errorf("%s without a return stamp", op.Outcome)
	case op.ReturnIncarnation < op.CallIncarnation:
		return fmt.Errorf("returns in incarnation %d, called in %d", op.ReturnIncarnation, op.CallIncarnation)
	case op.Ledger < 0 || op.Entry < 0 || op.MaxCount < 0 || op.MaxBytes < 0:
		return errors.New("negative ledger, entry or limit")
	case op.Recovery && op.Kind != Add:
		return fmt.Errorf("%s marked as recovery", op.Kind)
	case op.Final && op.Kind != Read && op.Kind != ReadRange:
		return fmt.Errorf("%s marked as final", op.Kind)
	}
	return h.validateAnswer(i)
}

// validateAnswer looks at what the recorder wrote beside the flat fields. What the bookie answered is not judged here.
func (h *History) validateAnswer(i int) error {
	op := &h.Ops[i]
	if op.answer.count == 0 {
		return nil
	}
	if op.Kind == List && op.Outcome == OK || op.Kind == ReadRange && op.Outcome == Found {
		return nil
	}
	return fmt.Errorf("%s ended with %s and has an answer", op.Kind, op.Outcome)
}

func (e Event) validate() error {
	switch {
	case e.Kind == 0 || e.Kind >= eventsEnd:
		return fmt.Errorf("no such kind: %s", e.Kind)
	case e.Kind != Damage && (e.Ledger != 0 || e.Entry != 0):
		return fmt.Errorf("%s names a ledger or entry", e.Kind)
	case e.Ledger < AnyLedger || e.Entry < AnyEntry:
		return errors.New("negative ledger or entry")
	case e.Ledger == AnyLedger && e.Entry != AnyEntry:
		return errors.New("damage to one entry of any ledger")
	}
	return nil
}

// validateIncarnations checks that time and incarnations run the same way: what the checkers conclude from an
// incarnation number would be wrong otherwise.
func (h *History) validateIncarnations() error {
	type life struct{ first, last Stamp }
	lives := map[Incarnation]life{}
	see := func(n Incarnation, at Stamp) {
		l, known := lives[n]
		if !known {
			l = life{at, at}
		}
		lives[n] = life{min(l.first, at), max(l.last, at)}
	}
	for i := range h.Ops {
		see(h.Ops[i].CallIncarnation, h.Ops[i].Call)
		if h.Ops[i].Return != Never {
			see(h.Ops[i].ReturnIncarnation, h.Ops[i].Return)
		}
	}
	numbers := make([]Incarnation, 0, len(lives))
	for n := range lives {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		before, after := numbers[i-1], numbers[i]
		if lives[before].last > lives[after].first {
			return fmt.Errorf("%w: incarnation %d seen at %d, after incarnation %d at %d",
				ErrHistory, before, lives[before].last, after, lives[after].first)
		}
	}
	return nil
}
