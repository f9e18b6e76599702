package model

import (
	"errors"
	"fmt"
	"slices"
)

// Validate says what is wrong with the history itself, wrapped in ErrHistory. The checkers do not look at a history
// that fails it.
func (h *ClusterHistory) Validate() error {
	for i := range h.Ops {
		if err := h.Ops[i].validate(); err != nil {
			return fmt.Errorf("%w: operation %d: %w", ErrHistory, i, err)
		}
	}
	if err := h.validateDigests(); err != nil {
		return err
	}
	for i := range h.Metadata {
		if err := h.validateWrite(i); err != nil {
			return fmt.Errorf("%w: metadata write %d: %w", ErrHistory, i, err)
		}
	}
	for i := range h.Notices {
		if err := h.validateNotice(i); err != nil {
			return fmt.Errorf("%w: notice %d: %w", ErrHistory, i, err)
		}
	}
	for i := range h.Holdings {
		if err := h.Holdings[i].validate(); err != nil {
			return fmt.Errorf("%w: holding %d: %w", ErrHistory, i, err)
		}
	}
	for i := range h.Damages {
		if err := h.Damages[i].validate(); err != nil {
			return fmt.Errorf("%w: damage %d: %w", ErrHistory, i, err)
		}
	}
	return h.validateOrder()
}

func (op *ClusterOp) validate() error {
	switch {
	case op.Kind == 0 || op.Kind >= clusterKindsEnd:
		return fmt.Errorf("no such kind: %s", op.Kind)
	case op.Outcome == 0 || op.Outcome >= outcomesEnd || clusterOutcomes[op.Kind]&(1<<op.Outcome) == 0:
		return fmt.Errorf("%s cannot end with %s", op.Kind, op.Outcome)
	case op.Call == Never || op.Return < op.Call:
		return fmt.Errorf("call at %d, return at %d", op.Call, op.Return)
	case op.Return == Never && op.Outcome != Unknown:
		return fmt.Errorf("%s without a return stamp", op.Outcome)
	case op.Ledger < 0 || op.Length < 0 || op.MaxCount < 0 || op.MaxBytes < 0 || op.Last < 0:
		return errors.New("negative ledger, length, limit or last entry")
	case op.Entry < NoLast || op.Entry > logLengthMax || op.Length > logLengthMax || op.Last > logLengthMax:
		return errors.New("entry or length beyond what a ledger can hold")
	case op.Entry == NoLast && !op.ends() && op.Kind != LedgerConfirmed:
		return fmt.Errorf("%s of no entry", op.Kind)
	case op.answer.count > 0 && !(op.reads() && op.Outcome == Found):
		return fmt.Errorf("%s ended with %s and has an answer", op.Kind, op.Outcome)
	}
	return op.validateExtras()
}

// validateExtras refuses fields that belong to another kind of operation: a recorder that fills them is confused.
func (op *ClusterOp) validateExtras() error {
	switch {
	case op.Final && !op.reads() && op.Kind != LedgerRecover:
		return fmt.Errorf("%s marked as final", op.Kind)
	case op.Closed && (op.Kind != LedgerConfirmed || op.Outcome != OK):
		return fmt.Errorf("%s that ended with %s marked as closed", op.Kind, op.Outcome)
	case op.Bound != 0 && !op.reads() || op.Bound < NoBound:
		return errors.New("a bound is a number of a read")
	case op.Last != 0 && op.Kind != LedgerRead || op.Kind == LedgerRead && op.Last < op.Entry:
		return errors.New("a last entry is that of a read, not below its first")
	case (op.MaxCount != 0 || op.MaxBytes != 0) && op.Kind != LedgerBatchRead:
		return fmt.Errorf("%s with limits", op.Kind)
	case op.Digest != 0 && op.Kind != LedgerAppend:
		return fmt.Errorf("%s with a digest", op.Kind)
	case op.Length != 0 && op.Kind != LedgerAppend && !op.ends():
		return fmt.Errorf("%s with a length", op.Kind)
	}
	return nil
}

// validateDigests: the checkers recognise an append by its digest.
func (h *ClusterHistory) validateDigests() error {
	byLedger := map[LedgerID]map[Digest]int32{}
	var appends map[Digest]int32 // of the ledger of the append before: neighbours are often of one ledger
	ledger := LedgerID(-1)
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Kind != LedgerAppend {
			continue
		}
		if op.Ledger != ledger {
			ledger, appends = op.Ledger, byLedger[op.Ledger]
			if appends == nil {
				appends = map[Digest]int32{}
				byLedger[ledger] = appends
			}
		}
		if before, known := appends[op.Digest]; known {
			return fmt.Errorf("%w: operations %d and %d append the same digest to ledger %d", ErrHistory, before, i, ledger)
		}
		appends[op.Digest] = int32(i)
	}
	return nil
}

