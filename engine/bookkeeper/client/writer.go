package client

import (
	"fmt"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// addsPerEntryMax bounds a writer's adds under way, in multiples of its window times the write quorum: those to bookies
// that were replaced are still waited for.
const addsPerEntryMax = 4

// Writer appends to one ledger. Its public methods may be called from any task but not from Completion.
type Writer struct {
	client   *Client
	id       ledger.ID
	quorum   ledger.Quorum
	overhead int // of a stored entry

	mutex     host.Mutex
	room      host.Cond // appenders wait for a place in the window
	entries   int       // in the window: appended, and neither acknowledged nor failed
	bytes     int64
	held      bool // a bookie owes too many answers
	waiting   int  // appenders; who comes later must not pass them
	asked     struct{ close, abandon bool }
	refused   error // why nothing can be appended any more
	confirmed ledger.EntryID
	length    int64 // of what is confirmed
	snapshot  *ledger.Metadata

	number int64 // among the client's writers
	queue  *host.Queue[event]
	over   *host.Future[ledger.Metadata]

	// What follows belongs to the writer's task.
	core     *protocol.Writer
	digester *ledger.Digester
	sender   sender
	asks     *host.Queue[ask]
	ops      ops
	inputs   int     // of the core, for which nothing was done yet
	done     []*Op   // being handed back
	slowed   bool    // as hold was told
	problem  problem // for messages
	closing  bool
	ended    bool
}

// newWriter starts the tasks of a ledger that was just created.
func newWriter(c *Client, id ledger.ID, m *versioned, options protocol.WriterOptions) (*Writer, error) {
	digester, err := ledger.NewDigester(m.Digest, m.Password)
	if err != nil {
		return nil, err
	}
	options.WindowMax = c.config.WindowEntries
	mutex := c.h.NewMutex("writer")
	limit := addsPerEntryMax * c.config.WindowEntries * m.Quorum.Write
	w := &Writer{
		client: c, id: id, quorum: m.Quorum, overhead: digester.Overhead(),
		mutex: mutex, room: c.tasks.NewCond(mutex), confirmed: ledger.NoEntry, snapshot: &m.Metadata,
		queue: newQueue(c, "writer", c.config.WindowEntries+limit+controlEvents),
		over:  host.NewFuture[ledger.Metadata](c.h, c.tasks, "writer-over"),
		core:  protocol.NewWriter(options, &m.Metadata, m.version), digester: digester,
		asks: host.NewQueue[ask](c.h, c.tasks, "writer-asks", asksMax),
	}
	w.sender = sender{
		client: c, id: id, key: ledger.MasterKeyOf(m.Password), queue: w.queue, limit: limit, budget: c.budget,
		heavyAdds: 2 * c.config.WindowEntries, heavyBytes: c.config.WindowBytes + c.config.WindowBytes/2,
		loads: make(map[ledger.BookieID]*load),
	}
	if err := c.enter(w); err != nil {
		return nil, err
	}
	c.tasks.Go("writer", w.run)
	c.tasks.Go("writer-metadata", func() { c.answerAsks(id, w.asks, w.queue) })
	return w, nil
}

// ID is the ledger.
func (w *Writer) ID() ledger.ID { return w.id }

// LastAddConfirmed is the last acknowledged entry.
func (w *Writer) LastAddConfirmed() ledger.EntryID {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.confirmed
}

// Length is the payload bytes of all acknowledged entries.
func (w *Writer) Length() int64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.length
}

// Metadata is what the writer goes by. It must not be changed.
func (w *Writer) Metadata() ledger.Metadata {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return *w.snapshot
}

// PayloadBytesMax is the longest payload that a ledger with this client takes: bookies with default settings must take the
// stored entry (ledger.StoredBytesMax), and a batch read's answer must hold it. Bookies that are set to less refuse it,
// which the writer does not survive.
func (w *Writer) PayloadBytesMax() int {
	frame := w.client.config.Pool.Channel.FrameBytesMax
	framing := max(wire.AddOverheadBytes, wire.BatchResponseOverheadBytes+wire.BatchResponsePerEntryBytes)
	return min(ledger.StoredBytesMax, frame-framing) - w.overhead
}

// Append appends an entry, and returns when it is on its way: op completes later. It waits while the window is full. The
// payload is copied. With an error nothing was appended, and op does not complete. Entries of one task get their ids in the
// order of its calls.
func (w *Writer) Append(payload []byte, op *Op) error { return w.AppendUnless(payload, op, endless) }

