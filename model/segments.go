package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// SegmentKind says what an operation asks of a store of partitioned segments.
type SegmentKind uint8

// The operations of a segment store.
const (
	SegmentAppend SegmentKind = iota + 1 // Values → Partition, Cursor of the first
	SegmentRead                          // Partition, Cursor → Values from there, perhaps none
	SegmentSeek                          // Partition, Time → Cursor of the first message of that time or later, or of the next to come
	SegmentBounds                        // Partition → Cursor of the first message that is there, Next
)

var segmentKindNames = map[SegmentKind]string{SegmentAppend: "append", SegmentRead: "read", SegmentSeek: "seek", SegmentBounds: "bounds"}

func (k SegmentKind) String() string { return segmentKindNames[k] }

// SegmentOutcome says how an operation ended, as its client saw it.
type SegmentOutcome uint8

// The outcomes.
const (
	SegmentOK      SegmentOutcome = iota + 1
	SegmentRefused                // append: nothing was stored
	SegmentUnknown                // append: it may have been stored, or may still be
	SegmentTrimmed                // read: retention has removed the message at Cursor
	SegmentBeyond                 // read: Cursor is behind the next message to come
	SegmentError                  // no answer
)

var segmentOutcomeNames = map[SegmentOutcome]string{
	SegmentOK: "ok", SegmentRefused: "refused", SegmentUnknown: "unknown",
	SegmentTrimmed: "trimmed", SegmentBeyond: "beyond", SegmentError: "error",
}

func (o SegmentOutcome) String() string { return segmentOutcomeNames[o] }

// SegmentOp is one operation. Values are unique: no two messages share one.
type SegmentOp struct {
	Kind         SegmentKind
	Outcome      SegmentOutcome
	Client       ClientID
	Call, Return Stamp
	// Epoch counts what may take acknowledged messages away in a store that does not sync before it acknowledges, and is
	// zero in any other. An operation during which it changed says nothing there.
	Epoch, ReturnEpoch int
	Partition          int
	Cursor, Next       int64
	Time               uint64
	Values             []uint64
}

// SegmentClock says that from this stamp on the store's clock had shown this time, or a later one.
type SegmentClock struct {
	At   Stamp
	Time uint64
}

// SegmentHistory is what the clients of a segment store saw.
type SegmentHistory struct {
	Ops    []SegmentOp
	Times  map[uint64]uint64 // of each value that was ever sent
	Clocks []SegmentClock    // ascending in both
	Period uint64            // of retention, in the unit of times; zero: time removes nothing
	BySize bool              // retention removes by size too
}

// CheckSegments returns the promises that a history breaks:
//
//	segments-content   a cursor of a partition holds one value, and keeps it; a value is at one place
//	segments-invented  what is read was sent before, and was not refused
//	segments-lost      what was acknowledged or shown is there, until retention removes it; the last epoch's prefix stays
//	segments-order     an append that is called after another returned gets a later cursor; the messages of one follow
//	segments-time      a look-up by time finds the first message that is there
//	segments-trimmed   retention removes nothing that is young
func CheckSegments(h *SegmentHistory) []Violation {
	c := segmentChecker{history: h, slots: map[segmentPlace]segmentSlot{}, placed: map[segmentValue]segmentPlace{}}
	c.establish()
	c.checkSources()
	c.index()
	c.checkOrder()
	for i := range h.Ops {
		c.checkAnswer(i)
	}
	c.checkPrefixes()
	return c.found.list()
}

// The names of the checkers of segment stores.
const (
	CheckerSegmentContent  = "segments-content"
	CheckerSegmentInvented = "segments-invented"
	CheckerSegmentLost     = "segments-lost"
	CheckerSegmentOrder    = "segments-order"
	CheckerSegmentTime     = "segments-time"
	CheckerSegmentTrimmed  = "segments-trimmed"
)

// segmentPlace is a cursor of a partition, in an epoch.
type segmentPlace struct {
	epoch, partition int
	cursor           int64
}

type segmentValue struct {
	epoch int
	value uint64
}

