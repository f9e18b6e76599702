package workloads

import (
	"math/rand/v2"
	"sync"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Mix says how the clients divide their work: weights of what a client does next, and sizes.
type Mix struct {
	Add, AddBatch, Recover, Read, ReadRange, LastEntry, Fence, Delete, List, Flush, Retry int

	PayloadBytesMax int
	BatchMax        int
	LedgerEntries   int  // after about this many entries a client goes on in a new ledger
	RetryFirst      bool // retries may be of entry 0 too: see the limbo rule for ledgers that begin on a bookie
	Stride          int  // a writer skips up to Stride-1 ids after each, as striping does
}

// Lab is what all clients of one bookie share across its incarnations: which ledgers there are, and what was tried. It
// may be used from tasks on real goroutines; its locks are never held across a call of the seam.
type Lab struct {
	Recorder *Recorder
	mix      Mix
	agenda   *agenda.Agenda

	mutex   sync.Mutex
	ledgers []*book
	nextID  ledger.ID
}

// NewLab makes a lab in which nothing has happened. Ledgers get ids from first on; clients do what the agenda says.
func NewLab(mix Mix, first ledger.ID, a *agenda.Agenda) *Lab {
	return &Lab{Recorder: NewRecorder(), mix: mix, agenda: a, nextID: first}
}

func (l *Lab) open() *book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	b := &book{id: l.nextID, mix: &l.mix}
	l.nextID++
	l.ledgers = append(l.ledgers, b)
	return b
}

// pick chooses a ledger: mostly one of the newest, sometimes any. Nil if there is none.
func (l *Lab) pick(r *rand.Rand) *book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n := len(l.ledgers)
	if n == 0 {
		return nil
	}
	if r.IntN(4) > 0 {
		return l.ledgers[n-1-r.IntN(min(n, 4))]
	}
	return l.ledgers[r.IntN(n)]
}

// all returns the ledgers there are, in the order in which they were opened.
func (l *Lab) all() []*book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]*book(nil), l.ledgers...)
}

// book is one ledger as the clients know it.
type book struct {
	id  ledger.ID
	mix *Mix

	mutex   sync.Mutex
	entries []tried
	next    ledger.EntryID
	fenced  bool
	deleted bool
}

// tried is an entry that was sent, with the number of its newest version.
type tried struct {
	entry   ledger.EntryID
	payload int
	version int
}

// append adds the next entry of a ledger to what was tried.
func (b *book) append(r *rand.Rand) tried {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	payload := r.IntN(b.mix.PayloadBytesMax + 1)
	if r.IntN(3) > 0 {
		payload = min(payload, 100)
	}
	t := tried{entry: b.next, payload: payload}
	b.entries = append(b.entries, t)
	b.next++
	if b.mix.Stride > 1 {
		b.next += ledger.EntryID(r.IntN(b.mix.Stride))
	}
	return t
}

// sent chooses an entry that was sent, as it was first. Not ok: there is none, or it is one that is not sent again.
func (b *book) sent(r *rand.Rand) (tried, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.entries) == 0 {
		return tried{}, false
	}
	t := b.entries[r.IntN(len(b.entries))]
	t.version = 0
	return t, t.entry > 0 || b.mix.RetryFirst
}

// renew chooses an entry that was sent and makes a new version of it.
func (b *book) renew(r *rand.Rand) (tried, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.entries) == 0 {
		return tried{}, false
	}
	t := &b.entries[r.IntN(len(b.entries))]
	t.version++
	return *t, true
}

// some chooses an entry that was sent, or one near by that was not.
func (b *book) some(r *rand.Rand) ledger.EntryID {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.entries) == 0 || r.IntN(8) == 0 {
		return ledger.EntryID(r.Int64N(int64(b.next) + 3))
	}
	return b.entries[r.IntN(len(b.entries))].entry
}

// size is how many entries were sent.
func (b *book) size() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.entries)
}

// askedFor notes that a fence or a delete was asked for.
func (b *book) askedFor(fence, remove bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.fenced = b.fenced || fence
	b.deleted = b.deleted || remove
}

// ended reports whether a fence or a delete was asked for.
func (b *book) ended() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.fenced || b.deleted
}

// ids lists the entries that were sent, ascending.
func (b *book) ids() []ledger.EntryID {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ids := make([]ledger.EntryID, len(b.entries))
	for i := range b.entries {
		ids[i] = b.entries[i].entry
	}
	return ids
}

func modelOp(kind model.Kind, client int, id ledger.ID, entry ledger.EntryID) model.Op {
	return model.Op{Kind: kind, Client: model.ClientID(client), Ledger: model.LedgerID(id), Entry: model.EntryID(entry)}
}
