package client

import (
	"lakebed/engine/host"
)

// budget bounds the bytes of appends under way in all writers of a client together. It is soft by one entry a task.
type budget struct {
	mutex   host.Mutex
	room    host.Cond
	left    int64
	waiting int // those that come later must not pass them: a busy writer would starve the others
}

func newBudget(h host.Host, g host.Group, bytes int64) *budget {
	m := h.NewMutex("append-budget")
	return &budget{mutex: m, room: g.NewCond(m), left: bytes}
}

// take waits until something is left, and takes bytes of it. It gives up with the first error that refused tells; who
// changes what refused tells calls wake.
func (b *budget) take(bytes int64, full func(), refused func() error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.pass()
	for turn := false; b.left <= 0 || b.waiting > 0 && !turn; turn = true {
		if err := refused(); err != nil {
			return err
		}
		full()
		b.waiting++
		more := b.room.Wait()
		b.waiting--
		if !more {
			return ErrClientClosed
		}
	}
	b.left -= bytes
	return nil
}

// pass wakes the next one that waits, if there is something for it. The mutex must be held.
func (b *budget) pass() {
	if b.waiting > 0 && b.left > 0 {
		b.room.Signal()
	}
}

func (b *budget) give(bytes int64) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.left += bytes
	b.pass()
}

func (b *budget) wake() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.room.Broadcast()
}
