package ledgertable_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
)

// desk is one table with its file, on a simulated volume.
type desk struct {
	h      host.Host
	dir    host.Dir
	volume *sim.Volume
	file   *ledgertable.File
	table  *ledgertable.Table
	at     ledgertable.Position
	logs   []entrylog.LogState
}

func onDesk(t *testing.T, f func(d *desk) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("node")
	n.Start(func(h host.Host) error {
		dir, err := h.Disk("ledger")
		if err != nil {
			return err
		}
		d := &desk{h: h, dir: dir, volume: n.Disk("ledger")}
		if err := d.load(ledgertable.Position{}); err != nil {
			return err
		}
		return f(d)
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	if n.BootErr() != nil {
		t.Fatal(n.BootErr())
	}
}

func (d *desk) load(vouched ledgertable.Position) error {
	file, loaded, err := ledgertable.Load(d.h, d.dir, vouched)
	if err != nil {
		return err
	}
	d.file, d.table, d.at, d.logs = file, loaded.Table, loaded.At, loaded.Logs
	return nil
}

// write fences a ledger and writes what changed.
func (d *desk) write(fenced ledger.ID, logs ledgertable.LogChanges) (err error) {
	l := d.table.Get(fenced)
	if l == nil {
		l = d.table.Create(fenced)
	}
	l.Fenced = true
	d.table.Changed(l)
	d.at, err = d.file.Write(d.table.Capture(d.file.NeedsSnapshot()), logs)
	return err
}

// three writes a snapshot and two more groups.
func (d *desk) three() error {
	for i := range ledger.ID(3) {
		if err := d.write(i, ledgertable.LogChanges{Set: []entrylog.LogState{{ID: entrylog.LogID(i + 1), Durable: 4096}}}); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) fenced() (ids []ledger.ID) {
	d.table.Ascend(func(l *ledgertable.Ledger) bool {
		if l.Fenced {
			ids = append(ids, l.ID)
		}
		return true
	})
	return ids
}

// TestWhatWasWrittenIsLoaded, over snapshots, changes and restarts.
func TestWhatWasWrittenIsLoaded(t *testing.T) {
	onDesk(t, func(d *desk) error {
		if err := d.three(); err != nil {
			return err
		}
		if err := d.write(9, ledgertable.LogChanges{Gone: []entrylog.LogID{2}}); err != nil {
			return err
		}
		vouched := d.at
		if err := d.load(vouched); err != nil {
			return err
		}
		if got := d.fenced(); !slices.Equal(got, []ledger.ID{0, 1, 2, 9}) || d.at != vouched {
			t.Errorf("fenced %v at %+v, want %+v", got, d.at, vouched)
		}
		if len(d.logs) != 2 || d.logs[0].ID != 1 || d.logs[1].ID != 3 {
			t.Errorf("logs %+v", d.logs)
		}
		if !d.file.NeedsSnapshot() {
			t.Error("a start goes on in an old file")
		}
		if err := d.write(10, ledgertable.LogChanges{Set: d.logs}); err != nil {
			return err
		}
		if !vouched.Before(d.at) || d.at.Before(vouched) {
			t.Errorf("%+v does not lie behind %+v", d.at, vouched)
		}
		if err := d.file.RemoveOld(); err != nil {
			return err
		}
		infos, err := d.dir.List()
		if len(infos) != 1 {
			t.Errorf("%d files are left", len(infos))
		}
		return errors.Join(err, d.load(d.at))
	})
}

// TestALastGroupIsTornUnlessTheMarkVouchesForIt: the same bytes mean an unfinished write, or lost ledgers.
func TestALastGroupIsTornUnlessTheMarkVouchesForIt(t *testing.T) {
	onDesk(t, func(d *desk) error {
		if err := d.three(); err != nil {
			return err
		}
		last := d.at
		name := ledgertable.FileName(last.File)
		if err := d.volume.Model().Rot(name, record.FileHeaderBytes+2*record.Align+70, 0); err != nil {
			return err
		}
		if err := d.load(last); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("vouched for: %v", err)
		}
		if err := d.load(ledgertable.Position{File: last.File, Sequence: last.Sequence - 1}); err != nil {
			t.Errorf("not vouched for: %v", err)
		}
		if got := d.fenced(); !slices.Equal(got, []ledger.ID{0, 1}) {
			t.Errorf("fenced %v", got)
		}
		return nil
	})
}

// TestAnEarlierGroupThatIsBadIsRot whatever the mark says: a later one knows it as durable.
func TestAnEarlierGroupThatIsBadIsRot(t *testing.T) {
	onDesk(t, func(d *desk) error {
		if err := d.three(); err != nil {
			return err
		}
		if err := d.volume.Model().Rot(ledgertable.FileName(d.at.File), record.FileHeaderBytes+record.Align+70, 0); err != nil {
			return err
		}
		if err := d.load(ledgertable.Position{}); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("load: %v", err)
		}
		return nil
	})
}

// TestAnUnfinishedSnapshotIsIgnored, unless the mark vouches for it.
func TestAnUnfinishedSnapshotIsIgnored(t *testing.T) {
	for _, at := range []int64{10, record.FileHeaderBytes + 10} { // its header, its only group
		onDesk(t, func(d *desk) error {
			if err := d.three(); err != nil {
				return err
			}
			old := d.at
			if err := d.load(old); err != nil {
				return err
			}
			if err := d.write(5, ledgertable.LogChanges{}); err != nil { // a new file
				return err
			}
			fresh := d.at
			if err := d.volume.Model().Rot(ledgertable.FileName(fresh.File), at, 0); err != nil {
				return err
			}
			if err := d.load(fresh); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("vouched for: %v", err)
			}
			if err := d.load(old); err != nil {
				return err
			}
			if got := d.fenced(); !slices.Equal(got, []ledger.ID{0, 1, 2}) || d.at != old {
				t.Errorf("fenced %v at %+v", got, d.at)
			}
			if err := d.write(6, ledgertable.LogChanges{}); err != nil { // must not take the name of the bad file
				return err
			}
			if d.at.File <= fresh.File {
				t.Errorf("file %d was written again", d.at.File)
			}
			return d.load(d.at)
		})
	}
}

