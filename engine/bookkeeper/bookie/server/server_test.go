package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
)

// TestEveryOperationDoesWhatItSays, once, over a quiet network.
func TestEveryOperationDoesWhatItSays(t *testing.T) {
	newCluster(t, 1, sim.LAN(), smallServer()).run(onChannel(func(_ host.Host, c *channel.Channel) error {
		var problems []error
		check := func(err error) { problems = append(problems, err) }
		for e := range ledger.EntryID(5) {
			check(c.AddEntry(add(7, e, 100), 0))
		}
		r, err := c.ReadEntry(7, 3, 0)
		check(holds(r, err, 7, 3, 100))
		r, err = c.ReadLast(7, 0)
		check(holds(r, err, 7, 4, 100))
		_, err = c.ReadEntry(7, 5, 0)
		check(fails("missing entry", err, channel.ErrNoEntry))
		_, err = c.ReadEntry(8, 0, 0)
		check(fails("missing ledger", err, channel.ErrNoLedger))
		_, err = c.ReadEntry(7, -2, 0)
		check(fails("negative entry", err, channel.ErrBadRequest))
		_, err = c.ReadLast(-1, 0)
		check(fails("negative ledger", err, channel.ErrBadRequest))
		check(fails("negative add", c.AddEntry(add(-1, 0, 10), 0), channel.ErrBadRequest))
		check(fails("too large", c.AddEntry(add(7, 9, 17<<10), 0), channel.ErrBadRequest))
		check(fails("wrong key", c.AddEntry(channel.Add{MasterKey: otherKey, Body: stored(7, 5, 10)}, 0), channel.ErrUnauthorized))
		m, err := c.Authenticate(wire.AuthMessage{Plugin: "some plug-in", Payload: []byte("secret")}, 0)
		check(err)
		if m.Plugin != wire.AuthDisabled || len(m.Payload) != 0 {
			check(fmt.Errorf("auth was answered with %+v", m))
		}
		return errors.Join(problems...)
	}))
}

// TestAFenceRefusesAddsAndLetsRecoveryThrough, also for a ledger that the bookie has never heard of.
func TestAFenceRefusesAddsAndLetsRecoveryThrough(t *testing.T) {
	newCluster(t, 1, sim.LAN(), smallServer()).run(onChannel(func(_ host.Host, c *channel.Channel) error {
		var problems []error
		check := func(err error) { problems = append(problems, err) }
		check(c.AddEntry(add(7, 0, 100), 0))
		_, err := c.FenceAndRead(7, 0, otherKey, 0)
		check(fails("fence with the wrong key", err, channel.ErrUnauthorized))
		check(c.AddEntry(add(7, 1, 100), 0))
		r, err := c.FenceAndRead(7, ledger.NoEntry, key, 0)
		check(holds(r, err, 7, 1, 100))
		check(fails("add behind a fence", c.AddEntry(add(7, 2, 100), 0), channel.ErrFenced))
		recovery := add(7, 2, 50)
		recovery.Flags = wire.RecoveryAdd | wire.HighPriority
		check(c.AddEntry(recovery, 0))
		r, err = c.FenceAndRead(7, 2, key, 0)
		check(holds(r, err, 7, 2, 50))
		_, err = c.FenceAndRead(9, ledger.NoEntry, key, 0)
		check(fails("fence of an unknown ledger", err, channel.ErrNoEntry))
		check(fails("add to it", c.AddEntry(add(9, 0, 100), 0), channel.ErrFenced))
		return errors.Join(problems...)
	}))
}

// TestAReadOnlyBookieTakesAddsOfRecoveriesOnly, and everything again once it has room.
func TestAReadOnlyBookieTakesAddsOfRecoveriesOnly(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), smallServer())
	c.run(onChannel(func(_ host.Host, ch *channel.Channel) error {
		var problems []error
		check := func(err error) { problems = append(problems, err) }
		check(ch.AddEntry(add(7, 0, 100), 0))
		c.server.SetReadOnly(true)
		check(fails("add", ch.AddEntry(add(7, 1, 100), 0), channel.ErrReadOnly))
		copied := add(7, 1, 100)
		copied.Flags = wire.RecoveryAdd
		check(fails("add of a repair", ch.AddEntry(copied, 0), channel.ErrReadOnly))
		r, err := ch.FenceAndRead(7, 0, key, 0)
		check(holds(r, err, 7, 0, 100))
		recovery := add(7, 1, 50)
		recovery.Flags = wire.RecoveryAdd | wire.HighPriority
		check(ch.AddEntry(recovery, 0))
		c.server.SetReadOnly(false)
		check(ch.AddEntry(add(8, 0, 100), 0))
		return errors.Join(problems...)
	}))
}

