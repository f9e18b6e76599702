package server

import (
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// pool hands the reads of many connections to a fixed number of tasks. Connections take turns, so that one which asks
// much does not keep others waiting. A connection whose peer does not take its answers is passed over until it does.
type pool struct {
	h     host.Host
	mutex host.Mutex
	work  host.Cond
	ready fifo[*lane] // lanes that may be served, each once, in turn
	ended bool

	bytes     int64 // of answers not yet written, over all lanes
	bytesMax  int64
	laneBytes int64
}

// lane is one connection's part of a pool. Its fields belong to the pool's mutex.
type lane struct {
	connection *connection
	pool       *pool
	pending    fifo[wire.Request] // without bodies
	listed     bool               // in ready
	bytes      int64              // of answers not yet written
}

func newPool(h host.Host, g host.Group, name string, bytesMax, laneBytes int64) *pool {
	m := h.NewMutex(name)
	return &pool{h: h, mutex: m, work: g.NewCond(m), bytesMax: bytesMax, laneBytes: laneBytes}
}

func (p *pool) newLane(c *connection) *lane { return &lane{connection: c, pool: p} }

// put adds a read. The connection bounds how many it has under way.
func (l *lane) put(r *wire.Request) {
	p := l.pool
	p.mutex.Lock()
	defer p.mutex.Unlock()
	l.pending.push(*r)
	p.list(l)
}

// list lets a lane be served, if it has something to do and its peer takes its answers. The mutex must be held.
func (p *pool) list(l *lane) {
	if l.listed || l.pending.len() == 0 {
		return
	}
	if l.bytes >= p.laneBytes {
		p.h.Probe().Mark(host.Event{Name: PointAnswersFull, A: l.bytes, Extra: l.connection.conn.Peer()})
		return
	}
	l.listed = true
	p.ready.push(l)
	p.work.Signal()
}

// take waits for a read. Its lane goes to the end of the line at once, so that several tasks can serve it.
func (p *pool) take() (*lane, wire.Request, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.ready.len() == 0 || p.bytes >= p.bytesMax {
		if p.ended && p.ready.len() == 0 || !p.work.Wait() {
			return nil, wire.Request{}, false
		}
	}
	l := p.ready.pop()
	r := l.pending.pop()
	l.listed = false
	p.list(l)
	return l, r, true
}

// read counts an answer that waits to be written.
func (l *lane) read(bytes int64) {
	l.pool.mutex.Lock()
	defer l.pool.mutex.Unlock()
	l.bytes += bytes
	l.pool.bytes += bytes
}

// written counts answers that are written or given up.
func (l *lane) written(bytes int64) {
	if bytes == 0 {
		return
	}
	p := l.pool
	p.mutex.Lock()
	defer p.mutex.Unlock()
	invariant.Check(l.bytes >= bytes && p.bytes >= bytes, "an answer is counted before it is written")
	full := p.bytes >= p.bytesMax
	l.bytes -= bytes
	p.bytes -= bytes
	p.list(l)
	if full && p.bytes < p.bytesMax {
		p.work.Broadcast()
	}
}

// end lets the pool's tasks go. No read may be pending.
func (p *pool) end() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	invariant.Check(p.ready.len() == 0 && p.bytes == 0, "a pool ends after its connections")
	p.ended = true
	p.work.Broadcast()
}

// fifo is a queue without bound; its owner has one.
type fifo[T any] struct {
	items []T
	first int
}

func (f *fifo[T]) len() int { return len(f.items) - f.first }

func (f *fifo[T]) push(item T) { f.items = append(f.items, item) }

// pop takes the oldest item. What was popped is moved over once it is half of the queue, so that each item moves at
// most once.
func (f *fifo[T]) pop() T {
	var none T
	item := f.items[f.first]
	f.items[f.first] = none
	f.first++
	if 2*f.first >= len(f.items) {
		left := copy(f.items, f.items[f.first:])
		clear(f.items[left:])
		f.items, f.first = f.items[:left], 0
	}
	return item
}