// segmentSlot is what is known to be at a place, since when, and by which operation.
type segmentSlot struct {
	value uint64
	since Stamp
	by    int
}

// segmentShown is a place that is known since a stamp.
type segmentShown struct {
	since  Stamp
	cursor int64
	by     int
}

type segmentPartition struct{ epoch, partition int }

// sortedPartitions are the keys of a map in order: what is reported first must not depend on chance.
func sortedPartitions[V any](m map[segmentPartition]V) []segmentPartition {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b segmentPartition) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.partition, b.partition))
	})
	return keys
}

type segmentChecker struct {
	history *SegmentHistory
	found   findings
	slots   map[segmentPlace]segmentSlot
	placed  map[segmentValue]segmentPlace
	known   map[segmentPartition][]int64        // cursors of slots, ascending
	ends    map[segmentPartition][]segmentShown // by stamp, with the largest cursor up to then
}

// steady reports whether an operation says something about one epoch.
func (op *SegmentOp) steady() bool { return op.Epoch == op.ReturnEpoch }

// establish puts together what appends and reads say about the content.
func (c *segmentChecker) establish() {
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Outcome != SegmentOK || !op.steady() || op.Kind != SegmentAppend && op.Kind != SegmentRead {
			continue
		}
		for k, value := range op.Values {
			c.put(segmentPlace{op.Epoch, op.Partition, op.Cursor + int64(k)}, segmentSlot{value, op.Return, i})
		}
	}
}

func (c *segmentChecker) put(p segmentPlace, s segmentSlot) {
	before, known := c.slots[p]
	switch {
	case known && before.value != s.value:
		c.report(CheckerSegmentContent, "two values at one cursor", before.by, s.by,
			fmt.Sprintf("cursor %d of partition %d holds %d for the one and %d for the other", p.cursor, p.partition, before.value, s.value))
	case !known || s.since < before.since:
		c.slots[p] = s
	}
	v := segmentValue{p.epoch, s.value}
	if other, placed := c.placed[v]; placed && other != p {
		c.report(CheckerSegmentContent, "one value at two places", c.slots[other].by, s.by,
			fmt.Sprintf("message %d is at cursor %d of partition %d and at cursor %d of partition %d", s.value, other.cursor, other.partition, p.cursor, p.partition))
		return
	}
	c.placed[v] = p
}

// checkSources looks that what was read had been sent, and may have been stored.
func (c *segmentChecker) checkSources() {
	sender := map[uint64]int{}
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Kind == SegmentAppend {
			for _, value := range op.Values {
				sender[value] = i
			}
		}
	}
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Kind != SegmentRead || op.Outcome != SegmentOK {
			continue
		}
		for k, value := range op.Values {
			by, sent := sender[value]
			switch {
			case !sent:
				c.report(CheckerSegmentInvented, "a message that nobody sent", -1, i, fmt.Sprintf("message %d was never sent", value))
			case c.history.Ops[by].Outcome == SegmentRefused:
				c.report(CheckerSegmentInvented, "a message that was refused", by, i, fmt.Sprintf("message %d was said not to be stored", value))
			case c.history.Ops[by].Call > op.Return:
				c.report(CheckerSegmentInvented, "a message before it was sent", by, i, fmt.Sprintf("message %d was sent later", value))
			default:
				c.checkFollowing(by, i, value, op.Cursor+int64(k))
			}
		}
	}
}

// checkFollowing looks that a message lies as far behind the first of its append as it was sent.
func (c *segmentChecker) checkFollowing(by, read int, value uint64, cursor int64) {
	sent := &c.history.Ops[by]
	if sent.Outcome != SegmentOK || sent.Epoch != c.history.Ops[read].Epoch || !sent.steady() {
		return
	}
	if want := sent.Cursor + int64(slices.Index(sent.Values, value)); want != cursor || sent.Partition != c.history.Ops[read].Partition {
		c.report(CheckerSegmentContent, "a message at another place than was told", by, read,
			fmt.Sprintf("message %d was told to be at cursor %d of partition %d", value, want, sent.Partition))
	}
}

