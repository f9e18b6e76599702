package bookie_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// ledgersInUse tells readers how far the writers have come. Its own lock is not the bookie's, so it orders nothing that
// the bookie should order by itself beyond "acknowledged before read".
type ledgersInUse struct {
	mutex  sync.Mutex
	acked  map[ledger.ID]ledger.EntryID // the next entry
	fenced map[ledger.ID]bool
}

func (u *ledgersInUse) add(id ledger.ID, next ledger.EntryID) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.acked[id] = max(u.acked[id], next)
}

func (u *ledgersInUse) next(id ledger.ID) ledger.EntryID {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.acked[id]
}

// session is one life of a bookie on this machine.
type session struct {
	t     *testing.T
	h     host.Host
	store *bookie.Store
	used  *ledgersInUse
	ends  time.Time
	base  ledger.ID // of this life's ledgers
}

const writersPerKind = 3

func (s *session) size(e ledger.EntryID) int { return 20 + int(e%7)*430 } // some longer than what a group copies

// singles adds entries one by one until time is up, and then fences its ledger.
func (s *session) singles(id ledger.ID) {
	e := ledger.EntryID(0)
	for ; time.Now().Before(s.ends); e++ {
		a := bookie.Add{Body: stored(id, e, s.size(e))}
		if err := s.store.AddOne(&a); err != nil {
			s.t.Errorf("add %d/%d: %v", id, e, err)
			return
		}
		s.used.add(id, e+1)
	}
	if err := s.store.Fence(id, ledger.MasterKey{}); err != nil {
		s.t.Errorf("fence %d: %v", id, err)
	}
	a := bookie.Add{Body: stored(id, e, 10)}
	if err := s.store.AddOne(&a); !errors.Is(err, bookie.ErrFenced) {
		s.t.Errorf("add behind the fence of %d: %v", id, err)
	}
	s.used.mutex.Lock()
	s.used.fenced[id] = true
	s.used.mutex.Unlock()
}

// batches keeps several batches outstanding until time is up.
func (s *session) batches(id ledger.ID) {
	const outstandingMax, perBatch = 4, 8
	done := host.NewQueue[*bookie.Batch](s.h, s.h.Root(), "done", outstandingMax)
	outstanding, e := 0, ledger.EntryID(0)
	var free []*bookie.Batch
	collect := func() {
		taken, _ := done.Take(nil)
		for _, b := range taken { // batches of one ledger complete in order
			outstanding--
			for i := range b.Adds {
				if b.Adds[i].Err != nil {
					s.t.Errorf("batch of ledger %d: %v", id, b.Adds[i].Err)
				}
			}
			_, last, _ := ledger.Key(b.Adds[len(b.Adds)-1].Body)
			s.used.add(id, last+1)
			free = append(free, b)
		}
	}
	for time.Now().Before(s.ends) {
		for outstanding == outstandingMax {
			collect()
		}
		b := &bookie.Batch{Done: done}
		if n := len(free); n > 0 {
			b, free = free[n-1], free[:n-1]
		}
		b.Adds = b.Adds[:0]
		for range perBatch {
			b.Adds = append(b.Adds, bookie.Add{Body: stored(id, e, s.size(e))})
			e++
		}
		outstanding++
		s.store.Submit(b)
	}
	for outstanding > 0 {
		collect()
	}
}

// reads reads what was acknowledged, old and new, one by one and in ranges.
func (s *session) reads(stride ledger.EntryID) {
	for turn := ledger.EntryID(0); time.Now().Before(s.ends); turn++ {
		for id := s.base; id < s.base+2*writersPerKind; id++ {
			next := s.used.next(id)
			if next == 0 {
				continue
			}
			s.mustRead(id, turn*stride%next)
			s.mustRead(id, next-1)
			entries, err := s.store.ReadRange(id, turn*stride%next, bookie.Limits{Entries: 20, Bytes: 20_000})
			if err != nil {
				s.t.Errorf("range of %d: %v", id, err)
			}
			for i := range entries {
				want := turn*stride%next + ledger.EntryID(i)
				if !bytes.Equal(entries[i].Body, stored(id, want, s.size(want))) {
					s.t.Errorf("entry %d of ledger %d differs in a range", want, id)
				}
				entries[i].Release()
			}
		}
	}
}

