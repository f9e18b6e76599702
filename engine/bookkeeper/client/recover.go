package client

import (
	"errors"
	"fmt"
	"math"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// recoveryReadsMax and recoveryAddsMax bound what one recovery waits for. The slowest bookies may owe the answers about
// all entries of the tail, which is as long as the dead writer's window.
const (
	recoveryReadsMax = 64 << 10
	recoveryAddsMax  = 64 << 10
)

// errTooManyReads: a recovery waits for so many answers that it asks no more.
var errTooManyReads = errors.New("too many reads are under way")

// recoveryRead is one read of a recovery at one bookie.
type recoveryRead struct {
	channel.Request
	last   bool // it asks for the bookie's last entry
	entry  ledger.EntryID
	index  int
	bookie ledger.BookieID
	queue  *host.Queue[event]
}

// Lend has the read wait in a line: recoveryReadsMax bounds them, and a read that is refused may leave an entry undecided.
func (r *recoveryRead) Lend(*channel.Request) channel.Loan { return r }

// Return does nothing: a read has no body.
func (r *recoveryRead) Return() {}

// Completed hands the answer to the recovery; one that is over does not want it any more.
func (r *recoveryRead) Completed(*channel.Request) {
	if !r.queue.Offer(event{read: r}) {
		r.Release()
	}
}

// recovery runs a recovery core in the task that calls for it.
type recovery struct {
	client   *Client
	id       ledger.ID
	key      ledger.MasterKey
	digester *ledger.Digester
	core     *protocol.Recovery
	queue    *host.Queue[event]
	sender   sender
	reads    int // under way
	kept     map[ledger.EntryID]*tailEntry
	absent   map[ledger.EntryID]int  // bookies that proved the absence of an entry
	damaged  map[ledger.EntryID]bool // a copy of it was found, and is not what was written
	problem  error                   // the last failure of a bookie, for messages

	started bool
	writing *ledger.Metadata // what the last write of metadata proposed
	closed  bool             // that write closed the ledger, and was answered "applied"
	result  *protocol.Effect // set once it is over
}

// recover closes a ledger, and replaces its metadata by those that are final.
func (c *Client) recover(id ledger.ID, m *versioned, o *OpenOptions) error {
	digester, err := ledger.NewDigester(o.Digest, o.Password)
	if err != nil {
		return fmt.Errorf("recover ledger %d: %w: %w", id, ErrInvalid, err)
	}
	options := o.Recovery
	if options.ReadsMax <= 0 {
		options.ReadsMax = c.config.RecoveryReads
	}
	r := &recovery{
		client: c, id: id, key: ledger.MasterKeyOf(o.Password), digester: digester,
		core: protocol.NewRecovery(options, &m.Metadata, m.version), queue: newQueue(c, "recovery", recoveryReadsMax+recoveryAddsMax),
		kept: make(map[ledger.EntryID]*tailEntry), absent: make(map[ledger.EntryID]int),
		damaged: make(map[ledger.EntryID]bool),
	}
	r.sender = sender{
		client: c, id: id, key: r.key, flags: wire.RecoveryAdd | wire.HighPriority, queue: r.queue, limit: recoveryAddsMax,
		heavyAdds: recoveryAddsMax, heavyBytes: math.MaxInt64, // it has no appends to hold back
		loads: make(map[ledger.BookieID]*load),
	}
	r.run()
	return r.outcome(m)
}

func (r *recovery) run() {
	r.core.Start()
	r.carryOut()
	var batch []event
	for r.result == nil {
		batch, _ = r.queue.Take(batch) // its group stops only when no call is left
		for i := range batch {
			r.take(&batch[i])
		}
	}
	r.finish()
}

// finish gives back what is held. Answers that come later release themselves.
func (r *recovery) finish() {
	r.queue.End()
	for {
		batch, more := r.queue.Take(nil)
		if !more {
			break
		}
		for i := range batch {
			if read := batch[i].read; read != nil {
				read.Release()
			}
		}
	}
	for _, entry := range host.SortedKeys(r.kept) {
		r.drop(entry)
	}
}

func (r *recovery) outcome(m *versioned) error {
	e := r.result
	if e.Failure != 0 {
		class := failureClass(e.Failure)
		if e.Failure == protocol.Damaged && r.lastIsLost() {
			class = fmt.Errorf("entry %d, which was confirmed: %w", r.core.LastAddConfirmed(), ErrNoSuchEntry)
		}
		if r.problem != nil {
			return fmt.Errorf("recover ledger %d: %w (last failure of a bookie: %v)", r.id, class, r.problem)
		}
		return fmt.Errorf("recover ledger %d: %w", r.id, class)
	}
	if r.closed {
		r.client.mark(PointClosed, r.id, e.Metadata.LastEntry, closedByRecovery)
		if q, end := e.Metadata.Quorum, e.Metadata.LastEntry+1; r.absent[end] < q.Write-q.Ack+1 {
			r.client.mark(PointAllUnknown, r.id, end, "")
		}
	} else {
		r.client.mark(PointRecoveryLostRace, r.id, e.Metadata.LastEntry, "")
	}
	*m = versioned{Metadata: *e.Metadata, version: e.Version}
	return nil
}

// lastIsLost says that bookies were asked for the last confirmed entry, and none had a damaged copy of it: all of them
// proved that they do not have it. Nobody can make the entry good from what there is, unlike with a bad copy.
func (r *recovery) lastIsLost() bool {
	last := r.core.LastAddConfirmed()
	return r.absent[last] > 0 && !r.damaged[last]
}

// take gives one answer to the core.
func (r *recovery) take(e *event) {
	switch {
	case e.add != nil:
		a := e.add
		entry, index, bookie, outcome := a.entry, a.index, a.bookie(), a.outcome()
		if a.Err != nil {
			r.problem = a.Err
		}
		r.sender.answered(a)
		r.core.AddAnswered(entry, index, bookie, outcome)
	case e.read != nil && e.read.last:
		r.reads--
		r.lastAnswered(e.read)
	case e.read != nil:
		r.reads--
		r.tailAnswered(e.read)
	}
	r.carryOut()
}

// begun takes note that the metadata are in recovery, which the first fencing read proves.
func (r *recovery) begun() {
	if !r.started {
		m, _ := r.core.Metadata()
		r.client.mark(PointRecoveryStarted, r.id, m.Last().First, "")
	}
	r.started = true
}

func (r *recovery) carryOut() {
	for effects := r.core.Take(); len(effects) > 0 && r.result == nil; effects = r.core.Take() {
		for i := range effects {
			if r.result == nil {
				r.do(&effects[i])
			}
		}
	}
}

func (r *recovery) do(e *protocol.Effect) {
	switch e.Kind {
	case protocol.SendFencingLACRead:
		r.begun()
		r.ask(e, true, wire.Fencing)
	case protocol.SendRecoveryRead:
		r.askEntry(e)
	case protocol.SendAdd:
		r.send(e)
	case protocol.AskReplacements, protocol.WriteMetadata, protocol.ReadMetadata:
		r.settle(e)
	case protocol.EntriesAcked:
		for entry := e.First; entry <= e.Last; entry++ {
			r.drop(entry)
			delete(r.absent, entry)
			delete(r.damaged, entry)
		}
	case protocol.EnsembleChanged:
		r.client.mark(PointRecoveryEnsemble, r.id, e.Metadata.Last().First, "")
	case protocol.Ended:
		result := *e
		r.result = &result
	}
}

// settle does what the core asks about metadata. Answers of bookies wait in the queue meanwhile.
func (r *recovery) settle(e *protocol.Effect) {
	if e.Kind == protocol.WriteMetadata {
		r.writing = e.Metadata
	}
	reply := r.client.answer(r.id, e)
	if reply.chosen {
		r.core.ReplacementsChosen(reply.replacements)
		return
	}
	if reply.metadata.Outcome == protocol.MetadataApplied {
		r.closed = r.writing.State == ledger.Closed
	}
	r.core.MetadataAnswered(reply.metadata)
}
