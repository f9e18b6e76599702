package bookie_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

var _ = math.MaxInt64
var _ = disk.Drop

// lives runs boots one after the other; before each later one the process that ran is gone.
func livesInTurn(t *testing.T, prepare func(w *sim.World, n *sim.Node), boots ...func(n *sim.Node, h host.Host) error) []error {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	if prepare != nil {
		prepare(w, n)
	}
	var ends []error
	life := 0
	start := func() {
		f := boots[life]
		life++
		n.Start(func(h host.Host) error { return f(n, h) })
	}
	n.OnExit(func(err error, crashed bool) {
		ends = append(ends, err)
		if life == len(boots) {
			w.Stop()
			return
		}
		w.At(time.Millisecond, start)
	})
	start()
	if v := w.Run(10 * time.Minute); v.Failed() {
		t.Errorf("%s", v.String())
	}
	return ends
}

// TestFilesOfAnotherSizeAreNotRecycled. The mistake was: files that Trim keeps are not asked for their size.
func TestFilesOfAnotherSizeAreNotRecycled(t *testing.T) {
	small := smallConfig()
	small.CheckpointInterval = time.Hour
	large := small
	large.Journal.FileBytes *= 2
	const entries = 300
	ends := livesInTurn(t, nil,
		func(n *sim.Node, h host.Host) error { // fills files of the old size
			s, err := bookie.Open(h, h.Root(), large)
			if err != nil {
				return err
			}
			for e := range ledger.EntryID(240) { // the second file is filled beyond the new size
				if err := s.AddOne(&bookie.Add{Body: stored(1, e, 3000)}); err != nil {
					return err
				}
			}
			n.Crash(sim.KillProcess())
			return nil
		},
		func(n *sim.Node, h host.Host) error { // the boot's checkpoint trims them into spares
			c := small
			c.WriteCacheBytesMax = 16 << 20 // no checkpoint: everything must come from the journal
			s, err := bookie.Open(h, h.Root(), c)
			if err != nil {
				return err
			}
			for e := range ledger.EntryID(entries) {
				if err := s.AddOne(&bookie.Add{Body: stored(2, e, 3000)}); err != nil {
					return err
				}
			}
			n.Crash(sim.PowerCut(disk.Drop))
			return nil
		},
		func(n *sim.Node, h host.Host) error {
			c := small
			c.WriteCacheBytesMax = 4 << 20
			s, err := bookie.Open(h, h.Root(), c)
			if err != nil {
				return err
			}
			for e := range ledger.EntryID(entries) {
				got, err := s.Read(2, e)
				if err != nil {
					t.Errorf("acknowledged entry: %v", err)
					break
				}
				got.Release()
			}
			return s.Close()
		})
	if err := ends[len(ends)-1]; err != nil {
		t.Errorf("last life: %v", err)
	}
}

// tightConfig is valid; its journal files are as small as Validate allows.
func tightConfig() bookie.Config {
	c := smallConfig()
	c.EntryBytesMax, c.BatchBytesMax = 16<<10, 32<<10
	c.Journal.GroupBytesMax = 4 << 10
	c.Journal.FileBytes = (2*(c.Journal.GroupBytesMax+2*c.BatchBytesMax+4096) + 2*4096 + 4095) &^ 4095
	c.WriteCacheBytesMax = 4 << 20
	c.CheckpointInterval = time.Hour
	return c
}

// tinyEntries is a batch of entries of 16 bytes, each the first of its ledger: 76 bytes in the journal for 16 counted.
func tinyEntries(from, count int, q *host.Queue[*bookie.Batch]) *bookie.Batch {
	b := &bookie.Batch{Done: q}
	for i := range count {
		p := make([]byte, ledger.HeaderBytes)
		ledger.PutHeader(p, ledger.ID(from+i), 0, -1, 0)
		b.Adds = append(b.Adds, bookie.Add{Body: p[:ledger.ShortestBytes]})
	}
	return b
}

