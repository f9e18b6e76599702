package client

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// tailEntry is an entry that a recovery found and writes again.
type tailEntry struct {
	read   *recoveryRead // holds the copy that was found
	entry  Entry
	stored []byte // the same payload under the recovery's header; from host.Memory, once it is needed
	share  *share // not nil once lines to bookies need stored as well
}

// askEntry reads an entry of the tail from one bookie.
func (r *recovery) askEntry(e *protocol.Effect) {
	flags := wire.Fencing | wire.HighPriority
	if e.Plain {
		flags = wire.HighPriority
	}
	r.ask(e, false, flags)
}

// ask sends a read, and answers for the bookie if it cannot be sent.
func (r *recovery) ask(e *protocol.Effect, last bool, flags wire.Flags) {
	read := &recoveryRead{last: last, entry: e.First, index: e.Index, bookie: e.Bookie, queue: r.queue}
	read.Request = channel.Request{
		Operation: wire.Read, Flags: flags, MasterKey: r.key, Ledger: r.id, Entry: e.First,
		Timeout: r.client.config.ReadTimeout, Done: read, Lender: read,
	}
	err := errTooManyReads
	if r.reads < recoveryReadsMax {
		err = r.client.pool.Offer(e.Bookie, &read.Request)
	}
	if err == nil {
		r.reads++
		return
	}
	r.problem = err
	if last {
		r.core.LACAnswered(e.Index, e.Bookie, protocol.LACAnswer{Outcome: protocol.ReadFailed})
	} else {
		r.core.ReadAnswered(e.First, e.Index, e.Bookie, protocol.ReadAnswer{Outcome: protocol.ReadFailed})
	}
}

// lastAnswered takes a bookie's last entry, of which only the LAC in its header matters.
func (r *recovery) lastAnswered(read *recoveryRead) {
	entry, outcome := r.examine(read)
	r.core.LACAnswered(read.index, read.bookie, protocol.LACAnswer{Outcome: outcome, LAC: entry.LastAddConfirmed})
	read.Release()
}

// tailAnswered takes a bookie's copy of an entry of the tail, and keeps it if the core wants this one.
func (r *recovery) tailAnswered(read *recoveryRead) {
	entry, outcome := r.examine(read)
	switch outcome {
	case protocol.ReadAbsent:
		r.absent[read.entry]++
	case protocol.ReadCorrupt:
		r.damaged[read.entry] = true
	}
	answer := protocol.ReadAnswer{Outcome: outcome, Length: entry.Length, Size: int64(len(entry.Payload))}
	if !r.core.ReadAnswered(read.entry, read.index, read.bookie, answer) {
		read.Release()
		return
	}
	r.drop(read.entry) // of a recovery that began again
	r.kept[read.entry] = &tailEntry{read: read, entry: entry}
}

// examine verifies an answer, and says what it means.
func (r *recovery) examine(read *recoveryRead) (Entry, protocol.ReadOutcome) {
	err := read.Err
	if err == nil {
		var entry Entry
		if entry, err = verified(r.digester, read.Entries[0], r.id, read.entry); err == nil {
			return entry, protocol.ReadFound
		}
		err = fmt.Errorf("from %s: %w", read.bookie, err)
		r.client.mark(PointBadDigest, r.id, read.entry, string(read.bookie))
	}
	outcome := readOutcome(err)
	if outcome != protocol.ReadAbsent {
		r.problem = err
	}
	return Entry{LastAddConfirmed: ledger.NoEntry}, outcome
}

// readOutcome is what a failed read says. A request that was handed to no channel says nothing, whatever its error wraps.
func readOutcome(err error) protocol.ReadOutcome {
	switch {
	case errors.Is(err, pool.ErrUnavailable):
		return protocol.ReadFailed
	case errors.Is(err, ErrDigest):
		return protocol.ReadCorrupt
	case errors.Is(err, channel.ErrNoEntry), errors.Is(err, channel.ErrNoLedger):
		return protocol.ReadAbsent
	case errors.Is(err, channel.ErrUnknown):
		return protocol.ReadUnknown
	case errors.Is(err, channel.ErrUnauthorized):
		return protocol.ReadUnauthorized
	default:
		return protocol.ReadFailed
	}
}

// send writes an entry of the tail again: the same payload under a header of the recovery's. The LAC in it is not raised
// by what this recovery has written: another recovery may close the ledger before these entries, and a reader that tails
// it would have taken them for confirmed.
func (r *recovery) send(e *protocol.Effect) {
	t := r.kept[e.First]
	if t == nil {
		return // acknowledged within the same round
	}
	if t.stored == nil {
		r.client.mark(PointRecoveryReadd, r.id, e.First, "")
		t.stored = r.client.h.Memory().Get(r.digester.Overhead() + len(t.entry.Payload))
		ledger.PutHeader(t.stored, r.id, e.First, min(e.LAC, r.core.LastAddConfirmed()), e.Length)
		copy(t.stored[r.digester.Overhead():], t.entry.Payload)
		r.digester.Seal(t.stored)
	}
	_, err := r.sender.send(e, t.stored, &t.share)
	for _, refused := range r.sender.post() { // at once: what is kept of an entry may go with the next effect
		a := refused.Owner.(*add)
		err = a.Err
		r.sender.drop(a)
	}
	if err != nil {
		r.problem = err
		r.core.AddAnswered(e.First, e.Index, e.Bookie, protocol.AddFailed)
	}
}

// drop gives back what is held of an entry.
func (r *recovery) drop(entry ledger.EntryID) {
	t := r.kept[entry]
	if t == nil {
		return
	}
	switch {
	case t.share != nil:
		t.share.Return()
	case t.stored != nil:
		r.client.h.Memory().Put(t.stored)
	}
	t.read.Release()
	delete(r.kept, entry)
}
