package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/inspect"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

func tinyConfig() bookie.Config {
	c := bookie.DefaultConfig()
	c.EntryBytesMax, c.BatchBytesMax = 4<<10, 8<<10
	c.Journal.FileBytes, c.Journal.GroupBytesMax = 64<<10, 8<<10
	c.EntryLog.LogBytesMax, c.EntryLog.GroupBytes = 24<<10, 6<<10
	c.WriteCacheBytesMax, c.ChunkBytes = 96<<10, 4<<10
	c.RetryPause = 5 * time.Millisecond
	return c
}

func stored(id ledger.ID, entry ledger.EntryID, size int) []byte {
	p := make([]byte, ledger.HeaderBytes+size)
	ledger.PutHeader(p, id, entry, entry-1, int64(size))
	return p
}

func add(s *bookie.Store, id ledger.ID, first ledger.EntryID, count, size int) error {
	for e := first; e < first+ledger.EntryID(count); e++ {
		if err := s.AddOne(&bookie.Add{Body: stored(id, e, size)}); err != nil {
			return err
		}
	}
	return nil
}

// fill leaves a closed log with ledgers 1 and 2, an open one with ledger 3, a fence, a delete, and a journal with more.
func fill(s *bookie.Store) error {
	return errors.Join(
		add(s, 1, 0, 30, 500), add(s, 2, 0, 30, 500), s.Flush(),
		add(s, 3, 0, 5, 100), add(s, 4, 0, 3, 100), s.Fence(2, ledger.MasterKey{}), s.Delete(4), s.Flush(),
		add(s, 5, 10, 4, 100), s.Fence(6, ledger.MasterKey{}), s.Delete(3),
	)
}

// stop is how the bookie ends after fill.
type stop uint8

const (
	cleanly stop = iota
	byCrash
)

// afterwards fills a bookie, ends it, and calls f in the next life of its node, where no bookie runs.
func afterwards(t *testing.T, end stop, f func(n *sim.Node, journalDir, ledgerDir host.Dir) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	look := func(h host.Host) error {
		journalDir, ledgerDir, err := directories(h)
		if err != nil {
			return err
		}
		return f(n, journalDir, ledgerDir)
	}
	n.OnExit(func(err error, crashed bool) {
		if err != nil {
			t.Error(err)
		} else if n.Epoch() == 1 {
			n.Start(look)
		}
	})
	n.Start(func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		if err := fill(s); err != nil {
			return err
		}
		if end == byCrash {
			n.Crash(sim.PowerCut(disk.Keep))
		}
		return s.Close()
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

func directories(h host.Host) (journalDir, ledgerDir host.Dir, err error) {
	if journalDir, err = h.Disk(bookie.JournalVolume); err != nil {
		return nil, nil, err
	}
	ledgerDir, err = h.Disk(bookie.LedgerVolume)
	return journalDir, ledgerDir, err
}

func describe(r *inspect.Report) string {
	var b strings.Builder
	_ = r.Text(&b)
	return b.String()
}

// TestASoundBookieIsSound, and the numbers are those of what was written.
func TestASoundBookieIsSound(t *testing.T) {
	for _, end := range []stop{cleanly, byCrash} {
		afterwards(t, end, func(_ *sim.Node, journalDir, ledgerDir host.Dir) error {
			r, err := inspect.Bookie(journalDir, ledgerDir)
			if err != nil {
				return err
			}
			if r.Worst() == inspection.Damage || r.Worst() == inspection.Doubt || len(r.InUse)+len(r.Others) > 0 {
				t.Errorf("%s", describe(r))
			}
			want := []inspect.Ledger{
				{ID: 1, HasKey: true, LogEntries: 30, First: 0, Last: 29},
				{ID: 2, HasKey: true, LogEntries: 30, First: 0, Last: 29, Fenced: true},
				{ID: 3, HasKey: true, LogEntries: 5, First: 0, Last: 4, Deleted: true},
				{ID: 4, HasKey: true, First: -1, Last: -1, Deleted: true},
				{ID: 5, HasKey: true, JournalEntries: 4, First: 10, Last: 13},
				{ID: 6, HasKey: true, First: -1, Last: -1, Fenced: true},
			}
			if end == cleanly { // the last checkpoint wrote it all
				want[2].First, want[2].Last = -1, -1
				want[4].JournalEntries, want[4].LogEntries = 0, 4
			}
			for k := range want {
				want[k].Known = true
			}
			if !slices.Equal(r.Ledgers, want) {
				t.Errorf("end %d:\n got %+v\nwant %+v\n%s", end, r.Ledgers, want, describe(r))
			}
			if l := r.Logs[0]; !l.Closed || l.Index != "good" || l.IndexItems != 60 || l.Entries != 60 || l.Ledgers != 2 || !l.Listed {
				t.Errorf("log 1: %+v", l)
			}
			last := r.Journal[len(r.Journal)-1]
			for _, j := range r.Journal {
				if j.Groups.Groups > 0 {
					last = j
				}
			}
			if (last.End == "footer") != (end == cleanly) {
				t.Errorf("the journal ends with %q", last.End)
			}
			return nil
		})
	}
}

// TestAnInspectionChangesNothing, and asks for nothing but names and bytes.
func TestAnInspectionChangesNothing(t *testing.T) {
	afterwards(t, byCrash, func(n *sim.Node, journalDir, ledgerDir host.Dir) error {
		image := func() string {
			return fmt.Sprintf("%x %x", n.Disk(bookie.JournalVolume).Model().ImageHash(), n.Disk(bookie.LedgerVolume).Model().ImageHash())
		}
		for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
			n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if op.Kind != sim.DiskRead && op.Kind != sim.DiskOpen && op.Kind != sim.DiskList {
					t.Errorf("%v of %s", op.Kind, op.Path)
				}
				return sim.DiskEffect{}
			})
		}
		before := image()
		first, err := inspect.Bookie(journalDir, ledgerDir)
		if err != nil {
			return err
		}
		second, err := inspect.Bookie(journalDir, ledgerDir)
		if image() != before || !reflect.DeepEqual(first, second) {
			t.Error("the directories were changed, or a second look sees something else")
		}
		return err
	})
}

