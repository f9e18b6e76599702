package protocol

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

// status is where a writer is in its life.
type status uint8

const (
	running status = iota
	failed         // takes no entries and acknowledges none, may be closed
	closing        // the closing write is under way, or waits for another one to be answered
	ended
)

// Writer decides for the writer of one ledger. The package comment says how to drive it.
type Writer struct {
	options WriterOptions
	quorum  ledger.Quorum

	// metadata are what sends and acknowledgements go by: the last that were proved to be stored, at version. In a
	// recovery (local) their fragments are this writer's own until the closing write.
	metadata *ledger.Metadata
	version  metadata.Version
	local    bool
	found    ledger.EntryID // LAC behind which a recovery's writer goes on

	status  status
	failure Failure

	window     window
	length     int64 // of all entries appended
	lac        ledger.EntryID
	lacLength  int64 // of all entries acknowledged
	change     change
	write      write
	watermarks watermarks
	out        outbox
}

// NewWriter makes the writer of a ledger that was just created, so that it has no entries. The metadata must be valid
// and open; an ensemble has at most EnsembleMax bookies.
func NewWriter(o WriterOptions, m *ledger.Metadata, v metadata.Version) *Writer {
	invariant.Check(m.State == ledger.Open, "a writer's ledger is open")
	w := newWriter(o, m, v, ledger.NoEntry, 0)
	return &w
}

// newLocalWriter makes the writer of a recovery: it goes on behind lac, keeps fragments to itself and does not close.
func newLocalWriter(o WriterOptions, m *ledger.Metadata, v metadata.Version, lac ledger.EntryID) Writer {
	w := newWriter(o, m, v, lac, 0)
	w.local, w.found = true, lac
	return w
}

func newWriter(o WriterOptions, m *ledger.Metadata, v metadata.Version, lac ledger.EntryID, length int64) Writer {
	invariant.Check(m.Quorum.Validate() == nil && m.Quorum.Ensemble <= EnsembleMax, "quorums are valid and fit a set")
	o = o.withDefaults()
	return Writer{
		options: o, quorum: m.Quorum, metadata: m, version: v,
		window: newWindow(lac+1, o.WindowMax), lac: lac, length: length, lacLength: length,
	}
}

// Take returns the effects since the last call. They are whole until the next call.
func (w *Writer) Take() []Effect { return w.out.take() }

// Room is how many entries may be appended now: 0 if the window is full or the writer takes none.
func (w *Writer) Room() int {
	if w.status != running {
		return 0
	}
	return w.window.max - w.window.count
}

// Pending is how many entries are neither acknowledged nor failed.
func (w *Writer) Pending() int { return w.window.count }

// LastAddConfirmed is the last acknowledged entry.
func (w *Writer) LastAddConfirmed() ledger.EntryID { return w.lac }

// LastPushed is the last entry that was appended.
func (w *Writer) LastPushed() ledger.EntryID { return w.window.next() - 1 }

// Length is the payload bytes of all entries appended; ConfirmedLength that of all acknowledged.
func (w *Writer) Length() int64 { return w.length }

// ConfirmedLength is the payload bytes of all acknowledged entries: the length that Close stores.
func (w *Writer) ConfirmedLength() int64 { return w.lacLength }

// Failure is why the writer takes no entries any more.
func (w *Writer) Failure() Failure { return w.failure }

// Metadata is what the writer goes by; Version is theirs in the store. In the arm AckBeforeMetadata the store may not
// have them yet.
func (w *Writer) Metadata() (*ledger.Metadata, metadata.Version) { return w.metadata, w.version }

// Changing reports whether an ensemble change is under way, which holds acknowledgements back.
func (w *Writer) Changing() bool { return w.change.running }

// Append takes an entry of size payload bytes and sends it to its write set. There must be Room.
func (w *Writer) Append(size int64) ledger.EntryID {
	invariant.Check(size >= 0, "an entry's size is not negative")
	return w.append(w.length + size)
}

// append takes an entry that brings the ledger to length.
func (w *Writer) append(length int64) ledger.EntryID {
	invariant.Check(w.Room() > 0, "an append has room")
	entry := w.window.next()
	w.length = length
	w.window.push(pendingAdd{length: length, lac: w.headerLAC()})
	p := w.window.pending(entry)
	set := w.quorum.WriteSet(entry)
	for i := range set.Len() {
		if index := set.At(i); w.change.running && w.change.failing.Has(index) {
			p.failed = p.failed.With(index) // what replaces it will get the entry
		} else {
			w.send(entry, p, index, false)
		}
	}
	return entry
}

// headerLAC is the LAC to put into an entry. A recovery keeps to the one that it found: what it has written again may
// count on bookies that only its own fragments name. If it dies before these are stored, the next recovery must not take
// such an entry for acknowledged and leave it on the few bookies that the stored metadata name.
func (w *Writer) headerLAC() ledger.EntryID {
	if w.local {
		return w.found
	}
	return w.lac
}

