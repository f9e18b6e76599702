package sim

import "time"

// arriving is what reaches the far end of a pipe.
type arriving uint8

const (
	arriveData arriving = iota
	arriveEnd           // the sender closed; everything before it has arrived
	arriveReset
)

// mark says what is under way, and when it is due. Marks of one pipe arrive in order.
type mark struct {
	what arriving
	upTo int64 // the stream has arrived up to here
	at   time.Duration
}

// smallestRing is the first size of a pipe's buffer; most connections need no more.
const smallestRing = 1 << 10

// pipe is one direction of a connection: a byte stream with positions that only grow.
//
//	acked <= read <= arrived <= sent <= acked + window
//
// The sender may send up to a window beyond what it knows to be read. That knowledge travels against the stream, so a
// partition of the opposite direction stops this one too, a window later.
type pipe struct {
	link *link
	back *link // the other direction: acknowledgements
	to   *conn // the end that reads

	ring                       []byte // a power of two; holds [read, sent)
	sent, arrived, read, acked int64
	ended                      bool // arriveEnd is there

	marks []mark // marks[first:] are under way
	first int
	timer timer // for the first of them
}

func newPipe(l, back *link) *pipe {
	p := &pipe{link: l, back: back}
	p.timer = timer{index: unset, call: p.arrive}
	return p
}

func (p *pipe) world() *World { return p.link.network.world }

func (p *pipe) window() int64 { return int64(p.link.network.profile.WindowBytes) }

// room is how many bytes the sender may send.
func (p *pipe) room() int64 { return p.window() - (p.sent - p.acked) }

// put copies as much of b as there is room for into the stream. The bytes start to travel with the next flush.
func (p *pipe) put(b []byte) int {
	n := int(min(p.room(), int64(len(b))))
	p.grow(int64(n))
	for done := 0; done < n; {
		done += copy(p.ring[(p.sent+int64(done))&int64(len(p.ring)-1):], b[done:n])
	}
	p.sent += int64(n)
	return n
}

func (p *pipe) grow(n int64) {
	need := p.sent - p.read + n
	if need <= int64(len(p.ring)) {
		return
	}
	size := int64(smallestRing)
	for size < need {
		size *= 2
	}
	ring := p.world().heap.ring(size)
	for at := p.read; at < p.sent; {
		piece := p.ring[at&int64(len(p.ring)-1):]
		piece = piece[:min(int64(len(piece)), p.sent-at)]
		for len(piece) > 0 { // the new ring may wrap elsewhere
			n := copy(ring[at&(size-1):], piece)
			piece = piece[n:]
			at += int64(n)
		}
	}
	p.giveRing()
	p.ring = ring
}

// giveRing gives the buffer back. Nothing is read or written after it unless grow makes another.
func (p *pipe) giveRing() {
	p.world().heap.giveRing(p.ring)
	p.ring = nil
}

// take copies bytes that have arrived out of the stream.
func (p *pipe) take(b []byte) {
	for done := 0; done < len(b); {
		piece := p.ring[(p.read+int64(done))&int64(len(p.ring)-1):]
		done += copy(b[done:], piece)
	}
	p.read += int64(len(b))
	if !p.back.closed() {
		p.acknowledge()
	}
}

// acknowledge tells the sender what was read.
func (p *pipe) acknowledge() {
	if p.acked == p.read {
		return
	}
	p.acked = p.read
	p.to.other.writing.wakeAll(wokeNet)
}

// flush sends what was put since the last time. The seed may let it arrive in two parts.
func (p *pipe) flush() {
	from := p.lastMark()
	n := p.sent - from
	if n == 0 {
		return
	}
	if n > 1 && p.link.dice.permille(p.link.network.profile.SplitPermille) {
		cut := 1 + p.link.dice.below(n-1)
		p.enqueue(mark{what: arriveData, upTo: from + cut})
	}
	p.enqueue(mark{what: arriveData, upTo: p.sent})
}

// lastMark is how far the stream reaches with what is under way.
func (p *pipe) lastMark() int64 {
	if p.first < len(p.marks) {
		return p.marks[len(p.marks)-1].upTo
	}
	return p.arrived
}

// enqueue sends a mark on its way. One that is due before its predecessor waits for it: see arrive.
func (p *pipe) enqueue(m mark) {
	m.at = p.link.arrival(m.upTo - p.lastMark())
	if p.first == len(p.marks) {
		p.marks, p.first = p.marks[:0], 0
		p.world().schedule.set(&p.timer, m.at)
	}
	p.marks = append(p.marks, m)
}

// arrive takes the first mark off the wire.
func (p *pipe) arrive() {
	w := p.world()
	if p.link.holds() {
		return // heal restarts the pipe
	}
	if w.now < p.link.stalledUntil {
		w.effect(EffectStall)
		w.schedule.set(&p.timer, p.link.stalledUntil)
		return
	}
	m := p.marks[p.first]
	p.first++
	if p.first < len(p.marks) {
		w.schedule.set(&p.timer, max(w.now, p.marks[p.first].at))
		if p.first > 64 {
			p.marks, p.first = append(p.marks[:0], p.marks[p.first:]...), 0
		}
	}
	p.arrived = max(p.arrived, m.upTo)
	p.to.receive(m.what)
}

// restart sends the first mark again after a partition; the others follow it.
func (p *pipe) restart() {
	if p.first < len(p.marks) {
		w := p.world()
		again := w.now + p.link.latency() + p.link.dice.upTo(p.link.network.profile.RetransmitMax)
		w.schedule.set(&p.timer, max(again, p.marks[p.first].at))
	}
}

// drop loses everything under way.
func (p *pipe) drop() {
	p.marks, p.first = p.marks[:0], 0
	p.world().schedule.unset(&p.timer)
}

// dropSome loses a random tail of what is under way.
func (p *pipe) dropSome() {
	under := int64(len(p.marks) - p.first)
	if under == 0 {
		return
	}
	keep := p.link.dice.below(under + 1)
	p.marks = p.marks[:p.first+int(keep)]
	if keep == 0 {
		p.drop()
	}
}
