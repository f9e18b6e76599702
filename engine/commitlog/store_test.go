package commitlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestWhatWasAppendedIsPulledInOrder in every flush mode and with every preallocation, over several lives and files.
func TestWhatWasAppendedIsPulledInOrder(t *testing.T) {
	for _, mode := range allModes {
		for _, preallocation := range allPreallocations {
			config := smallConfig(mode)
			config.Preallocation = preallocation
			b := newBook(t, config)
			life := func() error { return errors.Join(b.mustHold(true), b.addAll(60), b.mustHold(true)) }
			b.lives(life, life, func() error { return b.mustHold(true) })
			if b.node.Visits(commitlog.PointRolled) < 3 {
				t.Errorf("%s, %s: rolled %d times", mode, preallocation, b.node.Visits(commitlog.PointRolled))
			}
		}
	}
}

// TestAnAcknowledgedMessageSurvivesAPowerCut in the modes that promise it, and in the others a prefix of the log does.
func TestAnAcknowledgedMessageSurvivesAPowerCut(t *testing.T) {
	for _, mode := range allModes {
		for _, survival := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn} {
			b := newBook(t, smallConfig(mode))
			synced := mode == commitlog.FlushAlways || mode == commitlog.FlushGroup || survival == disk.Keep
			b.lives(func() error {
				if err := b.addAll(30); err != nil {
					return err
				}
				b.node.Crash(sim.PowerCut(survival))
				return nil
			}, func() error {
				if err := b.mustHold(synced); err != nil {
					return fmt.Errorf("%s, %v: %w", mode, survival, err)
				}
				for name := range b.sent { // goes on where the queues end now
					_, end, err := b.store.Bounds(name[:len(name)-2], int32(name[len(name)-1]-'0'))
					if err != nil && !errors.Is(err, commitlog.ErrNoQueue) {
						return err
					}
					b.sent[name] = int(end)
				}
				return errors.Join(b.addAll(30), b.mustHold(true))
			}, func() error { return b.mustHold(true) })
		}
	}
}

// TestQueuesAreMadeAnewWithoutACheckpoint: the log alone is enough.
func TestQueuesAreMadeAnewWithoutACheckpoint(t *testing.T) {
	b := newBook(t, smallConfig(commitlog.FlushGroup))
	b.lives(func() error { return b.addAll(80) }, func() error {
		dir, err := b.h.Disk(commitlog.StoreVolume)
		if err != nil {
			return err
		}
		b.store.Close()
		return errors.Join(dir.Remove("checkpoint"), dir.Remove("checkpoint-b"), dir.SyncDir())
	}, func() error {
		if b.node.Visits(commitlog.PointRebuilt) != 1 {
			t.Error("nothing was made anew")
		}
		return errors.Join(b.mustHold(true), b.addAll(10), b.mustHold(true))
	}, func() error { return b.mustHold(true) })
}

// TestAFailedSyncIsNeverMadeUpFor by a later one: what it left open is not acknowledged, and what a start finds of it is
// written again before it counts, since the page cache calls it clean. The message is longer than a page, so that writing its
// end alone does not help.
func TestAFailedSyncIsNeverMadeUpFor(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	config.BodyBytesMax, config.FileBytes = 20<<10, 64<<10
	b := newBook(t, config)
	fail := false
	b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if fail && op.Kind == sim.DiskSync {
			fail = false
			return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
		}
		return sim.DiskEffect{}
	})
	long := message.Message{Topic: []byte("long"), Body: bytes.Repeat([]byte("long "), 4000)}
	holds := func() error {
		r, err := b.store.Pull(commitlog.PullRequest{Topic: "long"})
		if err == nil && (len(r.Messages) != 1 || !bytes.Equal(r.Messages[0].Body, long.Body)) {
			err = fmt.Errorf("life %d: %v with %d messages", b.node.Epoch(), r.Status, len(r.Messages))
		}
		return errors.Join(err, b.mustHold(true))
	}
	b.lives(func() error {
		if err := b.addAll(5); err != nil {
			return err
		}
		fail = true
		if _, err := b.store.Append(long); !errors.Is(err, commitlog.ErrOutcomeUnknown) || !errors.Is(err, commitlog.ErrFailed) {
			t.Errorf("append over a failed sync: %v", err)
		}
		if _, err := b.store.Append(long); !errors.Is(err, commitlog.ErrFailed) || errors.Is(err, commitlog.ErrOutcomeUnknown) {
			t.Errorf("append after it: %v", err)
		}
		if err := b.store.AwaitEnd(b.h.Root()); !errors.Is(err, commitlog.ErrFailed) {
			t.Errorf("the store ended with %v", err)
		}
		b.node.Crash(sim.KillProcess())
		return nil
	}, func() error {
		if err := holds(); err != nil { // the page cache has it
			return err
		}
		b.node.Crash(sim.PowerCut(disk.Drop))
		return nil
	}, holds)
}

