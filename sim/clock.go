package sim

import (
	"time"

	"lakebed/internal/invariant"
)

// clock is how a node's own time runs: with the world's, but for what it gained so far and for its rate. Wall and
// elapsed time come from one oscillator, so both drift.
type clock struct {
	ppm    int64         // how much faster than the world it runs, in parts per million
	since  time.Duration // since when it runs so, in the world's time
	gained time.Duration // until then
	seen   bool          // the node has looked at it since
}

// ppmAll is a whole, in parts per million.
const ppmAll = 1_000_000

// DriftClock makes the node's clock run faster than the world by so many parts per million, or slower, from now on. Sleeps
// and timeouts of the node follow it, and none of them ends early by the node's own clock. Zero ends a drift; what the
// clock gained stays.
func (n *Node) DriftClock(ppm int64) {
	invariant.Check(ppm > -ppmAll, "clocks run forward")
	c := &n.clock
	n.world.noteText(actClockJump, n, "drift", ppm, 0)
	now := n.world.now
	c.gained += gain(now-c.since, c.ppm)
	c.since, c.ppm, c.seen = now, ppm, false
}

// gain is what a clock of this rate gains in d, rounded down, without overflow for any realistic world.
func gain(d time.Duration, ppm int64) time.Duration {
	whole, rest := int64(d)/ppmAll, int64(d)%ppmAll
	return time.Duration(whole*ppm + floorDiv(rest*ppm, ppmAll))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// elapsed is the time since the world began, as the node's clock has it.
func (n *Node) elapsed() time.Duration {
	c := &n.clock
	if c.ppm != 0 && !c.seen {
		c.seen = true
		n.world.effect(EffectClockDrift)
	}
	return n.world.now + c.ahead(n.world.now)
}

// ahead is what the clock has gained on the world's time by now.
func (c *clock) ahead(now time.Duration) time.Duration {
	if c.ppm == 0 {
		return c.gained
	}
	return c.gained + gain(now-c.since, c.ppm)
}

// worldTime is when the node's clock will show this much, in the world's time, if its rate stays as it is.
func (n *Node) worldTime(elapsed time.Duration) time.Duration {
	left := int64(elapsed - n.elapsed())
	rate := ppmAll + n.clock.ppm
	if n.clock.ppm == 0 || left <= 0 {
		return n.world.now + time.Duration(left)
	}
	whole, rest := left/rate, left%rate
	return n.world.now + time.Duration(whole*ppmAll+(rest*ppmAll+rate-1)/rate)
}
