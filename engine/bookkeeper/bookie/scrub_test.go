package bookie_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/inspect"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// scrubbing is a small bookie that is scrubbed all the time.
func scrubbing() bookie.Config {
	c := smallConfig()
	c.Scrub.Period, c.Scrub.FirstAfter, c.Scrub.BytesPerSecond = 2*time.Millisecond, 0, 64<<20
	return c
}

// fill writes entries of two ledgers until some logs are closed.
func fill(t *testing.T, s *bookie.Store) {
	for e := range ledger.EntryID(300) {
		for id := range ledger.ID(2) {
			a := bookie.Add{Body: stored(id, e, 500)}
			if err := s.AddOne(&a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
}

// awaitScrub returns the flaws of a whole pass that began after the call.
func awaitScrub(t *testing.T, h host.Host, s *bookie.Store) []bookie.Flaw {
	from := s.Scrubbed().Passes
	for h.Root().Sleep(time.Millisecond) {
		if now := s.Scrubbed(); now.Passes >= from+2 {
			return now.Flaws
		}
		if h.Elapsed() > time.Minute {
			t.Fatal("no pass ends")
		}
	}
	return nil
}

func openReal(t *testing.T, root string, c bookie.Config) (*oshost.Host, *bookie.Store) {
	t.Helper()
	h, err := oshost.New(oshost.Config{
		Volumes: map[string]string{
			bookie.JournalVolume: filepath.Join(root, "journal"), bookie.LedgerVolume: filepath.Join(root, "ledger"),
		},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := bookie.Open(h, h.Root(), c)
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// flip changes one bit of a file behind the bookie's back. Calling it again takes it back.
func flip(t *testing.T, path string, offset int64) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 1)
	if _, err := f.ReadAt(p, offset); err != nil {
		t.Fatal(err)
	}
	p[0] ^= 4
	if _, err := f.WriteAt(p, offset); err != nil {
		t.Fatal(err)
	}
}

// TestAFlippedBitOfARunningStoreIsReported in every part of every file that a scrubber reads, with the entry if it is in
// one, and no longer once it is as it was.
func TestAFlippedBitOfARunningStoreIsReported(t *testing.T) {
	root := t.TempDir()
	h, s := openReal(t, root, scrubbing())
	defer h.Close()
	defer s.Close()
	fill(t, s)
	if flaws := awaitScrub(t, h, s); len(flaws) > 0 {
		t.Fatalf("a sound store has flaws: %+v", flaws)
	}
	log := filepath.Join(root, "ledger", entrylog.FileName(1))
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	tables, _ := filepath.Glob(filepath.Join(root, "ledger", "*.table"))
	for _, c := range []struct {
		what, path string
		offset     int64
		part       entrylog.Part
	}{
		{"a file header", log, 20, entrylog.PartHeader},
		{"a group's header", log, 4096 + 20, entrylog.PartGroup},
		{"an entry's body", log, 4096 + 64 + 24 + 300, entrylog.PartEntry},
		{"an index block", log, info.Size() - 3*4096 + 100, entrylog.PartIndex},
		{"the trailer", log, info.Size() - 4096 + 40, entrylog.PartIndex},
		{"the ledger table", slices.Max(tables), 4096 + 80, entrylog.PartGroup},
		{"the mark", filepath.Join(root, "ledger", "mark"), 20, entrylog.PartHeader},
	} {
		flip(t, c.path, c.offset)
		flaws := awaitScrub(t, h, s)
		at := slices.IndexFunc(flaws, func(f bookie.Flaw) bool {
			return f.File == filepath.Base(c.path) && f.Part == c.part && f.Rot && f.Offset <= c.offset && c.offset < f.Offset+f.Bytes
		})
		if at < 0 {
			t.Errorf("%s: not found in %+v", c.what, flaws)
		} else if f := flaws[at]; !slices.Contains(flawsOnDisk(t, h), f) {
			t.Errorf("%s: simrun inspect does not see %+v in the list on disk", c.what, f)
		} else if c.part == entrylog.PartEntry && (f.Ledger != 0 || f.Entry != 0) {
			t.Errorf("%s: it is entry 0 of ledger 0, not %+v", c.what, f)
		}
		flip(t, c.path, c.offset)
		if flaws := awaitScrub(t, h, s); len(flaws) > 0 || len(flawsOnDisk(t, h)) > 0 {
			t.Errorf("%s is as it was, and there are flaws: %+v", c.what, flaws)
		}
	}
}

// flawsOnDisk is the list that the scrubber keeps on disk, as an inspection reads it. Which pass found a flaw is not in it.
func flawsOnDisk(t *testing.T, h host.Host) []bookie.Flaw {
	dir, err := h.Disk(bookie.LedgerVolume)
	if err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Directory(bookie.LedgerVolume, dir)
	if err != nil || report.Scrubbed == nil {
		t.Fatalf("no list: %v", err)
	}
	return report.Scrubbed.Flaws
}

// TestASlowScrubberEndsWithTheStore: in the middle of a pass that would take days.
func TestASlowScrubberEndsWithTheStore(t *testing.T) {
	c := scrubbing()
	root := t.TempDir()
	h, s := openReal(t, root, c)
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	h.Close()
	c.Scrub.BytesPerSecond = 1
	h, s = openReal(t, root, c)
	defer h.Close()
	time.Sleep(20 * time.Millisecond) // it is at work
	begun := time.Now()
	if err := s.Close(); err != nil || time.Since(begun) > 10*time.Second {
		t.Fatalf("the close took %v: %v", time.Since(begun), err)
	}
}

// TestAPassKeepsToItsRate and gives way to a reader: in the laboratory, whose clock is exact.
func TestAPassKeepsToItsRate(t *testing.T) {
	inWorld(t, func(h host.Host, n *sim.Node) {
		c := scrubbing()
		c.Scrub.BytesPerSecond, c.Scrub.Period = 1<<20, time.Second
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		awaitScrub(t, h, s)
		from := s.Scrubbed()
		begun := h.Elapsed()
		awaitScrub(t, h, s)
		took := (h.Elapsed() - begun) / time.Duration(s.Scrubbed().Passes-from.Passes)
		if least := 1200 * time.Millisecond; took < least { // some 300 KB in closed logs, and the pause
			t.Errorf("a pass took %v, want more than %v", took, least)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAReadErrorIsNoEnd: what cannot be read is listed as unreadable, the rest of the pass goes on, and the next pass that can
// read it takes it off the list. The list is bounded.
func TestAReadErrorIsNoEnd(t *testing.T) {
	inWorld(t, func(h host.Host, n *sim.Node) {
		c := scrubbing()
		c.Scrub.FlawsMax = 2
		s, err := bookie.Open(h, h.Root(), c)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		broken := true
		n.Disk(bookie.LedgerVolume).SetFaults(func(o *sim.DiskOp) sim.DiskEffect {
			if broken && o.Kind == sim.DiskRead && strings.HasSuffix(o.Path, ".log") {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		awaitScrub(t, h, s)
		found := s.Scrubbed()
		if len(found.Flaws) != 2 || found.LeftOut == 0 || found.Flaws[0].Rot || found.Flaws[0].Bytes == 0 {
			t.Errorf("with a disk that reads nothing: %+v", found)
		}
		broken = false
		if flaws := awaitScrub(t, h, s); len(flaws) > 0 {
			t.Errorf("the disk reads again: %+v", flaws)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func inWorld(t *testing.T, f func(h host.Host, n *sim.Node)) {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	n.OnExit(func(error, bool) { w.Stop() })
	n.Start(func(h host.Host) error { f(h, n); return nil })
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}
