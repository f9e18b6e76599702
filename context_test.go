package lakebed_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"lakebed"
)

// An append that is on its way and whose context ends has an unknown outcome, at once; one that still waited for room was
// not made. Neither ends the writer.
func TestAppendsAreCutShortByTheirContext(t *testing.T) {
	w := start(t, 3, lakebed.Config{WindowEntries: 3})
	writer := w.create(lakebed.LedgerOptions{})
	if _, err := writer.Append(t.Context(), payload(0)); err != nil {
		t.Fatal(err)
	}
	w.muteBookies(0, 2)
	cutShort(t, "append", true, func(ctx context.Context) error {
		_, err := writer.Append(ctx, payload(1))
		return err
	}) // it is made twice: two places of the window are taken
	calls := 0
	cutShort(t, "append of a batch", true, func(ctx context.Context) error {
		ids, err := writer.AppendBatch(ctx, payloads(3, 10))
		if len(ids) > 0 {
			t.Errorf("ids %v without a bookie", ids)
		}
		if calls++; calls == 2 && !errors.Is(err, lakebed.ErrOutcomeUnknown) {
			return errors.Join(err, lakebed.ErrOutcomeUnknown) // the first one has taken the last place
		}
		return err
	})
	cutShort(t, "wait for room", false, func(ctx context.Context) error {
		_, err := writer.Append(ctx, payload(99))
		return err
	})
	cutShort(t, "wait for room, asynchronous", false, func(ctx context.Context) error {
		_, err := writer.AppendAsync(ctx, payload(99))
		return err
	})
	cutShort(t, "wait for room, with a function", false, func(ctx context.Context) error {
		return writer.AppendFunc(ctx, payload(99), func(lakebed.EntryID, error) { t.Error("an append that was not made has an outcome") })
	})
	cutShort(t, "close", true, writer.Close)
	writer.Abandon()
	if err := writer.Close(t.Context()); !errors.Is(err, lakebed.ErrClosed) {
		t.Errorf("close of an abandoned writer: %v", err)
	}
}

// The budget of all writers together is waited for as the window is.
func TestTheWaitForOtherWritersIsCutShort(t *testing.T) {
	w := start(t, 3, lakebed.Config{AppendBytesMax: 1})
	first, second := w.create(lakebed.LedgerOptions{}), w.create(lakebed.LedgerOptions{})
	w.muteBookies(0, 2)
	pending, err := first.AppendAsync(t.Context(), payload(0))
	if err != nil {
		t.Fatal(err)
	}
	cutShort(t, "wait for other writers", false, func(ctx context.Context) error {
		_, err := second.Append(ctx, payload(0))
		return err
	})
	cutShort(t, "wait for the outcome", true, func(ctx context.Context) error {
		_, err := pending.Wait(ctx)
		return err
	})
	first.Abandon()
	if _, err := pending.Wait(t.Context()); !errors.Is(err, lakebed.ErrOutcomeUnknown) {
		t.Errorf("append of an abandoned writer: %v", err)
	}
	second.Abandon()
}

