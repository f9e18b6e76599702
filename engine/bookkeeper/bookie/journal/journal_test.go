package journal_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

func smallConfig(mode journal.SyncMode) journal.Config {
	return journal.Config{FileBytes: 64 << 10, GroupBytesMax: 8 << 10, Sync: mode, SyncInterval: 50 * time.Millisecond}
}

// book is one journal over several lives, beside what it was given.
type book struct {
	t       *testing.T
	h       host.Host
	node    *sim.Node
	dir     host.Dir
	journal *journal.Journal
	mode    journal.SyncMode
	wait    time.Duration
	mark    journal.Mark
	next    uint64
	acked   []uint64 // in the order of their completion
}

// lives runs one boot after the other on a node, whether each ends or crashes.
func (b *book) lives(boots ...func() error) {
	b.t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	b.node = w.NewNode("node")
	next := func() {
		if b.node.Epoch() >= len(boots) {
			return
		}
		f := boots[b.node.Epoch()]
		b.node.Start(func(h host.Host) (err error) {
			if b.dir, err = h.Disk("journal"); err != nil {
				return err
			}
			b.h = h
			return f()
		})
	}
	b.node.OnExit(func(err error, _ bool) {
		if err != nil {
			b.t.Errorf("life %d: %v", b.node.Epoch(), err)
		}
		w.At(0, next)
	})
	next()
	if v := w.Run(time.Hour); v.Failed() {
		b.t.Fatal(v.String())
	}
}

// replay opens the journal and returns what it hands out.
func (b *book) replay() (numbers []uint64, found journal.Replayed, err error) {
	config := smallConfig(b.mode)
	config.GroupWait = b.wait
	if b.journal, err = journal.Open(b.h, b.dir, config); err != nil {
		return nil, found, err
	}
	found, err = b.journal.Replay(b.mark, func(kind record.Kind, body []byte) error {
		if kind != 7 {
			return fmt.Errorf("kind %d", kind)
		}
		numbers = append(numbers, binary.BigEndian.Uint64(body))
		return nil
	})
	return numbers, found, err
}

func (b *book) start() error {
	_, found, err := b.replay()
	if err != nil {
		return err
	}
	return b.journal.Start(b.h.Root(), found.Last, found.Last)
}

// number is the completion of a batch of one record.
type number struct {
	book  *book
	value uint64
}

func (n number) Committed(err error) {
	if err == nil {
		n.book.acked = append(n.book.acked, n.value)
	}
}

// add appends the next number as a batch, in a record of this size, and returns its ticket.
func (b *book) add(size int) (*host.Ticket, error) {
	if err := b.journal.AwaitRoom(); err != nil {
		return nil, err
	}
	b.next++
	body := make([]byte, size)
	binary.BigEndian.PutUint64(body, b.next)
	a, ok := b.journal.Begin()
	if !ok {
		b.t.Fatal("the open group is full although there was room")
	}
	h := record.MakeHeader(7, body)
	a.Record(&h, body)
	return a.End(number{b, b.next}), nil
}

// addAll adds so many and waits for them.
func (b *book) addAll(count, size int) error {
	var last *host.Ticket
	for range count {
		ticket, err := b.add(size)
		if err != nil {
			return err
		}
		last = ticket
	}
	return last.Wait()
}

func upTo(n uint64) (numbers []uint64) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

func (b *book) mustFind(want []uint64, clean, undecided bool) error {
	got, found, err := b.replay()
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) || found.Clean != clean || found.Undecided != undecided {
		b.t.Errorf("replayed %v, %+v; want %v, clean %v, undecided %v", got, found, want, clean, undecided)
	}
	return nil
}

var allModes = []journal.SyncMode{journal.SyncAlways, journal.SyncGroup, journal.SyncInterval, journal.SyncNever}

