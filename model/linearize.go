package model

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Linearize decides a small history by search instead of by rules: the same register with restarts, stated as a state
// machine. It looks at adds, reads and fences only, knows no excuses, and takes exponential time; it exists so that
// CheckBookie and it can be held against each other. The last stamp of an incarnation must be smaller than the first of
// the next. porcupine.Unknown means that the limit was reached.
func Linearize(h *History, limit time.Duration) porcupine.CheckResult {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{ledgerState{}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range state.(ledgerState).step(input.(searchInput)) {
				next = append(next, s)
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(ledgerState).equal(b.(ledgerState)) },
	}
	result := porcupine.Ok
	for _, operations := range searchOperations(h) {
		switch porcupine.CheckOperationsTimeout(model.ToModel(), operations, limit) {
		case porcupine.Illegal:
			return porcupine.Illegal
		case porcupine.Unknown:
			result = porcupine.Unknown
		}
	}
	return result
}

// Picture is Linearize of one ledger that also writes porcupine's own picture; see PictureLedger.
func Picture(w io.Writer, h *History, ledger LedgerID, limit time.Duration, most int) (porcupine.CheckResult, error) {
	return picture(w, bookieModel(), searchOperations(h)[ledger], limit, most)
}

func bookieModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{ledgerState{}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range state.(ledgerState).step(input.(searchInput)) {
				next = append(next, s)
			}
			return next
		},
		Equal:             func(a, b any) bool { return a.(ledgerState).equal(b.(ledgerState)) },
		DescribeOperation: func(input, _ any) string { return input.(searchInput).words() },
		DescribeState: func(state any) string {
			s := state.(ledgerState)
			return fmt.Sprintf("%d entries, fenced: %t", len(s.entries), s.fenced)
		},
	}
	return model.ToModel()
}

// words is an operation for porcupine's picture.
func (in searchInput) words() string {
	if in.op == nil {
		return "restart"
	}
	return fmt.Sprintf("%s %d → %s", in.op.Kind, in.op.Entry, in.op.Outcome)
}

// searchInput is an operation, or a restart if op is nil.
type searchInput struct{ op *Op }

// searchOperations lists the operations of each ledger, with the restarts. Stamps are doubled to make room for a
// restart between the last stamp of an incarnation and the first of the next.
func searchOperations(h *History) map[LedgerID][]porcupine.Operation {
	lasts := map[Incarnation]Stamp{}
	byLedger := map[LedgerID][]porcupine.Operation{}
	for i := range h.Ops {
		op := &h.Ops[i]
		lasts[op.CallIncarnation] = max(lasts[op.CallIncarnation], op.Call)
		end := int64(math.MaxInt64)
		if op.Return != Never {
			lasts[op.ReturnIncarnation] = max(lasts[op.ReturnIncarnation], op.Return)
			end = 2 * int64(op.Return)
		}
		if op.Kind != Add && op.Kind != Read && op.Kind != Fence {
			continue
		}
		byLedger[op.Ledger] = append(byLedger[op.Ledger], porcupine.Operation{
			ClientId: int(op.Client), Input: searchInput{op}, Call: 2 * int64(op.Call), Return: end})
	}
	numbers := make([]Incarnation, 0, len(lasts))
	for n := range lasts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers[:max(len(numbers)-1, 0)] {
		at := 2*int64(lasts[n]) + 1
		for ledger := range byLedger {
			byLedger[ledger] = append(byLedger[ledger],
				porcupine.Operation{ClientId: -1, Input: searchInput{}, Call: at, Return: at})
		}
	}
	return byLedger
}

// ledgerState is one state the ledger may be in.
type ledgerState struct {
	fenced  bool
	durable bool // the fence
	entries []entryState
}

// entryState is the stack of values of one entry, newest last, down to the newest acknowledged one: what is below
// can never come up again.
type entryState struct {
	entry  EntryID
	values []stackedValue
}

type stackedValue struct {
	digest Digest
	acked  bool
}

func (s ledgerState) equal(other ledgerState) bool {
	return s.fenced == other.fenced && s.durable == other.durable &&
		slices.EqualFunc(s.entries, other.entries, func(a, b entryState) bool {
			return a.entry == b.entry && slices.Equal(a.values, b.values)
		})
}

// step lists the states after the operation or restart; none if it cannot have happened in this state.
func (s ledgerState) step(in searchInput) []ledgerState {
	switch {
	case in.op == nil:
		return s.restarts()
	case in.op.Kind == Add:
		return s.add(in.op)
	case in.op.Kind == Fence:
		return s.fence(in.op)
	}
	return s.read(in.op)
}

func (s ledgerState) add(op *Op) []ledgerState {
	done := s.push(op.Entry, stackedValue{op.Digest, op.Outcome == OK})
	barred := s.fenced && !op.Recovery
	switch op.Outcome {
	case OK:
		if barred {
			return nil
		}
		return []ledgerState{done}
	case Unknown:
		if barred {
			return []ledgerState{s}
		}
		return []ledgerState{s, done}
	case Fenced, NoLedger:
		if op.Outcome == NoLedger || !barred {
			return nil
		}
	}
	return []ledgerState{s}
}

func (s ledgerState) fence(op *Op) []ledgerState {
	done := s
	done.fenced, done.durable = true, s.durable || op.Outcome == OK
	switch op.Outcome {
	case OK:
		return []ledgerState{done}
	case Unknown, Error:
		return []ledgerState{s, done}
	}
	return []ledgerState{s}
}

func (s ledgerState) read(op *Op) []ledgerState {
	k, there := s.find(op.Entry)
	legal := true
	switch op.Outcome {
	case Found:
		legal = there && s.entries[k].values[len(s.entries[k].values)-1].digest == op.Digest
	case NoEntry:
		legal = !there
	case NoLedger, Fenced:
		legal = len(s.entries) == 0 && !s.fenced
	}
	if !legal {
		return nil
	}
	return []ledgerState{s}
}

func (s ledgerState) find(entry EntryID) (int, bool) {
	return slices.BinarySearchFunc(s.entries, entry, func(e entryState, want EntryID) int {
		return cmp.Compare(e.entry, want)
	})
}

func (s ledgerState) push(entry EntryID, v stackedValue) ledgerState {
	k, there := s.find(entry)
	entries := slices.Clone(s.entries)
	if !there {
		entries = slices.Insert(entries, k, entryState{entry: entry})
	}
	values := entries[k].values
	if v.acked {
		values = nil
	}
	entries[k].values = append(slices.Clone(values), v)
	s.entries = entries
	return s
}

// restarts lists what may be left of the state after a restart: each entry may lose any number of values down to its
// newest acknowledged one, and a fence that is not acknowledged may be lost.
func (s ledgerState) restarts() []ledgerState {
	states := []ledgerState{{fenced: s.fenced, durable: s.durable}}
	if s.fenced && !s.durable {
		states = append(states, ledgerState{})
	}
	for _, e := range s.entries {
		var longer []ledgerState
		for _, state := range states {
			for n := range len(e.values) + 1 {
				if n == 0 && e.values[0].acked {
					continue
				}
				one := state
				if n > 0 {
					one.entries = append(slices.Clone(state.entries), entryState{e.entry, e.values[:n:n]})
				}
				longer = append(longer, one)
			}
		}
		states = longer
	}
	return states
}
