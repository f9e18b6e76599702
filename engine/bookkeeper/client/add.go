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
	entry ledger.EntryID
	index int
	load  *load   // of the bookie
	share **share // where the entry's owner keeps it, once the entry is lent
	bytes int64
}

func (a *add) bookie() ledger.BookieID { return a.load.bookie }

// load is what goes to one bookie, and what that still has to answer to one core.
type load struct {
	bookie ledger.BookieID
	parcel []*channel.Request // gathered, not yet handed over
	adds   int                // handed over, not yet answered
	bytes  int64
	heavy  bool
	gone   bool // forgotten: the next add makes another one
}

// loadsKept is how many bookies that owe nothing are remembered.
const loadsKept = 64

// parcelMax is how many adds to one bookie are gathered at most before all are handed over. It keeps bookies from waiting
// for each other and for the core, and takes the price of a hand-over off all but one in so many.
const parcelMax = 128

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

// sender sends adds for one core. It belongs to the core's task, but for Collected.
type sender struct {
	client   *Client
	id       ledger.ID
	key      ledger.MasterKey
	flags    wire.Flags
	queue    *host.Queue[event]
	limit    int // adds under way, so that the queue has room for all answers
	underWay int // gathered ones included
	free     []*add
	budget   *budget // that the stored bytes are counted in, if any

	gathered []*load // those with a parcel, in the order of their first add
	posts    int64   // how often parcels were handed over
	refused  []*channel.Request

	// A bookie is heavy once it owes answers to so many adds, until it owes half as many: it is slower than the ack quorum,
	// and acknowledgements alone would not slow the writer down to what the bookie, and this client's memory, can take.
	heavyAdds  int
	heavyBytes int64
	loads      map[ledger.BookieID]*load
	recent     [protocol.EnsembleMax]*load // by index of the ensemble
	heavy      int                         // bookies
}

// Collected hands adds to the task that owns the ledger's core. It may have ended: then nobody wants to know.
func (s *sender) Collected(adds []*channel.Request) {
	s.queue.OfferEach(len(adds), func(i int) event { return event{add: adds[i].Owner.(*add)} })
}

// send gathers a stored entry for the bookie that the effect names; post hands it over. Until then stored must stay as it
// is; from then on it is shared if lines need it, and the owner returns that instead. With an error it was not gathered, and
// no answer will come. Full: post is due.
func (s *sender) send(e *protocol.Effect, stored []byte, shared **share) (full bool, err error) {
	if e.Resend {
		s.client.mark(PointResent, s.id, e.First, string(e.Bookie))
	}
	if s.underWay >= s.limit {
		s.client.mark(PointSendsFull, s.id, e.First, string(e.Bookie))
		return false, fmt.Errorf("entry %d of ledger %d to %s: %d adds are under way: %w", e.First, s.id, e.Bookie, s.limit, pool.ErrFull)
	}
	l := s.loadOf(e.Index, e.Bookie)
	a := s.newAdd()
	a.entry, a.index, a.load, a.bytes, a.share = e.First, e.Index, l, int64(len(stored)), shared
	a.Ledger, a.Entry, a.Body, a.Timeout = s.id, e.First, stored, s.client.config.AddTimeout
	if s.underWay++; s.underWay == 1 {
		s.busy(1)
	}
	if len(l.parcel) == 0 {
		s.gathered = append(s.gathered, l)
	}
	l.parcel = append(l.parcel, &a.Request)
	return len(l.parcel) >= parcelMax || s.client.h.Probe().Perhaps(PointPostNow), nil
}

// crowded reports whether so many adds are under way that no more entries should come: what is left of the limit is for
// those that were let in already, and for sending them again when bookies are replaced.
func (s *sender) crowded() bool { return s.underWay >= s.limit/2 }

// loadOf finds or makes the load of a bookie.
func (s *sender) loadOf(index int, bookie ledger.BookieID) *load {
	if l := s.recent[index]; l != nil && l.bookie == bookie && !l.gone {
		return l
	}
	l := s.loads[bookie]
	if l == nil {
		l = &load{bookie: bookie}
		s.loads[bookie] = l
	}
	s.recent[index] = l
	return l
}