// TestWhatWasAppendedIsReplayedInOrder in every mode, over several files and lives, and completes in that order.
func TestWhatWasAppendedIsReplayedInOrder(t *testing.T) {
	for _, mode := range allModes {
		b := &book{t: t, mode: mode}
		life := func() error {
			if err := b.start(); err != nil {
				return err
			}
			return errors.Join(b.addAll(39, 3000), b.addAll(5, 8), b.journal.Close())
		}
		footer := mode != journal.SyncNever // files were left without a sync, so none can say that nothing is missing
		b.lives(life, life, life, func() error { return b.mustFind(upTo(132), footer, false) })
		if !slices.Equal(b.acked, upTo(132)) {
			t.Errorf("%s: completed %v", mode, b.acked)
		}
		if b.node.Visits(journal.PointRolled) == 0 {
			t.Errorf("%s: the journal never rolled", mode)
		}
	}
}

// TestACompletedBatchSurvivesAPowerCut in the modes that promise it, and in the others as much as was synced.
func TestACompletedBatchSurvivesAPowerCut(t *testing.T) {
	for _, mode := range allModes {
		for _, survival := range []disk.Survival{disk.Keep, disk.Drop} {
			b := &book{t: t, mode: mode}
			waited := uint64(0)
			b.lives(func() error {
				if err := b.start(); err != nil {
					return err
				}
				if err := b.addAll(20, 100); err != nil {
					return err
				}
				waited = b.next
				b.h.Root().Sleep(time.Second) // mode interval syncs meanwhile
				if err := b.addAll(20, 100); err != nil {
					return err
				}
				b.node.Crash(sim.PowerCut(survival))
				return nil
			}, func() error {
				got, _, err := b.replay()
				want := uint64(40)
				if survival == disk.Drop && mode == journal.SyncInterval {
					want = waited
				}
				if survival == disk.Drop && mode == journal.SyncNever {
					want = 0
				}
				if !slices.Equal(got, upTo(want)) {
					t.Errorf("%s, %v: replayed %v, want %d", mode, survival, got, want)
				}
				return err
			})
		}
	}
}

// TestModeAlwaysSyncsEveryBatchAlone, and mode group gathers.
func TestModeAlwaysSyncsEveryBatchAlone(t *testing.T) {
	for _, mode := range []journal.SyncMode{journal.SyncAlways, journal.SyncGroup} {
		b := &book{t: t, mode: mode}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			return errors.Join(b.addAll(31, 10), b.journal.Close())
		})
		groups := b.node.Visits(journal.PointGroupSynced)
		if mode == journal.SyncAlways && groups != 32 || mode == journal.SyncGroup && groups > 10 { // one is the footer
			t.Errorf("%s: %d syncs for 31 batches", mode, groups)
		}
	}
}

// TestAFileWithoutRoomForAFooterEndsUncleanly, and loses nothing by it.
func TestAFileWithoutRoomForAFooterEndsUncleanly(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup}
	groups := int(smallConfig(b.mode).FileBytes/record.Align) - 1
	b.lives(func() error {
		if err := b.start(); err != nil {
			return err
		}
		return errors.Join(b.one(groups), b.journal.Close())
	}, func() error { return b.mustFind(upTo(uint64(groups)), false, false) })
}

// rot flips a bit in the header of a group, counted from the end: 0 is the last.
func (b *book) rot(fromEnd int) error {
	infos, err := b.dir.List()
	if err != nil {
		return err
	}
	var places []func() error
	for _, info := range infos {
		f, err := b.dir.Open(info.Name)
		if err != nil {
			return err
		}
		header, err := record.ReadFileHeader(f, journal.Kind())
		if err != nil {
			return err
		}
		for s := record.NewScanner(f, header, info.Size); ; {
			v, err := s.Next()
			if err != nil {
				break
			}
			at := v.Offset
			places = append(places, func() error {
				return b.node.Disk("journal").Model().Rot(info.Name, at+20, 1)
			})
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return places[len(places)-1-fromEnd]()
}

// one waits for each number before it adds the next, so that each is a group.
func (b *book) one(count int) error {
	for range count {
		if err := b.addAll(1, 100); err != nil {
			return err
		}
	}
	return nil
}

// TestABadLastGroupIsUndecidedUnlessTheMarkCoversIt, and a bad earlier one is rot.
func TestABadLastGroupIsUndecidedUnlessTheMarkCoversIt(t *testing.T) {
	for _, c := range []struct {
		name      string
		fromEnd   int
		covered   uint64
		clean     bool
		want      []uint64
		undecided bool
		rot       bool
	}{
		{name: "last group, unclean stop", want: upTo(19), undecided: true},
		{name: "last group, covered by the mark", covered: 20},
		{name: "an earlier group", fromEnd: 1, rot: true},
		{name: "an earlier group in another file", fromEnd: 18, rot: true},
		{name: "the footer", clean: true, want: upTo(20), undecided: true},
		{name: "the last group before a footer", clean: true, fromEnd: 1, rot: true},
	} {
		b := &book{t: t, mode: journal.SyncGroup}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			if err := b.one(20); err != nil {
				return err
			}
			if c.covered > 0 {
				b.mark = b.journal.MarkAt(c.covered)
			}
			if c.clean {
				return b.journal.Close()
			}
			b.node.Crash(sim.PowerCut(disk.Keep))
			return nil
		}, func() error {
			if err := b.rot(c.fromEnd); err != nil {
				return err
			}
			if c.rot {
				if _, _, err := b.replay(); !errors.Is(err, record.ErrCorrupt) {
					t.Errorf("%s: %v", c.name, err)
				}
				return nil
			}
			return b.mustFind(c.want, false, c.undecided)
		}, func() error {
			if c.rot {
				return nil
			}
			// Whatever the end was, the journal goes on behind it and never mixes old and new.
			b.next = uint64(len(c.want)) + c.covered
			if err := b.start(); err != nil {
				return err
			}
			return errors.Join(b.one(3), b.journal.Close())
		})
	}
}