// TestNothingIsShownThatAPowerCutCanTakeBack where messages are acknowledged when they are on the media (rocketmq#8239): a pull
// that waits gets a message only when its sync is over.
func TestNothingIsShownThatAPowerCutCanTakeBack(t *testing.T) {
	for _, mode := range []commitlog.FlushMode{commitlog.FlushAlways, commitlog.FlushGroup} {
		b := newBook(t, smallConfig(mode))
		slow, shown := false, 0
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if slow && op.Kind == sim.DiskSync && strings.HasPrefix(op.Path, "commitlog/") {
				return sim.DiskEffect{Delay: 100 * time.Millisecond}
			}
			return sim.DiskEffect{}
		})
		b.lives(func() error {
			if err := errors.Join(b.add("orders", 0), b.settled()); err != nil {
				return err
			}
			slow = true
			tasks := b.h.Root().New("clients")
			tasks.Go("puller", func() {
				r, _ := b.store.Pull(commitlog.PullRequest{Topic: "orders", Offset: 1, Suspend: time.Second})
				shown += len(r.Messages)
			})
			tasks.Go("writer", func() { _ = b.add("orders", 0) })
			b.h.Root().Sleep(50 * time.Millisecond)
			b.node.Crash(sim.PowerCut(disk.Drop))
			return nil
		}, func() error {
			_, end, err := b.store.Bounds("orders", 0)
			if end < int64(1+shown) {
				t.Errorf("%s: the queue ends at %d, and %d messages were shown behind the first", mode, end, shown)
			}
			return err
		})
	}
}

// TestAStartThatIsCutOffTakesNothing: it writes the end of the log again in its place, and a power cut at that moment may spoil
// what was acknowledged and durable; the copy that it saved before makes up for it.
func TestAStartThatIsCutOffTakesNothing(t *testing.T) {
	for seed := range uint64(20) {
		b := newBook(t, smallConfig(commitlog.FlushGroup))
		b.world = sim.New(sim.Config{Seed: seed})
		b.node = b.world.NewNode("broker")
		cut := false
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if !cut && b.node.Epoch() == 2 && op.Kind == sim.DiskSync && strings.HasPrefix(op.Path, "commitlog/") && b.node.Visits(series.PointCut) == 1 {
				cut = true
				b.node.Crash(sim.PowerCut(disk.Torn))
			}
			return sim.DiskEffect{}
		})
		b.lives(func() error {
			if err := b.addAll(5); err != nil {
				return err
			}
			b.node.Crash(sim.KillProcess())
			return nil
		}, func() error { return errors.New("the start was not cut off") }, func() error { return b.mustHold(true) })
	}
}

