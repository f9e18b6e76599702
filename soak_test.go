package lakebed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lakebed"
)

// soakLength is two seconds, or what LAKEBED_RACE_SECONDS says.
func soakLength(t *testing.T) time.Duration {
	text := os.Getenv("LAKEBED_RACE_SECONDS")
	if text == "" {
		return 2 * time.Second
	}
	seconds, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LAKEBED_RACE_SECONDS: %v", err)
	}
	return time.Duration(seconds) * time.Second
}

// Everything at once, with contexts that end at any time and bookies that come and go: what was acknowledged is read back,
// and nothing is left over. It is for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	w := start(t, 5, lakebed.Config{ReadTimeout: time.Second, AddTimeout: time.Second, WindowEntries: 64})
	until, cancel := context.WithTimeout(context.Background(), soakLength(t))
	defer cancel()
	var users sync.WaitGroup
	var appended, read atomic.Int64
	for i := range 4 {
		users.Go(func() { soakLedgers(w, until, uint64(i), &appended, &read) })
	}
	users.Go(func() { soakBookies(w, until) })
	users.Wait()
	if appended.Load() == 0 || read.Load() == 0 {
		t.Errorf("%d entries appended and %d read: nothing was tried", appended.Load(), read.Load())
	}
	t.Logf("%d entries acknowledged, %d read", appended.Load(), read.Load())
	w.awaitNothingLeftBehind()
}

// soakLedgers makes one ledger after the other, ends it in some way, and checks it.
func soakLedgers(w *world, until context.Context, seed uint64, appended, read *atomic.Int64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for until.Err() == nil {
		writer, err := w.store.Create(until, lakebed.LedgerOptions{})
		if err != nil {
			continue // too few bookies for a moment
		}
		var tail sync.WaitGroup
		tail.Go(func() { soakTail(w, until, writer.ID(), read) })
		acked := soakAppends(w, until, writer, random)
		appended.Add(int64(acked))
		end := random.IntN(3)
		if end == 0 && writer.Close(context.Background()) != nil {
			end = 1
		}
		if end == 1 {
			writer.Abandon()
		}
		soakCheck(w, writer.ID(), acked)
		tail.Wait()
		writer.Abandon() // the one that was left to be fenced
		if err := w.store.Delete(context.Background(), writer.ID()); err != nil {
			w.t.Errorf("delete ledger %d: %v", writer.ID(), err)
		}
	}
}

func soakText(id lakebed.LedgerID, i int) string { return fmt.Sprintf("ledger %d, entry %d", id, i) }

// soakAppends appends in all ways, and returns how many entries are acknowledged for sure.
func soakAppends(w *world, until context.Context, writer *lakebed.Writer, random *rand.Rand) int {
	sent, acked := 0, 0
	next := func() []byte { sent++; return []byte(soakText(writer.ID(), sent-1)) }
	for rounds := 10 + random.IntN(30); rounds > 0 && until.Err() == nil; rounds-- {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(20))*time.Millisecond)
		var err error
		switch random.IntN(3) {
		case 0:
			_, err = writer.Append(ctx, next())
		case 1:
			batch := make([][]byte, random.IntN(100))
			for i := range batch {
				batch[i] = next()
			}
			_, err = writer.AppendBatch(ctx, batch)
		case 2:
			var p *lakebed.Pending
			if p, err = writer.AppendAsync(ctx, next()); err == nil {
				_, err = p.Wait(ctx)
			}
		}
		cancel()
		if err != nil {
			break // what is sent next would have another id than its text says, if this was not sent
		}
		acked = sent
	}
	return acked
}

func soakTail(w *world, until context.Context, id lakebed.LedgerID, read *atomic.Int64) {
	r, err := w.store.OpenNoRecovery(until, id, lakebed.OpenOptions{})
	if err != nil {
		return
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(until, 500*time.Millisecond)
	defer cancel()
	seen := 0
	for e, err := range r.Tail(ctx, 0) {
		switch {
		case err == nil && (int(e.ID) != seen || string(e.Payload) != soakText(id, seen)):
			w.t.Errorf("entry %d of ledger %d: %d, %q", seen, id, e.ID, e.Payload)
		case err == nil:
			seen++
			read.Add(1)
		case errors.Is(err, lakebed.ErrNoSuchEntry), errors.Is(err, lakebed.ErrMaybeLost), errors.Is(err, lakebed.ErrDigest):
			w.t.Errorf("tail of ledger %d at %d: %v", id, seen, err)
		}
	}
}

// soakCheck opens a ledger until that succeeds, and reads everything.
func soakCheck(w *world, id lakebed.LedgerID, acked int) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := soakRead(w, id, acked)
		if err == nil {
			return
		}
		if !errors.Is(err, lakebed.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) || time.Now().After(deadline) {
			w.t.Errorf("read ledger %d with %d acknowledged entries: %v", id, acked, err)
			return
		}
	}
}

func soakRead(w *world, id lakebed.LedgerID, acked int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := w.store.Open(ctx, id, lakebed.OpenOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	if n := int(r.LastAddConfirmed()) + 1; n < acked {
		return fmt.Errorf("%d entries", n)
	}
	seen := 0
	for e, err := range r.Entries(ctx, 0) {
		if err != nil {
			return err
		}
		if int(e.ID) != seen || string(e.Payload) != soakText(id, seen) {
			return fmt.Errorf("entry %d: %d, %q", seen, e.ID, e.Payload)
		}
		seen++
	}
	return nil
}

// soakBookies stops one bookie after the other, and starts it again.
func soakBookies(w *world, until context.Context) {
	for i := 0; until.Err() == nil; i = (i + 1) % 5 {
		if err := w.local.StopBookie(i); err != nil {
			w.t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		if err := w.local.StartBookie(context.Background(), i); err != nil {
			w.t.Error(err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := w.store.AwaitBookies(ctx, 5); err != nil {
			w.t.Error(err)
		}
		cancel()
		time.Sleep(200 * time.Millisecond)
	}
}
