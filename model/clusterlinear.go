package model

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// LinearizeLedger decides one small ledger by search instead of by rules: a log that is appended to, fenced, closed
// and read, stated as a state machine. It looks at Ops only, at the
// answers of reads but not at their limits, at no denials, and takes exponential time; it
// exists so that CheckCluster and it can be held against each other. porcupine.Unknown means that the limit was
// reached.
func LinearizeLedger(h *ClusterHistory, ledger LedgerID, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(ledgerModel(), h.ledgerSteps(ledger), limit)
}

// PictureLedger is LinearizeLedger that also writes porcupine's own picture, an HTML page, of what it found. A ledger of
// more operations than most is not searched: porcupine.Unknown, and nothing is written.
func PictureLedger(w io.Writer, h *ClusterHistory, ledger LedgerID, limit time.Duration, most int) (porcupine.CheckResult, error) {
	return picture(w, ledgerModel(), h.ledgerSteps(ledger), limit, most)
}

// picture has porcupine search, and draw.
func picture(w io.Writer, m porcupine.Model, operations []porcupine.Operation, limit time.Duration, most int) (porcupine.CheckResult, error) {
	if len(operations) == 0 || len(operations) > most {
		return porcupine.Unknown, nil
	}
	result, found := porcupine.CheckOperationsVerbose(m, operations, limit)
	if err := porcupine.Visualize(m, found, w); err != nil {
		return result, fmt.Errorf("draw porcupine's picture: %w", err)
	}
	return result, nil
}

func (h *ClusterHistory) ledgerSteps(ledger LedgerID) []porcupine.Operation {
	var operations []porcupine.Operation
	for i := range h.Ops {
		if h.Ops[i].Ledger == ledger {
			operations = append(operations, h.searchSteps(i)...)
		}
	}
	return operations
}

func ledgerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return searchedLedger{} },
		Step: func(state, input, _ any) (bool, any) {
			next, legal := state.(searchedLedger).step(input.(ledgerStep))
			return legal, next
		},
		Equal:             func(a, b any) bool { return a.(searchedLedger).equal(b.(searchedLedger)) },
		DescribeOperation: func(input, _ any) string { return input.(ledgerStep).words() },
		DescribeState:     func(state any) string { return state.(searchedLedger).words() },
	}
}

// words is a step for porcupine's picture.
func (s ledgerStep) words() string {
	text := s.op.Kind.String() + " → " + s.op.Outcome.String()
	switch {
	case s.part == fences:
		return s.op.Kind.String() + ", its fence"
	case s.part == refused:
		return "append is told of a fence"
	case s.part == bounded:
		return fmt.Sprintf("a read goes by the bound %d", s.op.Bound)
	case s.op.reads():
		return fmt.Sprintf("%s from %d: %d entries", text, s.op.Entry, len(s.items))
	case s.op.Outcome == OK:
		return fmt.Sprintf("%s, entry %d", text, s.op.Entry)
	}
	return text
}

func (s searchedLedger) words() string {
	text := fmt.Sprintf("%d entries", len(s.entries))
	if s.fenced {
		text += ", fenced"
	}
	if s.closed {
		text += ", closed"
	}
	return text
}

// ledgerStep is an operation, or a part of one that takes effect at a moment of its own.
type ledgerStep struct {
	op    *ClusterOp
	part  stepPart
	items []Item
}

type stepPart uint8

const (
	whole   stepPart = iota
	fences           // a recovery fences before it closes
	refused          // an append learns that it is fenced; it may take effect nevertheless, at another moment
	bounded          // a read goes by a LAC
)

