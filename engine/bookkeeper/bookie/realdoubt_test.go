package bookie_test

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/record"
)

// machine is this machine with a bookie's directories below root.
func machine(t *testing.T, root string) host.Host {
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
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// doubtfulFiles returns the directories of a bookie that was killed and whose last acknowledged group is bad.
func doubtfulFiles(t *testing.T) (root string) {
	t.Helper()
	first, root := t.TempDir(), t.TempDir()
	h := machine(t, first)
	s, err := bookie.Open(h, h.Root(), strictConfig())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		s.AddOne(&bookie.Add{Body: stored(keptLedger, 0, 10)}), s.AddOne(&bookie.Add{Body: stored(removedLedger, 0, 10)}),
		s.Delete(removedLedger), s.Fence(lostLedger, ledger.MasterKey{}))
	err = errors.Join(err, os.CopyFS(root, os.DirFS(first)), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	name, at, err := lastGroup(machine(t, root))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "journal", name), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0xa5, 0x5a}, at+record.GroupHeaderSize+20); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestDoubtEndsUnderLoad: writers of new ledgers, readers, fences and checkpoints go on while many ledgers go into limbo,
// on real files with real goroutines; and the next start knows all of it. LAKEBED_LIMBO_LEDGERS sets how many, for a look
// at time and memory.
func TestDoubtEndsUnderLoad(t *testing.T) {
	count := 20_000
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_LIMBO_LEDGERS")); err == nil {
		count = n
	}
	ids := append([]ledger.ID{}, listed...)
	for i := range ledger.ID(count) {
		ids = append(ids, 1000+i)
	}
	h := machine(t, doubtfulFiles(t))
	s, err := bookie.Open(h, h.Root(), strictConfig())
	if err != nil {
		t.Fatal(err)
	}
	tasks := h.Root().New("clients")
	for i := range ledger.ID(4) {
		tasks.Go("writer", func() { writeWhenSettled(t, h, s, newLedger+10+i) })
	}
	tasks.Go("fences", func() {
		if err := errors.Join(s.Fence(keptLedger, ledger.MasterKey{}), s.Fence(newLedger+9, ledger.MasterKey{}), s.Flush()); err != nil {
			t.Error(err)
		}
	})
	before, began := heap(), time.Now()
	if err := s.SettleDoubt(ids); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	tasks.Wait()
	t.Logf("%d ledgers went into limbo in %v, %d bytes each", len(ids), took, (heap()-before)/int64(len(ids)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = bookie.Open(h, h.Root(), strictConfig()); err != nil {
		t.Fatal(err)
	}
	x := &expect{s: s}
	x.read(keptLedger, 1, bookie.ErrUnknown)
	x.add(ids[len(ids)-1], 0, false, bookie.ErrUnknown)
	x.read(ids[len(ids)/2], 3, bookie.ErrUnknown)
	x.add(newLedger+10, 100, false, nil)
	x.read(newLedger+11, 12, nil)
	x.read(newLedger+12, 13, bookie.ErrNoEntry)
	known, err := s.List()
	if want := len(ids) + 5; err != nil || len(known) != want {
		t.Errorf("%d ledgers are listed, want %d: %v", len(known), want, err)
	}
	if err := errors.Join(x.err, s.Close()); err != nil {
		t.Error(err)
	}
}

// writeWhenSettled adds to a new ledger, from its entry 3 on, as soon as the bookie takes it.
func writeWhenSettled(t *testing.T, h host.Host, s *bookie.Store, id ledger.ID) {
	for e := ledger.EntryID(3); e < 13; {
		err := s.AddOne(&bookie.Add{Body: stored(id, e, 200)})
		switch {
		case err == nil:
			e++
		case !errors.Is(err, bookie.ErrUnknown) || e > 3:
			t.Errorf("add entry %d of ledger %d: %v", e, id, err)
			return
		default:
			h.Root().Sleep(time.Millisecond)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
