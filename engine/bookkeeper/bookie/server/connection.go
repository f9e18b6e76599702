package server

import (
	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// connection is one client. Its reader and its writer share what the mutex guards.
type connection struct {
	server *Server
	conn   host.Conn

	// completed brings batches back from the store. Besides, nil is a bell: something else has happened that the writer
	// should look at. The store's completions need no other queue, and the writer waits in one place.
	completed *host.Queue[*bookie.Batch]
	reads     *lane
	fences    *lane

	mutex   host.Mutex
	room    host.Cond // the reader waits for a batch or a read to be answered
	batches map[*bookie.Batch]*batch
	free    []*batch
	answers []answer
	reading int  // reads accepted and neither written nor given up
	rung    bool // a bell is in the queue
	stopped bool // the reader has ended
	drains  bool // the server is closing
	broken  bool // nothing can be written any more
}

// batch is a batch of the store, with what its answers need: the bodies are gone by then.
type batch struct {
	bookie.Batch
	origins []origin
	bytes   int64
}

// origin is which request an add came from.
type origin struct {
	version wire.Version
	ledger  ledger.ID
	entry   ledger.EntryID
}

func newConnection(s *Server, conn host.Conn) *connection {
	m := s.h.NewMutex("server-connection")
	c := &connection{
		server: s, conn: conn, mutex: m, room: s.tasks.NewCond(m),
		completed: host.NewQueue[*bookie.Batch](s.h, s.tasks, "server-completed", s.config.BatchesMax+1),
		batches:   make(map[*bookie.Batch]*batch),
	}
	c.reads, c.fences = s.reads.newLane(c), s.fences.newLane(c)
	return c
}

// ring has the writer look. The mutex must be held.
func (c *connection) ring() {
	if c.rung {
		return
	}
	c.rung = true
	taken := c.completed.Offer(nil)
	invariant.Check(taken, "there is room for all batches and one bell")
}

// takeBatch waits for an empty batch.
func (c *connection) takeBatch() *batch {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for len(c.free) == 0 && len(c.batches) == c.server.config.BatchesMax {
		c.server.h.Probe().Mark(host.Event{Name: PointNoBatch, A: int64(len(c.batches)), Extra: c.conn.Peer()})
		c.room.Wait()
	}
	if last := len(c.free) - 1; last >= 0 {
		b := c.free[last]
		c.free = c.free[:last]
		return b
	}
	b := &batch{}
	b.Done = c.completed
	c.batches[&b.Batch] = b
	return b
}

// ofStore finds the batch that the store gave back.
func (c *connection) ofStore(b *bookie.Batch) *batch {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.batches[b]
}

// giveBack empties a batch for the next use.
func (c *connection) giveBack(b *batch) {
	clear(b.Adds) // bodies and errors
	b.Adds, b.origins, b.bytes = b.Adds[:0], b.origins[:0], 0
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.free = append(c.free, b)
	c.room.Signal()
}

// tryRead counts one more read under way, if there may be.
func (c *connection) tryRead() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.reading >= c.server.config.ReadsMax {
		return false
	}
	c.reading++
	return true
}

// awaitRead waits until tryRead can succeed.
func (c *connection) awaitRead() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.reading >= c.server.config.ReadsMax {
		c.server.h.Probe().Mark(host.Event{Name: PointNoRead, A: int64(c.reading), Extra: c.conn.Peer()})
		c.room.Wait()
	}
}

// deliver hands an answer to the writer. Every read that was counted is delivered once, if only to be counted out.
func (c *connection) deliver(a answer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answers = append(c.answers, a)
	c.ring()
}

func (c *connection) isBroken() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.broken
}

// drain has the connection end once what it has under way is answered.
func (c *connection) drain() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drains = true
	c.ring()
}

// cut ends the connection without answers. What is under way still comes back.
func (c *connection) cut() {
	c.mutex.Lock()
	c.broken = true
	c.ring()
	c.mutex.Unlock()
	_ = c.conn.Close() // its only failure is to be closed already
}

func (c *connection) draining() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.drains || c.broken
}

// readerEnds tells the writer that nothing more will be asked.
func (c *connection) readerEnds() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.stopped = true
	c.ring()
}

// collect takes the answers that wait, leaving empty in their place, and reports whether the connection is broken. It
// silences the bell if one was taken.
func (c *connection) collect(empty []answer, bell bool) (taken []answer, broken bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if bell {
		c.rung = false
	}
	taken = c.answers
	c.answers = empty
	return taken, c.broken
}

// answered counts reads out, and lets the reader go on.
func (c *connection) answered(count int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.reading -= count
	invariant.Check(c.reading >= 0, "a read is answered once")
	c.room.Signal()
}

// state is what the writer's end depends on. A batch that the reader is filling counts as under way.
func (c *connection) state() (idle, stopped, drains bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.reading == 0 && len(c.free) == len(c.batches), c.stopped, c.drains
}
