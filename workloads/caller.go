package workloads

import (
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/workloads/agenda"
)

// caller is what every client is, wherever it sits: a random stream, a pace, and the ledger it writes.
type caller struct {
	lab    *Lab
	stream agenda.Stream
	rand   *rand.Rand // reads the stream
	number int
	step   int // of the agenda
	pace   time.Duration
	own    *book
}

func newCaller(lab *Lab, number int, pace time.Duration) caller {
	stream := lab.agenda.Stream(number)
	return caller{lab: lab, stream: stream, rand: stream.Rand, number: number, pace: pace}
}

// turn pauses until it is time for the client's next step that the agenda wants. A step that it does not want costs its
// pause, so that the others stay where they are. False: the group stops.
func (c *caller) turn(g host.Group) bool {
	for {
		c.step = c.lab.agenda.Upcoming(c.number)
		c.stream.Begin(c.step, 0)
		if !g.Sleep(c.think()) {
			return false
		}
		c.lab.agenda.Take(c.number)
		if c.lab.agenda.Wants(c.number, c.step) {
			return true
		}
	}
}

func (c *caller) absent() bool { return c.lab.agenda.Absent(c.number) }

// does goes to the numbers of a part of the step, and reports whether the agenda wants it done.
func (c *caller) does(part int) bool {
	c.stream.Begin(c.step, part)
	return c.lab.agenda.Does(agenda.Op{Client: c.number, Step: c.step, Part: part})
}

// action is one thing that a client may do next. do returns false when the client cannot go on.
type action struct {
	weight int
	do     func() bool
}

// single makes a step of one operation, which is its first part.
func (c *caller) single(do func() bool) func() bool {
	return func() bool { return !c.does(1) || do() }
}

// choose does one of the actions, chosen by weight.
func (c *caller) choose(actions ...action) bool {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	if total == 0 {
		return true
	}
	at := c.rand.IntN(total)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			return a.do()
		}
	}
	return true
}

// think is an exponential pause with a bound, so that a client neither spins nor falls asleep.
func (c *caller) think() time.Duration {
	pause := time.Duration(c.rand.ExpFloat64() * float64(c.pace))
	return min(pause, 10*c.pace)
}

// ledger returns the ledger that the client writes: a new one after its fill, and mostly after a fence; sometimes it
// goes on writing a fenced or deleted one, as a writer does that has not heard of it.
func (c *caller) ledger() *book {
	if c.own == nil || c.own.size() >= c.lab.mix.LedgerEntries || (c.own.ended() && c.rand.IntN(4) == 0) {
		c.own = c.lab.open()
	}
	return c.own
}
