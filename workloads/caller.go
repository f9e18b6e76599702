package workloads

import (
	"math/rand/v2"
	"time"

	"lakebed/workloads/agenda"
)

// caller is what every client is, wherever it sits: a way through the agenda, and the ledger it writes.
type caller struct {
	agenda.Walk
	lab    *Lab
	rand   *rand.Rand // the walk's
	number int
	own    *book
}

func newCaller(lab *Lab, number int, pace time.Duration) caller {
	walk := lab.agenda.Walk(number, pace)
	return caller{Walk: walk, lab: lab, rand: walk.Rand, number: number}
}

// ledger returns the ledger that the client writes: a new one after its fill, and mostly after a fence; sometimes it
// goes on writing a fenced or deleted one, as a writer does that has not heard of it.
func (c *caller) ledger() *book {
	if c.own == nil || c.own.size() >= c.lab.mix.LedgerEntries || (c.own.ended() && c.rand.IntN(4) == 0) {
		c.own = c.lab.open()
	}
	return c.own
}