// AppendUnless is Append for a caller who may tire of waiting for room: before each wait it asks enough, and gives up with
// the error that this tells. enough is asked under locks: it must not wait, and must not call the writer. Who changes what it
// tells calls Rouse.
func (w *Writer) AppendUnless(payload []byte, op *Op, enough func() error) error {
	if len(payload) > w.PayloadBytesMax() {
		return fmt.Errorf("append %d bytes to ledger %d, at most %d are allowed: %w", len(payload), w.id, w.PayloadBytesMax(), ErrInvalid)
	}
	size := w.overhead + len(payload)
	if err := w.admit(size, enough); err != nil {
		return fmt.Errorf("append to ledger %d: %w", w.id, err)
	}
	refused := func() error {
		if err := w.refusal(); err != nil {
			return err
		}
		return enough()
	}
	if err := w.client.budget.take(int64(size), w.budgetSpent, refused); err != nil {
		w.leave(size)
		return fmt.Errorf("append to ledger %d: %w", w.id, err)
	}
	invariant.Check(op.Done != nil && op.stored == nil, "an append has a completion, and is not under way already")
	op.Entry, op.Err, op.sealed, op.posts = ledger.NoEntry, nil, false, 0
	op.stored = w.client.h.Memory().Get(size)
	copy(op.stored[w.overhead:], payload)
	if !w.queue.Offer(event{append: op}) {
		// The window bounds the appends in the queue, so this is not for want of room.
		w.client.h.Memory().Put(op.stored)
		op.stored = nil
		w.leave(size)
		w.client.budget.give(int64(size))
		return fmt.Errorf("append to ledger %d: %w", w.id, w.refusal())
	}
	return nil
}

// endless is told by callers who wait for as long as it takes.
func endless() error { return nil }

// Rouse has the appends that wait for room ask whether they have waited enough.
func (w *Writer) Rouse() {
	w.mutex.Lock()
	w.room.Broadcast()
	w.mutex.Unlock()
	w.client.budget.wake()
}

// AppendOne appends an entry and waits for the outcome, which is that of Op.Err.
func (w *Writer) AppendOne(payload []byte) (ledger.EntryID, error) {
	done := &waiter{gate: w.client.tasks.NewGate()}
	op := &Op{Done: done}
	if err := w.Append(payload, op); err != nil {
		return ledger.NoEntry, err
	}
	done.gate.Wait() // every append completes, also when the client is closed
	return op.Entry, op.Err
}

// admit waits for a place in the window. Those that wait get theirs before those that come later.
func (w *Writer) admit(size int, enough func() error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer w.pass()
	for turn := false; w.refused == nil && (w.full() || w.waiting > 0 && !turn); turn = true {
		if err := enough(); err != nil {
			return err
		}
		w.client.mark(PointWindowFull, w.id, ledger.EntryID(w.entries), "")
		w.waiting++
		more := w.room.Wait()
		w.waiting--
		if !more {
			return ErrClientClosed
		}
	}
	if w.refused != nil {
		return w.refused
	}
	w.entries++
	w.bytes += int64(size)
	return nil
}

// full reports whether appends wait. The mutex must be held.
func (w *Writer) full() bool {
	return w.held || w.entries >= w.client.config.WindowEntries || w.bytes >= w.client.config.WindowBytes
}

// pass wakes the next one that waits, if there is room for it: one long append that leaves makes room for many. The mutex
// must be held.
func (w *Writer) pass() {
	if w.waiting > 0 && !w.full() {
		w.room.Signal()
	}
}

// hold lets appends wait, or lets them go on.
func (w *Writer) hold(held bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.held = held
	w.room.Broadcast()
}

// leave gives a place in the window back.
func (w *Writer) leave(size int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.entries--
	w.bytes -= int64(size)
	w.pass()
}

func (w *Writer) budgetSpent() { w.client.mark(PointBudgetSpent, w.id, ledger.NoEntry, "") }

// refuse ends the taking of appends, for the first reason that is given.
func (w *Writer) refuse(why error) {
	w.mutex.Lock()
	if w.refused == nil {
		w.refused = why
	}
	w.room.Broadcast()
	w.mutex.Unlock()
	w.client.budget.wake() // it asks for the refusal under its own lock
}

func (w *Writer) refusal() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.refused
}

// Close closes the ledger behind the last acknowledged entry, and returns when the metadata say so. Appends that are not
// acknowledged by then fail: without ErrOutcomeUnknown they are not in the ledger. If another client has fenced the ledger
// Close fails with ErrFenced and the end is theirs to decide; with ErrOutcomeUnknown it may have been closed. The writer is
// over either way. It may be called again, with the same result.
//
// It does not wait for bookies. While the metadata store is dead it tries protocol.WriterOptions.AttemptsMax times, and waits
// before for what an ensemble change has under way: Config.MetadataTimeout and a pause of at most RetryPauseMax each. With
// default settings that is up to 18 times 12 seconds.
func (w *Writer) Close() error {
	w.refuse(fmt.Errorf("writer: %w", ErrClosed))
	w.tell(&w.asked.close, event{close: true})
	_, err := w.over.Wait()
	return err
}

// Abandon ends the writer and leaves the ledger open, for recovery to close. Appends under way fail with ErrOutcomeUnknown.
func (w *Writer) Abandon() {
	w.refuse(fmt.Errorf("writer was abandoned: %w", ErrClosed))
	w.tell(&w.asked.abandon, event{abandon: true})
	_, _ = w.over.Wait()
}

// tell has the writer's task do what it was asked, once: the queue has room for one of each, and what fills it besides would
// be the answers that the core waits for.
func (w *Writer) tell(asked *bool, e event) {
	w.mutex.Lock()
	before := *asked
	*asked = true
	w.mutex.Unlock()
	if !before {
		w.queue.Offer(e) // false: it is over already
	}
}