// index sorts what is known by cursor and by stamp.
func (c *segmentChecker) index() {
	c.known, c.ends = map[segmentPartition][]int64{}, map[segmentPartition][]segmentShown{}
	for p, s := range c.slots {
		in := segmentPartition{p.epoch, p.partition}
		c.known[in] = append(c.known[in], p.cursor)
		c.ends[in] = append(c.ends[in], segmentShown{s.since, p.cursor, s.by})
	}
	for in := range c.known {
		slices.Sort(c.known[in])
		slices.SortFunc(c.ends[in], func(a, b segmentShown) int {
			return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.cursor, b.cursor))
		})
		largest := c.ends[in][0]
		for i, s := range c.ends[in] {
			if s.cursor > largest.cursor {
				largest = s
			}
			c.ends[in][i].cursor, c.ends[in][i].by = largest.cursor, largest.by
		}
	}
}

// shownBefore is the largest cursor of a partition that was known before a stamp, and by whom; -1: none.
func (c *segmentChecker) shownBefore(in segmentPartition, at Stamp) (cursor int64, by int) {
	ends := c.ends[in]
	i, _ := slices.BinarySearchFunc(ends, at, func(s segmentShown, at Stamp) int { return cmp.Compare(s.since, at) })
	if i == 0 {
		return -1, -1
	}
	return ends[i-1].cursor, ends[i-1].by
}

// checkOrder looks that appends that do not overlap got cursors in their order.
func (c *segmentChecker) checkOrder() {
	byCall := map[segmentPartition][]int{}
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Kind == SegmentAppend && op.Outcome == SegmentOK && op.steady() {
			in := segmentPartition{op.Epoch, op.Partition}
			byCall[in] = append(byCall[in], i)
		}
	}
	ops := c.history.Ops
	for _, in := range sortedPartitions(byCall) {
		calls := byCall[in]
		byReturn := slices.Clone(calls)
		slices.SortFunc(calls, func(a, b int) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
		slices.SortFunc(byReturn, func(a, b int) int { return cmp.Compare(ops[a].Return, ops[b].Return) })
		latest, returned := -1, 0
		for _, i := range calls {
			for ; returned < len(byReturn) && ops[byReturn[returned]].Return < ops[i].Call; returned++ {
				if r := byReturn[returned]; latest < 0 || ops[r].Cursor > ops[latest].Cursor {
					latest = r
				}
			}
			if latest >= 0 && ops[i].Cursor <= ops[latest].Cursor {
				c.report(CheckerSegmentOrder, "a later append got an earlier cursor", latest, i, "the second was called after the first had returned")
			}
		}
	}
}

// checkAnswer looks at what an operation says is not there.
func (c *segmentChecker) checkAnswer(i int) {
	op := &c.history.Ops[i]
	if !op.steady() {
		return
	}
	switch {
	case op.Kind == SegmentRead && op.Outcome == SegmentOK && len(op.Values) == 0:
		c.endsAt(i, op.Cursor)
	case op.Kind == SegmentRead && op.Outcome == SegmentBeyond:
		c.endsAt(i, op.Cursor-1)
	case op.Kind == SegmentRead && op.Outcome == SegmentTrimmed:
		c.removed(i, op.Cursor, op.Cursor+1)
	case op.Kind == SegmentBounds && op.Outcome == SegmentOK:
		c.endsAt(i, op.Next)
		c.removed(i, 0, op.Cursor)
	case op.Kind == SegmentSeek && op.Outcome == SegmentOK:
		c.checkSeek(i)
	}
}

// endsAt: the operation says that there is no message at this cursor yet.
func (c *segmentChecker) endsAt(i int, end int64) {
	op := &c.history.Ops[i]
	if shown, by := c.shownBefore(segmentPartition{op.Epoch, op.Partition}, op.Call); shown >= end {
		c.report(CheckerSegmentLost, "a message is gone from the end", by, i,
			fmt.Sprintf("a message at cursor %d of partition %d was there, and now it ends at %d", shown, op.Partition, end))
	}
}

