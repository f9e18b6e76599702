package inspect

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// ledgers is what is known of each.
type ledgers map[ledger.ID]*Ledger

func (all ledgers) get(id ledger.ID) *Ledger {
	l := all[id]
	if l == nil {
		l = &Ledger{ID: id, First: ledger.NoEntry, Last: ledger.NoEntry}
		all[id] = l
	}
	return l
}

// span widens the range of entries that a ledger has.
func (l *Ledger) span(entry ledger.EntryID) {
	if l.First == ledger.NoEntry || entry < l.First {
		l.First = entry
	}
	l.Last = max(l.Last, entry)
}

func (all ledgers) sorted() []Ledger {
	list := make([]Ledger, 0, len(all))
	for _, id := range host.SortedKeys(all) {
		list = append(list, *all[id])
	}
	return list
}
