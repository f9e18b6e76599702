package model

import (
	"cmp"
	"slices"
)

// messageFact is what is known of one message of a queue: where it is, what it says of itself, and since when it surely was
// in the queue. A power cut that may take messages back begins a new life of the store, of which other facts hold.
type messageFact struct {
	offset int64
	stored int64 // store timestamp, ms
	tag    string
	since  Stamp // shown or visible from here on; Never: nobody can say
	digest Digest
}

// queueLife is a queue between two such power cuts.
type queueLife struct {
	queue QueueID
	life  int
}

// lifeOf counts the power cuts before a stamp that may have taken messages back.
func (c *messageCheck) lifeOf(at Stamp) int {
	if c.history.Durable {
		return 0
	}
	i, _ := slices.BinarySearch(c.history.PowerCuts, at)
	return i
}

// inOneLife is the life in which both stamps lie. Not ok: something may have been taken back between them.
func (c *messageCheck) inOneLife(from, to Stamp) (life int, ok bool) {
	life = c.lifeOf(from)
	return life, life == c.lifeOf(to)
}

// learn puts together what sends and pulls say of the queues, by offset.
func (c *messageCheck) learn() {
	c.facts = map[queueLife][]messageFact{}
	for i := range c.history.Sends {
		s := &c.history.Sends[i]
		life, ok := c.inOneLife(s.Call, s.Return)
		if s.Outcome != OK || !ok {
			continue
		}
		since := Never
		if c.history.Visible {
			since = s.Return
		}
		key := queueLife{s.Queue, life}
		c.facts[key] = append(c.facts[key], messageFact{s.Offset, s.Stored, s.Tag, since, s.Digest})
	}
	for i := range c.history.Pulls {
		p := &c.history.Pulls[i]
		life, ok := c.inOneLife(p.Call, p.Return)
		if !ok {
			continue
		}
		key := queueLife{p.Queue, life}
		for _, item := range p.Items {
			c.facts[key] = append(c.facts[key], messageFact{item.Offset, item.Stored, item.Tag, p.Return, item.Digest})
		}
	}
	for key, all := range c.facts {
		slices.SortStableFunc(all, func(a, b messageFact) int {
			return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.since, b.since))
		})
		c.facts[key] = slices.CompactFunc(all, func(a, b messageFact) bool { return a.offset == b.offset })
	}
}

// factsFrom are the facts of a queue from an offset on.
func (c *messageCheck) factsFrom(q QueueID, life int, offset int64) []messageFact {
	all := c.facts[queueLife{q, life}]
	i, _ := slices.BinarySearchFunc(all, offset, func(f messageFact, offset int64) int { return cmp.Compare(f.offset, offset) })
	return all[i:]
}