// TestAFailedWriteKeepsWhatWasDurable, whichever of its calls fails; the next write is a whole snapshot.
func TestAFailedWriteKeepsWhatWasDurable(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		for call := 1; ; call++ {
			reached := false
			onDesk(t, func(d *desk) error {
				if err := d.three(); err != nil {
					return err
				}
				if snapshot {
					if err := d.load(d.at); err != nil {
						return err
					}
				}
				before, calls := d.at, 0
				d.volume.SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if calls++; calls != call {
						return sim.DiskEffect{}
					}
					reached = true
					return sim.DiskEffect{Err: host.ErrIO, MarkClean: true, Short: int(op.Length / 2)}
				})
				err := d.write(7, ledgertable.LogChanges{})
				d.volume.SetFaults(nil)
				if reached == (err == nil) {
					return fmt.Errorf("call %d: %w", call, err)
				}
				if err == nil {
					return nil
				}
				if !d.file.NeedsSnapshot() {
					t.Errorf("call %d: the file is written on after a failure", call)
				}
				if err := d.file.RemoveOld(); err != nil { // must not remove what is still needed
					return err
				}
				if _, loaded, err := ledgertable.Load(d.h, d.dir, before); err != nil || loaded.At.Before(before) {
					t.Errorf("call %d: after the failure: %v", call, err)
				}
				if err := d.write(8, ledgertable.LogChanges{}); err != nil {
					return err
				}
				if err := d.load(d.at); err != nil {
					return err
				}
				if got := d.fenced(); !slices.Equal(got, []ledger.ID{0, 1, 2, 7, 8}) {
					t.Errorf("call %d: fenced %v", call, got)
				}
				return nil
			})
			if !reached {
				if call < 3 {
					t.Errorf("a write has only %d calls", call-1)
				}
				break
			}
		}
	}
}

// TestAFileThatHasGrownIsReplaced, so that a start does not read for ever.
func TestAFileThatHasGrownIsReplaced(t *testing.T) {
	onDesk(t, func(d *desk) error {
		for i := range 1000 {
			if err := d.write(ledger.ID(i%50), ledgertable.LogChanges{}); err != nil {
				return err
			}
			if d.at.File > 1 {
				return d.load(d.at)
			}
		}
		t.Error("a thousand checkpoints of fifty ledgers went into one file")
		return nil
	})
}

// TestALargeSnapshotTakesSeveralGroups and counts only when its end is there.
func TestALargeSnapshotTakesSeveralGroups(t *testing.T) {
	onDesk(t, func(d *desk) error {
		const ledgers = 60_000
		for i := range ledger.ID(ledgers) {
			d.table.Create(i).Fenced = true
		}
		var err error
		if d.at, err = d.file.Write(d.table.Capture(true), ledgertable.LogChanges{}); err != nil {
			return err
		}
		if d.at.Sequence < 2 {
			t.Errorf("only %d groups", d.at.Sequence)
		}
		if err := d.load(d.at); err != nil {
			return err
		}
		if d.table.Len() != ledgers {
			t.Errorf("%d of %d ledgers", d.table.Len(), ledgers)
		}
		f, err := d.dir.Open(ledgertable.FileName(d.at.File))
		if err != nil {
			return err
		}
		size, _ := f.Size()
		if err := errors.Join(f.Truncate(size-record.Align), f.Close()); err != nil {
			return err
		}
		if err := d.load(ledgertable.Position{}); err != nil {
			return err
		}
		if d.table.Len() != 0 {
			t.Errorf("an unfinished snapshot gave %d ledgers", d.table.Len())
		}
		return nil
	})
}