func (w *Writer) send(entry ledger.EntryID, p *pendingAdd, index int, again bool) {
	w.out.add(Effect{
		Kind: SendAdd, First: entry, Last: entry, Index: index, Bookie: w.metadata.Last().Ensemble[index],
		Recovery: w.local, Resend: again, LAC: p.lac, Length: p.length,
	})
}

// AddAnswered takes a bookie's answer to an add. It is ignored if the bookie is not at that index any more: the entry
// was sent to the one that took its place.
func (w *Writer) AddAnswered(entry ledger.EntryID, index int, bookie ledger.BookieID, outcome AddOutcome) {
	if w.status != running || !w.holds(index, bookie) {
		return
	}
	switch outcome {
	case AddStored:
		w.stored(entry, index)
	case AddFenced:
		w.fail(Fenced)
	case AddUnauthorized:
		w.fail(Unauthorized)
	default:
		w.bookieFailed(entry, index, outcome)
	}
}

// holds reports whether bookie is the one at index now.
func (w *Writer) holds(index int, bookie ledger.BookieID) bool {
	ensemble := w.metadata.Last().Ensemble
	return index >= 0 && index < len(ensemble) && ensemble[index] == bookie
}

func (w *Writer) stored(entry ledger.EntryID, index int) {
	if w.options.LACRule != InOrder {
		w.watermarks.stored(w.quorum, index, entry)
	}
	w.change.weak = w.change.weak.Without(index) // it works again
	w.change.attempts.stored(index)
	p := w.window.pending(entry)
	if p == nil {
		return // acknowledged before
	}
	invariant.Check(w.quorum.WriteSet(entry).Contains(index), "an entry is stored within its write set")
	p.acked, p.failed = p.acked.With(index), p.failed.Without(index)
	w.acknowledge()
}

// acknowledge moves the LAC over all entries that are complete, unless an ensemble change holds it: the change's fragment
// starts at LAC+1, so the LAC must not move before that fragment is stored (bookkeeper#4651).
func (w *Writer) acknowledge() {
	if w.frozen() || w.status != running {
		return
	}
	first := w.window.first
	for w.window.count > 0 && w.complete(w.window.first) {
		p := w.window.at(0)
		w.lac, w.lacLength = w.window.first, p.length
		w.tellAcked(p.acked)
		w.window.pop()
	}
	invariant.Check(w.lac == w.window.first-1 && w.window.first >= first, "the LAC is the entry before the first pending one")
	if w.window.first > first && !w.change.running {
		w.change.attempts.acknowledged()
	}
}

// tellAcked tells that the entry at the LAC was acknowledged, together with those before it that the same bookies have.
func (w *Writer) tellAcked(counted IndexSet) {
	if e := w.out.last(); e != nil && e.Kind == EntriesAcked && e.Last == w.lac-1 && e.Set == counted && e.Metadata == w.metadata {
		e.Last, e.LAC, e.Length = w.lac, w.lac, w.lacLength
		return
	}
	w.out.add(Effect{
		Kind: EntriesAcked, First: w.lac, Last: w.lac, LAC: w.lac, Length: w.lacLength, Set: counted, Metadata: w.metadata,
	})
}

// frozen reports whether the LAC must stand still.
func (w *Writer) frozen() bool { return w.change.running && !w.options.AckBeforeMetadata }

func (w *Writer) complete(entry ledger.EntryID) bool {
	if w.options.LACRule != InOrder {
		return w.watermarks.confirmed(w.quorum, w.options.LACRule) >= entry
	}
	return w.window.pending(entry).acked.Len() >= w.quorum.Ack
}

// endangered reports whether the bookies that an entry can still count on are too few for its ack quorum.
func (w *Writer) endangered(p *pendingAdd) bool {
	return p != nil && p.failed.Len() > w.quorum.Write-w.quorum.Ack
}

// fail ends acknowledging for good. A metadata call under way is still waited for, so that a close after it starts
// from what is known best.
func (w *Writer) fail(why Failure) { w.failFrom(why, w.window.next()) }

// failFrom is fail when entries from absentFrom on are known to be in no state of the ledger, for ever.
func (w *Writer) failFrom(why Failure, absentFrom ledger.EntryID) {
	invariant.Check(why != 0 && w.status == running, "a running writer fails for a reason")
	w.status, w.failure = failed, why
	w.change.stop()
	w.failPending(why, absentFrom)
	w.out.add(Effect{Kind: HandleFailed, Failure: why})
}

// failPending takes all pending entries out of the window.
func (w *Writer) failPending(why Failure, absentFrom ledger.EntryID) {
	first, next := w.window.first, w.window.next()
	border := min(max(absentFrom, first), next)
	if first < border {
		w.out.add(Effect{Kind: EntriesFailed, First: first, Last: border - 1, Failure: why})
	}
	if border < next {
		w.out.add(Effect{Kind: EntriesFailed, First: border, Last: next - 1, Failure: why, Absent: true})
	}
	w.window.count, w.length = 0, w.lacLength
}

// WantsAdds reports whether answers to adds may still matter. Once they do not, requests may be forgotten.
func (w *Writer) WantsAdds() bool { return w.status == running }