func (s *session) mustRead(id ledger.ID, e ledger.EntryID) {
	got, err := s.store.Read(id, e)
	if err != nil || !bytes.Equal(got.Body, stored(id, e, s.size(e))) {
		s.t.Errorf("entry %d of ledger %d: %v, %d bytes", e, id, err, len(got.Body))
	}
	got.Release()
}

// shortLived writes ledgers and deletes them, so that logs die under the readers.
func (s *session) shortLived(id ledger.ID) {
	for ; time.Now().Before(s.ends); id++ {
		for e := range ledger.EntryID(20) {
			a := bookie.Add{Body: stored(id, e, 500)}
			if err := s.store.AddOne(&a); err != nil {
				s.t.Errorf("add %d/%d: %v", id, e, err)
			}
		}
		if err := s.store.Delete(id); err != nil {
			s.t.Errorf("delete %d: %v", id, err)
		}
		if _, err := s.store.Read(id, 3); !errors.Is(err, bookie.ErrNoLedger) {
			s.t.Errorf("ledger %d was deleted: %v", id, err)
		}
	}
}

func (s *session) flushes() {
	for time.Now().Before(s.ends) {
		if err := s.store.Flush(); err != nil {
			s.t.Errorf("flush: %v", err)
		}
		s.h.Root().Sleep(20 * time.Millisecond)
	}
}

// run does everything at once.
func (s *session) run() {
	tasks := s.h.Root().New("clients")
	for i := range ledger.ID(writersPerKind) {
		tasks.Go("singles", func() { s.singles(s.base + i) })
		tasks.Go("batches", func() { s.batches(s.base + writersPerKind + i) })
	}
	for _, stride := range []ledger.EntryID{1, 37} {
		tasks.Go("reader", func() { s.reads(stride) })
	}
	tasks.Go("short-lived", func() { s.shortLived(s.base + 1_000_000) })
	tasks.Go("flusher", s.flushes)
	tasks.Wait()
}

// verify reads everything that this and earlier lives acknowledged.
func (s *session) verify() {
	for _, id := range host.SortedKeys(s.used.acked) {
		for e := range s.used.acked[id] {
			s.mustRead(id, e)
			if s.t.Failed() {
				return
			}
		}
		if !s.used.fenced[id] {
			continue
		}
		a := bookie.Add{Body: stored(id, s.used.acked[id], 10)}
		if err := s.store.AddOne(&a); !errors.Is(err, bookie.ErrFenced) {
			s.t.Errorf("add behind the fence of %d after a restart: %v", id, err)
		}
	}
	ids, err := s.store.List()
	if err != nil || len(ids) != len(s.used.acked) {
		s.t.Errorf("%d ledgers are listed, %d were kept; %v", len(ids), len(s.used.acked), err)
	}
}

// TestBookieOnRealDisk runs writers, readers, fences, deletes and checkpoints at once on real files with real
// goroutines, stops, starts again and looks for everything. Under -race it is the test of the store's locks, which the
// simulator cannot see. LAKEBED_RACE_SECONDS makes each of its lives longer.
func TestBookieOnRealDisk(t *testing.T) {
	life := 300 * time.Millisecond
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_RACE_SECONDS")); err == nil {
		life = time.Duration(n) * time.Second / 3
	}
	root := t.TempDir()
	used := &ledgersInUse{acked: map[ledger.ID]ledger.EntryID{}, fenced: map[ledger.ID]bool{}}
	// A clean stop loses nothing in any mode; without syncs the tasks meet each other more often.
	for turn, mode := range []journal.SyncMode{journal.SyncGroup, journal.SyncNever, journal.SyncInterval} {
		h, err := oshost.New(oshost.Config{
			Volumes: map[string]string{
				bookie.JournalVolume: filepath.Join(root, "journal"), bookie.LedgerVolume: filepath.Join(root, "ledger"),
			},
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		config := smallConfig()
		config.Journal.Sync = mode
		store, err := bookie.Open(h, h.Root(), config)
		if err != nil {
			t.Fatal(fmt.Errorf("life %d: %w", turn, err))
		}
		s := &session{t: t, h: h, store: store, used: used, ends: time.Now().Add(life), base: ledger.ID(turn * 100)}
		s.verify()
		s.run()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if in := h.Memory().InUse(); in != 0 {
			t.Errorf("%d bytes of buffers in hand after the close", in)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	total := ledger.EntryID(0)
	for _, next := range used.acked {
		total += next
	}
	t.Logf("%d entries in %d ledgers were acknowledged", total, len(used.acked))
	if total == 0 {
		t.Error("nothing was written")
	}
}