// removed: the operation says that retention has removed the messages of these cursors.
func (c *segmentChecker) removed(i int, from, to int64) {
	op := &c.history.Ops[i]
	known := c.known[segmentPartition{op.Epoch, op.Partition}]
	k, _ := slices.BinarySearch(known, from)
	for ; k < len(known) && known[k] < to; k++ {
		s := c.slots[segmentPlace{op.Epoch, op.Partition, known[k]}]
		if !c.mayBeRemoved(s.value, op.Return) {
			c.report(CheckerSegmentTrimmed, "retention removed a young message", s.by, i,
				fmt.Sprintf("message %d at cursor %d of partition %d has time %d, the period is %d, and the clock had shown %d at most",
					s.value, known[k], op.Partition, c.history.Times[s.value], c.history.Period, c.clock(op.Return)))
			return
		}
	}
}

// mayBeRemoved reports whether retention may have removed a message until then.
func (c *segmentChecker) mayBeRemoved(value uint64, at Stamp) bool {
	h := c.history
	return h.BySize || h.Period > 0 && h.Times[value]+h.Period <= c.clock(at)
}

// clock is the latest time that the store's clock had shown.
func (c *segmentChecker) clock(at Stamp) uint64 { return clockAt(c.history.Clocks, at) }

// checkSeek compares a look-up by time with all that is known of the partition.
func (c *segmentChecker) checkSeek(i int) {
	op := &c.history.Ops[i]
	in := segmentPartition{op.Epoch, op.Partition}
	if s, known := c.slots[segmentPlace{op.Epoch, op.Partition, op.Cursor}]; known && c.history.Times[s.value] < op.Time && s.since < op.Call {
		c.report(CheckerSegmentTime, "a look-up found an older message", s.by, i,
			fmt.Sprintf("message %d at cursor %d has time %d", s.value, op.Cursor, c.history.Times[s.value]))
	}
	for _, cursor := range c.known[in] {
		if cursor >= op.Cursor {
			break
		}
		s := c.slots[segmentPlace{op.Epoch, op.Partition, cursor}]
		if s.since < op.Call && c.history.Times[s.value] >= op.Time && !c.mayBeRemoved(s.value, op.Return) {
			c.report(CheckerSegmentTime, "a look-up passed over a message", s.by, i,
				fmt.Sprintf("message %d at cursor %d has time %d and was there", s.value, cursor, c.history.Times[s.value]))
			return
		}
	}
}

// checkPrefixes looks that of each epoch a prefix was left: where a later epoch holds another message, no later message
// of the earlier one is left.
func (c *segmentChecker) checkPrefixes() {
	for _, in := range sortedPartitions(c.known) {
		cursors := c.known[in]
		next := segmentPartition{in.epoch + 1, in.partition}
		parted := -1
		for _, cursor := range cursors {
			before := c.slots[segmentPlace{in.epoch, in.partition, cursor}]
			after, known := c.slots[segmentPlace{next.epoch, in.partition, cursor}]
			switch {
			case known && before.value != after.value && parted < 0:
				parted = after.by
			case known && before.value == after.value && parted >= 0:
				c.report(CheckerSegmentLost, "what a crash left is no prefix", parted, after.by,
					fmt.Sprintf("message %d at cursor %d of partition %d is left, and one before it is not", before.value, cursor, in.partition))
			}
		}
	}
}

func (c *segmentChecker) report(checker, rule string, first, second int, because string) {
	c.found.add(checker, rule, func() string {
		if first < 0 {
			return c.history.describe(second) + ": " + because
		}
		return c.history.describe(first) + ", and then " + c.history.describe(second) + ": " + because
	}, slices.DeleteFunc([]int{first, second}, func(i int) bool { return i < 0 })...)
}

func (h *SegmentHistory) describe(i int) string {
	op := &h.Ops[i]
	return fmt.Sprintf("client %d's %s (operation %d, called at %d, returned at %d) of partition %d, cursor %d, time %d with outcome %d and %d values",
		op.Client, segmentKindNames[op.Kind], i, op.Call, op.Return, op.Partition, op.Cursor, op.Time, op.Outcome, len(op.Values))
}
