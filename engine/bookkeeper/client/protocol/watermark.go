package protocol

import (
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// watermarks follow what each bookie of the ensemble has, for the two readings of the LAC rule that an experiment
// refutes. They are empty under the right rule.
type watermarks struct{ marks []watermark }

type watermark struct {
	contiguous ledger.EntryID // the bookie has everything up to here
	highest    ledger.EntryID
	beyond     []ledger.EntryID // what it has past a hole, ascending; at most what was in the window
}

// stored notes that the bookie at index has an entry.
func (w *watermarks) stored(q ledger.Quorum, index int, entry ledger.EntryID) {
	if w.marks == nil {
		w.marks = make([]watermark, q.Ensemble)
		for i := range w.marks {
			w.marks[i] = watermark{contiguous: ledger.NoEntry, highest: ledger.NoEntry}
		}
	}
	m := &w.marks[index]
	m.highest = max(m.highest, entry)
	if i, found := slices.BinarySearch(m.beyond, entry); !found && entry > m.contiguous {
		m.beyond = slices.Insert(m.beyond, i, entry)
	}
	for len(m.beyond) > 0 && m.beyond[0] == m.contiguous+1 {
		m.contiguous = m.beyond[0]
		m.beyond = slices.Delete(m.beyond, 0, 1)
	}
}

// confirmed is the (E−Qa)th of the sorted marks.
func (w *watermarks) confirmed(q ledger.Quorum, rule LACRule) ledger.EntryID {
	if w.marks == nil {
		return ledger.NoEntry
	}
	var values [EnsembleMax]ledger.EntryID
	for i, m := range w.marks {
		values[i] = m.contiguous
		if rule == HighestWatermarks {
			values[i] = m.highest
		}
	}
	sorted := values[:len(w.marks)]
	slices.Sort(sorted)
	return sorted[q.Ensemble-q.Ack]
}

// forget drops the mark of a bookie that was replaced: the new one has nothing yet, and is told nothing of what came
// before. Contiguous counts from the start of the new fragment.
func (w *watermarks) forget(changed IndexSet, start ledger.EntryID) {
	for i := range w.marks {
		if changed.Has(i) {
			w.marks[i] = watermark{contiguous: start - 1, highest: start - 1}
		}
	}
}

func (w watermarks) clone() watermarks {
	w.marks = slices.Clone(w.marks)
	for i := range w.marks {
		w.marks[i].beyond = slices.Clone(w.marks[i].beyond)
	}
	return w
}