// TestWhatWasCutOffDoesNotComeBack: the log is cut, and a record that ends where an old one began is appended; the old ones
// behind it must not be taken for its successors (rocketmq#10666).
func TestWhatWasCutOffDoesNotComeBack(t *testing.T) {
	const record = message.FixedBytes + len("t") + len("00000000")
	for _, preallocation := range allPreallocations {
		config := smallConfig(commitlog.FlushNever)
		config.Preallocation, config.SectorBytes = preallocation, 1 // so that records lie behind each other
		b := newBook(t, config)
		append := func(numbers ...int) error {
			for _, n := range numbers {
				if _, err := b.store.Append(message.Message{Topic: []byte("t"), Body: fmt.Appendf(nil, "%08d", n)}); err != nil {
					return err
				}
			}
			return b.settled()
		}
		holds := func(want ...int) error {
			r, err := b.store.Pull(commitlog.PullRequest{Topic: "t"})
			if err != nil {
				return err
			}
			var got []int
			for _, m := range r.Messages {
				n, _ := strconv.Atoi(string(m.Body))
				got = slices.Concat(got, []int{n})
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: life %d holds %v, want %v", preallocation, b.node.Epoch(), got, want)
			}
			return nil
		}
		b.lives(func() error {
			if err := append(0, 1, 2, 3, 4, 5, 6, 7); err != nil {
				return err
			}
			f, err := b.logFile(0)
			if err != nil {
				return err
			}
			if err := host.WriteFullAt(f, make([]byte, record), 3*int64(record)); err != nil { // this one got lost
				return err
			}
			b.node.Crash(sim.KillProcess())
			return nil
		}, func() error {
			if err := errors.Join(holds(0, 1, 2), append(30)); err != nil {
				return err
			}
			b.node.Crash(sim.KillProcess())
			return nil
		}, func() error { return holds(0, 1, 2, 30) })
	}
}

// TestAFullDiskRefusesAndHeals: no append is lost or half stored, and when there is room again, appends go on. The store says
// whether there is.
func TestAFullDiskRefusesAndHeals(t *testing.T) {
	for _, preallocation := range []series.Preallocation{series.Fallocated, series.ZeroFilled, series.Recycled} {
		config := smallConfig(commitlog.FlushGroup)
		config.Preallocation = preallocation
		b := newBook(t, config)
		b.node.Disk(commitlog.StoreVolume).Replace(1 << 20)
		b.lives(func() error {
			dir, err := b.h.Disk(commitlog.StoreVolume)
			if err != nil {
				return err
			}
			ballast, err := dir.Create("ballast")
			if err != nil {
				return err
			}
			if err := errors.Join(b.addAll(5), ballast.Allocate(0, 1<<20-300<<10), ballast.Close()); err != nil {
				return err
			}
			refused := error(nil)
			for refused == nil {
				refused = b.add("orders", 0)
			}
			b.sent["orders/0"]--
			if !errors.Is(refused, host.ErrNoSpace) || errors.Is(refused, commitlog.ErrOutcomeUnknown) {
				t.Errorf("%s: the full disk refused with %v", preallocation, refused)
			}
			if full := b.store.Full(); !errors.Is(full, host.ErrNoSpace) {
				t.Errorf("%s: the store that refused says of its room: %v", preallocation, full)
			}
			b.h.Root().Sleep(time.Second)
			if err := errors.Join(b.store.Failed(), dir.Remove("ballast")); err != nil {
				return err
			}
			b.h.Root().Sleep(time.Second)
			return errors.Join(b.store.Full(), b.addAll(50), b.mustHold(true))
		}, func() error { return b.mustHold(true) })
	}
}