// searchSteps lists the steps of the operation at index i.
func (h *ClusterHistory) searchSteps(i int) []porcupine.Operation {
	op := &h.Ops[i]
	var steps []porcupine.Operation
	add := func(part stepPart, end Stamp) {
		steps = append(steps, porcupine.Operation{ClientId: int(op.Client), Input: ledgerStep{op, part, h.Items(i)},
			Call: int64(op.Call), Return: int64(end)})
	}
	switch op.Kind {
	case LedgerAppend:
		if op.Outcome == Fenced {
			add(refused, op.Return)
		}
		if op.Outcome == OK {
			add(whole, op.Return)
		} else if op.Outcome != Failed {
			add(whole, math.MaxInt64)
		}
	case LedgerRecover, LedgerClose, LedgerDelete:
		// A close that is told so did nothing. A recovery may have fenced before the ledger was deleted under it.
		told := op.Outcome == NoLedger && op.Kind == LedgerClose || op.Outcome == Failed && op.Kind != LedgerRecover
		if !told {
			add(fences, math.MaxInt64) // an extra fence harms nobody: it may come as late as it likes
		}
		if op.ends() {
			add(whole, op.Return)
		}
	case LedgerConfirmed:
		if op.Outcome == OK {
			add(whole, op.Return)
		}
	case LedgerRead, LedgerBatchRead:
		if op.Bound != NoBound && op.Return != Never {
			add(bounded, op.Return)
		}
		if op.Outcome == Found {
			add(whole, op.Return)
		}
	}
	return steps
}

// searchedLedger is one state: the appends it holds, and what each reader was last told.
type searchedLedger struct {
	entries        []*ClusterOp
	told           []toldReader
	fenced, closed bool
}

type toldReader struct {
	reader readerKey
	entry  EntryID
}

func (s searchedLedger) equal(other searchedLedger) bool {
	return s.fenced == other.fenced && s.closed == other.closed && slices.Equal(s.entries, other.entries) &&
		slices.Equal(s.told, other.told)
}

// step is the state after a step, and whether it can have happened.
func (s searchedLedger) step(in ledgerStep) (searchedLedger, bool) {
	op, last := in.op, EntryID(len(s.entries))-1
	switch {
	case in.part == fences:
		s.fenced = true
		return s, true
	case in.part == refused:
		return s, s.fenced
	case in.part == bounded:
		return s.tell(op, op.Bound)
	case op.Kind == LedgerAppend:
		return s.append(op)
	case op.reads():
		return s, s.holds(op, in.items)
	case op.Kind == LedgerConfirmed && !op.Closed:
		return s.tell(op, op.Entry)
	}
	s.closed, s.fenced = true, true
	next, legal := s.tell(op, op.Entry)
	return next, legal && op.Entry == last && op.Length == s.length()
}

func (s searchedLedger) append(op *ClusterOp) (searchedLedger, bool) {
	if s.closed {
		return s, op.Outcome != OK
	}
	legal := op.Outcome != OK || op.Entry == EntryID(len(s.entries))
	s.entries = append(slices.Clip(s.entries), op)
	return s, legal
}

func (s searchedLedger) holds(op *ClusterOp, items []Item) bool {
	for k, item := range items {
		above := op.Bound != NoBound && item.Entry > op.Bound
		if above || item.Entry != op.Entry+EntryID(k) || item.Entry >= EntryID(len(s.entries)) {
			return false
		}
		if stored := s.entries[item.Entry]; stored.Digest != item.Digest || stored.Length != item.Bytes {
			return false
		}
	}
	return len(items) > 0
}

func (s searchedLedger) length() int64 {
	sum := int64(0)
	for _, op := range s.entries {
		sum += op.Length
	}
	return sum
}

// tell gives a reader a confirmed entry.
func (s searchedLedger) tell(op *ClusterOp, entry EntryID) (searchedLedger, bool) {
	if entry >= EntryID(len(s.entries)) {
		return s, false
	}
	reader := readerKey{op.Client, op.Handle}
	s.told = slices.Clone(s.told)
	for k, told := range s.told {
		if told.reader == reader {
			s.told[k].entry = entry
			return s, entry >= told.entry
		}
	}
	s.told = append(s.told, toldReader{reader, entry})
	slices.SortFunc(s.told, func(a, b toldReader) int {
		return int(a.reader.client-b.reader.client)<<16 + int(a.reader.handle-b.reader.handle)
	})
	return s, true
}
