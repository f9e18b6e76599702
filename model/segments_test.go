package model

import (
	"slices"
	"testing"
)

// segmentStory is a right history: two appends of two messages each, reads, look-ups, and a removal of what is old.
func segmentStory() *SegmentHistory {
	at := Stamp(0)
	op := func(o SegmentOp) SegmentOp {
		o.Call, o.Return = at+1, at+2
		at += 2
		return o
	}
	h := &SegmentHistory{
		Times:  map[uint64]uint64{10: 100, 11: 105, 12: 103, 13: 110, 14: 111, 15: 120},
		Period: 50,
	}
	h.Ops = []SegmentOp{
		op(SegmentOp{Kind: SegmentAppend, Outcome: SegmentOK, Cursor: 0, Values: []uint64{10, 11}}),           // 1-2
		op(SegmentOp{Kind: SegmentAppend, Outcome: SegmentOK, Cursor: 2, Values: []uint64{12, 13}}),           // 3-4
		op(SegmentOp{Kind: SegmentAppend, Outcome: SegmentUnknown, Values: []uint64{14}}),                     // 5-6
		op(SegmentOp{Kind: SegmentAppend, Outcome: SegmentRefused, Values: []uint64{15}}),                     // 7-8
		op(SegmentOp{Kind: SegmentRead, Outcome: SegmentOK, Cursor: 1, Values: []uint64{11, 12, 13, 14}}),     // 9-10
		op(SegmentOp{Kind: SegmentRead, Outcome: SegmentOK, Cursor: 5}),                                       // 11-12
		op(SegmentOp{Kind: SegmentSeek, Outcome: SegmentOK, Time: 104, Cursor: 1}),                            // 13-14
		op(SegmentOp{Kind: SegmentSeek, Outcome: SegmentOK, Time: 112, Cursor: 5}),                            // 15-16
		op(SegmentOp{Kind: SegmentRead, Outcome: SegmentBeyond, Cursor: 6}),                                   // 17-18
		op(SegmentOp{Kind: SegmentRead, Outcome: SegmentTrimmed, Cursor: 0}),                                  // 19-20
		op(SegmentOp{Kind: SegmentBounds, Outcome: SegmentOK, Cursor: 2, Next: 5}),                            // 21-22
		op(SegmentOp{Kind: SegmentRead, Outcome: SegmentOK, Cursor: 2, Values: []uint64{12, 13, 14}}),         // 23-24
		op(SegmentOp{Kind: SegmentAppend, Outcome: SegmentOK, Partition: 1, Cursor: 0, Values: []uint64{20}}), // 25-26
	}
	h.Clocks = []SegmentClock{{At: 1, Time: 100}, {At: 19, Time: 155}}
	return h
}

// TestWrongSegmentHistoriesAreFound: the story passes, and with one thing wrong in it the checker says which.
func TestWrongSegmentHistoriesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		edit func(h *SegmentHistory)
	}{
		"as it was":                {"", func(*SegmentHistory) {}},
		"two values at a cursor":   {CheckerSegmentContent, func(h *SegmentHistory) { h.Ops[11].Values[0] = 14; h.Ops[11].Values = h.Ops[11].Values[:1] }},
		"a value at two cursors":   {CheckerSegmentContent, func(h *SegmentHistory) { h.Ops[4].Values = append(h.Ops[4].Values, 14) }},
		"stored in two partitions": {CheckerSegmentContent, func(h *SegmentHistory) { h.Ops[11].Partition = 1 }},
		"never sent":               {CheckerSegmentInvented, func(h *SegmentHistory) { h.Ops[4].Values[3] = 99 }},
		"refused and stored":       {CheckerSegmentInvented, func(h *SegmentHistory) { h.Ops[2].Outcome = SegmentRefused }},
		"read before it was sent":  {CheckerSegmentInvented, func(h *SegmentHistory) { h.Ops[2].Call, h.Ops[2].Return = 30, 31 }},
		"acknowledged and gone":    {CheckerSegmentLost, func(h *SegmentHistory) { h.Ops[5].Cursor = 3 }},
		"shown and gone":           {CheckerSegmentLost, func(h *SegmentHistory) { h.Ops[10].Next = 4 }},
		"shown and beyond":         {CheckerSegmentLost, func(h *SegmentHistory) { h.Ops[8].Cursor = 5 }},
		"cursors out of order": {CheckerSegmentOrder, func(h *SegmentHistory) {
			h.Ops[0].Call, h.Ops[0].Return = 40, 41
			h.Ops[4].Values = nil
			h.Ops[4].Cursor = 7
		}},
		"an older message":         {CheckerSegmentTime, func(h *SegmentHistory) { h.Ops[6].Cursor = 0 }},
		"passed over":              {CheckerSegmentTime, func(h *SegmentHistory) { h.Ops[6].Cursor = 3 }},
		"none found":               {CheckerSegmentTime, func(h *SegmentHistory) { h.Ops[6].Time, h.Ops[6].Cursor = 110, 5 }},
		"a young one removed":      {CheckerSegmentTrimmed, func(h *SegmentHistory) { h.Clocks = h.Clocks[:1] }},
		"removed too far":          {CheckerSegmentTrimmed, func(h *SegmentHistory) { h.Ops[10].Cursor = 4 }},
		"removed without a period": {CheckerSegmentTrimmed, func(h *SegmentHistory) { h.Period = 0 }},
	} {
		h := segmentStory()
		c.edit(h)
		found := CheckSegments(h)
		is := func(v Violation) bool { return v.Checker == c.want }
		if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, is) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}

// TestACrashLeavesAPrefix: of what was acknowledged before a crash the end may be lost where nothing is synced, and
// nothing else.
func TestACrashLeavesAPrefix(t *testing.T) {
	story := func(left ...uint64) *SegmentHistory {
		return &SegmentHistory{Ops: []SegmentOp{
			{Kind: SegmentAppend, Outcome: SegmentOK, Call: 1, Return: 2, Values: []uint64{1, 2, 3, 4}},
			{Kind: SegmentAppend, Outcome: SegmentOK, Call: 3, Return: 4, Epoch: 1, ReturnEpoch: 1, Cursor: 2, Values: []uint64{5}},
			{Kind: SegmentRead, Outcome: SegmentOK, Call: 5, Return: 6, Epoch: 1, ReturnEpoch: 1, Values: left},
		}}
	}
	if found := CheckSegments(story(1, 2, 5)); len(found) > 0 {
		t.Errorf("a prefix: %+v", found)
	}
	if found := CheckSegments(story(1, 2, 5, 4)); len(found) != 1 || found[0].Checker != CheckerSegmentLost {
		t.Errorf("a hole: %+v", found)
	}
}
