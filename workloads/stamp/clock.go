// Package stamp gives out the stamps of a history: one order over all that its clients began and ended.
//
// Who records a history holds a Clock, and guards it by the lock that guards the history.
package stamp

import (
	"time"

	"lakebed/model"
)

// Clock gives out stamps, each later than those before. The zero Clock has given none.
type Clock struct {
	last  model.Stamp
	now   func() time.Duration
	times []time.Duration // of the stamps, from the first on; empty: nobody watches
}

// Watch has the clock keep the time at which it gives a stamp. It is to be called before the first: stamps given earlier
// have no time.
func (c *Clock) Watch(now func() time.Duration) { c.now = now }

// Next is the next stamp, which is given now.
func (c *Clock) Next() model.Stamp {
	c.last++
	if c.now != nil {
		c.times = append(c.times, c.now())
	}
	return c.last
}

// Last is the stamp that was given last.
func (c *Clock) Last() model.Stamp { return c.last }

// Time is when a stamp was given. False: nobody watches, or there is no such stamp.
func (c *Clock) Time(at model.Stamp) (time.Duration, bool) {
	if at < 1 || int64(at) > int64(len(c.times)) {
		return 0, false
	}
	return c.times[at-1], true
}
