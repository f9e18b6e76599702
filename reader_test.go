package lakebed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lakebed"
)

// Copies are the caller's: neither later reads nor appending to one of them changes another. What is lent is the same until
// it is given back.
func TestReadEntriesAreTheCallers(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	r := w.open(w.written(100))
	all, err := r.Read(t.Context(), 0, 99)
	if err != nil {
		t.Fatal(err)
	}
	lent, err := r.Borrow(t.Context(), 0, 99)
	if err != nil {
		t.Fatal(err)
	}
	var length int64
	for i := range all {
		length += int64(len(payload(i)))
		for _, e := range []lakebed.Entry{all[i], lent.Entries[i]} {
			if int(e.ID) != i || string(e.Payload) != string(payload(i)) || e.Length != length {
				t.Fatalf("entry %d: %+v", i, e)
			}
		}
		_ = append(all[i].Payload, "more"...)
	}
	lent.Release()
	lent.Release()
	for next := lakebed.EntryID(0); next < 100; {
		batch, err := r.BatchRead(t.Context(), next, lakebed.BatchLimits{Entries: 7})
		if err != nil || len(batch) == 0 || len(batch) > 7 {
			t.Fatalf("batch of %d from %d on: %v", len(batch), next, err)
		}
		next = batch[len(batch)-1].ID + 1
	}
	for i := range all {
		if string(all[i].Payload) != string(payload(i)) {
			t.Fatalf("entry %d has become %q", i, all[i].Payload)
		}
	}
	if n := r.Length(); n != length {
		t.Errorf("length %d, want %d", n, length)
	}
}

// A read outside of what is confirmed, of a deleted ledger or with a wrong password has its class.
func TestReadFailuresHaveTheirClasses(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	id := w.written(3)
	r := w.open(id)
	secret := w.create(lakebed.LedgerOptions{Password: []byte("sesame"), Digest: lakebed.HMAC})
	if _, err := secret.Append(t.Context(), payload(0)); err != nil {
		t.Fatal(err)
	}
	empty := w.open(w.written(0))
	closed := w.open(id)
	closed.Close()
	for _, c := range []struct {
		name  string
		call  func() error
		class error
	}{
		{"behind the end", func() error { _, err := r.ReadEntry(t.Context(), 3); return err }, lakebed.ErrBeyondLAC},
		{"empty", func() error { _, err := empty.ReadEntry(t.Context(), 0); return err }, lakebed.ErrBeyondLAC},
		{"descending", func() error { _, err := r.Read(t.Context(), 2, 1); return err }, lakebed.ErrInvalid},
		{"negative", func() error { _, err := r.BatchRead(t.Context(), -1, lakebed.BatchLimits{}); return err }, lakebed.ErrInvalid},
		{"closed reader", func() error { _, err := closed.ReadEntry(t.Context(), 0); return err }, lakebed.ErrClosed},
		{"wait behind the end", func() error { _, err := r.WaitFor(t.Context(), 3); return err }, lakebed.ErrBeyondLAC},
		{"no password", func() error { _, err := w.store.Open(t.Context(), secret.ID(), lakebed.OpenOptions{}); return err },
			lakebed.ErrUnauthorized},
		{"no ledger", func() error { _, err := w.store.Open(t.Context(), 1<<40, lakebed.OpenOptions{}); return err }, lakebed.ErrNoSuchLedger},
		{"nothing to read about", func() error { _, err := w.store.Stat(t.Context(), 1<<40); return err }, lakebed.ErrNoSuchLedger},
		{"nothing to delete", func() error { return w.store.Delete(t.Context(), 1<<40) }, lakebed.ErrNoSuchLedger},
		{"no id", func() error { _, err := w.store.Stat(t.Context(), -1); return err }, lakebed.ErrInvalid},
		{"too many bookies", func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return w.store.AwaitBookies(ctx, 4)
		}, lakebed.ErrNotEnoughBookies},
		{"no address", func() error { _, err := lakebed.Open(t.Context(), lakebed.Config{}); return err }, lakebed.ErrInvalid},
		{"no root", func() error {
			_, err := lakebed.Open(t.Context(), lakebed.Config{Metadata: w.local.Metadata(), Root: "none"})
			return err
		}, lakebed.ErrInvalid},
		{"no window", func() error {
			_, err := lakebed.Open(t.Context(), lakebed.Config{Metadata: w.local.Metadata(), WindowEntries: -1})
			return err
		}, lakebed.ErrInvalid},
	} {
		if err := c.call(); !errors.Is(err, c.class) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.class)
		}
	}
	opened, err := w.store.Open(t.Context(), secret.ID(), lakebed.OpenOptions{Password: []byte("sesame")})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := opened.ReadEntry(t.Context(), 0); err != nil || string(e.Payload) != string(payload(0)) {
		t.Errorf("got %+v, %v", e, err)
	}
	secret.Abandon()
}

