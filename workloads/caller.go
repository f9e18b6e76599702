package workloads

import (
	"math/rand/v2"
	"time"
)

// caller is what every client is, wherever it sits: a random stream, a pace, and the ledger it writes.
type caller struct {
	lab    *Lab
	rand   *rand.Rand
	number int
	pace   time.Duration
	own    *book
}

// action is one thing that a client may do next. do returns false when the client cannot go on.
type action struct {
	weight int
	do     func() bool
}

// act does one of the actions, chosen by weight.
func (c *caller) act(actions ...action) bool {
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
