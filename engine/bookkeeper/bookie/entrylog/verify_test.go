package entrylog_test

import (
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// verify reads log 1 as a scrubber does.
func (l *library) verify() (flaws []entrylog.Flaw, err error) {
	v := l.logs.NewVerifier(l.live, func(int64) error { return nil }, func(f entrylog.Flaw) { flaws = append(flaws, f) })
	err = v.Verify(1)
	return flaws, err
}

// TestWhatCannotBeReadIsNoRot: each read of a pass fails in turn, once or from then on. Whatever a pass then does not see, it
// has no proof that anything is missing. The index has several blocks, and only one of them is held at a time.
func TestWhatCannotBeReadIsNoRot(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		var first ledger.EntryID
		for version := 0; !l.states[1].Closed; version++ { // two ledgers in turn: their items lie apart
			if err := l.flush(version, 1, append(dense(1, first, 60), dense(2, first, 60)...)...); err != nil {
				return err
			}
			first += 60
		}
		reads := 0
		fails := func(int) bool { return false }
		l.volume.SetFaults(func(o *sim.DiskOp) sim.DiskEffect {
			if o.Kind != sim.DiskRead || o.Path != entrylog.FileName(1) {
				return sim.DiskEffect{}
			}
			if reads++; fails(reads) {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		if flaws, err := l.verify(); err != nil || len(flaws) > 0 {
			t.Errorf("a sound log: %v, %v", flaws, err)
		}
		all := reads
		if all < 20 {
			t.Fatalf("a pass has %d reads", all)
		}
		for nth := 1; nth <= all; nth++ {
			for _, lasts := range []int{1, 3, all} {
				reads, fails = 0, func(n int) bool { return nth <= n && n < nth+lasts }
				flaws, err := l.verify()
				if err != nil || len(flaws) == 0 {
					t.Errorf("%d reads fail from the %d. on: %v, %v", lasts, nth, flaws, err)
				}
				for _, f := range flaws {
					if f.IsRot() || !errors.Is(f.Cause, host.ErrIO) {
						t.Errorf("%d reads fail from the %d. on: %s at %d is called rot: %v", lasts, nth, f.Part, f.Offset, f.Cause)
					}
				}
			}
		}
		return nil
	})
}
