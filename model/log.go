package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// CheckLog decides whether a history of one append-only log has an explanation, and returns what stands against it. It
// is exact for appends, tails, closes and reads, and takes O(n log n) for n operations and values.
//
// An append at offset k gets the key 2k+1, whoever saw length m the key 2m: the log's state is its length, so the
// legal orders of operations are exactly those in which keys do not fall. A contradiction is then an operation that
// returned before one of a smaller key was called, and one sweep finds it. A read of the confirmed length, or one
// that does not tell the length, only says that the log was at least so long: it is checked in the sweep, and nothing
// is checked against it.
func CheckLog(h *LogHistory) []Violation {
	c := logChecker{history: h}
	appends, err := h.appends()
	if err != nil {
		c.found.add(CheckerHistory, "malformed", func() string { return err.Error() })
		return c.found.list()
	}
	c.readContent()
	c.placeAppends(appends)
	c.checkClosed()
	c.checkConfirmed()
	if len(c.found.order) == 0 { // else the keys are wrong and all that follows is a shadow
		c.placeOthers()
		c.sweep()
	}
	return c.found.list()
}

// Duplicates counts the places at which a log that is delivered at least once holds a value again.
func (h *LogHistory) Duplicates() int {
	c := logChecker{history: h}
	c.readContent()
	distinct := map[uint64]bool{}
	for _, s := range c.content {
		distinct[s.value] = true
	}
	return len(c.content) - len(distinct)
}

type logChecker struct {
	history *LogHistory
	found   findings
	content map[int64]slot
	steps   []logStep
	hidden  []int32 // appends of unknown outcome whose value nobody saw
	length  int64   // the greatest that anything implies
	longest int32   // who said so
}

// slot is what is known to be at an offset, and by whom.
type slot struct {
	value uint64
	by    int32
}

// logStep is an operation with its key in the order of the log.
type logStep struct {
	key       int64
	call, ret Stamp
	op        int32
	oneSided  bool // at least this long: nothing is held against it
}

// readContent puts together what all operations say about the content.
func (c *logChecker) readContent() {
	c.content = make(map[int64]slot, len(c.history.Ops))
	c.longest = none
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Outcome != OK {
			continue
		}
		switch op.Kind {
		case LogAppend:
			c.put(op.Offset, op.Value, int32(i))
			c.reach(op.Offset+1, int32(i))
		case LogRead:
			values := c.history.Values(i)
			for k, value := range values {
				c.put(op.Offset+int64(k), value, int32(i))
			}
			end := op.Offset + int64(len(values))
			if len(values) > 0 {
				c.reach(end, int32(i))
			}
			c.reach(op.Length, int32(i))
			if op.Length != NoLength && len(values) > 0 && end > op.Length {
				c.report("read beyond the length it answered", none, int32(i), "the values do not fit into the length")
			}
		default:
			c.reach(op.Length, int32(i))
		}
	}
}

func (c *logChecker) reach(length int64, by int32) {
	if length > c.length {
		c.length, c.longest = length, by
	}
}

func (c *logChecker) put(offset int64, value uint64, by int32) {
	before, known := c.content[offset]
	if !known {
		c.content[offset] = slot{value, by}
		return
	}
	if before.value != value {
		c.report("two values at one offset", before.by, by,
			fmt.Sprintf("offset %d holds value %d for the one and value %d for the other", offset, before.value, value))
	}
}

// placeAppends gives each append that took effect its step, and finds values that should not be there.
func (c *logChecker) placeAppends(appends map[uint64]int32) {
	offsets := make([]int64, 0, len(c.content))
	for offset := range c.content {
		offsets = append(offsets, offset)
	}
	slices.Sort(offsets)
	placed := make([]int64, len(c.history.Ops)) // one more than the offset, by operation
	for _, offset := range offsets {
		s := c.content[offset]
		i, appended := appends[s.value]
		if !appended {
			c.report("value nobody appended", none, s.by, fmt.Sprintf("value %d at offset %d", s.value, offset))
			continue
		}
		c.place(i, offset, s)
		if placed[i] > 0 && !c.history.AtLeastOnce {
			c.report("value stored twice", i, s.by, fmt.Sprintf("it is at offset %d and at offset %d", placed[i]-1, offset))
		}
		placed[i] = offset + 1
	}
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Kind == LogAppend && op.Outcome == Unknown && placed[i] == 0 {
			c.hidden = append(c.hidden, int32(i))
		}
	}
}

// place adds the step of one stored value.
func (c *logChecker) place(i int32, offset int64, s slot) {
	op := &c.history.Ops[i]
	step := logStep{key: 2*offset + 1, call: op.Call, ret: Never, op: i}
	switch {
	case op.Outcome == Failed:
		c.report("value of a failed append", i, s.by, fmt.Sprintf("it is at offset %d", offset))
		return
	case op.Outcome == OK && op.Offset == offset:
		step.ret = op.Return
	}
	c.steps = append(c.steps, step)
}