// TestPullsWaitForMessages: one that finds none is answered by the next message of its queue, one of another queue is not,
// and time and a stop end it.
func TestPullsWaitForMessages(t *testing.T) {
	b := newBook(t, smallConfig(commitlog.FlushGroup))
	b.lives(func() error {
		if err := b.store.CreateTopic("orders", 2); err != nil {
			return err
		}
		tasks := b.h.Root().New("pullers")
		pull := func(queue int32, suspend time.Duration, check func(r commitlog.PullResult, err error, waited time.Duration)) {
			tasks.Go("puller", func() {
				begun := b.h.Elapsed()
				r, err := b.store.Pull(commitlog.PullRequest{Topic: "orders", Queue: queue, Suspend: suspend})
				check(r, err, b.h.Elapsed()-begun)
			})
		}
		pull(0, 10*time.Second, func(r commitlog.PullResult, err error, waited time.Duration) {
			if err != nil || r.Status != commitlog.Found || len(r.Messages) != 1 || waited < time.Second || waited > 1100*time.Millisecond {
				t.Errorf("the pull that was waited for: %v, %d messages, %v, after %v", r.Status, len(r.Messages), err, waited)
			}
		})
		pull(1, 3*time.Second, func(r commitlog.PullResult, err error, waited time.Duration) {
			if err != nil || r.Status != commitlog.NoMessageInQueue || waited < 3*time.Second || waited > 3100*time.Millisecond {
				t.Errorf("the pull in vain: %v, %v, after %v", r.Status, err, waited)
			}
		})
		pull(1, time.Hour, func(r commitlog.PullResult, err error, waited time.Duration) {
			if err != nil || len(r.Messages) != 0 || waited > 6*time.Second {
				t.Errorf("the pull that a stop ended: %v, %v, after %v", r.Status, err, waited)
			}
		})
		b.h.Root().Sleep(time.Second)
		if err := b.add("orders", 0); err != nil {
			return err
		}
		b.h.Root().Sleep(4 * time.Second)
		err := b.store.Close()
		tasks.Wait()
		return err
	})
}

// TestTagsAreComparedByHashHere, and by the consumer itself: two tags of one hash both come.
func TestTagsAreComparedByHashHere(t *testing.T) {
	b := newBook(t, smallConfig(commitlog.FlushGroup))
	b.lives(func() error {
		for range 30 {
			if err := b.add("orders", 0); err != nil {
				return err
			}
		}
		if err := b.settled(); err != nil {
			return err
		}
		for tag, want := range map[string]int{"Aa": 20, "BB": 20, "red": 10, "blue": 0} {
			got, own := 0, 0
			for at := int64(0); ; {
				r, err := b.store.Pull(commitlog.PullRequest{Topic: "orders", Offset: at, Tags: []string{tag}})
				if err != nil {
					return err
				}
				if at = r.Next; r.Status == commitlog.OffsetOverflowOne {
					break
				}
				for _, m := range r.Messages {
					got++
					if m.HasTag(tag) {
						own++
					}
				}
			}
			if got != want || own != min(want, 10) {
				t.Errorf("tag %s: %d messages, %d of them its own", tag, got, own)
			}
		}
		return nil
	})
}

// TestMessagesAreFoundByKeyAndByTime, after a stop and after crashes as before.
func TestMessagesAreFoundByKeyAndByTime(t *testing.T) {
	b := newBook(t, smallConfig(commitlog.FlushGroup))
	check := func() error {
		if err := b.settled(); err != nil {
			return err
		}
		sent := b.sent["orders/0"]
		found := 0
		for n := range 7 {
			messages, err := b.store.Query("orders", keyOf(n), 0, 1<<62, 1000)
			if err != nil {
				return err
			}
			found += len(messages)
		}
		if found != sent {
			return fmt.Errorf("%d of %d messages are found by key", found, sent)
		}
		return b.checkTimes("orders", 0)
	}
	life := func(end func()) func() error {
		return func() error {
			if b.sent["orders/0"] > 0 {
				if err := check(); err != nil {
					return err
				}
			}
			for range 40 {
				if err := b.add("orders", 0); err != nil {
					return err
				}
				b.h.Root().Sleep(700 * time.Microsecond) // several in a millisecond
			}
			if err := check(); err != nil {
				return err
			}
			end()
			return nil
		}
	}
	b.lives(life(func() {}), life(func() { b.node.Crash(sim.KillProcess()) }), life(func() { b.node.JumpClock(-time.Hour) }),
		life(func() { b.node.Crash(sim.PowerCut(disk.Drop)) }), life(func() {}))
}