// TestABatchReadIsBoundedAsBookKeeperCounts: by count, by the bytes of the whole frame, by a hole, and never empty.
func TestABatchReadIsBoundedAsBookKeeperCounts(t *testing.T) {
	newCluster(t, 1, sim.LAN(), smallServer()).run(onChannel(func(_ host.Host, c *channel.Channel) error {
		var problems []error
		for _, e := range []ledger.EntryID{0, 1, 2, 3, 4, 6} {
			problems = append(problems, c.AddEntry(add(7, e, 68), 0)) // 100 bytes stored, 104 in a frame
		}
		for _, each := range []struct {
			name  string
			batch channel.Batch
			want  int
		}{
			{"a hole ends it", channel.Batch{First: 1}, 4},
			{"behind the hole", channel.Batch{First: 6}, 1},
			{"a count", channel.Batch{MaxCount: 2}, 2},
			{"a negative count", channel.Batch{MaxCount: -5}, 5},
			{"exactly the bytes of three", channel.Batch{MaxSize: 36 + 3*104}, 3},
			{"one byte less", channel.Batch{MaxSize: 36 + 3*104 - 1}, 2},
			{"less than one", channel.Batch{MaxSize: 1}, 1},
			{"negative bytes", channel.Batch{MaxSize: -1}, 1},
		} {
			each.batch.Ledger = 7
			problems = append(problems, batchHolds(c, each.name, each.batch, each.want))
		}
		_, err := c.BatchRead(channel.Batch{Ledger: 7, First: 5}, 0)
		problems = append(problems, fails("batch at a hole", err, channel.ErrNoEntry))
		_, err = c.BatchRead(channel.Batch{Ledger: 8}, 0)
		problems = append(problems, fails("batch of no ledger", err, channel.ErrNoLedger))
		_, err = c.BatchRead(channel.Batch{Ledger: 7, First: ledger.NoEntry}, 0)
		problems = append(problems, fails("batch from the last entry", err, channel.ErrBadRequest))
		return errors.Join(problems...)
	}))
}

