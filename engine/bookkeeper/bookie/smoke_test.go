package bookie_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// smallConfig makes every file roll and every cache fill within a few hundred entries.
func smallConfig() bookie.Config {
	c := bookie.DefaultConfig()
	c.Journal.FileBytes, c.Journal.GroupBytesMax = 256<<10, 16<<10
	c.EntryLog.LogBytesMax, c.EntryLog.ItemsMax, c.EntryLog.GroupBytes = 96<<10, 10_000, 8<<10
	c.EntryLog.IndexCacheBytesMax, c.EntryLog.ReadCacheBytesMax = 32<<10, 32<<10
	c.EntryLog.ReadAheadBytesMax = 8 << 10
	c.WriteCacheBytesMax, c.ChunkBytes = 64<<10, 4<<10
	c.EntryBytesMax, c.BatchBytesMax = 16<<10, 32<<10
	c.CheckpointInterval = 500 * time.Millisecond
	return c
}

func stored(id ledger.ID, entry ledger.EntryID, size int) []byte {
	p := make([]byte, ledger.HeaderBytes+size)
	ledger.PutHeader(p, id, entry, entry-1, int64(size))
	for i := range size {
		p[ledger.HeaderBytes+i] = byte(int(id)*31 + int(entry)*7 + i)
	}
	return p
}

func openAndCheck(h host.Host, acked map[ledger.ID]ledger.EntryID) (*bookie.Store, error) {
	s, err := bookie.Open(h, h.Root(), smallConfig())
	if err != nil {
		return nil, err
	}
	for _, id := range host.SortedKeys(acked) {
		for e := range acked[id] {
			got, err := s.Read(id, e)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(got.Body, stored(id, e, 200)) {
				return nil, fmt.Errorf("entry %d/%d differs", id, e)
			}
			got.Release()
		}
	}
	return s, nil
}

func TestAcknowledgedEntriesSurviveCrashesInEveryMode(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds only, and many")
	}
	for seed := range uint64(40) {
		w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed % 3 * 100)})
		n := w.NewNode("bookie")
		acked := map[ledger.ID]ledger.EntryID{}
		rounds := 0
		boot := func(h host.Host) error {
			s, err := openAndCheck(h, acked)
			if err != nil {
				return err
			}
			rounds++
			tasks := h.Root().New("clients")
			for c := range 4 {
				id := ledger.ID(rounds*10 + c)
				tasks.Go("client", func() {
					for e := ledger.EntryID(0); ; e++ {
						a := bookie.Add{Body: stored(id, e, 200)}
						if err := s.AddOne(&a); err != nil {
							if !errors.Is(err, bookie.ErrStopped) && !errors.Is(err, bookie.ErrOutcomeUnknown) {
								panic(err)
							}
							return
						}
						acked[id] = e + 1
					}
				})
			}
			err = s.AwaitEnd(h.Root())
			if closed := s.Close(); err == nil {
				err = closed
			}
			tasks.Wait()
			return err
		}
		modes := []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn, disk.Mixed}
		failed := error(nil)
		n.OnExit(func(err error, crashed bool) {
			if err != nil {
				failed = err
				w.Stop()
				return
			}
			if rounds >= 6 {
				w.Stop()
				return
			}
			w.At(time.Millisecond, func() { n.Start(boot) })
			if rounds%2 == 0 {
				w.At(time.Duration(300+seed*7)*time.Millisecond, func() { n.Crash(sim.PowerCut(modes[seed%5])) })
			} else {
				w.At(300*time.Millisecond, n.Stop)
			}
		})
		n.Start(boot)
		w.At(500*time.Millisecond, func() { n.Crash(sim.PowerCut(modes[seed%5])) })
		v := w.Run(time.Minute)
		total := ledger.EntryID(0)
		for _, e := range acked {
			total += e
		}
		if v.Failed() || failed != nil || rounds < 6 {
			t.Fatalf("seed %d: %s, boot error %v, rounds %d", seed, v.String(), failed, rounds)
		}
		if seed < 3 {
			t.Logf("seed %d: %d acked, %d events, %v", seed, total, w.Events(), w.Elapsed())
		}
	}
}