// checkTimes compares every search by time with a look at all messages.
func (b *book) checkTimes(topic string, queue int32) error {
	var times []int64
	for at := int64(0); ; {
		r, err := b.store.Pull(commitlog.PullRequest{Topic: topic, Queue: queue, Offset: at})
		if err != nil {
			return err
		}
		if len(r.Messages) == 0 {
			break
		}
		for _, m := range r.Messages {
			times = append(times, m.StoreTimestamp)
		}
		at = r.Next
	}
	if !slices.IsSorted(times) {
		return errors.New("store timestamps descend")
	}
	for _, t := range slices.Concat(times, []int64{0, times[0] - 1, times[len(times)-1] + 1}) {
		lower, _ := slices.BinarySearch(times, t)
		upper, _ := slices.BinarySearch(times, t+1)
		gotLower, err := b.store.OffsetByTime(topic, queue, t, commitlog.Lower)
		gotUpper, err2 := b.store.OffsetByTime(topic, queue, t, commitlog.Upper)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if gotLower != int64(lower) || gotUpper != int64(max(upper-1, 0)) {
			return fmt.Errorf("time %d: found %d and %d, want %d and %d", t, gotLower, gotUpper, lower, max(upper-1, 0))
		}
	}
	return nil
}

// TestOldFilesAreRemoved by age at the hours that are set, and what is left stays exact, over a start and a crash as well.
func TestOldFilesAreRemoved(t *testing.T) {
	for _, preallocation := range allPreallocations {
		config := smallConfig(commitlog.FlushGroup)
		config.Preallocation = preallocation
		config.Retention.Interval, config.Retention.Age = time.Second, 10*time.Second
		config.Retention.DeleteHours = make([]int, 24)
		for hour := range config.Retention.DeleteHours {
			config.Retention.DeleteHours[hour] = hour
		}
		b := newBook(t, config)
		b.lives(func() error {
			if err := errors.Join(b.add("gone", 0), b.addAll(150)); err != nil {
				return err
			}
			if first := b.store.Stats().First; first != 0 {
				t.Errorf("%s: young files were removed: the log begins at %d", preallocation, first)
			}
			b.h.Root().Sleep(30 * time.Second)
			if err := b.addAll(50); err != nil {
				return err
			}
			b.h.Root().Sleep(3 * time.Second)
			first, _, err := b.store.Bounds("orders", 0)
			if stats := b.store.Stats(); err != nil || stats.First == 0 || first == 0 {
				t.Errorf("%s: the log begins at %d, the queue at %d, %v", preallocation, stats.First, first, err)
			}
			if r, err := b.store.Pull(commitlog.PullRequest{Topic: "orders"}); r.Status != commitlog.OffsetTooSmall || r.Next != first {
				t.Errorf("%s: pull of a removed message: %v, next %d, want %d, %v", preallocation, r.Status, r.Next, first, err)
			}
			begun := b.h.Elapsed()
			r, err := b.store.Pull(commitlog.PullRequest{Topic: "gone", Suspend: time.Second})
			if err != nil || r.Status != commitlog.OffsetTooSmall || r.Min != 1 || r.Max != 1 || b.h.Elapsed()-begun > time.Second/2 {
				t.Errorf("%s: pull from a queue whose messages are all removed: %+v, %v", preallocation, r, err)
			}
			return b.mustHold(true)
		}, func() error {
			if err := errors.Join(b.mustHold(true), b.add("gone", 0), b.addAll(10)); err != nil {
				return err
			}
			b.node.Crash(sim.PowerCut(disk.Mixed))
			return nil
		}, func() error { return b.mustHold(true) })
		if b.node.Visits(series.PointRemoved) == 0 || b.node.Visits(consumequeue.PointRemoved) == 0 {
			t.Errorf("%s: nothing was removed", preallocation)
		}
		if recycled := b.node.Visits(series.PointRecycled); preallocation == series.Recycled && recycled == 0 {
			t.Error("nothing was recycled")
		}
	}
}
