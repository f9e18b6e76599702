package client

import (
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
)

// share is an entry's stored bytes while adds of it wait in lines to bookies, which may be longer than the entry's owner
// holds it: the ack quorum does not wait for all bookies. Its bytes stay counted until the last line has let go.
type share struct {
	bytes  []byte // from host.Memory
	memory host.Memory
	budget *budget // nil: the bytes are counted elsewhere
	pins   host.Counter
}

// Lend lends the bytes of an add to a line that it waits in. Called by the core's task, while it holds the bytes itself.
func (s *sender) Lend(r *channel.Request) channel.Loan {
	shared := r.Owner.(*add).share
	if *shared == nil {
		*shared = &share{bytes: r.Body, memory: s.client.h.Memory(), budget: s.budget, pins: s.client.h.NewCounter("share-pins")}
		(*shared).pins.Store(1) // the owner's
	}
	(*shared).pins.Add(1)
	return *shared
}

// Return lets go of the bytes, in any task. The last one gives them back.
func (s *share) Return() {
	if s.pins.Add(-1) > 0 {
		return
	}
	bytes := int64(len(s.bytes))
	s.memory.Put(s.bytes)
	s.bytes = nil
	if s.budget != nil {
		s.budget.give(bytes)
	}
}
