package entrylog_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
)

func smallConfig() entrylog.Config {
	c := entrylog.DefaultConfig()
	c.LogBytesMax, c.GroupBytes = 40<<10, 3<<10
	c.IndexCacheBytesMax, c.ReadCacheBytesMax = 12<<10, 8<<10
	c.ReadAheadEntries, c.ReadAheadBytesMax = 20, 3<<10
	return c
}

type key struct {
	ledger ledger.ID
	entry  ledger.EntryID
}

// library is a set of logs beside a map that says what they must hold.
type library struct {
	h       host.Host
	volume  *sim.Volume
	dir     host.Dir
	logs    *entrylog.Logs
	states  map[entrylog.LogID]entrylog.LogState // what a ledger table would know
	model   map[key][]byte
	deleted map[ledger.ID]bool
	visits  func(host.Point) int64
}

// inLibrary runs f in a simulated world, on an empty ledger volume.
func inLibrary(f func(l *library) error) error {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("node")
	n.Start(func(h host.Host) error {
		dir, err := h.Disk("ledger")
		if err != nil {
			return err
		}
		l := &library{
			h: h, volume: n.Disk("ledger"), dir: dir, visits: n.Visits, states: map[entrylog.LogID]entrylog.LogState{},
			model: map[key][]byte{}, deleted: map[ledger.ID]bool{},
		}
		if err := l.open(); err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
		l.logs.Release()
		if in := h.Memory().InUse(); in != 0 {
			return fmt.Errorf("%d bytes still in hand", in)
		}
		return nil
	})
	if v := w.Run(time.Hour); v.Failed() {
		return errors.New(v.String())
	}
	return n.BootErr()
}

func testInLibrary(t *testing.T, f func(t *testing.T, l *library) error) {
	t.Helper()
	if err := inLibrary(func(l *library) error { return f(t, l) }); err != nil {
		t.Fatal(err)
	}
}

func (l *library) live(id ledger.ID) bool { return !l.deleted[id] }

func (l *library) open() (err error) {
	var states []entrylog.LogState
	for _, id := range host.SortedKeys(l.states) {
		states = append(states, l.states[id])
	}
	l.logs, err = entrylog.Open(l.h, l.dir, smallConfig(), states, l.live)
	return err
}

func (l *library) reopen() error {
	l.logs.Release()
	return l.open()
}

func body(k key, version, size int) []byte {
	p := make([]byte, ledger.HeaderBytes+size)
	ledger.PutHeader(p, k.ledger, k.entry, ledger.EntryID(version), int64(size))
	for i := ledger.HeaderBytes; i < len(p); i++ {
		p[i] = byte(int(k.entry) + version*7 + i)
	}
	return p
}

// flush writes new versions of these entries.
func (l *library) flush(version, size int, keys ...key) error {
	g := writecache.NewGeneration(l.h, 4096)
	defer g.Unpin()
	for _, k := range keys {
		l.model[k] = body(k, version, size)
		g.Insert(k.ledger, k.entry, l.model[k])
	}
	flushed, err := l.logs.Flush(g, l.live)
	if err != nil || flushed == nil {
		return err
	}
	state := l.logs.Publish(flushed, l.live)
	l.states[state.ID] = state
	return nil
}

// keys lists the model in the order of ledgers and entries.
func (l *library) keys() []key {
	keys := slices.Collect(maps.Keys(l.model))
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.entry, b.entry)) })
	return keys
}

func (l *library) reads(k key) error {
	got, err := l.logs.Read(k.ledger, k.entry)
	if err != nil {
		return fmt.Errorf("read %v: %w", k, err)
	}
	defer l.h.Memory().Put(got)
	if !bytes.Equal(got, l.model[k]) {
		return fmt.Errorf("%v reads %.50x, want %.50x", k, got, l.model[k])
	}
	return nil
}

// check reads all there is, and beside each entry one that is not there.
func (l *library) check() error {
	last := map[ledger.ID]ledger.EntryID{}
	for _, k := range l.keys() {
		if l.deleted[k.ledger] {
			continue
		}
		last[k.ledger] = max(last[k.ledger], k.entry)
		if err := l.reads(k); err != nil {
			return err
		}
		for _, beside := range []key{{k.ledger, k.entry - 1}, {k.ledger, k.entry + 1}} {
			if l.model[beside] != nil {
				continue
			}
			if _, err := l.logs.Read(beside.ledger, beside.entry); !errors.Is(err, entrylog.ErrAbsent) {
				return fmt.Errorf("%v was never written: %w", beside, err)
			}
		}
	}
	if err := l.ranges(l.keys()); err != nil {
		return err
	}
	for _, id := range host.SortedKeys(last) {
		if got := l.logs.Last(id); got != last[id] {
			return fmt.Errorf("last entry of %d is %d, want %d", id, got, last[id])
		}
	}
	// The memory's size classes round up to powers of two.
	if in, most := l.h.Memory().InUse(), 2*(smallConfig().IndexCacheBytesMax+smallConfig().ReadCacheBytesMax); in > most {
		return fmt.Errorf("the caches hold %d bytes, more than %d", in, most)
	}
	return nil
}

