package workloads

import (
	"math/rand/v2"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
)

// Mix says how the clients divide their work: weights of what a client does next, and sizes.
type Mix struct {
	Add, AddBatch, Recover, Read, ReadRange, LastEntry, Fence, Delete, List, Flush, Retry int

	PayloadBytesMax int
	BatchMax        int
	LedgerEntries   int // after about this many entries a client goes on in a new ledger
	Stride          int // a writer skips up to Stride-1 ids after each, as striping does
}

// Lab is what all clients of one bookie share across its incarnations: which ledgers there are, and what was tried.
// Tasks of one simulated world, or of one lock's owner, use it; on a real machine each client has its own.
type Lab struct {
	Recorder *Recorder
	mix      Mix
	ledgers  []*book
	nextID   ledger.ID
}

// book is one ledger as the clients know it.
type book struct {
	id      ledger.ID
	entries []tried
	next    ledger.EntryID
	fenced  bool // a fence was asked for
	deleted bool // a delete was asked for
}

// tried is an entry that was sent, in any version.
type tried struct {
	entry    ledger.EntryID
	payload  int
	versions int
}

// NewLab makes a lab in which nothing has happened. Ledgers get ids from first on.
func NewLab(mix Mix, first ledger.ID) *Lab {
	return &Lab{Recorder: NewRecorder(), mix: mix, nextID: first}
}

func (l *Lab) open() *book {
	b := &book{id: l.nextID}
	l.nextID++
	l.ledgers = append(l.ledgers, b)
	return b
}

// pick chooses a ledger: mostly one of the newest, sometimes any.
func (l *Lab) pick(r *rand.Rand) *book {
	n := len(l.ledgers)
	if n == 0 {
		return nil
	}
	if r.IntN(4) > 0 {
		return l.ledgers[n-1-r.IntN(min(n, 4))]
	}
	return l.ledgers[r.IntN(n)]
}

// append adds the next entry of a ledger to what was tried.
func (b *book) append(r *rand.Rand, mix *Mix) *tried {
	payload := r.IntN(mix.PayloadBytesMax + 1)
	if r.IntN(3) > 0 {
		payload = min(payload, 100)
	}
	b.entries = append(b.entries, tried{entry: b.next, payload: payload, versions: 1})
	b.next++
	if mix.Stride > 1 {
		b.next += ledger.EntryID(r.IntN(mix.Stride))
	}
	return &b.entries[len(b.entries)-1]
}

// Everything lists what was ever sent, for the last look: ledgers and entries ascending.
func (l *Lab) Everything(f func(id ledger.ID, entry ledger.EntryID)) {
	for _, b := range l.ledgers {
		for _, t := range b.entries {
			f(b.id, t.entry)
		}
	}
}

func modelOp(kind model.Kind, client int, id ledger.ID, entry ledger.EntryID) model.Op {
	return model.Op{Kind: kind, Client: model.ClientID(client), Ledger: model.LedgerID(id), Entry: model.EntryID(entry)}
}
