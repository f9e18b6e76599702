package ledgertable

import (
	"github.com/google/btree"

	"lakebed/engine/bookkeeper/ledger"
)

// State is what a bookie knows of a ledger besides its entries.
type State struct {
	Fenced    bool // ordinary adds are refused for ever
	HasKey    bool
	Limbo     bool // entries, a fence or the whole ledger may have been lost: what is not there is unknown, not absent
	Deleted   bool // reads find no ledger, adds are refused, also after a restart (bookkeeper#4462)
	MasterKey ledger.MasterKey
}

// Ledger is one row of the table. Its owner may hang its own state on it.
type Ledger struct {
	ID ledger.ID
	State
	dirty bool
}

const treeDegree = 16

// Table is the ledgers in memory.
type Table struct {
	byID      map[ledger.ID]*Ledger
	ordered   *btree.BTreeG[*Ledger]
	dirty     []*Ledger
	uncertain bool
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{
		byID:    make(map[ledger.ID]*Ledger),
		ordered: btree.NewG(treeDegree, func(a, b *Ledger) bool { return a.ID < b.ID }),
	}
}

// Get returns a ledger's row, nil if the bookie has not heard of it.
func (t *Table) Get(id ledger.ID) *Ledger { return t.byID[id] }

// Create adds a row.
func (t *Table) Create(id ledger.ID) *Ledger {
	l := &Ledger{ID: id}
	t.byID[id] = l
	t.ordered.ReplaceOrInsert(l)
	t.Changed(l)
	return l
}

// Changed notes that a row has to be written at the next checkpoint.
func (t *Table) Changed(l *Ledger) {
	if !l.dirty {
		l.dirty = true
		t.dirty = append(t.dirty, l)
	}
}

// Ascend calls f for each row in ascending order of ledger ids, until it returns false.
func (t *Table) Ascend(f func(*Ledger) bool) { t.ordered.Ascend(f) }

// ChangedRows is the number of rows that were not captured since they changed.
func (t *Table) ChangedRows() int { return len(t.dirty) }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.byID) }

// Uncertain says whether ledgers that are not in the table may have been lost.
func (t *Table) Uncertain() bool { return t.uncertain }

// Limbo puts everything the bookie knows, and does not know, under doubt: after an unclean stop that may have cost an
// acknowledged group, which could have named any ledger.
func (t *Table) Limbo() {
	t.uncertain = true
	t.Ascend(func(l *Ledger) bool {
		if !l.Deleted && !l.Limbo {
			l.Limbo = true
			t.Changed(l)
		}
		return true
	})
}

// Doubt puts one ledger under doubt, whether the bookie knows it or not. What was deleted is known to be.
func (t *Table) Doubt(id ledger.ID) {
	l := t.Get(id)
	if l == nil {
		l = t.Create(id)
	}
	if !l.Deleted && !l.Limbo {
		l.Limbo = true
		t.Changed(l)
	}
}

// Settle ends the doubt about what is not in the table. The rows in limbo stay there.
func (t *Table) Settle() { t.uncertain = false }

// Row is a row as it is written.
type Row struct {
	ID ledger.ID
	State
}

// Changes is what a checkpoint writes of the table.
type Changes struct {
	Rows      []Row
	Uncertain bool
	whole     bool
}

// Capture returns copies of the rows changed since the last Capture, or of all rows, and counts them as unchanged.
func (t *Table) Capture(whole bool) Changes {
	c := Changes{Uncertain: t.uncertain, whole: whole}
	if whole {
		t.Ascend(func(l *Ledger) bool {
			c.Rows = append(c.Rows, Row{l.ID, l.State})
			return true
		})
	}
	for _, l := range t.dirty {
		l.dirty = false
		if !whole {
			c.Rows = append(c.Rows, Row{l.ID, l.State})
		}
	}
	t.dirty = t.dirty[:0]
	return c
}
