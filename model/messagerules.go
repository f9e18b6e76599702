package model

import (
	"cmp"
	"slices"
)

// checkAnswers judges answers by what is known of the queues: searches by time, pulls by tag, and what is said to be removed.
func (c *messageCheck) checkAnswers() {
	c.learn()
	for i := range c.history.Searches {
		c.checkSearch(&c.history.Searches[i])
	}
	for i := range c.history.Pulls {
		p := &c.history.Pulls[i]
		if life, ok := c.inOneLife(p.Call, p.Return); ok && !p.Told {
			c.checkFilter(p, life)
			c.checkRemoved(p, life)
		}
	}
}

// checkFilter: a pull by tag that goes on at an offset has given every message with the tag before it that is there.
func (c *messageCheck) checkFilter(p *Pull, life int) {
	if p.Tag == "" {
		if n := int64(len(p.Items)); n > 0 && p.Next != p.Items[0].Offset+n {
			c.report(CheckerLeftOut, "an answer goes on elsewhere than behind its last message", "%v gives %d messages and goes on at %d", p, n, p.Next)
		}
		return
	}
	given := map[int64]bool{}
	for _, item := range p.Items {
		given[item.Offset] = true
	}
	for _, f := range c.factsFrom(p.Queue, life, max(p.From, p.Low)) {
		if f.offset >= p.Next {
			return
		}
		if f.tag == p.Tag && !given[f.offset] {
			c.report(CheckerLeftOut, "a message with the tag is left out", "%v with tag %q goes on at %d and has not given %016x at %d",
				p, p.Tag, p.Next, uint64(f.digest), f.offset)
			return
		}
	}
}

// checkRemoved: what a pull says is removed was old enough.
func (c *messageCheck) checkRemoved(p *Pull, life int) {
	if c.history.Age == 0 {
		return
	}
	now := clockAt(c.history.Clocks, p.Return)
	for _, f := range c.factsFrom(p.Queue, life, 0) {
		if f.offset >= p.Low {
			return
		}
		if uint64(f.stored)+c.history.Age > now {
			c.report(CheckerTrimmed, "retention removed a young message",
				"%v says that the queue begins at %d; %016x at %d was stored at %d, the age is %d, and the clock had shown %d at most",
				p, p.Low, uint64(f.digest), f.offset, f.stored, c.history.Age, now)
			return
		}
	}
}

// checkSearch compares a search by time with the messages that are known: the first at that time or later, or with Upper
// the last at that time or earlier. Messages that the end of the trial does not see may be removed, and say nothing.
func (c *messageCheck) checkSearch(s *Search) {
	life, ok := c.inOneLife(s.Call, s.Return)
	low, looked := c.low[s.Queue]
	if !ok || !looked {
		return
	}
	low = max(low, s.Low)
	for _, f := range c.factsFrom(s.Queue, life, low) {
		there := f.since < s.Call
		switch {
		case !s.Upper && f.offset == s.Found && f.stored < s.Time && there: // else the end was found, and it came later
			c.reportSearch(s, &f, "a search found an older message")
		case !s.Upper && f.offset < s.Found && f.stored >= s.Time && there:
			c.reportSearch(s, &f, "a search passed over a message")
		case s.Upper && f.offset > s.Found && f.stored <= s.Time && there:
			c.reportSearch(s, &f, "a search stopped before a message")
		case s.Upper && f.offset == s.Found && f.stored > s.Time && f.offset > low:
			c.reportSearch(s, &f, "a search found a younger message")
		default:
			continue
		}
		return
	}
}

func (c *messageCheck) reportSearch(s *Search, f *messageFact, rule string) {
	c.report(CheckerTime, rule, "client %d's search of %v for time %d, upper %t (called at %d, answered at %d) found %d; %016x at %d was stored at %d",
		s.Client, s.Queue, s.Time, s.Upper, s.Call, s.Return, s.Found, uint64(f.digest), f.offset, f.stored)
}

// clockAt is the latest time that a clock had shown at a stamp. Readings ascend in both.
func clockAt(clocks []SegmentClock, at Stamp) uint64 {
	i, found := slices.BinarySearchFunc(clocks, at, func(s SegmentClock, at Stamp) int { return cmp.Compare(s.At, at) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return clocks[i].Time
}