// TestARunningBookieIsReportedAsSuch, and looked at all the same.
func TestARunningBookieIsReportedAsSuch(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	n.Start(func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		if err := fill(s); err != nil {
			return err
		}
		journalDir, ledgerDir, err := directories(h)
		if err != nil {
			return err
		}
		r, err := inspect.Bookie(journalDir, ledgerDir)
		if err != nil {
			return err
		}
		if !slices.Equal(r.InUse, []string{"journal", "ledger"}) || r.Worst() == inspection.Damage || len(r.Ledgers) != 6 {
			t.Errorf("%s", describe(r))
		}
		return s.Close()
	})
	if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
		t.Fatal(v.String(), n.BootErr())
	}
}

// TestNoCrashLooksLikeDamage: whatever a crash leaves is explained by it.
func TestNoCrashLooksLikeDamage(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 11
	}
	crashes := 0
	for call := 1; ; call += stride {
		ended := false
		for _, mode := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn} {
			r, reached, err := inspectAfterCrash(uint64(call), call, mode)
			if err != nil {
				t.Fatal(err)
			}
			if r.Worst() == inspection.Damage {
				t.Fatalf("crash before call %d, %v:\n%s", call, mode, describe(r))
			}
			ended = ended || !reached
			crashes++
		}
		if ended {
			break
		}
	}
	t.Logf("%d crashes", crashes)
}

func inspectAfterCrash(seed uint64, call int, mode disk.Survival) (r *inspect.Report, reached bool, err error) {
	w := sim.New(sim.Config{Seed: seed})
	n := w.NewNode("bookie")
	calls := 0
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		n.Disk(volume).SetFaults(func(*sim.DiskOp) sim.DiskEffect {
			if calls++; calls == call {
				reached = true
				n.Crash(sim.PowerCut(mode))
			}
			return sim.DiskEffect{}
		})
	}
	n.OnExit(func(error, bool) {
		if n.Epoch() > 1 {
			return
		}
		n.Start(func(h host.Host) error {
			calls = call // no second crash
			journalDir, ledgerDir, err := directories(h)
			if err == nil {
				r, err = inspect.Bookie(journalDir, ledgerDir)
			}
			return err
		})
	})
	n.Start(func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		return errors.Join(fill(s), s.Close())
	})
	v := w.Run(time.Hour)
	if v.Failed() {
		return r, reached, errors.New(v.String())
	}
	return r, reached, n.BootErr()
}

// bench is a bookie's disks, for harming them.
type bench struct {
	node               *sim.Node
	journal, ledger    host.Dir
	journalDisk, media *disk.Disk // media: the ledger volume
	before             *inspect.Report
}

