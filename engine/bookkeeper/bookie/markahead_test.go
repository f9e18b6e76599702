package bookie_test

import (
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestAMarkMayBeAheadOfTheJournal: a checkpoint covers groups that are still being synced, so a crash can leave a mark
// behind which the journal's own end is missing or torn. If the next start then fails and closes the journal with a
// footer, that footer knows more groups as durable than the journal has. The mark covers them: nothing is lost, and the
// start after that must not call it damage.
func TestAMarkMayBeAheadOfTheJournal(t *testing.T) {
	torn := int64(0)
	for _, mode := range []disk.Survival{disk.Drop, disk.Keep, disk.Torn, disk.RandomPages} {
		for seed := range uint64(8) {
			w := sim.New(sim.Config{Seed: seed})
			n := w.NewNode("bookie")
			facts := newTruth()
			slow, broken := false, false
			n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if slow && op.Kind == sim.DiskSync {
					return sim.DiskEffect{Delay: time.Second}
				}
				return sim.DiskEffect{}
			})
			n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if broken && op.Kind == sim.DiskCreate && strings.HasSuffix(op.Path, ".table") {
					return sim.DiskEffect{Err: host.ErrIO}
				}
				return sim.DiskEffect{}
			})
			write := func(h host.Host) error {
				s, err := bookie.Open(h, h.Root(), tinyConfig())
				if err != nil {
					return err
				}
				c := &clients{truth: facts, h: h, store: s}
				c.one(1, 0, 10, false)
				h.Root().Sleep(time.Second) // the next journal file lies ready
				slow = true
				h.Root().New("client").Go("client", func() { c.one(1, 1, 10, false) })
				h.Root().Sleep(100 * time.Millisecond)
				c.flush() // covers the group whose sync takes a second
				n.Crash(sim.PowerCut(mode))
				return nil
			}
			fail := func(h host.Host) error {
				slow, broken = false, true
				if _, err := bookie.Open(h, h.Root(), tinyConfig()); err == nil {
					t.Error("a start that cannot write its ledger table succeeds")
				}
				broken = false
				return nil
			}
			check := func(h host.Host) error {
				s, err := bookie.Open(h, h.Root(), tinyConfig())
				if err != nil {
					return err
				}
				if err := facts.check(s, &verdict{certain: true}); err != nil {
					t.Errorf("%v, seed %d: %v", mode, seed, err)
				}
				return s.Close()
			}
			boots := []func(host.Host) error{write, fail, check, check}
			next := func() {
				if n.Epoch() < len(boots) {
					n.Start(boots[n.Epoch()])
				}
			}
			n.OnExit(func(err error, _ bool) {
				if err != nil {
					t.Errorf("%v, seed %d, life %d: %v", mode, seed, n.Epoch(), err)
				}
				w.At(0, next)
			})
			next()
			if v := w.Run(time.Hour); v.Failed() {
				t.Fatal(v.String())
			}
			torn += n.Visits(journal.PointTornTail)
		}
	}
	if torn == 0 {
		t.Error("no crash left a torn group under the mark")
	}
}
