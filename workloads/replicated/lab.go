package replicated

import (
	"math/rand/v2"
	"slices"
	"sync"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/workloads/agenda"
)

// Mix says how sessions divide their work: weights of what a session does next, and sizes.
type Mix struct {
	Write    int // create a ledger, append to it, mostly close it
	Tail     int // follow an open ledger by its last confirmed entry
	CatchUp  int // read a ledger from somewhere, entry by entry or in batches
	TakeOver int // recover a ledger that may have a writer, read it, and write on in another
	Delete   int // delete a ledger, whoever uses it
	Foreign  int // write a ledger without the client, from an entry on whose id needs more than 32 bits

	Quorum          ledger.Quorum
	Digests         []ledger.DigestType // each ledger draws one
	EntriesMin      int                 // appends to a ledger
	EntriesMax      int
	Window          int // appends of a writer that are under way
	PayloadBytesMax int // at least PayloadBytesMin
	BatchCountMax   int // entries that a batch read asks for
	BatchBytesMax   int
	TailPolls       int // reads of the last confirmed entry before a tail gives up
	LedgersMax      int // no more ledgers are created than this

	// Writer and Recovery are the settings of all writers and recoveries.
	Writer   protocol.WriterOptions
	Recovery protocol.RecoveryOptions
}

// PayloadBytesMin is room for the number that makes each payload unlike all others.
const PayloadBytesMin = 8

// Lab is what all sessions of a trial share, whatever becomes of the processes they live in: which ledgers there are,
// and the record. It may be used from tasks on real goroutines; its lock is never held across a call of the engine.
type Lab struct {
	Recorder *Recorder
	mix      Mix
	agenda   *agenda.Agenda

	mutex      sync.Mutex
	books      []*book
	foreign    []*book // written without the client
	created    int     // ledgers that were asked for
	foreigners int     // foreign ledgers that were asked for
	payloads   uint64  // how many there were: the next one's number
	finished   bool
}

// NewLab makes a lab in which nothing has happened. Sessions do what the agenda says.
func NewLab(mix Mix, a *agenda.Agenda) *Lab {
	return &Lab{Recorder: NewRecorder(), mix: mix, agenda: a}
}

// Finish has all sessions end what they do and begin nothing new.
func (l *Lab) Finish() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.finished = true
}

// Finished reports whether sessions are to end.
func (l *Lab) Finished() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.finished
}

// Ledgers lists the ledgers that sessions know, in the order in which they were created.
func (l *Lab) Ledgers() []ledger.ID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ids := make([]ledger.ID, len(l.books))
	for i, b := range l.books {
		ids[i] = b.id
	}
	return ids
}

// all returns the ledgers that sessions know.
func (l *Lab) all() []*book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Concat(l.books, l.foreign)
}

// mayCreate takes one of the ledgers that may be created.
func (l *Lab) mayCreate() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.created >= l.mix.LedgersMax {
		return false
	}
	l.created++
	return true
}

func (l *Lab) add(id ledger.ID) *book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	b := &book{lab: l, id: id, last: ledger.NoEntry}
	l.books = append(l.books, b)
	return b
}

// pick chooses a ledger: one of the newest that is wanted, now and then any. Nil if there is none.
func (l *Lab) pick(r *rand.Rand, wanted func(b *book) bool) *book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n := len(l.books)
	if n == 0 {
		return nil
	}
	if r.IntN(20) == 0 {
		return l.books[r.IntN(n)]
	}
	var found []*book
	for i := n - 1; i >= 0 && len(found) < 3; i-- {
		if wanted(l.books[i]) {
			found = append(found, l.books[i])
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[r.IntN(len(found))]
}

// notCreated gives back what mayCreate took.
func (l *Lab) notCreated() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.created--
}

// mayDelete says whether enough ledgers would be left: what is deleted shows nothing more.
func (l *Lab) mayDelete() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	deleted := 0
	for _, b := range l.books {
		if b.deleted {
			deleted++
		}
	}
	return deleted*deletedOneIn < len(l.books)
}

// deletedOneIn is the share of ledgers that are deleted at most.
const deletedOneIn = 5

// payload makes a payload unlike all others.
func (l *Lab) payload(r *rand.Rand) []byte {
	l.mutex.Lock()
	l.payloads++
	number := l.payloads
	l.mutex.Unlock()
	size := PayloadBytesMin + r.IntN(max(l.mix.PayloadBytesMax-PayloadBytesMin, 0)+1)
	if r.IntN(3) > 0 {
		size = min(size, 100)
	}
	return content(number, size)
}

// book is one ledger as the sessions know it. Its fields are guarded by the lab's lock; they are hints for choosing what
// to do next, and no answer is judged by them.
type book struct {
	lab     *Lab
	id      ledger.ID
	first   ledger.EntryID
	last    ledger.EntryID // highest entry that anybody was told of
	written bool           // a session writes it
	closed  bool           // somebody was told that it is closed
	deleted bool           // somebody asked for that
}

func (b *book) note(change func(b *book)) {
	b.lab.mutex.Lock()
	defer b.lab.mutex.Unlock()
	change(b)
}

// confirmed notes that an entry is known to be there.
func (b *book) confirmed(last ledger.EntryID) {
	b.note(func(b *book) { b.last = max(b.last, last) })
}

func beingWritten(b *book) bool { return b.written && !b.deleted }

func ended(b *book) bool { return b.closed && !b.deleted }

func anything(b *book) bool { return !b.deleted && b.last >= 0 }
