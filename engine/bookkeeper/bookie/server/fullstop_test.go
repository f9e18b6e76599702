package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// full makes what grows on a volume fail for lack of space. Writes into the journal's files do not: they are filled before.
func full(c *cluster, volume string) {
	c.bookie.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		switch {
		case op.Kind == sim.DiskCreate, op.Kind == sim.DiskAllocate, op.Kind == sim.DiskRename, op.Kind == sim.DiskWrite && volume == bookie.LedgerVolume:
			return sim.DiskEffect{Err: host.ErrNoSpace}
		}
		return sim.DiskEffect{}
	})
}

// TestAFullDiskDoesNotKeepABookieFromStopping: adds wait for room that no checkpoint and no journal file will make. The stop
// takes DrainMax and a moment, what waits is not acknowledged, and the next process has everything that was.
func TestAFullDiskDoesNotKeepABookieFromStopping(t *testing.T) {
	for _, volume := range []string{bookie.LedgerVolume, bookie.JournalVolume} {
		for seed := range uint64(10) {
			stopWhileFull(t, volume, seed)
		}
	}
}

func stopWhileFull(t *testing.T, volume string, seed uint64) {
	const adds, size = 200, 4000 // more than cache and journal hold
	config := smallServer()
	c := newCluster(t, seed, sim.LAN(), config)
	acked := map[ledger.EntryID]bool{}
	var begun, took time.Duration
	var end error
	lives := 0
	c.bookie.OnExit(func(err error, _ bool) {
		if lives++; lives > 1 {
			return
		}
		end = err
		c.bookie.Disk(volume).SetFaults(nil)
		c.world.At(time.Second, func() { c.bookie.Start(c.serving(t, smallStore(), config)) })
	})
	c.run(func(h host.Host) error {
		ch, err := dial(h, smallChannel())
		if err != nil {
			return err
		}
		defer ch.Close()
		full(c, volume)
		done := newCollector(h, adds)
		h.Root().Go("adds", func() {
			for e := range ledger.EntryID(adds) {
				a := add(7, e, size)
				r := &channel.Request{Operation: wire.Add, MasterKey: a.MasterKey, Body: a.Body, Done: done}
				if ch.Submit(r) != nil {
					return
				}
			}
		})
		h.Root().Sleep(500 * time.Millisecond) // the channel's own timeout is a second
		begun = h.Elapsed()
		c.bookie.Stop()
		for lives == 0 && h.Elapsed() < begun+time.Minute {
			h.Root().Sleep(10 * time.Millisecond)
		}
		took = h.Elapsed() - begun
		return errors.Join(everyAcked(h, done, acked), haveSurvived(h, acked, size))
	})
	if len(acked) == 0 || len(acked) == adds {
		t.Errorf("seed %d, %s: %d of %d adds were acknowledged: the disk was not what stopped them", seed, volume, len(acked), adds)
	}
	if took > config.DrainMax+time.Second || !errors.Is(end, host.ErrNoSpace) {
		t.Errorf("seed %d, %s: the stop took %v and ended with %v", seed, volume, took, end)
	}
}

// everyAcked collects which adds were acknowledged, once the channel has given back all that it took.
func everyAcked(h host.Host, done *collector, acked map[ledger.EntryID]bool) error {
	h.Root().Sleep(5 * time.Second)
	for _, r := range done.await(done.queue.Len()) {
		if r.Err == nil {
			_, entry, err := ledger.Key(r.Body)
			if err != nil {
				return err
			}
			acked[entry] = true
		}
	}
	return nil
}

// haveSurvived reads everything that was acknowledged from the next process.
func haveSurvived(h host.Host, acked map[ledger.EntryID]bool, size int) error {
	ch, err := dial(h, smallChannel())
	if err != nil {
		return err
	}
	defer ch.Close()
	for _, entry := range host.SortedKeys(acked) {
		r, err := ch.ReadEntry(7, entry, 0)
		if err := holds(r, err, 7, entry, size); err != nil {
			return fmt.Errorf("after the restart: %w", err)
		}
	}
	return nil
}

// TestAStopWaitsForADiskThatDoesNotAnswer: the store has accepted an add, and nobody can know what becomes of it. The process
// around the bookie bounds that; as soon as the disk answers, the stop goes through.
func TestAStopWaitsForADiskThatDoesNotAnswer(t *testing.T) {
	for _, volume := range []string{bookie.LedgerVolume, bookie.JournalVolume} {
		c := newCluster(t, 1, sim.LAN(), smallServer())
		c.run(func(h host.Host) error {
			ch, err := dial(h, smallChannel())
			if err != nil {
				return err
			}
			defer ch.Close()
			if err := ch.AddEntry(add(7, 0, 10), 0); err != nil {
				return err
			}
			c.bookie.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				return sim.DiskEffect{Stuck: op.Kind == sim.DiskSync}
			})
			err = ch.AddEntry(add(7, 1, 10), 0)
			if stuck := volume == bookie.JournalVolume; (err != nil) != stuck {
				return fmt.Errorf("add with a stuck %s: %v", volume, err)
			}
			c.bookie.Stop()
			h.Root().Sleep(30 * time.Second)
			if !c.bookie.Running() {
				return fmt.Errorf("with a stuck %s the bookie ended: %v", volume, c.bookie.BootErr())
			}
			c.bookie.Disk(volume).SetFaults(nil)
			c.bookie.Disk(volume).Unstick()
			h.Root().Sleep(time.Second)
			if c.bookie.Running() {
				return fmt.Errorf("%s answers and the bookie goes on", volume)
			}
			return nil
		})
	}
}