// group returns the file and offset of a journal group, counted from the end: 0 is the last.
func (b *bench) group(fromEnd int) (string, int64) {
	type place struct {
		name string
		at   int64
	}
	var places []place
	for _, j := range b.before.Journal {
		f, err := b.journal.Open(j.Name)
		if err != nil {
			panic(err)
		}
		header, err := record.ReadFileHeader(f, journal.Kind())
		if err != nil {
			panic(err)
		}
		for s := record.NewScanner(f, header, j.Bytes); ; {
			v, err := s.Next()
			if err != nil {
				break
			}
			places = append(places, place{j.Name, v.Offset})
		}
		_ = f.Close()
	}
	p := places[len(places)-1-fromEnd]
	return p.name, p.at
}

func (b *bench) rotGroup(fromEnd int) error {
	name, at := b.group(fromEnd)
	return b.journalDisk.Rot(name, at+record.GroupHeaderSize+5, 2)
}

func (b *bench) table() string { return b.before.Tables[len(b.before.Tables)-1].Name }

// edit changes bytes of a file of the ledger directory so that its checksums stay good only if seal makes them so.
func (b *bench) edit(name string, change func(data []byte)) error {
	f, err := b.ledger.Open(name)
	if err != nil {
		return err
	}
	size, _ := f.Size()
	data := make([]byte, size)
	if _, err := host.ReadFull(f, data, 0); err != nil {
		return err
	}
	change(data)
	return errors.Join(host.WriteFullAt(f, data, 0), f.Sync(), f.Close())
}

func create(dir host.Dir, name, text string) error {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(host.WriteFullAt(f, []byte(text), 0), f.Sync(), f.Close(), dir.SyncDir())
}