// round is one step of a library's life.
type round struct {
	ids           []ledger.ID
	first, stride ledger.EntryID
	count, size   int
	reopen, drop  bool
}

func drawRounds(t *rapid.T) (rounds []round) {
	for range rapid.IntRange(1, 8).Draw(t, "rounds") {
		rounds = append(rounds, round{
			ids:    rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ledger.ID { return ledger.ID(rapid.Int64Range(0, 5).Draw(t, "id")) }), 1, 4, rapid.ID).Draw(t, "ledgers"),
			first:  ledger.EntryID(rapid.Int64Range(0, 500).Draw(t, "first")),
			stride: ledger.EntryID(rapid.SampledFrom([]int64{1, 1, 2, 3, 97}).Draw(t, "stride")),
			count:  rapid.SampledFrom([]int{1, 2, 30, 254, 255, 300}).Draw(t, "count"),
			size:   rapid.SampledFrom([]int{0, 10, 200}).Draw(t, "size"),
			reopen: rapid.IntRange(0, 2).Draw(t, "reopen") == 0,
			drop:   rapid.IntRange(0, 5).Draw(t, "drop") == 0,
		})
	}
	return rounds
}

// TestLogsAreAMapOfTheNewestVersions: dense, sparse and striped ids over several flushes, with logs that close in
// between, ledgers that go, and restarts.
func TestLogsAreAMapOfTheNewestVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := drawRounds(t)
		if err := inLibrary(func(l *library) error { return l.liveThrough(rounds) }); err != nil {
			t.Fatal(err)
		}
	})
}

func (l *library) liveThrough(rounds []round) error {
	for version, r := range rounds {
		var keys []key
		for _, id := range r.ids {
			for i := range r.count {
				if l.live(id) {
					keys = append(keys, key{id, r.first + ledger.EntryID(i)*r.stride})
				}
			}
		}
		if err := l.flush(version, r.size, keys...); err != nil {
			return fmt.Errorf("round %d: %w", version, err)
		}
		if r.drop {
			l.deleted[r.ids[0]] = true
			l.logs.Drop(r.ids[0])
		}
		if r.reopen {
			if err := l.reopen(); err != nil {
				return fmt.Errorf("round %d: %w", version, err)
			}
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("round %d: %w", version, err)
		}
	}
	return nil
}

// closed fills log 1 with 40 entries each of ledgers 1 and 2, closes it, and leaves ledger 3 in the open log 2.
func (l *library) closed() error {
	if err := l.flush(0, 600, dense(1, 0, 40)...); err != nil {
		return err
	}
	if err := l.flush(1, 100, dense(2, 0, 40)...); err != nil {
		return err
	}
	if !l.states[1].Closed {
		return fmt.Errorf("log 1 is not closed: %+v", l.states)
	}
	return l.flush(2, 100, dense(3, 0, 40)...)
}

func dense(id ledger.ID, first ledger.EntryID, count int) (keys []key) {
	for i := range count {
		keys = append(keys, key{id, first + ledger.EntryID(i)})
	}
	return keys
}

// TestABadIndexBlockIsNeverAbsence: neither what it holds nor what it does not hold is known any more.
func TestABadIndexBlockIsNeverAbsence(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		items := l.states[1].Durable // the first index block
		if err := l.volume.Model().Rot(entrylog.FileName(1), items+100, 3); err != nil {
			return err
		}
		for _, k := range []key{{1, 0}, {1, 39}, {2, 7}} {
			if _, err := l.logs.Read(k.ledger, k.entry); !entrylog.IsDamage(err) || errors.Is(err, entrylog.ErrAbsent) {
				t.Errorf("%v: %v", k, err)
			}
		}
		if err := l.reads(key{3, 5}); err != nil {
			t.Error(err)
		}
		if err := l.volume.Model().Latent(entrylog.FileName(1), items, 512); err != nil {
			return err
		}
		if _, err := l.logs.Read(1, 0); !errors.Is(err, host.ErrIO) || errors.Is(err, entrylog.ErrAbsent) {
			t.Errorf("an unreadable block: %v", err)
		}
		return nil
	})
}

