package client

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// add is one entry on its way to one bookie.
type add struct {
	channel.Request
	entry  ledger.EntryID
	index  int
	bookie ledger.BookieID
	load   *load
	bytes  int64
	queue  *host.Queue[event]
}

// load is what one bookie still has to answer to one core.
type load struct {
	adds  int
	bytes int64
	heavy bool
}

// loadsKept is how many bookies that owe nothing are remembered.
const loadsKept = 64

// Completed hands the add to the task that owns the ledger's core. It may have ended: then nobody wants to know.
func (a *add) Completed(*channel.Request) { a.queue.Offer(event{add: a}) }

// outcome is what the bookie, or the connection, told about the add.
func (a *add) outcome() protocol.AddOutcome {
	switch err := a.Err; {
	case err == nil:
		return protocol.AddStored
	case errors.Is(err, channel.ErrFenced):
		return protocol.AddFenced
	case errors.Is(err, channel.ErrUnauthorized):
		return protocol.AddUnauthorized
	case errors.Is(err, channel.ErrReadOnly):
		return protocol.AddReadOnly
	case errors.Is(err, channel.ErrTooManyRequests):
		return protocol.AddOverloaded
	default:
		return protocol.AddFailed
	}
}

// sender sends adds for one core. It belongs to the core's task.
type sender struct {
	client   *Client
	id       ledger.ID
	key      ledger.MasterKey
	flags    wire.Flags
	queue    *host.Queue[event]
	limit    int // adds under way, so that the queue has room for all answers
	underWay int
	free     []*add

	// A bookie is heavy once it owes answers to so many adds, until it owes half as many: it is slower than the ack quorum,
	// and acknowledgements alone would not slow the writer down to what the bookie, and this client's memory, can take.
	heavyAdds  int
	heavyBytes int64
	loads      map[ledger.BookieID]*load
	heavy      int // bookies
}

// send offers a stored entry to the bookie that the effect names. With an error no answer will come.
func (s *sender) send(e *protocol.Effect, stored []byte) error {
	if e.Resend {
		s.client.mark(PointResent, s.id, e.First, string(e.Bookie))
	}
	if s.underWay >= s.limit {
		s.client.mark(PointSendsFull, s.id, e.First, string(e.Bookie))
		return fmt.Errorf("entry %d of ledger %d to %s: %d adds are under way: %w", e.First, s.id, e.Bookie, s.limit, pool.ErrFull)
	}
	a := s.newAdd()
	a.entry, a.index, a.bookie = e.First, e.Index, e.Bookie
	a.Request = channel.Request{
		Operation: wire.Add, Flags: s.flags, MasterKey: s.key, Ledger: s.id, Entry: e.First, Body: stored,
		Timeout: s.client.config.AddTimeout, Done: a,
	}
	if err := s.client.pool.Offer(e.Bookie, &a.Request); err != nil {
		s.free = append(s.free, a)
		return err
	}
	s.underWay++
	s.loaded(a, len(stored))
	return nil
}

func (s *sender) loaded(a *add, bytes int) {
	l := s.loads[a.bookie]
	if l == nil {
		l = &load{}
		s.loads[a.bookie] = l
	}
	a.load, a.bytes = l, int64(bytes)
	l.adds++
	l.bytes += a.bytes
	if !l.heavy && (l.adds >= s.heavyAdds || l.bytes >= s.heavyBytes) {
		l.heavy = true
		s.heavy++
		s.client.mark(PointSlowBookie, s.id, a.entry, string(a.bookie))
	}
}

func (s *sender) newAdd() *add {
	if n := len(s.free); n > 0 {
		a := s.free[n-1]
		s.free = s.free[:n-1]
		return a
	}
	return &add{queue: s.queue}
}

// answered takes an add back.
func (s *sender) answered(a *add) {
	s.underWay--
	if errors.Is(a.Err, host.ErrTimeout) {
		s.client.pool.Suspect(a.bookie) // so that it is not chosen again to replace another one
	}
	l := a.load
	l.adds--
	l.bytes -= a.bytes
	if l.heavy && l.adds <= s.heavyAdds/2 && l.bytes <= s.heavyBytes/2 {
		l.heavy = false
		s.heavy--
	}
	if l.adds == 0 && len(s.loads) > loadsKept {
		delete(s.loads, a.bookie) // bookies come and go
	}
	a.Body, a.load = nil, nil
	s.free = append(s.free, a)
}