// TestTrimKeepsWhatTheMarkNeeds and removes the rest; replay from the mark finds exactly what lies behind it.
func TestTrimKeepsWhatTheMarkNeeds(t *testing.T) {
	for covered := uint64(0); covered <= 40; covered += 5 {
		b := &book{t: t, mode: journal.SyncGroup}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			if err := b.one(40); err != nil {
				return err
			}
			b.mark = b.journal.MarkAt(covered)
			if b.mark.Sequence != covered || b.mark.First > covered+1 {
				t.Errorf("mark %+v for %d", b.mark, covered)
			}
			if err := b.journal.Trim(b.mark); err != nil {
				return err
			}
			infos, err := b.dir.List()
			if first, _ := journal.ParseFileName(infos[0].Name); first != b.mark.File {
				t.Errorf("the first file left is %d, the mark needs %d", first, b.mark.File)
			}
			return errors.Join(err, b.journal.Close())
		}, func() error { return b.mustFind(upTo(40)[covered:], true, false) })
	}
}

// TestAMissingFileIsCorrupt, wherever it is missing.
func TestAMissingFileIsCorrupt(t *testing.T) {
	for _, id := range []uint64{1, 2} {
		b := &book{t: t, mode: journal.SyncGroup}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			return errors.Join(b.one(40), b.journal.Close())
		}, func() error {
			if err := b.dir.Remove(journal.FileName(id)); err != nil {
				return err
			}
			if _, _, err := b.replay(); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("without file %d: %v", id, err)
			}
			return nil
		})
	}
}

// TestAfterAFailureNothingIsAcknowledged: a later sync may succeed without having written what the failed one lost.
func TestAfterAFailureNothingIsAcknowledged(t *testing.T) {
	for _, kind := range []sim.DiskKind{sim.DiskSync, sim.DiskWrite} {
		b := &book{t: t, mode: journal.SyncGroup}
		acked := 0
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			if err := b.one(3); err != nil {
				return err
			}
			acked = len(b.acked)
			b.h.Root().Sleep(time.Second) // the next file lies ready
			failing := true
			b.node.Disk("journal").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if failing && op.Kind == kind {
					failing = false
					return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
				}
				return sim.DiskEffect{}
			})
			if err := b.one(1); !errors.Is(err, journal.ErrFailed) || !errors.Is(err, host.ErrIO) {
				t.Errorf("%v: %v", kind, err)
			}
			if _, err := b.add(10); !errors.Is(err, journal.ErrFailed) {
				t.Errorf("%v: an add after the failure: %v", kind, err)
			}
			if err := b.journal.Close(); !errors.Is(err, journal.ErrFailed) {
				t.Errorf("%v: close: %v", kind, err)
			}
			b.node.Crash(sim.PowerCut(disk.Drop))
			return nil
		}, func() error { return b.mustFind(upTo(3), false, false) })
		if acked != 3 || len(b.acked) != 3 {
			t.Errorf("%v: %d and %d acknowledged", kind, acked, len(b.acked))
		}
	}
}