// TestABatchOfTinyEntriesFitsAJournalFile. The mistake was: a group of the largest batch does not fit a journal file.
func TestABatchOfTinyEntriesFitsAJournalFile(t *testing.T) {
	c := tightConfig()
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		q := host.NewQueue[*bookie.Batch](h, h.Root(), "done", 8)
		per := int(c.BatchBytesMax) / ledger.ShortestBytes
		for i := range 4 {
			s.Submit(tinyEntries(i*per, per, q))
		}
		dir, _ := h.Disk(bookie.JournalVolume)
		h.Root().Sleep(time.Second)
		infos, _ := dir.List()
		for _, info := range infos {
			if strings.HasSuffix(info.Name, ".journal") && info.Size > c.Journal.FileBytes {
				t.Errorf("%s has %d bytes, configured are %d", info.Name, info.Size, c.Journal.FileBytes)
			}
		}
		return s.Close()
	})
}

// TestCloseGetsTheFilesThatItsLastGroupsNeed. The mistake was: Close hangs for ever if two groups that wait when it begins need a file each.
func TestCloseGetsTheFilesThatItsLastGroupsNeed(t *testing.T) {
	c := tightConfig()
	livesInTurn(t, func(w *sim.World, n *sim.Node) {
		n.Disk(bookie.JournalVolume).SetProfile(sim.DiskProfile{Sync: 50 * time.Millisecond, Cache: time.Millisecond})
	}, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		q := host.NewQueue[*bookie.Batch](h, h.Root(), "done", 16)
		per := int(c.BatchBytesMax) / ledger.ShortestBytes
		for i := range 3 {
			s.Submit(tinyEntries(i*per, per, q))
		}
		return s.Close()
	})
}

// TestAFileThatCouldNotBeFilledGivesItsSpaceBack. The mistake was: a file that could not be filled keeps all the space it got.
func TestAFileThatCouldNotBeFilledGivesItsSpaceBack(t *testing.T) {
	c := smallConfig()
	livesInTurn(t, func(w *sim.World, n *sim.Node) {
		n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskWrite && strings.HasPrefix(op.Path, "0000000000000002") && op.Offset > 128<<10 {
				return sim.DiskEffect{Err: host.ErrNoSpace}
			}
			return sim.DiskEffect{}
		})
	}, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		h.Root().Sleep(1050 * time.Millisecond)
		dir, _ := h.Disk(bookie.JournalVolume)
		infos, _ := dir.List()
		for _, info := range infos {
			if strings.HasSuffix(info.Name, ".new") {
				t.Errorf("%s holds %d bytes of a full disk between two attempts", info.Name, info.Size)
			}
		}
		return s.Close()
	})
}

// TestClosingTwiceIsHarmless. The mistake was: second Close.
func TestClosingTwiceIsHarmless(t *testing.T) {
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		_ = s.Close()
		return nil
	})
}

// TestStartsThatFailLeaveNoFiles. The mistake was: starts that fail leave two journal files each.
func TestStartsThatFailLeaveNoFiles(t *testing.T) {
	failing := func(n *sim.Node, h host.Host) error {
		n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if strings.HasSuffix(op.Path, ".log") && op.Kind == sim.DiskWrite {
				return sim.DiskEffect{Err: host.ErrNoSpace}
			}
			return sim.DiskEffect{}
		})
		_, err := bookie.Open(h, h.Root(), smallConfig())
		if err == nil {
			t.Error("opened")
		}
		return nil
	}
	boots := []func(n *sim.Node, h host.Host) error{func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		n.Crash(sim.KillProcess())
		return nil
	}}
	for range 10 {
		boots = append(boots, failing)
	}
	boots = append(boots, func(n *sim.Node, h host.Host) error {
		dir, _ := h.Disk(bookie.JournalVolume)
		infos, _ := dir.List()
		count := 0
		for _, info := range infos {
			if strings.HasSuffix(info.Name, ".journal") {
				count++
			}
		}
		if count > 5 {
			t.Errorf("%d journal files after ten starts that failed", count)
		}
		return nil
	})
	livesInTurn(t, nil, boots...)
}