// post hands over all that was gathered. It returns what was refused, with the error in Err and until the next post: no
// answer will come, and the owner calls drop for each.
func (s *sender) post() []*channel.Request {
	s.posts++
	s.refused = s.refused[:0]
	for _, l := range s.gathered {
		before := len(s.refused)
		s.refused = s.client.pool.OfferAll(l.bookie, l.parcel, s.refused)
		s.handedOver(l, s.refused[before:])
		clear(l.parcel)
		l.parcel = l.parcel[:0]
	}
	s.gathered = s.gathered[:0]
	return s.refused
}

// handedOver counts a parcel, but for what was refused of it. Adds may have been answered by now, but the answers wait for
// this task.
func (s *sender) handedOver(l *load, refused []*channel.Request) {
	l.adds += len(l.parcel) - len(refused)
	for _, r := range l.parcel {
		l.bytes += r.Owner.(*add).bytes
	}
	for _, r := range refused {
		l.bytes -= r.Owner.(*add).bytes
	}
	if !l.heavy && (l.adds >= s.heavyAdds || l.bytes >= s.heavyBytesNow()) {
		l.heavy = true
		s.heavy++
		s.client.mark(PointSlowBookie, s.id, l.parcel[len(l.parcel)-1].Entry, string(l.bookie))
	}
}

// replaced has bookies that left the ensemble hold nothing up: no add goes to them any more, so that waiting spares neither
// them nor memory. What they owe still counts towards the limit of adds and the budget. One that comes back is weighed again
// with its next parcel.
func (s *sender) replaced(changed protocol.IndexSet, ensemble []ledger.BookieID) {
	for i, bookie := range ensemble {
		if l := s.recent[i]; changed.Has(i) && l != nil && l.heavy && l.bookie != bookie {
			l.heavy = false
			s.heavy--
		}
	}
}

// heavyBytesNow is how many bytes make a bookie heavy. What is lent to the line of a bookie counts until that lets go, so if the
// line had all of the client's budget, writers that have nothing to do with the bookie would be as slow as it is. The writers
// that need it share half of the budget. Writers that owe nothing are not counted: there may be thousands.
func (s *sender) heavyBytesNow() int64 {
	writers := s.client.busy.Load()
	if s.budget == nil || writers < 2 {
		return s.heavyBytes
	}
	return min(s.heavyBytes, s.client.config.AppendBytesMax/2/writers)
}

// busy counts writers with adds under way.
func (s *sender) busy(n int64) {
	if s.budget != nil {
		s.client.busy.Add(n)
	}
}

// end counts out a writer that does not wait for its answers.
func (s *sender) end() {
	if s.underWay > 0 {
		s.busy(-1)
	}
}

func (s *sender) newAdd() *add {
	if n := len(s.free); n > 0 {
		a := s.free[n-1]
		s.free = s.free[:n-1]
		return a
	}
	a := &add{Request: channel.Request{Operation: wire.Add, Flags: s.flags, MasterKey: s.key, Together: s, Lender: s}}
	a.Owner = a
	return a
}

// answered takes back an add that was handed over.
func (s *sender) answered(a *add) {
	if errors.Is(a.Err, host.ErrTimeout) {
		s.client.pool.Suspect(a.bookie()) // so that it is not chosen again to replace another one
	}
	l := a.load
	l.adds--
	l.bytes -= a.bytes
	if l.heavy && l.adds <= s.heavyAdds/2 && l.bytes <= s.heavyBytesNow()/2 {
		l.heavy = false
		s.heavy--
	}
	s.drop(a)
}

// drop takes back an add of which no answer is owed.
func (s *sender) drop(a *add) {
	if s.underWay--; s.underWay == 0 {
		s.busy(-1)
	}
	if l := a.load; l.adds == 0 && len(l.parcel) == 0 && len(s.loads) > loadsKept {
		delete(s.loads, l.bookie) // bookies come and go
		l.gone = true
	}
	a.Body, a.Err, a.load, a.share = nil, nil, nil, nil
	s.free = append(s.free, a)
}
