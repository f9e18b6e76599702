package channel

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// write is the writing task: all that was encoded meanwhile goes out with one write. The buffer of the last write is
// used for the next output.
func (c *Channel) write() {
	memory := c.h.Memory()
	var buffer []byte
	gather := make([][]byte, 1)
	for {
		var ok bool
		if buffer, ok = c.takeOutput(buffer); !ok {
			break
		}
		gather[0] = buffer
		if err := c.conn.WriteBuffers(gather); err != nil {
			c.fail(err)
			break
		}
	}
	if buffer != nil {
		memory.Put(buffer)
	}
}

// takeOutput waits for output, and leaves an empty buffer in its place. False: the channel has ended, and the buffer
// is still the caller's.
func (c *Channel) takeOutput(buffer []byte) ([]byte, bool) {
	if buffer != nil && int64(cap(buffer)) > outputBytesKept {
		c.h.Memory().Put(buffer)
		buffer = nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.broken == nil && len(c.output) == 0 {
		c.work.Wait()
	}
	if c.broken != nil {
		return buffer, false
	}
	taken := c.output
	c.output = nil
	if buffer != nil {
		c.output = buffer[:0]
	}
	c.room.Broadcast()
	return taken, true
}

// read is the reading task: it gives requests their answers.
func (c *Channel) read() {
	a := &answers{channel: c}
	in := wire.NewInput(c.h.Memory(), c.config.InputBufferBytes, c.config.FrameBytesMax)
	defer in.Release()
	for {
		err := a.handle(in)
		if err == nil {
			err = in.Fill(c.conn)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// sweepPause is the least time between two looks through all calls. Each call of a peer that hangs has a deadline of its
// own, and looking at each of them at each would be quadratic. Timeouts may be late by so much.
const sweepPause = 20 * time.Millisecond

// sweep is the task that fails what is overdue. It looks at the next deadline that was known when it last looked: once
// a timeout, however many requests there are.
func (c *Channel) sweep() {
	for {
		expired, patient := c.awaitOverdue()
		for _, r := range expired {
			r.Err = c.late(r)
			r.HandBack()
		}
		if !patient {
			c.h.Probe().Mark(host.Event{Name: PointImpatient, Extra: c.conn.Peer()})
			c.fail(fmt.Errorf("an answer is overdue by more than %s: %w", c.config.Patience, host.ErrTimeout))
		}
		if c.Err() != nil {
			return
		}
	}
}

// awaitOverdue waits for the next deadline and returns what has then timed out. Not patient: an answer was owed for
// too long.
func (c *Channel) awaitOverdue() (expired []*Request, patient bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.broken == nil {
		now := c.h.Elapsed()
		switch {
		case c.sweepAt == never:
			c.sweeping.Wait()
		case now < c.sweepAt && !c.h.Probe().Perhaps(PointSweepNow):
			c.sweeping.WaitFor(c.sweepAt - now)
		default:
			return c.expire(now)
		}
	}
	return nil, true
}

// expire takes the requests that are overdue from their calls, and finds the next deadline. The mutex must be held.
func (c *Channel) expire(now time.Duration) (expired []*Request, patient bool) {
	c.sweeps++
	c.sweepAt = never
	patient = true
	for k := c.first; k != nil; k = k.next {
		if k.deadline <= now && k.request != nil {
			c.h.Probe().Mark(host.Event{Name: PointTimedOut, A: int64(k.key.ledger), B: int64(k.key.entry), Extra: c.conn.Peer()})
			expired = append(expired, k.request)
			k.request = nil
			k.deadline = never // in line, nothing is owed
			if k.frame == nil {
				k.deadline = now + c.config.Patience
			}
		}
		patient = patient && k.deadline > now
		c.sweepAt = min(c.sweepAt, max(k.deadline, now+sweepPause))
	}
	return expired, patient
}