// TestABadDirectoryOrTrailerIsRebuilt from the log's own records, once.
func TestABadDirectoryOrTrailerIsRebuilt(t *testing.T) {
	for _, block := range []int64{1, 2} { // behind the only block of items
		testInLibrary(t, func(t *testing.T, l *library) error {
			if err := l.closed(); err != nil {
				return err
			}
			if err := l.volume.Model().Rot(entrylog.FileName(1), l.states[1].Durable+block*record.Align+50, 1); err != nil {
				return err
			}
			if err := l.reopen(); err != nil {
				return err
			}
			if err := l.check(); err != nil {
				return err
			}
			l.states[2] = entrylog.LogState{ID: 2, Durable: l.states[2].Durable, Closed: true} // the scan closed it, too
			before := l.visits(entrylog.PointRescanned)
			if err := l.reopen(); err != nil {
				return err
			}
			if before != 2 || l.visits(entrylog.PointRescanned) != before {
				t.Errorf("%d scans after the first start, %d after the second", before, l.visits(entrylog.PointRescanned))
			}
			return l.check()
		})
	}
}

// TestABadRecordCostsNoOtherEntry.
func TestABadRecordCostsNoOtherEntry(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		at := int64(record.FileHeaderBytes + record.GroupHeaderSize + 24 + record.HeaderSize + 100) // in the first entry
		if err := l.volume.Model().Rot(entrylog.FileName(1), at, 0); err != nil {
			return err
		}
		if _, err := l.logs.Read(1, 0); !entrylog.IsDamage(err) {
			t.Errorf("a bad record: %v", err)
		}
		delete(l.model, key{1, 0})
		for _, k := range append(dense(1, 1, 39), dense(2, 0, 40)...) {
			if err := l.reads(k); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
}

// TestADamagedOpenLogLeavesNothingCertain: it has no index, and what the scan did not reach cannot be told.
func TestADamagedOpenLogLeavesNothingCertain(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		if err := l.volume.Model().Rot(entrylog.FileName(2), l.states[2].Durable-record.Align+70, 0); err != nil {
			return err
		}
		if err := l.reopen(); err != nil {
			return err
		}
		if l.logs.Damaged() == nil {
			t.Error("the damage was not noticed")
		}
		if err := l.reads(key{1, 39}); err != nil {
			t.Error(err)
		}
		if err := l.reads(key{3, 0}); err != nil { // in a group before the bad one
			t.Error(err)
		}
		for _, k := range []key{{3, 39}, {3, 99}, {77, 0}} {
			if _, err := l.logs.Read(k.ledger, k.entry); !entrylog.IsDamage(err) || errors.Is(err, entrylog.ErrAbsent) {
				t.Errorf("%v: %v", k, err)
			}
		}
		return nil
	})
}

// TestALogThatTheTableNamesMustBeThere, with a header of its own.
func TestALogThatTheTableNamesMustBeThere(t *testing.T) {
	for _, harm := range []struct {
		name string
		do   func(l *library) error
	}{
		{"missing", func(l *library) error { return l.dir.Remove(entrylog.FileName(1)) }},
		{"another log under its name", func(l *library) error { return l.dir.Rename(entrylog.FileName(2), entrylog.FileName(1)) }},
		{"bad header", func(l *library) error { return l.volume.Model().Rot(entrylog.FileName(1), 20, 1) }},
	} {
		testInLibrary(t, func(t *testing.T, l *library) error {
			if err := l.closed(); err != nil {
				return err
			}
			if err := harm.do(l); err != nil {
				return err
			}
			kept := l.logs
			if err := l.reopen(); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("%s: %v", harm.name, err)
			}
			l.logs = kept
			return nil
		})
	}
}

// TestLogsThatTheTableDoesNotNameGo: they were never finished, or were to be removed.
func TestLogsThatTheTableDoesNotNameGo(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		for _, k := range dense(3, 0, 40) {
			delete(l.model, k)
		}
		delete(l.states, 2)
		if err := l.reopen(); err != nil {
			return err
		}
		f, err := l.dir.Open(entrylog.FileName(2))
		if err != nil {
			t.Errorf("log 2 went before a table without it can have become durable: %v", err)
		}
		if err := f.Close(); err != nil {
			return err
		}
		l.logs.RemoveOrphans()
		l.logs.RemoveOrphans()
		if _, err := l.dir.Open(entrylog.FileName(2)); !errors.Is(err, host.ErrNotExist) {
			t.Errorf("log 2: %v", err)
		}
		if err := l.check(); err != nil {
			t.Error(err)
		}
		if err := l.flush(3, 10, dense(4, 0, 3)...); err != nil {
			return err
		}
		if _, again := l.states[2]; again {
			t.Error("the id of a removed log was used again")
		}
		return l.check()
	})
}

