package channel

import (
	"time"

	"lakebed/engine/host"
)

// call is a request that was taken: on the wire, or in the line of one that is. It outlives its request if that times
// out, since its answer is still owed and would be taken for that of the next.
type call struct {
	request  *Request // nil once it timed out
	key      key
	frame    []byte        // while it waits in line
	deadline time.Duration // of the request; after that, of the channel's patience
	behind   *call         // next in line
	tail     *call         // last in line, kept at its head
	prev     *call
	next     *call
	chain    *call // the next one in its place of the table of lines
}

// append puts a call at the end of the line that begins with head.
func (head *call) append(k *call) {
	if head.tail == nil {
		head.tail = head
	}
	head.tail.behind = k
	head.tail = k
}

// newCall takes a call into the list. The mutex must be held.
func (c *Channel) newCall(r *Request, deadline time.Duration) *call {
	k := c.free
	if k == nil {
		k = &call{}
	} else {
		c.free, k.next = k.next, nil
	}
	k.request, k.deadline, k.prev = r, deadline, c.last // the rest is blank
	if c.last == nil {
		c.first = k
	} else {
		c.last.next = k
	}
	c.last = k
	c.calls++
	return k
}

// drop takes a call out of the list. Its frame must be gone. The mutex must be held.
func (c *Channel) drop(k *call) {
	if k.prev == nil {
		c.first = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		c.last = k.prev
	} else {
		k.next.prev = k.prev
	}
	c.calls--
	*k = call{next: c.free}
	c.free = k
	if c.submitting > 0 {
		c.room.Signal()
	}
}

// match takes the call that an answer belongs to out of its line, sends the next one, and returns its request: nil if
// that timed out before. False if nothing like it is on the wire. The mutex must be held.
func (c *Channel) match(k key) (*Request, bool) {
	head := c.lines.find(k)
	if head == nil {
		return nil, false
	}
	r := head.request
	next := c.successor(head)
	c.lines.take(head)
	c.drop(head)
	if next != nil {
		c.lines.put(next)
		c.send(next)
	}
	if r == nil {
		c.h.Probe().Mark(host.Event{Name: PointLate, A: int64(k.ledger), B: int64(k.entry), Extra: c.conn.Peer()})
	}
	return r, true
}

// successor is the first call behind head that somebody still waits for; it becomes the head of the line. Those before
// it timed out in line and were never sent. The mutex must be held.
func (c *Channel) successor(head *call) *call {
	next := head.behind
	for next != nil && next.request == nil {
		dead := next
		next = next.behind
		c.takeFrame(dead)
		c.drop(dead)
	}
	if next != nil && head.tail != next {
		next.tail = head.tail
	}
	return next
}

// takeFrame takes the frame of a call in line out of the books and gives its memory back. The mutex must be held.
func (c *Channel) takeFrame(k *call) {
	c.waiting -= int64(len(k.frame))
	c.h.Memory().Put(k.frame)
	k.frame = nil
}

// send puts the frame of a call that waited in line into the output. The mutex must be held.
func (c *Channel) send(k *call) {
	c.h.Probe().Mark(host.Event{Name: PointNextInLine, A: int64(k.key.ledger), B: int64(k.key.entry), Extra: c.conn.Peer()})
	c.reserve(len(k.frame))
	c.output = append(c.output, k.frame...)
	c.takeFrame(k)
	c.work.Signal()
}

// abandon empties the channel and returns the requests that were under way. The mutex must be held.
func (c *Channel) abandon() []*Request {
	var requests []*Request
	for k := c.first; k != nil; k = k.next {
		if k.request != nil {
			requests = append(requests, k.request)
		}
		if k.frame != nil {
			c.takeFrame(k)
		}
	}
	c.first, c.last, c.free, c.calls, c.lines = nil, nil, nil, 0, lines{}
	if c.output != nil {
		c.h.Memory().Put(c.output)
		c.output = nil
	}
	return requests
}
