package model

import (
	"cmp"
	"fmt"
	"slices"
)

// The names of the checkers of message stores; doc.go has their rules.
const (
	CheckerForeign   = "foreign"
	CheckerQueue     = "queue-order"
	CheckerPlace     = "place"
	CheckerLost      = "lost"
	CheckerPrefix    = "prefix"
	CheckerVisible   = "visible"
	CheckerDuplicate = "duplicate"
	CheckerTime      = "time"
	CheckerLeftOut   = "left-out"
	CheckerTrimmed   = "trimmed"
)

// QueueID names a queue of a topic.
type QueueID struct {
	Topic string
	Queue int32
}

func (q QueueID) String() string { return fmt.Sprintf("%s/%d", q.Topic, q.Queue) }

// Send is one attempt to store a message. Digest tells its message from all others.
type Send struct {
	Client       ClientID
	Call, Return Stamp
	Queue        QueueID
	Tag          string
	Digest       Digest
	Outcome      Outcome // OK, Failed or Unknown
	Offset       int64   // in the queue, if OK
	Physical     int64   // in the log, if OK
	Stored       int64   // store timestamp in ms, if OK
}

// Pulled is one message of an answer, as it says of itself.
type Pulled struct {
	Queue    QueueID
	Offset   int64
	Physical int64
	Stored   int64 // store timestamp, ms
	Tag      string
	Digest   Digest
}

// Pull is one answered question for messages of a queue.
type Pull struct {
	Client       ClientID
	Call, Return Stamp
	Queue        QueueID
	From         int64
	Tag          string // only messages with it, after the consumer has compared; empty: all
	Items        []Pulled
	Next         int64 // where to go on
	Low, High    int64 // the bounds of the queue that the answer tells
	Final        bool  // asked after everything was healed and restarted
	Told         bool  // no answer, but that the message at From is damaged
}

// Search is one answered question for a message of a queue by store timestamp.
type Search struct {
	Client       ClientID
	Call, Return Stamp
	Queue        QueueID
	Time         int64 // ms
	Upper        bool  // the last message at that time or earlier; else the first at that time or later
	Found        int64
	Low          int64 // where the queue began when it was answered, if that was asked; messages before it may have been removed meanwhile
}

// MessageHistory is what the clients of a message store on one node saw.
type MessageHistory struct {
	Durable   bool // an acknowledged message is on the media, and so is what is shown
	Visible   bool // an acknowledged message can be pulled at once
	Sends     []Send
	Pulls     []Pull
	Searches  []Search
	PowerCuts []Stamp        // ascending
	Clocks    []SegmentClock // what the store's clock had shown, ascending in both
	Age       uint64         // in ms: retention removes nothing that is younger; zero: nobody looks
}

// CheckMessages returns the promises that a history breaks, sorted by signature.
func CheckMessages(h *MessageHistory) []Violation {
	c := messageCheck{history: h, sends: map[Digest]int{}, low: map[QueueID]int64{}, final: map[QueueID]map[int64]Digest{}, told: map[messagePlace]bool{}}
	for i := range h.Sends {
		c.sends[h.Sends[i].Digest] = i
	}
	c.checkWriters()
	for i := range h.Pulls {
		c.checkPull(&h.Pulls[i])
	}
	c.checkContent()
	c.checkEnd()
	c.checkAnswers()
	if h.Visible {
		c.checkVisible()
	}
	return c.found.list()
}

// messagePlace is an offset of a queue.
type messagePlace struct {
	queue  QueueID
	offset int64
}

type messageCheck struct {
	history *MessageHistory
	found   findings
	sends   map[Digest]int
	low     map[QueueID]int64 // of the final pulls
	final   map[QueueID]map[int64]Digest
	facts   map[queueLife][]messageFact // by offset
	told    map[messagePlace]bool       // final pulls said that the message there is damaged
}

func (c *messageCheck) report(checker, rule, format string, args ...any) {
	c.found.add(checker, rule, func() string { return fmt.Sprintf(format, args...) })
}

