package bookie_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestLivesWithOtherSettingsEachLoseNothing: file size, spares, sync mode (always or group) and cache size change with each start.
func TestLivesWithOtherSettingsEachLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds only, and many")
	}
	from, count := 0, 100 // STORM and STORMS try others
	if v, err := strconv.Atoi(os.Getenv("STORM")); err == nil {
		from = v
	}
	if v, err := strconv.Atoi(os.Getenv("STORMS")); err == nil {
		count = v
	}
	unknown := 0
	for seed := uint64(from); seed < uint64(from+count); seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed % 4 * 50)})
		n := w.NewNode("bookie")
		acked := map[ledger.ID]map[ledger.EntryID]int{}
		lives := 0
		harsh := seed%2 == 1
		var bad error
		boot := func(h host.Host) error {
			lives++
			c := tinyConfig()
			c.Journal.FileBytes = []int64{64 << 10, 96 << 10, 128 << 10}[r.IntN(3)]
			c.Journal.SparesMax = r.IntN(4)
			c.Journal.Sync = []journal.SyncMode{journal.SyncAlways, journal.SyncGroup}[r.IntN(2)]
			c.WriteCacheBytesMax = int64(64+r.IntN(400)) << 10
			s, err := bookie.Open(h, h.Root(), c)
			if err != nil {
				bad = fmt.Errorf("life %d: %w", lives, err)
				return nil
			}
			for _, id := range host.SortedKeys(acked) {
				for _, e := range host.SortedKeys(acked[id]) {
					got, err := s.Read(id, e)
					if err != nil && !(harsh && errors.Is(err, bookie.ErrUnknown)) {
						bad = fmt.Errorf("life %d: %d/%d: %w", lives, id, e, err)
						return nil
					}
					if err != nil {
						bad = fmt.Errorf("life %d: acked entry unknown %d/%d: %w", lives, id, e, err)
						return nil
					}
					if !bytes.Equal(got.Body, stored(id, e, acked[id][e])) {
						bad = fmt.Errorf("life %d: %d/%d differs", lives, id, e)
						return nil
					}
					got.Release()
				}
			}
			tasks := h.Root().New("clients")
			for k := range 3 {
				id := ledger.ID(lives*10 + k)
				acked[id] = map[ledger.EntryID]int{}
				tasks.Go("client", func() {
					for e := ledger.EntryID(0); ; e++ {
						size := 10 + int(uint64(e)*2654435761%3500)
						if (int(id)+int(e))%3 == 0 {
							size = 3000
						}
						if err := s.AddOne(&bookie.Add{Body: stored(id, e, size)}); err != nil {
							if errors.Is(err, bookie.ErrUnknown) {
								unknown++
							}
							return
						}
						acked[id][e] = size
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
		n.OnExit(func(err error, crashed bool) {
			if err != nil && bad == nil {
				bad = err
			}
			if bad != nil || lives >= 6 {
				w.Stop()
				return
			}
			w.At(time.Millisecond, func() { n.Start(boot); schedule(w, n, r, harsh) })
		})
		n.Start(boot)
		schedule(w, n, r, harsh)
		v := w.Run(10 * time.Minute)
		if v.Failed() || bad != nil {
			t.Errorf("seed %d: %s: %v", seed, v.Summary(), bad)
			return
		}
	}
}

func schedule(w *sim.World, n *sim.Node, r *rand.Rand, harsh bool) {
	modes := []disk.Survival{disk.Keep, disk.Drop}
	if harsh {
		modes = []disk.Survival{disk.RandomPages, disk.Torn, disk.Mixed}
	}
	mode := modes[r.IntN(len(modes))]
	how := r.IntN(5)
	epoch := n.Epoch()
	w.At(time.Duration(20+r.IntN(400))*time.Millisecond, func() {
		if n.Epoch() != epoch || !n.Running() {
			return
		}
		switch how {
		case 0:
			n.Stop()
		case 1:
			n.Crash(sim.KillProcess())
		default:
			n.Crash(sim.PowerCut(mode))
		}
	})
}
