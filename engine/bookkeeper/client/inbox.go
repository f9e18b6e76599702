package client

import (
	"math"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// attempt is one question to one replica on behalf of a fetch. When another replica was faster, or the call is over, its
// answer still comes: each attempt has a request of its own, so that a late answer writes into nothing that is used again.
type attempt struct {
	channel.Request
	fetch  *fetch
	bookie ledger.BookieID
	inbox  *inbox
}

// Completed hands the answer to the task that asked, or drops it if that has heard enough.
func (a *attempt) Completed(*channel.Request) {
	if !a.inbox.put(a) {
		a.Release()
	}
}

// inbox is where the answers to one call come in. It holds no more than the call has asked for.
type inbox struct {
	h       host.Host
	mutex   host.Mutex
	some    host.Cond
	answers []*attempt
	ended   bool
}

// never is a time that does not come.
const never time.Duration = math.MaxInt64

func newInbox(c *Client) *inbox {
	m := c.h.NewMutex("read")
	return &inbox{h: c.h, mutex: m, some: c.tasks.NewCond(m)}
}

func (b *inbox) put(a *attempt) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ended {
		return false
	}
	b.answers = append(b.answers, a)
	if len(b.answers) == 1 {
		b.some.Signal()
	}
	return true
}

// take waits for answers until a time, and appends them to into[:0], which it keeps as queues do.
func (b *inbox) take(into []*attempt, until time.Duration) []*attempt {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for len(b.answers) == 0 {
		// The group stops only when no call is left, and every attempt is answered in the end.
		if until == never {
			b.some.Wait()
			continue
		}
		left := until - b.h.Elapsed()
		if left <= 0 {
			break
		}
		b.some.WaitFor(left)
	}
	taken := b.answers
	clear(into)
	b.answers = into[:0]
	return taken
}

// end has what comes later release itself.
func (b *inbox) end() {
	b.mutex.Lock()
	b.ended = true
	left := b.answers
	b.answers = nil
	b.mutex.Unlock()
	for _, a := range left {
		a.Release()
	}
}
