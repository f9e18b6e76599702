package segments

import (
	"bytes"
	"testing"

	"lakebed/model"
	"lakebed/workloads/agenda"
)

// TestAChangedMessageIsOneThatNobodySent: whatever byte of it differs, and whatever is cut off.
func TestAChangedMessageIsOneThatNobodySent(t *testing.T) {
	l := NewLab(Mix{}, 1, agenda.New(1))
	for _, groups := range []int{1, 3} {
		d := l.draft(1000, 90, groups)
		if got := l.valueOf(d.payload); got != d.value {
			t.Fatalf("message %d is read as %d", d.value, got)
		}
		for i := range d.payload {
			bad := bytes.Clone(d.payload)
			bad[i] ^= 16
			if got := l.valueOf(bad); got != strange {
				t.Errorf("with byte %d changed it is read as %d", i, got)
			}
			if got := l.valueOf(d.payload[:i]); got != strange {
				t.Errorf("%d bytes of it are read as %d", i, got)
			}
		}
	}
}

// TestWhatACrashCutsOffIsUnknown: an append may have been stored; a read says nothing; neither is recorded twice.
func TestWhatACrashCutsOffIsUnknown(t *testing.T) {
	l := NewLab(Mix{}, 1, agenda.New(1))
	appended := l.begin(model.SegmentOp{Kind: model.SegmentAppend})
	l.begin(model.SegmentOp{Kind: model.SegmentRead})
	l.Unsynced()
	l.Cut()
	l.end(appended, model.SegmentOK, nil) // its task is unwound later
	ops := l.History().Ops
	if len(ops) != 2 || ops[0].Outcome != model.SegmentUnknown || ops[1].Outcome != model.SegmentError {
		t.Errorf("%+v", ops)
	}
	if ops[0].Epoch != 0 || ops[0].ReturnEpoch != 1 || ops[0].Return <= ops[1].Call {
		t.Errorf("%+v", ops[0])
	}
}

// TestTheClockIsTheLatestThatWasSeen: one that is set back does not count.
func TestTheClockIsTheLatestThatWasSeen(t *testing.T) {
	l := NewLab(Mix{}, 1, agenda.New(1))
	for _, now := range []uint64{5, 9, 7, 9, 12} {
		l.Clock(now)
	}
	var times []uint64
	for _, c := range l.History().Clocks {
		times = append(times, c.Time)
	}
	if len(times) != 3 || times[0] != 5 || times[1] != 9 || times[2] != 12 {
		t.Errorf("%v", times)
	}
}
