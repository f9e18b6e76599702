package sim

import "time"

// link is one direction between two nodes. All connections share its bandwidth and its fate.
type link struct {
	network  *Network
	from, to *Node
	dice     dice
	busy     time.Duration // transmitting until then
	sends    int64         // writes on connections, so far

	blocked      bool
	oneWay       bool // the other direction was left alone: only the name of the effect depends on it
	stalledUntil time.Duration
	slowUntil    time.Duration
	slowFactor   int64
}

func (l *link) reverse() *link { return l.network.link(l.to, l.from) }

func (l *link) block(oneWay bool) { l.blocked, l.oneWay = true, oneWay }

// closed reports whether nothing passes now.
func (l *link) closed() bool { return l.blocked || l.from.clogged || l.to.clogged }

func (l *link) slow(factor int64, until time.Duration) {
	l.slowFactor, l.slowUntil = max(factor, 1), until
}

// holds reports whether a partition or a clogged end stops what is on the link now, and counts that it did.
func (l *link) holds() bool {
	switch {
	case !l.closed():
		return false
	case !l.blocked:
		l.network.world.effect(EffectClog)
	case l.oneWay:
		l.network.world.effect(EffectOneWayPartition)
	default:
		l.network.world.effect(EffectPartition)
	}
	return true
}

// latency draws the time one delivery takes.
func (l *link) latency() time.Duration {
	p := &l.network.profile
	d := p.LatencyMin + l.dice.exponential(p.LatencyMean)
	if l.dice.permille(p.TailPermille) {
		d += l.dice.upTo(p.TailMax)
	}
	if l.from == l.to {
		d /= 10
	}
	return l.slowed(d)
}

func (l *link) slowed(d time.Duration) time.Duration {
	if l.network.world.now < l.slowUntil {
		l.network.world.effect(EffectSlowLink)
		return d * time.Duration(l.slowFactor)
	}
	return d
}

// arrival is when so many bytes that are sent now are there. Transmission queues, propagation does not.
func (l *link) arrival(bytes int64) time.Duration {
	transfer := transferTime(bytes, l.network.profile.BytesPerSecond)
	if l.network.world.now < l.slowUntil {
		transfer *= time.Duration(l.slowFactor)
	}
	l.busy = max(l.busy, l.network.world.now) + transfer
	return l.busy + l.latency()
}