func (s *Send) String() string {
	return fmt.Sprintf("client %d's message %016x to %v (called at %d, %v at %d, offset %d, at %d of the log)",
		s.Client, uint64(s.Digest), s.Queue, s.Call, s.Outcome, s.Return, s.Offset, s.Physical)
}

func (p *Pull) String() string {
	return fmt.Sprintf("client %d's pull of %v from %d (called at %d, answered at %d)", p.Client, p.Queue, p.From, p.Call, p.Return)
}

// checkWriters: what a client sent later is stored later, in queue and log, unless a power cut took the log's end between.
func (c *messageCheck) checkWriters() {
	type stream struct {
		client ClientID
		queue  QueueID
	}
	last := map[stream]*Send{}
	for i := range c.history.Sends {
		s := &c.history.Sends[i]
		if s.Outcome != OK {
			continue
		}
		key := stream{s.Client, s.Queue}
		before := last[key]
		if before != nil && before.Return < s.Call && c.kept(before.Return, s.Call) && (s.Offset <= before.Offset || s.Physical <= before.Physical) {
			c.report(CheckerQueue, "a later message lies before an earlier one", "%v, and then %v", before, s)
		}
		last[key] = s
	}
}

// kept reports whether nothing of what was acknowledged at one stamp may be taken back by another.
func (c *messageCheck) kept(from, to Stamp) bool {
	if c.history.Durable {
		return true
	}
	i, _ := slices.BinarySearch(c.history.PowerCuts, from)
	return i == len(c.history.PowerCuts) || c.history.PowerCuts[i] > to
}

// checkPull: an answer is what was asked for, in order, and was sent.
func (c *messageCheck) checkPull(p *Pull) {
	if p.Told {
		c.told[messagePlace{p.Queue, p.From}] = true
		return
	}
	next := p.From
	for i := range p.Items {
		item := &p.Items[i]
		if item.Queue != p.Queue {
			c.report(CheckerForeign, "a message of another queue", "%v gives %016x of %v", p, uint64(item.Digest), item.Queue)
			continue
		}
		if item.Offset < next || p.Tag == "" && item.Offset != next {
			c.report(CheckerQueue, "an answer has a hole or goes back", "%v gives offset %d where %d comes next", p, item.Offset, next)
		}
		next = item.Offset + 1
		c.checkItem(p, item)
	}
	if p.Final {
		c.noteFinal(p)
	}
}

func (c *messageCheck) checkItem(p *Pull, item *Pulled) {
	i, sent := c.sends[item.Digest]
	if !sent {
		c.report(CheckerInvented, "a message that nobody sent", "%v gives %016x at %d", p, uint64(item.Digest), item.Offset)
		return
	}
	s := &c.history.Sends[i]
	switch {
	case s.Queue != item.Queue:
		c.report(CheckerForeign, "a message sent to another queue", "%v gives at %d %v", p, item.Offset, s)
	case s.Tag != item.Tag || p.Tag != "" && s.Tag != p.Tag:
		c.report(CheckerForeign, "a message of another tag", "%v with tag %q gives at %d tag %q of %v with tag %q", p, p.Tag, item.Offset, item.Tag, s, s.Tag)
	case s.Call > p.Return:
		c.report(CheckerInvented, "a message before it was sent", "%v gives %v", p, s)
	case s.Outcome == Failed:
		c.report(CheckerInvented, "a message that was refused", "%v gives %v", p, s)
	case s.Outcome == OK && (s.Offset != item.Offset || s.Physical != item.Physical):
		c.report(CheckerPlace, "a message is not where it was acknowledged", "%v gives at %d, %d of the log, %v", p, item.Offset, item.Physical, s)
	}
}

func (c *messageCheck) noteFinal(p *Pull) {
	all := c.final[p.Queue]
	if all == nil {
		all = map[int64]Digest{}
		c.final[p.Queue] = all
		c.low[p.Queue] = p.Low
	}
	for _, item := range p.Items {
		all[item.Offset] = item.Digest
	}
}

