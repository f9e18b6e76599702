package lakebed_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"lakebed"
)

// An append whose outcome nobody wants to hear is refused to its caller, and the writer goes on.
func TestAppendFuncNeedsAFunction(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	if err := writer.AppendFunc(t.Context(), payload(0), nil); !errors.Is(err, lakebed.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if id, err := writer.Append(t.Context(), payload(0)); id != 0 || err != nil {
		t.Errorf("the next append is entry %d, %v", id, err)
	}
	writer.Abandon()
}

// Every form of append gives the same ids in the same order, and what it acknowledged is read back.
func TestAllFormsOfAppendShareOneOrder(t *testing.T) {
	w := start(t, 3, lakebed.Config{WindowEntries: 16})
	ctx, cancel := context.WithCancel(t.Context()) // so that the paths of cancellable contexts are taken, at a full window too
	defer cancel()
	writer := w.create(lakebed.LedgerOptions{})
	var next int
	var called []lakebed.EntryID
	var pending []*lakebed.Pending
	for range 50 {
		if id, err := writer.Append(ctx, payload(next)); err != nil || id != lakebed.EntryID(next) {
			t.Fatalf("append %d: entry %d, %v", next, id, err)
		}
		next++
		p, err := writer.AppendAsync(ctx, payload(next))
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
		next++
		err = writer.AppendFunc(ctx, payload(next), func(id lakebed.EntryID, err error) {
			if err != nil {
				t.Error(err)
			}
			called = append(called, id)
		})
		if err != nil {
			t.Fatal(err)
		}
		next++
		ids, err := writer.AppendBatch(ctx, payloads(next, 20))
		if err != nil || len(ids) != 20 || ids[0] != lakebed.EntryID(next) || ids[19] != lakebed.EntryID(next+19) {
			t.Fatalf("batch from %d on: %v, %v", next, ids, err)
		}
		next += 20
	}
	for i, p := range pending {
		<-p.Done()
		if id, err := p.Wait(ctx); err != nil || id != lakebed.EntryID(i*23+1) {
			t.Fatalf("append of %d: entry %d, %v", i*23+1, id, err)
		}
	}
	if err := writer.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if len(called) != 50 || !slices.IsSorted(called) {
		t.Errorf("functions heard of %v", called)
	}
	w.mustHold(writer.ID(), next)
}

// mustHold fails unless a ledger ends behind so many entries of payload.
func (w *world) mustHold(id lakebed.LedgerID, count int) {
	w.t.Helper()
	r := w.open(id)
	defer r.Close()
	seen := 0
	for e, err := range r.Entries(context.Background(), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if int(e.ID) != seen || string(e.Payload) != string(payload(seen)) {
			w.t.Fatalf("entry %d of ledger %d: id %d, %q", seen, id, e.ID, e.Payload)
		}
		seen++
	}
	if seen != count {
		w.t.Fatalf("ledger %d has %d entries, want %d", id, seen, count)
	}
}

// Close waits for the appends under way, may be called by many at once and again, and refuses what comes later.
func TestCloseIsIdempotentAndWaitsForAppends(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	var acknowledged atomic.Int64
	for i := range 500 {
		err := writer.AppendFunc(t.Context(), payload(i), func(_ lakebed.EntryID, err error) {
			if err == nil {
				acknowledged.Add(1)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var closers sync.WaitGroup
	for range 8 {
		closers.Go(func() {
			if err := writer.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if n := acknowledged.Load(); n != 500 {
				t.Errorf("%d of 500 outcomes before the end of Close", n)
			}
		})
	}
	closers.Wait()
	if err := writer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	writer.Abandon()
	if _, err := writer.Append(t.Context(), nil); !errors.Is(err, lakebed.ErrClosed) || errors.Is(err, lakebed.ErrOutcomeUnknown) {
		t.Errorf("append after close: %v", err)
	}
	w.mustHold(writer.ID(), 500)
}

// A Close whose context ends goes on by itself, and the next one hears of its outcome.
func TestCloseGoesOnWithoutItsCaller(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	if _, err := writer.AppendBatch(t.Context(), payloads(0, 100)); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := writer.Close(over); err != nil && (!errors.Is(err, lakebed.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled)) {
		t.Errorf("close with an ended context: %v", err)
	}
	if err := writer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := writer.Close(over); err != nil {
		t.Errorf("close that has its outcome: %v", err)
	}
	info, err := w.store.Stat(t.Context(), writer.ID())
	if err != nil || info.State != lakebed.StateClosed || info.LastEntry != 99 {
		t.Errorf("got %+v, %v", info, err)
	}
}

// Whoever opens the ledger has the last word: the old writer cannot append, and its Close does not claim to have closed.
func TestOpenFencesTheWriter(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	if _, err := writer.AppendBatch(t.Context(), payloads(0, 10)); err != nil {
		t.Fatal(err)
	}
	other, err := w.local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	info, err := other.Recover(t.Context(), writer.ID(), lakebed.OpenOptions{})
	if err != nil || info.State != lakebed.StateClosed || info.LastEntry != 9 {
		t.Fatalf("recovered %+v, %v", info, err)
	}
	if _, err := writer.Append(t.Context(), payload(10)); !errors.Is(err, lakebed.ErrFenced) {
		t.Errorf("append of a fenced writer: %v", err)
	}
	if ids, err := writer.AppendBatch(t.Context(), payloads(10, 5)); !errors.Is(err, lakebed.ErrFenced) || len(ids) != 0 {
		t.Errorf("batch of a fenced writer: %v, %v", ids, err)
	}
	if err := writer.Close(t.Context()); err == nil {
		t.Error("a fenced writer has closed its ledger")
	}
	w.mustHold(writer.ID(), 10)
}

// A bookie that stops costs a writer nothing but a new fragment.
func TestAppendsSurviveABookie(t *testing.T) {
	w := start(t, 4, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	if _, err := writer.AppendBatch(t.Context(), payloads(0, 10)); err != nil {
		t.Fatal(err)
	}
	victim := slices.Index(w.local.Bookies(), writer.Info().Fragments[0].Bookies[0])
	if err := w.local.StopBookie(victim); err != nil {
		t.Fatal(err)
	}
	// Two of three acknowledge, so the writer may be done before it hears that the third is gone: until it has replaced it.
	total := 10
	for len(writer.Info().Fragments) < 2 {
		if total >= 20_000 {
			t.Fatalf("%d entries after the bookie stopped, and it was not replaced", total)
		}
		if _, err := writer.AppendBatch(t.Context(), payloads(total, 10)); err != nil {
			t.Fatal(err)
		}
		total += 10
	}
	if err := writer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.local.StartBookie(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	if err := w.store.AwaitBookies(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	w.mustHold(writer.ID(), total)
}

// Closing the store ends everything that goes on, from whatever side it is called, and leaves ledgers to recovery.
func TestCloseOfTheStoreEndsEverything(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	store, err := w.local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	var ids [4]lakebed.LedgerID
	for i := range ids {
		writer, err := store.Create(t.Context(), lakebed.LedgerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = writer.ID()
		r, err := store.OpenNoRecovery(t.Context(), writer.ID(), lakebed.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		users.Go(func() {
			for n := 0; ; n++ {
				if _, err := writer.Append(context.Background(), payload(n)); err != nil {
					if !errors.Is(err, lakebed.ErrStoreClosed) && !errors.Is(err, lakebed.ErrClosed) && !errors.Is(err, lakebed.ErrOutcomeUnknown) {
						t.Errorf("append while the store closes: %v", err)
					}
					break
				}
			}
			if err := writer.Close(context.Background()); err == nil {
				t.Error("a ledger was closed by a closed store")
			}
		})
		users.Go(func() {
			for _, err := range r.Tail(context.Background(), 0) {
				if err != nil && !errors.Is(err, lakebed.ErrStoreClosed) && !errors.Is(err, lakebed.ErrUnavailable) && !errors.Is(err, lakebed.ErrClosed) {
					t.Errorf("tail while the store closes: %v", err)
				}
			}
		})
	}
	w.open(w.written(1)) // some time passes
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	users.Wait()
	if _, err := store.Create(t.Context(), lakebed.LedgerOptions{}); !errors.Is(err, lakebed.ErrStoreClosed) {
		t.Errorf("create in a closed store: %v", err)
	}
	for id, err := range store.Ledgers(t.Context()) {
		if !errors.Is(err, lakebed.ErrStoreClosed) {
			t.Errorf("list in a closed store: %d, %v", id, err)
		}
	}
	for _, id := range ids {
		if info, err := w.store.Recover(t.Context(), id, lakebed.OpenOptions{}); err != nil || info.State != lakebed.StateClosed {
			t.Errorf("recovered %+v, %v", info, err)
		}
	}
}

// Options that say little get what is usual, and those that cannot be are refused before anything is made.
func TestLedgerOptionsHaveDefaults(t *testing.T) {
	w := start(t, 5, lakebed.Config{})
	for _, c := range []struct {
		options           lakebed.LedgerOptions
		ensemble, qw, qa  int
		refused, tooFewBk bool
	}{
		{options: lakebed.LedgerOptions{}, ensemble: 3, qw: 3, qa: 2},
		{options: lakebed.LedgerOptions{Ensemble: 5}, ensemble: 5, qw: 3, qa: 2},
		{options: lakebed.LedgerOptions{Ensemble: 1}, ensemble: 1, qw: 1, qa: 1},
		{options: lakebed.LedgerOptions{WriteQuorum: 2}, ensemble: 2, qw: 2, qa: 2},
		{options: lakebed.LedgerOptions{Ensemble: 4, WriteQuorum: 4, AckQuorum: 2}, ensemble: 4, qw: 4, qa: 2},
		{options: lakebed.LedgerOptions{Ensemble: 2, WriteQuorum: 3}, refused: true},
		{options: lakebed.LedgerOptions{AckQuorum: 4}, refused: true},
		{options: lakebed.LedgerOptions{Ensemble: -1}, refused: true},
		{options: lakebed.LedgerOptions{Ensemble: 6}, tooFewBk: true},
	} {
		writer, err := w.store.Create(t.Context(), c.options)
		if c.refused || c.tooFewBk {
			if c.refused != errors.Is(err, lakebed.ErrInvalid) || c.tooFewBk != errors.Is(err, lakebed.ErrNotEnoughBookies) {
				t.Errorf("%+v: got %v", c.options, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c.options, err)
		}
		info := writer.Info()
		if info.Ensemble != c.ensemble || info.WriteQuorum != c.qw || info.AckQuorum != c.qa || info.Digest != lakebed.CRC32C {
			t.Errorf("%+v: got %+v", c.options, info)
		}
		writer.Abandon()
	}
}