// checkClosed holds all lengths against the closed one.
func (c *logChecker) checkClosed() {
	closed := none
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Kind == LogClose && op.Outcome == OK && (closed == none || op.Length < c.history.Ops[closed].Length) {
			closed = int32(i)
		}
	}
	if closed != none && c.length > c.history.Ops[closed].Length {
		c.report("longer than it was closed", closed, c.longest,
			fmt.Sprintf("a closed log never changes, and the other implies a length of %d", c.length))
	}
}

// checkConfirmed: to one reader the confirmed length never falls. That it is never above what was appended is up to
// the sweep.
func (c *logChecker) checkConfirmed() {
	var called []int32
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Kind == LogConfirmed && op.Outcome == OK {
			called = append(called, int32(i))
		}
	}
	ops := c.history.Ops
	returned := slices.Clone(called)
	slices.SortStableFunc(called, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ops[a].Client, ops[b].Client), cmp.Compare(ops[a].Call, ops[b].Call))
	})
	slices.SortStableFunc(returned, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ops[a].Client, ops[b].Client), cmp.Compare(ops[a].Return, ops[b].Return))
	})
	// Both lists of one reader are walked side by side: highest is the greatest length that had returned by the call.
	k, highest := 0, none
	for n, i := range called {
		if n > 0 && ops[called[n-1]].Client != ops[i].Client {
			k, highest = n, none
		}
		for ; ops[returned[k]].Client == ops[i].Client && ops[returned[k]].Return < ops[i].Call; k++ {
			if highest == none || ops[returned[k]].Length > ops[highest].Length {
				highest = returned[k]
			}
		}
		if highest != none && ops[highest].Length > ops[i].Length {
			c.report("confirmed length fell", highest, i, "to one reader it must not fall")
		}
	}
}

// placeOthers gives their steps to all that saw a length.
func (c *logChecker) placeOthers() {
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		if op.Outcome != OK || op.Kind == LogAppend {
			continue
		}
		step := logStep{key: 2 * op.Length, call: op.Call, ret: op.Return, op: int32(i), oneSided: op.Kind == LogConfirmed}
		if op.Length == NoLength {
			count := int64(op.values.count)
			if count == 0 {
				continue
			}
			step.key, step.oneSided = 2*(op.Offset+count), true
		}
		c.steps = append(c.steps, step)
	}
}

// sweep goes through the steps by key.
func (c *logChecker) sweep() {
	slices.SortStableFunc(c.steps, func(a, b logStep) int { return cmp.Compare(a.key, b.key) })
	latest, latestBy := Stamp(math.MinInt64), none // the greatest call among smaller keys
	for rest := c.steps; len(rest) > 0; {
		n := runLength(rest, func(a, b logStep) bool { return a.key == b.key })
		for _, s := range rest[:n] {
			if s.ret < latest {
				c.report("order", s.op, latestBy, "the first returned before the second was called, but it comes after "+
					"it in the log")
			}
		}
		for _, s := range rest[:n] {
			if !s.oneSided && s.call > latest {
				latest, latestBy = s.call, s.op
			}
		}
		rest = rest[n:]
	}
	if !c.history.AtLeastOnce { // else a second copy of any value may be there
		c.checkHoles()
	}
}

// checkHoles: an offset below some length at which nobody read holds an append of unknown outcome, called in time. The
// deadlines grow with the offset, so the earliest called appends go to the lowest holes.
func (c *logChecker) checkHoles() {
	holes := c.length - int64(len(c.content))
	if holes > int64(len(c.hidden)) {
		c.report("longer than all appends", none, c.longest,
			fmt.Sprintf("at %d offsets below length %d there is no append to be, and only %d are of unknown outcome",
				holes, c.length, len(c.hidden)))
		return
	}
	slices.SortFunc(c.hidden, func(a, b int32) int {
		return cmp.Compare(c.history.Ops[a].Call, c.history.Ops[b].Call)
	})
	// From the highest hole down, so that the deadline is a running minimum; the hole with n holes below it takes the
	// n-th hidden append.
	deadline, by := Never, none
	top := len(c.steps)
	for offset := c.length - 1; holes > 0; offset-- {
		for ; top > 0 && c.steps[top-1].key > 2*offset+1; top-- {
			if s := &c.steps[top-1]; s.ret < deadline {
				deadline, by = s.ret, s.op
			}
		}
		if _, known := c.content[offset]; known {
			continue
		}
		holes--
		if i := c.hidden[holes]; c.history.Ops[i].Call > deadline {
			c.report("longer than all appends that were called", by, i,
				fmt.Sprintf("nobody else can have filled offset %d in time", offset))
			return
		}
	}
}

// report adds a violation by the two operations that contradict each other.
func (c *logChecker) report(rule string, first, second int32, because string) {
	c.found.add(CheckerLog, rule, func() string {
		if first == none {
			return fmt.Sprintf("%s: %s", c.history.describe(int(second)), because)
		}
		return fmt.Sprintf("%s, and %s: %s", c.history.describe(int(first)), c.history.describe(int(second)), because)
	}, operations(first, second)...)
}