// TestNegativeReadAheadIsRefused. The mistake was: settings that Validate lets pass and that answer wrongly or hang.
func TestNegativeReadAheadIsRefused(t *testing.T) {
	c := smallConfig()
	c.EntryLog.ReadAheadEntries = -1
	if c.Validate() != nil {
		return
	}
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		if err := s.Flush(); err != nil {
			return err
		}
		e, err := s.Read(1, 0)
		if err != nil {
			t.Errorf("read of an acknowledged entry: %v", err)
		}
		e.Release()
		return s.Close()
	})
}

func TestAGroupSizeOfZeroIsRefused(t *testing.T) {
	c := smallConfig()
	c.Journal.GroupBytesMax = 0
	if c.Validate() != nil {
		return
	}
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		return s.Close()
	})
}

// TestAFooterOfModeNeverClaimsNothingUnsynced. The mistake was: mode never, a checkpoint that fails at the close, and a footer that calls unsynced files durable.
func TestAFooterOfModeNeverClaimsNothingUnsynced(t *testing.T) {
	c := smallConfig()
	c.Journal.Sync = journal.SyncNever
	c.WriteCacheBytesMax = 8 << 20
	c.CheckpointInterval = time.Hour
	ends := livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		for e := range ledger.EntryID(100) {
			if err := s.AddOne(&bookie.Add{Body: stored(1, e, 3000)}); err != nil {
				return err
			}
		}
		n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskWrite {
				return sim.DiskEffect{Err: host.ErrNoSpace}
			}
			return sim.DiskEffect{}
		})
		if err := s.Close(); err == nil {
			t.Error("close should have failed")
		}
		n.Disk(bookie.LedgerVolume).SetFaults(nil)
		n.Crash(sim.PowerCut(disk.RandomPages))
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

// TestSnapshotsThatFailedAreRemoved. The mistake was: table snapshots that fail pile up and keep the space that the next attempt needs.
func TestSnapshotsThatFailedAreRemoved(t *testing.T) {
	c := smallConfig()
	c.RetryPause = 10 * time.Millisecond
	livesInTurn(t, func(w *sim.World, n *sim.Node) {
		n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if w.Elapsed() > 100*time.Millisecond && strings.HasSuffix(op.Path, ".table") && op.Kind == sim.DiskSync {
				return sim.DiskEffect{Err: host.ErrNoSpace}
			}
			return sim.DiskEffect{}
		})
	}, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			return err
		}
		h.Root().Sleep(200 * time.Millisecond)
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		h.Root().Sleep(5 * time.Second)
		dir, _ := h.Disk(bookie.LedgerVolume)
		infos, _ := dir.List()
		count := 0
		for _, info := range infos {
			if strings.HasSuffix(info.Name, ".table") {
				count++
			}
		}
		if count > 5 {
			t.Errorf("%d table files", count)
		}
		_ = s.Close()
		return nil
	})
}

// TestADeletedLedgerIsDeniedOnlyOnceThatIsDurable: a read that meets a delete under way waits for it.
func TestADeletedLedgerIsDeniedOnlyOnceThatIsDurable(t *testing.T) {
	var negative error
	livesInTurn(t, nil, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		if err := s.AddOne(&bookie.Add{Body: stored(1, 0, 300)}); err != nil {
			return err
		}
		n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			return sim.DiskEffect{Stuck: op.Kind == sim.DiskSync}
		})
		tasks := h.Root().New("deleter")
		tasks.Go("delete", func() { _ = s.Delete(1) })
		h.Root().Sleep(10 * time.Millisecond)
		tasks.Go("read", func() { _, negative = s.Read(1, 0) })
		h.Root().Sleep(10 * time.Millisecond)
		n.Disk(bookie.JournalVolume).SetFaults(nil)
		n.Crash(sim.PowerCut(disk.Drop))
		return nil
	}, func(n *sim.Node, h host.Host) error {
		s, err := bookie.Open(h, h.Root(), smallConfig())
		if err != nil {
			return err
		}
		e, err := s.Read(1, 0)
		if err == nil && errors.Is(negative, bookie.ErrNoLedger) {
			t.Errorf("the entry is there, after the answer %q", negative)
		}
		e.Release()
		return s.Close()
	})
}