func batchHolds(c *channel.Channel, name string, b channel.Batch, want int) error {
	r, err := c.BatchRead(b, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Release()
	if len(r.Entries) != want {
		return fmt.Errorf("%s: %d entries, want %d", name, len(r.Entries), want)
	}
	for i, e := range r.Entries {
		if !bytes.Equal(e, stored(b.Ledger, b.First+ledger.EntryID(i), 68)) {
			return fmt.Errorf("%s: entry %d differs", name, i)
		}
	}
	return nil
}

// TestAFencingReadIsAnsweredOnlyWhenTheFenceIsDurable, whether it finds something or not: the power goes at the moment
// at which the answer arrives, and the fence is still there.
func TestAFencingReadIsAnsweredOnlyWhenTheFenceIsDurable(t *testing.T) {
	for _, found := range []bool{false, true} {
		for seed := range uint64(10) {
			c := newCluster(t, seed, sim.LAN(), smallServer())
			restart(c)
			c.run(func(h host.Host) error {
				first, err := dial(h, smallChannel())
				if err != nil {
					return err
				}
				defer first.Close()
				entry := ledger.EntryID(1)
				if found {
					entry = 0
				}
				if err := first.AddEntry(add(7, 0, 100), 0); err != nil {
					return err
				}
				r, err := first.FenceAndRead(7, entry, key, 0)
				if found {
					err = holds(r, err, 7, 0, 100)
				} else {
					err = fails("read", err, channel.ErrNoEntry)
				}
				c.powerCut()
				second, dialled := dial(h, smallChannel())
				if dialled != nil {
					return dialled
				}
				defer second.Close()
				// The bookie may be in limbo, which refuses as well. What it must not do is to take the add.
				if added := second.AddEntry(add(7, 1, 100), 0); added == nil {
					return errors.New("the fence is forgotten")
				}
				return err
			})
		}
	}
}

// TestAFenceIsProvenAlsoWhereTheLastEntryIsLost: who recovers a ledger learns that it is fenced, and that the bookie may have
// lost something; who asks for the LAC, and would believe less than there was, learns of an error. (Seed 5034954 of
// cluster-scratches: each of two bookies had lost its own last entry, no entry both its copies, and the ledger stayed open for ever.)
func TestAFenceIsProvenAlsoWhereTheLastEntryIsLost(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), smallServer())
	c.run(onChannel(func(h host.Host, one *channel.Channel) error {
		if err := errors.Join(one.AddEntry(add(7, 0, 100), 0), one.AddEntry(add(7, 1, 100), 0)); err != nil {
			return err
		}
		h.Root().Sleep(2 * smallStore().CheckpointInterval)
		logs := c.bookie.Disk(bookie.LedgerVolume).Model()
		for _, file := range logs.Paths() {
			if _, isLog := entrylog.ParseFileName(file.Path); isLog && file.Size > record.Align {
				if err := logs.Latent(file.Path, record.Align, file.Size-record.Align); err != nil {
					return err
				}
			}
		}
		_, plain := one.ReadLast(7, 0)
		_, fencing := one.FenceAndRead(7, ledger.NoEntry, key, 0)
		_, entry := one.FenceAndRead(7, 1, key, 0)
		return errors.Join(
			fails("read the last entry", plain, channel.ErrIO),
			fails("fence and read the last entry", fencing, channel.ErrUnknown),
			fails("fence and read entry 1", entry, channel.ErrIO),
			fails("add behind the fence", one.AddEntry(add(7, 2, 100), 0), channel.ErrFenced),
		)
	}))
}

// TestAddsAnsweredBeforeAPowerCutAreThereAfterIt, through the whole path.
func TestAddsAnsweredBeforeAPowerCutAreThereAfterIt(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed, sim.LAN(), smallServer())
		restart(c)
		c.run(func(h host.Host) error {
			acked := map[ledger.EntryID]bool{}
			for round := range 4 {
				if err := addSome(h, round, acked); err != nil {
					return err
				}
				c.powerCut()
			}
			return readAll(h, acked)
		})
	}
}

func addSome(h host.Host, round int, acked map[ledger.EntryID]bool) error {
	ch, err := dial(h, smallChannel())
	if err != nil {
		return err
	}
	defer ch.Close()
	for i := range 40 {
		e := ledger.EntryID(round*100 + i)
		if err := ch.AddEntry(add(ledger.ID(round), e, 300), 0); err != nil {
			return err
		}
		acked[e] = true
	}
	return nil
}

func readAll(h host.Host, acked map[ledger.EntryID]bool) error {
	ch, err := dial(h, smallChannel())
	if err != nil {
		return err
	}
	defer ch.Close()
	for _, e := range host.SortedKeys(acked) {
		id := ledger.ID(e / 100)
		r, err := ch.ReadEntry(id, e, 0)
		if err := holds(r, err, id, e, 300); err != nil {
			return err
		}
	}
	return nil
}

// TestACleanStopAnswersWhatWasAccepted: adds under way when the bookie is told to stop are answered, not lost.
func TestACleanStopAnswersWhatWasAccepted(t *testing.T) {
	for seed := range uint64(300) {
		c := newCluster(t, seed, sim.LAN(), smallServer())
		accepted, acked, lost := int64(0), 0, 0
		c.world.OnMark(func(_ *sim.Node, e host.Event) {
			if e.Name != "bookie.accepted" || accepted > 0 {
				return
			}
			accepted = e.A
			c.bookie.Stop()
		})
		c.run(onChannel(func(h host.Host, ch *channel.Channel) error {
			done := newCollector(h, 20)
			for e := range ledger.EntryID(20) {
				a := add(7, e, 100)
				if err := ch.Submit(&channel.Request{Operation: wire.Add, MasterKey: a.MasterKey, Body: a.Body, Done: done}); err != nil {
					return err
				}
			}
			for _, r := range done.await(20) {
				if r.Err == nil {
					acked++
				} else if errors.Is(r.Err, channel.ErrOutcomeUnknown) {
					lost++
				} else {
					return r.Err
				}
			}
			return nil
		}))
		if int64(acked) < accepted || acked+lost != 20 {
			t.Errorf("seed %d: %d adds were accepted when the stop came, %d were acknowledged, %d lost", seed, accepted, acked, lost)
		}
	}
}

