package bookie_test

import (
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestALongBodyStaysInMemoryUntilItsGroupIsWritten: the journal's group refers to long bodies instead of copying them.
// A checkpoint that overtakes a slow journal must not give their memory back: the group would be written with other
// bytes than it was checksummed with, and all that it acknowledges would be lost in the next crash.
func TestALongBodyStaysInMemoryUntilItsGroupIsWritten(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	facts := newTruth()
	slow := false
	n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if slow && op.Kind == sim.DiskSync {
			slow = false
			return sim.DiskEffect{Delay: time.Second}
		}
		return sim.DiskEffect{}
	})
	write := func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		c := &clients{truth: facts, h: h, store: s}
		tasks := h.Root().New("clients")
		add := func(after time.Duration, id ledger.ID, size int) {
			tasks.Go("client", func() {
				tasks.Sleep(after)
				c.one(id, 0, size, false)
			})
		}
		slow = true
		add(0, 1, 10)                       // its group takes a second to sync
		add(100*time.Millisecond, 2, 3000)  // waits in the next group
		add(900*time.Millisecond, 3, 10)    // in that group, and after the flush below
		tasks.Sleep(200 * time.Millisecond) // both are on their way
		c.flush()                           // overtakes the journal
		if h.Elapsed() > 800*time.Millisecond {
			t.Errorf("the flush ended at %v: the test needs one that overtakes the journal", h.Elapsed())
		}
		tasks.Wait()
		if c.failed != nil {
			t.Error(c.failed)
		}
		n.Crash(sim.PowerCut(disk.Keep))
		return nil
	}
	check := func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		if err := facts.check(s, &verdict{certain: true}); err != nil {
			t.Error(err)
		}
		return s.Close()
	}
	n.OnExit(func(err error, crashed bool) {
		if err != nil {
			t.Error(err)
		}
		if crashed {
			w.At(0, func() { n.Start(check) })
		}
	})
	n.Start(write)
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}
