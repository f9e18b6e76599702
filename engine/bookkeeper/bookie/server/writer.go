package server

import (
	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// writer is the state of a connection's writing task.
type writer struct {
	c      *connection
	output []byte   // answers to adds, from host.Memory
	done   []*batch // answered by what is in output
	gather [][]byte
	failed bool
}

// write is the writing task. It goes on until nothing is under way and the reader has ended, and then closes.
func (c *connection) write() {
	memory := c.server.h.Memory()
	w := &writer{c: c, output: memory.Get(c.server.config.OutputBytes)[:0]}
	w.run()
	memory.Put(w.output)
	_ = c.conn.Close() // its only failure is to be closed already
	c.server.h.Probe().Mark(host.Event{Name: PointDisconnect, Extra: c.conn.Peer()})
	c.server.forget(c)
}

func (w *writer) run() {
	var batches []*bookie.Batch
	var spare []answer
	for {
		var more bool
		batches, more = w.c.completed.Take(batches)
		invariant.Check(more, "the queue of completed batches outlives its connection")
		bell := false
		for _, b := range batches {
			if b == nil {
				bell = true
			} else {
				w.add(w.c.ofStore(b))
			}
		}
		answers, broken := w.c.collect(spare, bell)
		w.failed = w.failed || broken
		w.flush(answers)
		spare = answers[:0]
		if w.ends() {
			return
		}
	}
}

// add encodes the answers to one batch, after writing what does not leave room for them.
func (w *writer) add(b *batch) {
	if len(w.output)+len(b.Adds)*wire.AddResponseFrameBytes > cap(w.output) || w.c.server.h.Probe().Perhaps(PointFlushNow) {
		w.flush(nil)
	}
	response := wire.Response{Operation: wire.Add}
	for i := range b.Adds {
		from := &b.origins[i]
		response.Version, response.Ledger, response.Entry = from.version, from.ledger, from.entry
		response.Code = w.c.server.code(b.Adds[i].Err)
		w.output = response.Append(w.output)
	}
	w.done = append(w.done, b)
}

// flush writes everything in one call, and gives it up if nothing can be written any more.
func (w *writer) flush(answers []answer) {
	w.gather = w.gather[:0]
	if len(w.output) > 0 {
		w.gather = append(w.gather, w.output)
	}
	for i := range answers {
		if answers[i].frame != nil {
			w.gather = append(w.gather, answers[i].frame)
		}
		if answers[i].entry.Body != nil {
			w.gather = append(w.gather, answers[i].entry.Body)
		}
	}
	if len(w.gather) > 0 && !w.failed {
		if err := w.c.conn.WriteBuffers(w.gather); err != nil {
			w.fail(err)
		}
	}
	clear(w.gather)
	w.settle(answers)
}

// settle takes what was flushed out of the books, and lets the reader go on.
func (w *writer) settle(answers []answer) {
	if w.failed && len(w.done) > 0 {
		adds := int64(len(w.output) / wire.AddResponseFrameBytes)
		w.c.server.h.Probe().Mark(host.Event{Name: PointUnanswered, A: adds, Extra: w.c.conn.Peer()})
	}
	w.output = w.output[:0]
	for i, b := range w.done {
		w.done[i] = nil
		w.c.giveBack(b)
	}
	w.done = w.done[:0]
	if len(answers) == 0 {
		return
	}
	for i := range answers {
		a := &answers[i]
		l, bytes := a.lane, a.bytes
		a.release(w.c.server.h.Memory())
		if l != nil {
			l.written(bytes)
		}
	}
	w.c.answered(len(answers))
}

// fail ends the writing, and wakes the reader.
func (w *writer) fail(err error) {
	w.failed = true
	c := w.c
	c.mutex.Lock()
	c.broken = true
	c.mutex.Unlock()
	_ = c.conn.Close() // its only failure is to be closed already
	c.server.h.Probe().Mark(host.Event{Name: PointBroken, Extra: c.conn.Peer()})
	c.server.h.Log(host.Debug, "bookie cannot answer", host.F("peer", c.conn.Peer()), host.F("error", err))
}

// ends reports whether the connection is over. While the server drains, a connection with nothing under way is closed,
// which wakes its reader; that then rings once more.
func (w *writer) ends() bool {
	idle, stopped, drains := w.c.state()
	if idle && !stopped && drains {
		_ = w.c.conn.Close() // its only failure is to be closed already
	}
	return idle && stopped
}