// TestWhatArrivesTogetherIsStoredTogether: one read of the socket becomes few batches, as long as their bounds on
// entries and bytes allow, and all are answered.
func TestWhatArrivesTogetherIsStoredTogether(t *testing.T) {
	for _, each := range []struct {
		adds, size int
		batches    string
	}{
		{20, 10, "[16 4]"},
		{64, 10, "[16 16 16 16]"}, // their answers together are longer than the output buffer
		{5, 3000, "[2 2 1]"},
		{2, 12_000, "[1 1]"},
	} {
		profile := sim.LAN()
		profile.SplitPermille = 0
		config := smallServer()
		config.InputBufferBytes = 64 << 10
		c := newCluster(t, 3, profile, config)
		var batches []int64
		c.world.OnMark(func(_ *sim.Node, e host.Event) {
			if e.Name == "bookie.accepted" {
				batches = append(batches, e.A)
			}
		})
		c.run(func(h host.Host) error { return addTogether(h, each.adds, each.size) })
		if fmt.Sprint(batches) != each.batches {
			t.Errorf("%d adds of %d bytes in one write became batches of %v, want %s", each.adds, each.size, batches, each.batches)
		}
	}
}

// addTogether sends adds with one write and awaits their answers.
func addTogether(h host.Host, adds, size int) error {
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	var frames []byte
	for e := range ledger.EntryID(adds) {
		r := wire.Request{Version: 2, Operation: wire.Add, MasterKey: key, Body: stored(7, e, size)}
		frames = r.Append(frames)
	}
	if err := conn.WriteBuffers([][]byte{frames}); err != nil {
		return err
	}
	in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
	defer in.Release()
	answered := map[ledger.EntryID]bool{}
	for range adds {
		r, err := rawResponse(h, conn, in)
		if err != nil || r.Code != wire.OK || answered[r.Entry] {
			return fmt.Errorf("answer %+v, %w", r, err)
		}
		answered[r.Entry] = true
	}
	return nil
}

// TestAFailedJournalIsAnUnknownOutcome: the add whose sync failed is answered, with an error that leaves it open, and the
// bookie ends.
func TestAFailedJournalIsAnUnknownOutcome(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), smallServer())
	c.fails = host.ErrIO
	c.run(onChannel(func(h host.Host, ch *channel.Channel) error {
		if err := ch.AddEntry(add(7, 0, 10), 0); err != nil {
			return err
		}
		c.bookie.Disk("journal").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskSync {
				return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
			}
			return sim.DiskEffect{}
		})
		err := ch.AddEntry(add(7, 1, 10), 0)
		if err := errors.Join(fails("add", err, channel.ErrOutcomeUnknown), fails("add", err, channel.ErrIO)); err != nil {
			return err
		}
		h.Root().Sleep(2 * time.Second)
		if c.bookie.Running() {
			return errors.New("the bookie goes on")
		}
		return fails("channel", ch.Err(), channel.ErrBroken)
	}))
}

// collector takes requests back.
type collector struct{ queue *host.Queue[*channel.Request] }

func newCollector(h host.Host, room int) *collector {
	return &collector{host.NewQueue[*channel.Request](h, h.Root(), "collector", room)}
}

func (c *collector) Completed(r *channel.Request) {
	if !c.queue.Offer(r) {
		panic("no room in the collector")
	}
}

func (c *collector) await(count int) []*channel.Request {
	var all []*channel.Request
	for len(all) < count {
		some, more := c.queue.Take(nil)
		if !more {
			return all
		}
		all = append(all, some...)
	}
	return all
}

// restart brings the bookie back a moment after it crashed.
func restart(c *cluster) {
	c.bookie.OnExit(func(_ error, crashed bool) {
		if crashed {
			c.world.At(time.Millisecond, func() { c.bookie.Start(c.serving(c.t, smallStore(), smallServer())) })
		}
	})
}
