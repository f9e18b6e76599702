package echo

import (
	"encoding/binary"
	"fmt"

	"lakebed/engine/host"
)

// write sends batches until the queue has ended, and empties it also when the link is broken: each call that was taken
// into the queue is answered by somebody.
func (l *link) write() {
	memory := l.host.Memory()
	var batch []*call
	var gather [][]byte
	var sequence uint64
	for more := true; more; {
		batch, more = l.queue.Take(batch)
		gather = gather[:0]
		for _, c := range batch {
			c.sequence = sequence
			binary.BigEndian.PutUint64(c.request[4:12], sequence)
			gather = append(gather, c.request)
			sequence++
		}
		if l.begin(batch) && len(gather) > 0 {
			if err := l.conn.WriteBuffers(gather); err != nil {
				l.fail(err)
			}
		}
		for _, buffer := range gather {
			memory.Put(buffer)
		}
	}
}

// begin makes the calls of a batch outstanding, once those before have shrunk below the bound. On a broken link it
// fails them instead. It comes before the write: an answer must find its call.
func (l *link) begin(batch []*call) bool {
	l.mutex.Lock()
	for l.broken == nil && len(l.outstanding) >= l.config.QueueFrames && l.room.Wait() {
	}
	broken := l.broken
	if broken == nil {
		if len(l.outstanding) == 0 {
			l.first.Signal()
		}
		deadline := l.host.Elapsed() + l.config.RequestTimeout
		for _, c := range batch {
			c.deadline = deadline
		}
		l.outstanding = append(l.outstanding, batch...)
	}
	l.mutex.Unlock()
	if broken == nil {
		return true
	}
	for _, c := range batch {
		c.answer.Set(nil, broken)
	}
	return false
}

func (l *link) read() {
	in := newInput(l.conn, l.host.Memory(), l.config.FrameBytesMax)
	defer in.release()
	for {
		f, err := in.next()
		if err != nil {
			l.fail(err)
			return
		}
		err = l.answered(f)
		l.host.Memory().Put(f)
		if err != nil {
			l.fail(err)
			return
		}
	}
}

// answered gives the oldest call its answer. The server answers in order, so any other sequence is an error of it.
func (l *link) answered(f frame) error {
	l.mutex.Lock()
	if len(l.outstanding) == 0 || l.outstanding[0].sequence != f.sequence() {
		l.mutex.Unlock()
		return fmt.Errorf("answer %d was not the next one: %w", f.sequence(), ErrFrame)
	}
	c := l.outstanding[0]
	l.outstanding[0] = nil
	l.outstanding = l.outstanding[1:]
	l.room.Signal()
	l.mutex.Unlock()
	c.answer.Set(append([]byte{}, f.payload()...), nil)
	return nil
}

// watch sleeps to the deadline of the oldest call and not by ticks: deadlines grow with the sequence, so no other call
// can be overdue before it.
func (l *link) watch() {
	overdue := false
	l.mutex.Lock()
	for l.broken == nil && !overdue {
		if len(l.outstanding) == 0 {
			if !l.first.Wait() {
				break
			}
			continue
		}
		left := l.outstanding[0].deadline - l.host.Elapsed()
		overdue = left <= 0
		if !overdue && l.first.WaitFor(left) == host.Stopping {
			break
		}
	}
	l.mutex.Unlock()
	if overdue {
		l.fail(host.ErrTimeout)
	}
}