// TestAFailedFlushLeavesNoTrace, whichever of its calls fails, and the next attempt takes another file.
func TestAFailedFlushLeavesNoTrace(t *testing.T) {
	for call := 1; ; call++ {
		reached := false
		testInLibrary(t, func(t *testing.T, l *library) error {
			if err := l.flush(0, 100, dense(1, 0, 20)...); err != nil {
				return err
			}
			calls := 0
			l.volume.SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if calls++; calls == call {
					reached = true
					return sim.DiskEffect{Err: host.ErrIO, MarkClean: true, Short: int(op.Length / 2)}
				}
				return sim.DiskEffect{}
			})
			old := l.model[key{1, 5}]
			err := l.flush(1, 2000, dense(1, 5, 20)...)
			l.volume.SetFaults(nil)
			if err == nil {
				return l.check()
			}
			fresh := l.model[key{1, 5}]
			l.model[key{1, 5}] = old
			if err := l.reads(key{1, 5}); err != nil {
				t.Errorf("call %d: %v", call, err)
			}
			l.model[key{1, 5}] = fresh
			if err := l.flush(1, 2000, dense(1, 5, 20)...); err != nil {
				return err
			}
			if len(l.states) != 2 {
				t.Errorf("call %d: the second attempt went into the file of the first: %+v", call, l.states)
			}
			if err := l.check(); err != nil {
				return err
			}
			if err := l.reopen(); err != nil {
				return err
			}
			return l.check()
		})
		if !reached {
			if call < 4 {
				t.Errorf("a flush has only %d calls", call-1)
			}
			return
		}
	}
}

// TestReadersOfARemovedLogFinishFirst: a log dies with its last ledger, and its file goes without disturbing a read.
func TestReadersOfARemovedLogFinishFirst(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		if dead := l.logs.Dead(); len(dead) != 0 {
			t.Errorf("dead before their ledgers: %v", dead)
		}
		l.volume.SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskRead {
				return sim.DiskEffect{Delay: time.Second}
			}
			return sim.DiskEffect{}
		})
		readers := l.h.Root().New("readers")
		readers.Go("reader", func() {
			if err := l.reads(key{1, 20}); err != nil {
				t.Error(err)
			}
		})
		readers.Sleep(100 * time.Millisecond) // it is reading now
		l.deleted[1], l.deleted[2] = true, true
		l.logs.Drop(1)
		l.logs.Drop(2)
		dead := l.logs.Dead()
		if len(dead) != 1 || dead[0] != 1 {
			t.Errorf("dead: %v", dead)
		}
		l.logs.Retire(dead)
		if err := l.logs.Remove(dead); err != nil {
			return err
		}
		readers.Wait()
		if _, err := l.dir.Open(entrylog.FileName(1)); !errors.Is(err, host.ErrNotExist) {
			t.Errorf("the file stays: %v", err)
		}
		if _, err := l.logs.Read(1, 20); !errors.Is(err, entrylog.ErrAbsent) {
			t.Errorf("a dropped ledger: %v", err)
		}
		return l.reads(key{3, 1})
	})
}

// TestAnIndexThatNamesAnotherRecordIsDamage: a lookup must not show one entry in the place of another, though every
// checksum is good.
func TestAnIndexThatNamesAnotherRecordIsDamage(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		f, err := l.dir.Open(entrylog.FileName(1))
		if err != nil {
			return err
		}
		block := make([]byte, record.Align)
		if _, err := host.ReadFull(f, block, l.states[1].Durable); err != nil {
			return err
		}
		const firstItem, itemBytes, offsetAt = 32, 16, 8
		one, two := block[firstItem+offsetAt:][:4], block[firstItem+itemBytes+offsetAt:][:4]
		for i := range one {
			one[i], two[i] = two[i], one[i]
		}
		binary.BigEndian.PutUint32(block[4:], crc32.Checksum(block[8:], crc32.MakeTable(crc32.Castagnoli)))
		if err := errors.Join(host.WriteFullAt(f, block, l.states[1].Durable), f.Close()); err != nil {
			return err
		}
		for e := range ledger.EntryID(2) {
			if got, err := l.logs.Read(1, e); !entrylog.IsDamage(err) {
				t.Errorf("entry %d: %.40x, %v", e, got, err)
			}
		}
		return l.reads(key{1, 2})
	})
}