// TestAppendsWaitForAFileThatCannotBeMade and go on when it can; a close does not wait for ever.
func TestAppendsWaitForAFileThatCannotBeMade(t *testing.T) {
	for _, heals := range []bool{true, false} {
		b := &book{t: t, mode: journal.SyncGroup}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			full := true
			b.node.Disk("journal").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if full && op.Kind == sim.DiskCreate {
					return sim.DiskEffect{Err: host.ErrNoSpace}
				}
				return sim.DiskEffect{}
			})
			tasks := b.h.Root().New("client")
			var err error
			tasks.Go("client", func() { err = b.one(40) })
			tasks.Sleep(time.Second)
			if heals {
				full = false
				tasks.Wait()
				return errors.Join(err, b.journal.Close())
			}
			if closed := b.journal.Close(); !errors.Is(closed, host.ErrNoSpace) {
				t.Errorf("close: %v", closed)
			}
			tasks.Wait()
			if err == nil {
				t.Error("an append that could not be written was acknowledged")
			}
			return nil
		}, func() error {
			got, _, err := b.replay()
			if !slices.Equal(got, upTo(uint64(len(b.acked)))) || heals && len(got) != 40 {
				t.Errorf("replayed %v of %d acknowledged", got, len(b.acked))
			}
			return err
		})
	}
}

// TestAnAbandonedStartIsNoCleanStop: nothing was appended, and nothing may look as if it had been settled.
func TestAnAbandonedStartIsNoCleanStop(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup}
	b.lives(func() error {
		if err := b.start(); err != nil {
			return err
		}
		return errors.Join(b.one(3), b.journal.Close())
	}, func() error {
		if err := b.mustFind(upTo(3), true, false); err != nil {
			return err
		}
		if err := b.journal.Start(b.h.Root(), 4, 0); err != nil {
			return err
		}
		b.journal.Abandon(true)
		return nil
	}, func() error { return b.mustFind(upTo(3), true, false) })
}

// TestUnfinishedFilesGo: a crash while a file is filled leaves it under another name.
func TestUnfinishedFilesGo(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup}
	unfinished := journal.FileName(9) + host.UnfinishedSuffix
	b.lives(func() error {
		f, err := b.dir.Create(unfinished)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), b.mustFind(nil, false, false)); err != nil {
			return err
		}
		if _, err := b.dir.Open(unfinished); !errors.Is(err, host.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
		if !b.journal.Empty() {
			t.Error("the journal is not empty")
		}
		return nil
	})
}

// TestNamesOfFilesAreCanonical.
func TestNamesOfFilesAreCanonical(t *testing.T) {
	for _, id := range []uint64{1, 0xab, 1 << 63} {
		if got, ok := journal.ParseFileName(journal.FileName(id)); !ok || got != id {
			t.Errorf("%s: %d, %v", journal.FileName(id), got, ok)
		}
	}
	for _, name := range []string{"", ".journal", "0000000000000000.journal", "000000000000000A.journal", "1.journal", "0000000000000001.journal.new", "+000000000000001.journal"} {
		if id, ok := journal.ParseFileName(name); ok {
			t.Errorf("%q was taken for file %d", name, id)
		}
	}
}

// TestAFileHoldsItsLargestGroup at the edge of what Validate lets through.
func TestAFileHoldsItsLargestGroup(t *testing.T) {
	c := smallConfig(journal.SyncGroup)
	edge := c.FileBytes - record.FileHeaderBytes - record.GroupHeaderSize - c.GroupBytesMax
	if err := c.Validate(edge); err != nil {
		t.Error(err)
	}
	if err := c.Validate(edge + 1); err == nil {
		t.Error("a batch that may not fit a file was let through")
	}
	for _, bad := range []journal.Config{
		{FileBytes: 64 << 10, Sync: "sometimes"}, {FileBytes: 64 << 10, Sync: journal.SyncInterval}, {FileBytes: 65<<10 + 1, Sync: journal.SyncNever},
	} {
		if bad.Validate(100) == nil {
			t.Errorf("%+v was let through", bad)
		}
	}
}
