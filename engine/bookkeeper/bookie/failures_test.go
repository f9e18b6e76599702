package bookie_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestRecycledFilesHaveTheirSize. The mistake was: files that a batch of tiny entries had made too long were recycled.
func TestRecycledFilesHaveTheirSize(t *testing.T) {
	c := tightConfig()
	c.WriteCacheBytesMax = 16 << 20
	ends := livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		q := host.NewQueue[*bookie.Batch](h, h.Root(), "done", 16)
		per := int(c.BatchBytesMax) / ledger.ShortestBytes
		for i := range 4 {
			s.Submit(tinyEntries(1000+i*per, per, q))
		}
		if err := s.Flush(); err != nil { // trims: spares of more than FileBytes
			return err
		}
		for e := range ledger.EntryID(300) {
			if err := s.AddOne(&bookie.Add{Body: stored(2, e, 3000)}); err != nil {
				return err
			}
		}
		n.Crash(sim.KillProcess())
		return nil
	}, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err := ends[len(ends)-1]; err != nil {
		t.Errorf("last life: %v", err)
	}
}

// TestAFailedSyncAtAnIntervalEndsTheBookie. The mistake was: in mode interval a failed sync does not end the bookie until somebody adds.
func TestAFailedSyncAtAnIntervalEndsTheBookie(t *testing.T) {
	c := smallConfig()
	c.Journal.Sync, c.Journal.SyncInterval = journal.SyncInterval, 50*time.Millisecond
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskSync {
				return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
			}
			return sim.DiskEffect{}
		})
		h.Root().Sleep(10 * time.Second)
		if _, err := s.Read(1, 0); !errors.Is(err, bookie.ErrStopped) {
			t.Errorf("ten seconds after the journal's sync failed, a read: %v", err)
		}
		_ = s.Close()
		return nil
	})
}

// TestALogThatCannotBeRemovedDoesNotHinderAStart. The mistake was: a file that cannot be removed keeps the bookie from starting, although all is durable.
func TestALogThatCannotBeRemovedDoesNotHinderAStart(t *testing.T) {
	ends := livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		dir, _ := h.Disk(bookie.LedgerVolume)
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		f, err := dir.Create("00000001.log")
		if err != nil {
			return err
		}
		return f.Close()
	}, func(n *sim.Node, h host.Host) error {
		n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskRemove && op.Path == "00000001.log" {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err := ends[len(ends)-1]; err != nil {
		t.Errorf("last life: %v", err)
	}
}

// TestGroupsBeyondTheDecodersLimitAreRefused. The mistake was: groups that the decoder refuses are written.
func TestGroupsBeyondTheDecodersLimitAreRefused(t *testing.T) {
	c := bookie.DefaultConfig()
	c.Journal.GroupBytesMax, c.Journal.FileBytes = 300<<20, 1<<30
	if c.Validate() == nil {
		t.Error("journal groups of 300 MiB pass, replay refuses more than 256 MiB")
	}
	c = bookie.DefaultConfig()
	c.EntryLog.GroupBytes, c.WriteCacheBytesMax = 512<<20, 1<<30
	if c.Validate() == nil {
		t.Error("entry log groups of 512 MiB pass, a scan refuses more than 256 MiB")
	}
}

// TestASyncAtAnIntervalThatFailsDuringARollIsNotForgotten. The mistake was: the false "durable through" of a sync in mode interval: the interval's sync fails, the roll's one succeeds.
func TestASyncAtAnIntervalThatFailsDuringARollIsNotForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds only, and many")
	}
	c := smallConfig()
	c.Journal.Sync, c.Journal.SyncInterval = journal.SyncInterval, 40*time.Millisecond
	c.WriteCacheBytesMax = 16 << 20
	c.CheckpointInterval = time.Hour
	refusals, runs := 0, 0
	for k := range 1500 {
		failed, acked, late := false, 0, 0
		ends := livesInTurn(t, func(w *sim.World, n *sim.Node) {
			n.Disk(bookie.JournalVolume).SetProfile(sim.DiskProfile{Sync: 20 * time.Millisecond, Cache: 100 * time.Microsecond})
		}, func(n *sim.Node, h host.Host) error {
			s, err := bookie.Open(h, h.Root(), c)
			if err != nil {
				return err
			}
			h.Root().Sleep(time.Second)
			syncs := 0
			n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if op.Kind == sim.DiskSync && acked > 40 {
					if syncs++; syncs == 1+k%5 {
						failed = true
						return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
					}
				}
				return sim.DiskEffect{}
			})
			for e := ledger.EntryID(0); e < 200; e++ {
				if err := s.AddOne(&bookie.Add{Body: stored(1, e, 3000)}); err != nil {
					break
				}
				if acked++; failed {
					late++
				}
				h.Root().Sleep(time.Duration(2000+37*k) * time.Microsecond)
			}
			n.Crash(sim.PowerCut(disk.RandomPages))
			return nil
		}, func(n *sim.Node, h host.Host) error {
			n.Disk(bookie.JournalVolume).SetFaults(nil)
			s, err := bookie.Open(h, h.Root(), c)
			if err != nil {
				return err
			}
			return s.Close()
		})
		runs++
		if err := ends[len(ends)-1]; err != nil {
			if refusals++; refusals == 1 {
				t.Errorf("k %d failed=%v acked=%d late=%d: %v", k, failed, acked, late, err)
			}
		}
	}
	t.Logf("%d of %d refused", refusals, runs)
}
