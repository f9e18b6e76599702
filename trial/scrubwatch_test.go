package trial

import (
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/host"
	"lakebed/faults"
)

// A checkpoint wrote log 1 up to 77824 and closed it, but the process was killed before the ledger table said so: for the next
// life the log ends at 36864, and what is behind is nobody's. (Seed 20114345 of damage blamed the scrubber for it.)
func TestScrubWatchAsksForNoRotBehindTheDurableEnd(t *testing.T) {
	const durable = 36864
	path := entrylog.FileName(1)
	cases := []struct {
		name   string
		early  int64 // where the log rots before the start; -1: nowhere
		late   int64 // and where after it
		missed bool
	}{
		{"damaged log, behind its end", 4647, 49719, false},
		{"damaged log, at its end", 4647, durable, false},
		{"damaged log, before its end", 4647, durable - 1, true},
		{"whole log, in its new index", -1, durable, true},
		{"whole log, in its groups", -1, 8192, true},
		{"rot that the start cut off, in the new index", 49719, durable, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var wounds []faults.Wound
			damage := func() []faults.Wound { return wounds }
			wound := func(at time.Duration, offset int64) {
				wounds = append(wounds, faults.Wound{Node: "bookie", Volume: bookie.LedgerVolume, Path: path, At: at, Offset: offset, Length: 1})
			}
			w := newScrubWatch("bookie")
			w.see(1, host.Event{Name: entrylog.PointClosed, A: 1}, damage)
			if c.early >= 0 {
				wound(2, c.early)
			}
			w.see(3, host.Event{Name: entrylog.PointRescanned, A: 1, B: durable}, damage)
			wound(4, c.late)
			w.see(5, host.Event{Name: bookie.PointScrubBegun, A: 1, B: 1}, damage)
			w.see(6, host.Event{Name: bookie.PointScrubPassed, A: 1}, damage)
			if got := len(w.judge()) > 0; got != c.missed {
				t.Errorf("rot at %d is held against the scrubber: %v, want %v", c.late, got, c.missed)
			}
		})
	}
}