// TestEveryKindOfHarmIsNamed damages one thing of each kind and expects the problem that names it.
func TestEveryKindOfHarmIsNamed(t *testing.T) {
	log1 := entrylog.FileName(1)
	for _, c := range []struct {
		name     string
		end      stop
		harm     func(b *bench) error
		severity inspection.Severity
		class    inspection.Class
		file     string // prefix
	}{
		{"last journal group", byCrash, func(b *bench) error { return b.rotGroup(0) }, inspection.Doubt, inspect.TornTail, "00000000000000"},
		{"earlier journal group", byCrash, func(b *bench) error { return b.rotGroup(3) }, inspection.Damage, inspect.Rot, "00000000000000"},
		{"journal file header", byCrash, func(b *bench) error { name, _ := b.group(0); return b.journalDisk.Rot(name, 9, 1) }, inspection.Damage, inspect.BadHeader, "00"},
		{"journal file of another place", byCrash, func(b *bench) error {
			name, _ := b.group(0)
			return b.journal.Rename(name, journal.FileName(99))
		}, inspection.Damage, inspect.Missing, "00000000000000"},
		{"journal unreadable", byCrash, func(b *bench) error {
			name, at := b.group(2)
			return b.journalDisk.Latent(name, at, 10)
		}, inspection.Damage, inspect.Unreadable, "00"},
		{"footer of the journal", cleanly, func(b *bench) error { name, at := b.group(0); return b.journalDisk.Rot(name, at+20, 2) }, inspection.Doubt, inspect.TornTail, "00"},
		{"one slot of the mark", byCrash, func(b *bench) error { return b.media.Rot(lastmark.FileName, 30, 1) }, inspection.Doubt, inspect.BadMark, "mark"},
		{"both slots of the mark", byCrash, func(b *bench) error {
			return errors.Join(b.media.Rot(lastmark.FileName, 30, 1), b.media.Rot(lastmark.FileName, record.Align+30, 1))
		}, inspection.Damage, inspect.BadMark, "mark"},
		{"mark missing", byCrash, func(b *bench) error { return b.ledger.Remove(lastmark.FileName) }, inspection.Damage, inspect.Missing, "mark"},
		{"cookie", cleanly, func(b *bench) error { return b.media.Rot(bookie.CookieFile, 4, 1) }, inspection.Damage, inspect.BadCookie, bookie.CookieFile},
		{"cookie missing", cleanly, func(b *bench) error { return b.ledger.Remove(bookie.CookieFile) }, inspection.Damage, inspect.Missing, bookie.CookieFile},
		{"cookie of another bookie", cleanly, func(b *bench) error {
			return b.edit(bookie.CookieFile, func(p []byte) { p[strings.Index(string(p), "3181")]++ })
		}, inspection.Damage, inspect.CookieMismatch, bookie.CookieFile},
		{"last group of the table", byCrash, func(b *bench) error {
			return b.media.Rot(b.table(), b.before.Tables[len(b.before.Tables)-1].DataEnd-record.Align+70, 1)
		}, inspection.Damage, inspect.MarkAhead, "0000"},
		{"earlier group of the table", byCrash, func(b *bench) error { return b.media.Rot(b.table(), record.FileHeaderBytes+70, 1) }, inspection.Damage, inspect.Rot, "0000"},
		{"table missing", cleanly, func(b *bench) error { return b.ledger.Remove(b.table()) }, inspection.Damage, inspect.MarkAhead, "0000"},
		{"entry in a closed log", cleanly, func(b *bench) error { return b.media.Rot(log1, record.FileHeaderBytes+300, 1) }, inspection.Damage, inspect.Rot, log1},
		{"entry in an open log", byCrash, func(b *bench) error { return b.media.Rot(entrylog.FileName(2), record.FileHeaderBytes+300, 1) }, inspection.Damage, inspect.Rot, entrylog.FileName(2)},
		{"item of an index", cleanly, func(b *bench) error { return b.media.Rot(log1, b.before.Logs[0].Durable+40, 1) }, inspection.Damage, inspect.BadIndex, log1},
		{"directory of an index", cleanly, func(b *bench) error { return b.media.Rot(log1, b.before.Logs[0].Durable+record.Align+40, 1) }, inspection.Damage, inspect.BadIndex, log1},
		{"trailer of an index", cleanly, func(b *bench) error { return b.media.Rot(log1, b.before.Logs[0].Durable+2*record.Align+40, 1) }, inspection.Damage, inspect.BadIndex, log1},
		{"item that names another place", cleanly, func(b *bench) error {
			return b.edit(log1, func(p []byte) { reseal(p[b.before.Logs[0].Durable:], func(block []byte) { block[32+11] ^= 16 }) })
		}, inspection.Damage, inspect.IndexMismatch, log1},
		{"log missing", cleanly, func(b *bench) error { return b.ledger.Remove(log1) }, inspection.Damage, inspect.Missing, log1},
		{"log header", cleanly, func(b *bench) error { return b.media.Rot(log1, 30, 1) }, inspection.Damage, inspect.BadHeader, log1},
		{"log under another name", cleanly, func(b *bench) error { return b.ledger.Rename(entrylog.FileName(2), log1) }, inspection.Damage, inspect.BadHeader, log1},
		{"log that nothing names", cleanly, func(b *bench) error { return b.copyLog(log1, 77) }, inspection.Note, inspect.Orphan, entrylog.FileName(77)},
		{"unfinished journal file", cleanly, func(b *bench) error {
			return create(b.journal, journal.FileName(50)+host.UnfinishedSuffix, "half")
		}, inspection.Note, inspect.Unfinished, journal.FileName(50)},
		{"table that was never finished", cleanly, func(b *bench) error {
			return create(b.ledger, ledgertable.FileName(50), string(record.FileHeader{Kind: ledgertable.Kind(), ID: 50}.Encode()))
		}, inspection.Note, inspect.UnfinishedTable, ledgertable.FileName(50)},
		{"bytes behind an open log", byCrash, func(b *bench) error {
			f, err := b.ledger.Open(entrylog.FileName(2))
			if err != nil {
				return err
			}
			size, _ := f.Size()
			return errors.Join(host.WriteFullAt(f, []byte("torn flush"), size), f.Close())
		}, inspection.Note, inspect.Unfinished, entrylog.FileName(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			afterwards(t, c.end, func(n *sim.Node, journalDir, ledgerDir host.Dir) error {
				before, err := inspect.Bookie(journalDir, ledgerDir)
				if err != nil {
					return err
				}
				b := &bench{
					node: n, journal: journalDir, ledger: ledgerDir, before: before,
					journalDisk: n.Disk(bookie.JournalVolume).Model(), media: n.Disk(bookie.LedgerVolume).Model(),
				}
				if err := c.harm(b); err != nil {
					return err
				}
				r, err := inspect.Bookie(journalDir, ledgerDir)
				if err != nil {
					return err
				}
				named := slices.ContainsFunc(r.Problems, func(p inspection.Problem) bool {
					return p.Severity == c.severity && p.Class == c.class && strings.HasPrefix(p.File, c.file) && p.Message != ""
				})
				if !named {
					t.Errorf("want %s %s in %s:\n%s", c.severity, c.class, c.file, describe(r))
				}
				for _, p := range r.Problems {
					if p.Class == inspect.Rot && strings.Contains(p.Message, record.ErrTornTail.Error()) {
						t.Errorf("rot is told as something that never was durable: %s", p.Message)
					}
				}
				if c.severity != inspection.Damage && r.Worst() == inspection.Damage {
					t.Errorf("called damage:\n%s", describe(r))
				}
				return nil
			})
		})
	}
}