// validateWrite looks at what cannot have been stored, or would not let the rules be stated. What the engine stored is
// not judged here.
func (h *ClusterHistory) validateWrite(i int) error {
	w := &h.Metadata[i]
	switch {
	case w.State == 0 || w.State >= ledgerStatesEnd:
		return fmt.Errorf("no such state: %s", w.State)
	case w.Ledger < 0 || w.At == Never || w.Version < 0 || w.Expected < NoVersion:
		return errors.New("negative ledger or version, or no stamp")
	case w.Last < NoLast || w.Last > logLengthMax || w.Length < 0 || w.Length > logLengthMax:
		return errors.New("last entry or length beyond what a ledger can hold")
	case w.State != LedgerClosed && (w.Last != NoLast || w.Length != 0):
		return fmt.Errorf("%s metadata with an end", w.State)
	case w.State == LedgerGone && (w.answer.count > 0 || w.Quorum != QuorumShape{}):
		return errors.New("removed metadata with a content")
	case w.State != LedgerGone && !w.Quorum.possible():
		return fmt.Errorf("no quorum: %d/%d/%d", w.Quorum.Ensemble, w.Quorum.Write, w.Quorum.Ack)
	}
	for _, f := range h.fragmentsOf(w) {
		if f.first < 0 || f.first > logLengthMax {
			return fmt.Errorf("a fragment starts at %d", f.first)
		}
		if err := validateNodes(h.members(f.members)); err != nil {
			return err
		}
	}
	return nil
}

// ensembleMax bounds an ensemble, and with it what the checkers allocate for a write set.
const ensembleMax = 1000

func (q QuorumShape) possible() bool {
	return q.Ack >= 1 && q.Write >= q.Ack && q.Ensemble >= q.Write && q.Ensemble <= ensembleMax
}

func (h *ClusterHistory) validateNotice(i int) error {
	n := &h.Notices[i]
	switch {
	case n.Kind == 0 || n.Kind >= noticeKindsEnd:
		return fmt.Errorf("no such kind: %s", n.Kind)
	case n.Ledger < 0 || n.At == Never || n.Entry < NoLast || n.Entry > logLengthMax:
		return errors.New("negative ledger or entry, or no stamp")
	case n.Entry == NoLast && n.Kind != NoticeClosed:
		return fmt.Errorf("%s, but no entry", n.Kind)
	case n.by.count > 0 && n.Kind == NoticeClosed:
		return errors.New("a close counts no bookies")
	}
	return validateNodes(h.members(n.by))
}

func (held *Holding) validate() error {
	switch {
	case held.Ledger < 0 || held.Entry < 0 || held.Entry > logLengthMax:
		return errors.New("negative ledger or entry")
	case held.Outcome != Found && held.Outcome != NoEntry && held.Outcome != Error:
		return fmt.Errorf("a holding cannot be %s", held.Outcome)
	case held.Outcome != Found && held.Digest != 0:
		return fmt.Errorf("%s with a digest", held.Outcome)
	}
	return validateNodes([]Node{held.Node})
}

func (d *NodeDamage) validate() error {
	switch {
	case d.Ledger < AnyLedger || d.Entry < AnyEntry:
		return errors.New("negative ledger or entry")
	case d.Ledger == AnyLedger && d.Entry != AnyEntry:
		return errors.New("damage to one entry of any ledger")
	}
	return validateNodes([]Node{d.Node})
}

// nodeNameMaxBytes bounds a node's name, as host names are.
const nodeNameMaxBytes = 255

// validateNodes keeps names to letters that need no escaping in the file.
func validateNodes(nodes []Node) error {
	for _, n := range nodes {
		if n == "" || len(n) > nodeNameMaxBytes {
			return fmt.Errorf("a node's name has %d bytes", len(n))
		}
		for _, c := range []byte(n) {
			plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || slices.Contains([]byte("-._:[]"), c)
			if !plain {
				return fmt.Errorf("a node is named %q", string(n))
			}
		}
	}
	return nil
}

// validateOrder: writes and notices of one ledger are given as they happened.
func (h *ClusterHistory) validateOrder() error {
	written, told := map[LedgerID]Stamp{}, map[LedgerID]Stamp{}
	for i := range h.Metadata {
		w := &h.Metadata[i]
		if before, known := written[w.Ledger]; known && w.At < before {
			return fmt.Errorf("%w: metadata write %d at %d, after one at %d", ErrHistory, i, w.At, before)
		}
		written[w.Ledger] = w.At
	}
	for i := range h.Notices {
		n := &h.Notices[i]
		if before, known := told[n.Ledger]; known && n.At < before {
			return fmt.Errorf("%w: notice %d at %d, after one at %d", ErrHistory, i, n.At, before)
		}
		told[n.Ledger] = n.At
	}
	return nil
}