// A tail sees every entry once and in order, while the writer's bookies come and go, and ends with the ledger.
func TestTailSeesEverythingOnce(t *testing.T) {
	w := start(t, 4, lakebed.Config{})
	const entries = 3000
	writer := w.create(lakebed.LedgerOptions{})
	r, err := w.store.OpenNoRecovery(t.Context(), writer.ID(), lakebed.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := make(chan error, 1)
	go func() {
		for i := range entries {
			if i == entries/2 {
				if err := w.local.StopBookie(0); err != nil {
					written <- err
					return
				}
			}
			if err := writer.AppendFunc(context.Background(), payload(i), func(lakebed.EntryID, error) {}); err != nil {
				written <- err
				return
			}
		}
		written <- writer.Close(context.Background())
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := 0
	for e, err := range r.Tail(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if int(e.ID) != seen || string(e.Payload) != string(payload(seen)) {
			t.Fatalf("entry %d: got %d, %q", seen, e.ID, e.Payload)
		}
		seen++
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if seen != entries {
		t.Errorf("%d of %d entries", seen, entries)
	}
}

// Who leaves a walk early, or comes too late for it, gets no error and no entry.
func TestWalksEndWhereTheyShould(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	r := w.open(w.written(10))
	seen := 0
	for range r.Entries(t.Context(), 0) {
		if seen++; seen == 4 {
			break
		}
	}
	for e, err := range r.Entries(t.Context(), 10) {
		t.Errorf("behind the end: %+v, %v", e, err)
	}
	for e, err := range r.Tail(t.Context(), 10) {
		t.Errorf("tail behind the end: %+v, %v", e, err)
	}
	for e, err := range r.Tail(t.Context(), 8) {
		if err != nil {
			t.Fatal(err)
		}
		seen += int(e.ID)
	}
	if seen != 4+8+9 {
		t.Errorf("seen %d", seen)
	}
}

// The directory of a local store is its own: one that holds something is refused, and a store that was started anew works.
func TestLocalStoresKeepToTheirDirectory(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		local, err := lakebed.StartLocal(t.Context(), lakebed.LocalOptions{Dir: fmt.Sprint(dir, "/", i), Bookies: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := local.Close(); err != nil {
			t.Fatal(err)
		}
		if err := local.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lakebed.StartLocal(t.Context(), lakebed.LocalOptions{Dir: dir}); !errors.Is(err, lakebed.ErrInvalid) {
		t.Errorf("a directory that is in use: %v", err)
	}
	if _, err := lakebed.StartLocal(t.Context(), lakebed.LocalOptions{Bookies: -1}); !errors.Is(err, lakebed.ErrInvalid) {
		t.Errorf("less than no bookie: %v", err)
	}
}

// Borrowed memory is given back once, however many call Release at the same moment: given back twice it would be lent to two
// readers at a time.
func TestBorrowedMemoryIsGivenBackOnce(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	r := w.open(w.written(10))
	for range 100 {
		b, err := r.Borrow(t.Context(), 0, 9)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(b.Release)
		}
		all.Wait()
		if b.Entries != nil {
			t.Fatal("entries outlive their memory")
		}
	}
}