// TestFilesAndDirectoriesAreInspectedByThemselves, without missing what lies elsewhere.
func TestFilesAndDirectoriesAreInspectedByThemselves(t *testing.T) {
	afterwards(t, byCrash, func(_ *sim.Node, journalDir, ledgerDir host.Dir) error {
		whole, err := inspect.Bookie(journalDir, ledgerDir)
		if err != nil {
			return err
		}
		for _, one := range []struct {
			name string
			dir  host.Dir
		}{{"journal", journalDir}, {"ledger", ledgerDir}} {
			r, err := inspect.Directory(one.name, one.dir)
			if err != nil || r.Worst() == inspection.Damage || r.Worst() == inspection.Doubt {
				t.Errorf("%s: %v\n%s", one.name, err, describe(r))
			}
			infos, err := one.dir.List()
			if err != nil {
				return err
			}
			for _, info := range infos {
				if info.Name == bookie.CookieFile {
					continue
				}
				r, err := inspect.File(one.dir, info.Name)
				if err != nil || r.Worst() == inspection.Damage || r.Worst() == inspection.Doubt {
					t.Errorf("%s: %v\n%s", info.Name, err, describe(r))
				}
			}
		}
		r, err := inspect.File(ledgerDir, entrylog.FileName(1))
		if err != nil {
			return err
		}
		if got, want := r.Logs[0], whole.Logs[0]; got.Entries != want.Entries || got.Index != "good" || got.DataEnd != want.DataEnd {
			t.Errorf("by itself %+v, as a part %+v", got, want)
		}
		// Whether a ledger is fenced, only the table and the journal know.
		if l := r.Ledgers[0]; l.Known || !whole.Ledgers[0].Known || !strings.Contains(describe(r), "\n1       -") {
			t.Errorf("%+v:\n%s", l, describe(r))
		}
		if _, err := inspect.File(ledgerDir, "nothing"); !errors.Is(err, host.ErrNotExist) {
			t.Errorf("a file that is not there: %v", err)
		}
		if err := create(ledgerDir, "notes.txt", "x"); err != nil {
			return err
		}
		if _, err := inspect.File(ledgerDir, "notes.txt"); !errors.Is(err, inspect.ErrForeign) {
			t.Errorf("a file that is not a bookie's: %v", err)
		}
		return nil
	})
}

// TestReportsAreReadByPeopleAndPrograms: the text says what counts, and JSON carries everything.
func TestReportsAreReadByPeopleAndPrograms(t *testing.T) {
	afterwards(t, byCrash, func(n *sim.Node, journalDir, ledgerDir host.Dir) error {
		if err := n.Disk(bookie.LedgerVolume).Model().Rot(entrylog.FileName(1), record.FileHeaderBytes+300, 1); err != nil {
			return err
		}
		r, err := inspect.Bookie(journalDir, ledgerDir)
		if err != nil {
			return err
		}
		text := describe(r)
		for _, want := range []string{
			"damaged", "JOURNAL", "LEDGER TABLE", "ENTRY LOG", "LEDGER ", "fenced", "deleted", "PROBLEM", "rot", entrylog.FileName(1), "current",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the text does not say %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "%!") {
			t.Errorf("a bad format:\n%s", text)
		}
		packed, err := json.Marshal(r)
		if err != nil {
			return err
		}
		var again inspect.Report
		if err := json.Unmarshal(packed, &again); err != nil {
			return err
		}
		if !reflect.DeepEqual(*r, again) {
			t.Errorf("JSON lost something:\n%s", packed)
		}
		return nil
	})
}

// TestADirectoryThatCannotBeListedIsAnError: there is nothing to report on.
func TestADirectoryThatCannotBeListedIsAnError(t *testing.T) {
	afterwards(t, cleanly, func(n *sim.Node, journalDir, ledgerDir host.Dir) error {
		n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskList {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		if _, err := inspect.Bookie(journalDir, ledgerDir); !errors.Is(err, host.ErrIO) {
			t.Errorf("got %v", err)
		}
		return nil
	})
}