// checkContent: an offset of a queue stands for one message, and a message has one offset, for as long as nothing was taken
// back; and what was shown is there in the end.
func (c *messageCheck) checkContent() {
	type sight struct {
		digest Digest
		pull   *Pull
	}
	seen, where := map[messagePlace]sight{}, map[Digest]messagePlace{}
	for i := range c.history.Pulls {
		p := &c.history.Pulls[i]
		for _, item := range p.Items {
			at := messagePlace{p.Queue, item.Offset}
			was, again := seen[at]
			if again && was.digest != item.Digest && c.kept(was.pull.Call, p.Return) {
				c.report(CheckerContent, "an offset stands for two messages", "%v gives %016x at %d, and %v gives %016x",
					was.pull, uint64(was.digest), item.Offset, p, uint64(item.Digest))
			}
			seen[at] = sight{item.Digest, p}
			if other, twice := where[item.Digest]; twice && other != at {
				if last, ok := seen[other]; ok && last.digest == item.Digest && c.kept(last.pull.Call, p.Return) {
					c.report(CheckerDuplicate, "a message has two places", "%016x is at %d and at %d of %v", uint64(item.Digest), other.offset, at.offset, p.Queue)
				}
			}
			where[item.Digest] = at
		}
	}
	if !c.history.Durable {
		return
	}
	for i := range c.history.Pulls {
		p := &c.history.Pulls[i]
		for _, item := range p.Items {
			all, looked := c.final[p.Queue]
			if c.told[messagePlace{p.Queue, item.Offset}] {
				continue
			}
			if got, ok := all[item.Offset]; looked && item.Offset >= c.low[p.Queue] && (!ok || got != item.Digest) {
				c.report(CheckerVanished, "what was shown is gone", "%v gave %016x at %d", p, uint64(item.Digest), item.Offset)
			}
		}
	}
}

// checkEnd: what was acknowledged is there in the end, unless it was removed; where a power cut may take it, it takes the end
// of the log and no hole.
func (c *messageCheck) checkEnd() {
	var lost, kept []*Send
	for i := range c.history.Sends {
		s := &c.history.Sends[i]
		all, looked := c.final[s.Queue]
		if s.Outcome != OK || !looked || s.Offset < c.low[s.Queue] || c.told[messagePlace{s.Queue, s.Offset}] {
			continue
		}
		if all[s.Offset] == s.Digest {
			kept = append(kept, s)
		} else {
			lost = append(lost, s)
		}
	}
	for _, s := range lost {
		cut, ok := c.cutAfter(s)
		if c.history.Durable || !ok {
			c.report(CheckerLost, "an acknowledged message is lost", "%v", s)
			continue
		}
		for _, k := range kept {
			if other, ok := c.cutAfter(k); ok && other == cut && k.Physical > s.Physical {
				c.report(CheckerPrefix, "a power cut took a message and left a later one", "%v is lost, and %v is there", s, k)
			}
		}
	}
}

// cutAfter is the first power cut after a message was sent, which is the only one that may take it: a restart makes what it
// finds durable.
func (c *messageCheck) cutAfter(s *Send) (Stamp, bool) {
	i, _ := slices.BinarySearchFunc(c.history.PowerCuts, s.Call, cmp.Compare[Stamp])
	if i == len(c.history.PowerCuts) {
		return 0, false
	}
	return c.history.PowerCuts[i], true
}

// checkVisible: a pull that was called after a message was acknowledged knows of it.
func (c *messageCheck) checkVisible() {
	type known struct {
		at     Stamp
		offset int64
	}
	acked := map[QueueID][]known{}
	for i := range c.history.Sends {
		if s := &c.history.Sends[i]; s.Outcome == OK {
			acked[s.Queue] = append(acked[s.Queue], known{s.Return, s.Offset})
		}
	}
	for i := range c.history.Pulls {
		p := &c.history.Pulls[i]
		if p.Told {
			continue
		}
		for _, k := range acked[p.Queue] {
			if k.at < p.Call && k.offset >= p.High && c.kept(k.at, p.Return) {
				c.report(CheckerVisible, "an acknowledged message cannot be pulled", "%v says that the queue ends at %d, and %d was acknowledged at %d", p, p.High, k.offset, k.at)
			}
		}
	}
}