// Reads, waits and opens return when their context ends, whatever bookies do, and what is left behind ends by itself.
func TestReadsAreCutShortByTheirContext(t *testing.T) {
	w := start(t, 3, lakebed.Config{ReadTimeout: 500 * time.Millisecond})
	id := w.written(10)
	open := w.create(lakebed.LedgerOptions{})
	for i := range 3 {
		if _, err := open.Append(t.Context(), payload(i)); err != nil {
			t.Fatal(err)
		}
	}
	r := w.open(id)
	tail, err := w.store.OpenNoRecovery(t.Context(), open.ID(), lakebed.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cutShort(t, "wait for an entry", false, func(ctx context.Context) error {
		_, err := tail.WaitFor(ctx, 100)
		return err
	})
	w.muteAll(id)
	cutShort(t, "read", false, func(ctx context.Context) error {
		_, err := r.Read(ctx, 0, 9)
		return err
	})
	cutShort(t, "batch read", false, func(ctx context.Context) error {
		_, err := r.BorrowBatch(ctx, 0, lakebed.BatchLimits{})
		return err
	})
	cutShort(t, "tail", false, func(ctx context.Context) error {
		for _, err := range tail.Tail(ctx, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	cutShort(t, "recovery", false, func(ctx context.Context) error {
		_, err := w.store.Open(ctx, open.ID(), lakebed.OpenOptions{})
		return err
	})
	open.Abandon()
	w.awaitNothingLeftBehind()
}

// awaitNothingLeftBehind fails if a call that was left behind does not end in a time that timeouts explain.
func (w *world) awaitNothingLeftBehind() {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); w.store.Slots() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d calls are still under way", w.store.Slots())
		}
	}
}

// Whatever asks the metadata store returns when its context ends, although the store is dead; what may have changed
// something says so.
func TestMetadataCallsAreCutShortByTheirContext(t *testing.T) {
	w := start(t, 3, lakebed.Config{MetadataTimeout: 500 * time.Millisecond})
	id := w.written(1)
	if err := w.local.EndMetadata(); err != nil {
		t.Fatal(err)
	}
	w.mute(w.local.Metadata()[0])
	cutShort(t, "create", true, func(ctx context.Context) error {
		_, err := w.store.Create(ctx, lakebed.LedgerOptions{})
		return err
	})
	cutShort(t, "delete", true, func(ctx context.Context) error { return w.store.Delete(ctx, id) })
	cutShort(t, "open", false, func(ctx context.Context) error {
		_, err := w.store.OpenNoRecovery(ctx, id, lakebed.OpenOptions{})
		return err
	})
	cutShort(t, "stat", false, func(ctx context.Context) error {
		_, err := w.store.Stat(ctx, id)
		return err
	})
	cutShort(t, "list", false, func(ctx context.Context) error {
		for _, err := range w.store.Ledgers(ctx) {
			return err
		}
		return nil
	})
	cutShort(t, "wait for bookies", false, func(ctx context.Context) error { return w.store.AwaitBookies(ctx, 4) })
	cutShort(t, "open a store", false, func(ctx context.Context) error {
		_, err := lakebed.Open(ctx, lakebed.Config{Metadata: w.local.Metadata()})
		return err
	})
	if _, err := w.store.Stat(t.Context(), id); !errors.Is(err, lakebed.ErrUnavailable) {
		t.Errorf("stat without a context's end: %v", err)
	}
	w.awaitNothingLeftBehind()
}

// Where no metadata store listens Open says so at once, with the address. A program that starts together with its store may
// wait, and is told the same when its time is up; a store that comes in time is taken.
func TestOpenSaysThatNoMetadataStoreListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	said := "connect to metadata store " + nobody + ": connection refused"
	open := func(ctx context.Context, config lakebed.Config) (time.Duration, error) {
		config.Metadata = []string{nobody}
		begun := time.Now()
		_, err := lakebed.Open(ctx, config)
		return time.Since(begun), err
	}
	if took, err := open(t.Context(), lakebed.Config{}); !errors.Is(err, lakebed.ErrUnavailable) || !strings.Contains(err.Error(), said) || took > time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	const patience = 300 * time.Millisecond
	if took, err := open(t.Context(), lakebed.Config{AwaitMetadata: true, MetadataTimeout: patience}); !errors.Is(err, lakebed.ErrUnavailable) || !strings.Contains(err.Error(), said) || took < patience {
		t.Errorf("after %v: %v", took, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if took, err := open(ctx, lakebed.Config{AwaitMetadata: true}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), said) || took < patience {
		t.Errorf("after %v: %v", took, err)
	}
}

// A call whose context is over before it begins does nothing at all, and says no more than that.
func TestCallsWithAnEndedContextDoNothing(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	writer := w.create(lakebed.LedgerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := w.open(w.written(1))
	for name, call := range map[string]func() error{
		"append": func() error { _, err := writer.Append(ctx, nil); return err },
		"async":  func() error { _, err := writer.AppendAsync(ctx, nil); return err },
		"batch":  func() error { _, err := writer.AppendBatch(ctx, payloads(0, 3)); return err },
		"create": func() error { _, err := w.store.Create(ctx, lakebed.LedgerOptions{}); return err },
		"delete": func() error { return w.store.Delete(ctx, r.ID()) },
		"read":   func() error { _, err := r.Read(ctx, 0, 0); return err },
		"start":  func() error { _, err := lakebed.StartLocal(ctx, lakebed.LocalOptions{}); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, lakebed.ErrOutcomeUnknown) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if id, err := writer.Append(t.Context(), nil); id != 0 || err != nil {
		t.Errorf("the first append that was made is entry %d, %v", id, err)
	}
	if _, err := w.store.Stat(t.Context(), r.ID()); err != nil {
		t.Errorf("the ledger that was not deleted: %v", err)
	}
}

// Calls beyond the bound wait for a place, and no longer than their context.
func TestCallsAreBounded(t *testing.T) {
	w := start(t, 3, lakebed.Config{CallsMax: 1, ReadTimeout: 500 * time.Millisecond})
	r := w.open(w.written(1))
	w.muteAll(r.ID())
	cutShort(t, "first", false, func(ctx context.Context) error { _, err := r.ReadEntry(ctx, 0); return err })
	cutShort(t, "second", false, func(ctx context.Context) error { _, err := r.ReadEntry(ctx, 0); return err })
	if n := w.store.Slots(); n != 1 {
		t.Errorf("%d calls are under way, want the one that was left behind", n)
	}
	w.awaitNothingLeftBehind()
}

// A ledger that is created behind the back of who has left is deleted again.
func TestLedgersOfAbandonedCreationsAreDeleted(t *testing.T) {
	w := start(t, 3, lakebed.Config{})
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Microsecond, cancel)
		if writer, err := w.store.Create(ctx, lakebed.LedgerOptions{}); err == nil {
			writer.Abandon()
			if err := w.store.Delete(context.Background(), writer.ID()); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
	}
	w.awaitNothingLeftBehind()
	for id, err := range w.store.Ledgers(t.Context()) {
		t.Errorf("ledger %d is left, %v", id, err)
	}
}
