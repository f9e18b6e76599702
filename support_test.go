package lakebed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lakebed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is far below every timeout of a store, and far above what a busy machine needs to wake somebody.
const soon = 2 * time.Second

// world is a cluster and a store of it. When the test ends, nothing of them may be left.
type world struct {
	t     testing.TB
	local *lakebed.Local
	store *lakebed.Store
}

// start starts a quick cluster, and a store that uses it.
func start(t testing.TB, bookies int, config lakebed.Config) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	local, err := lakebed.StartLocal(t.Context(), lakebed.LocalOptions{Dir: t.TempDir(), Bookies: bookies, NoSync: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	config.Metadata, config.Logger = local.Metadata(), quiet
	store, err := lakebed.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, local: local, store: store}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
		if _, benchmark := t.(*testing.B); benchmark {
			return // its own machinery waits in goroutines
		}
		if err := goleak.Find(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) create(o lakebed.LedgerOptions) *lakebed.Writer {
	w.t.Helper()
	writer, err := w.store.Create(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return writer
}

func (w *world) open(id lakebed.LedgerID) *lakebed.Reader {
	w.t.Helper()
	r, err := w.store.Open(context.Background(), id, lakebed.OpenOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// written makes a closed ledger of some entries.
func (w *world) written(entries int) lakebed.LedgerID {
	w.t.Helper()
	writer := w.create(lakebed.LedgerOptions{})
	if _, err := writer.AppendBatch(context.Background(), payloads(0, entries)); err != nil {
		w.t.Fatal(err)
	}
	if err := writer.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return writer.ID()
}

func payload(i int) []byte { return fmt.Appendf(nil, "entry %d of the test", i) }

func payloads(first, count int) [][]byte {
	all := make([][]byte, count)
	for i := range all {
		all[i] = payload(first + i)
	}
	return all
}

// muteBookies puts servers that take everything and answer nothing in the place of some bookies.
func (w *world) muteBookies(first, end int) {
	w.t.Helper()
	for i := first; i < end; i++ {
		if err := w.local.StopBookie(i); err != nil {
			w.t.Fatal(err)
		}
		w.mute(string(w.local.Bookies()[i]))
	}
}

// muteAll puts mute servers in the place of all bookies, and has the store connect to them.
func (w *world) muteAll(id lakebed.LedgerID) {
	w.t.Helper()
	r := w.open(id)
	w.muteBookies(0, len(w.local.Bookies()))
	for {
		// As long as reads fail by themselves, the store leaves bookies alone whose connections broke.
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := r.ReadEntry(ctx, 0)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
}

// mute listens at an address and answers nothing, until the test ends.
func (w *world) mute(address string) {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	var tasks sync.WaitGroup
	var mutex sync.Mutex
	var taken []net.Conn
	tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mutex.Lock()
			taken = append(taken, conn)
			mutex.Unlock()
		}
	})
	w.t.Cleanup(func() {
		_ = listener.Close()
		mutex.Lock()
		defer mutex.Unlock()
		for _, conn := range taken {
			_ = conn.Close()
		}
		tasks.Wait()
	})
}

// cutShort makes a call that hangs, ends its context with a cause of its own, and demands that it returns soon with the
// right classes.
func cutShort(t *testing.T, name string, unknown bool, call func(context.Context) error) {
	t.Helper()
	cause := errors.New("the reason of the test")
	for _, how := range []struct {
		name  string
		begin func() (context.Context, context.CancelFunc)
		class error
	}{
		{"cancelled", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			timer := time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
			return ctx, func() { timer.Stop(); cancel(nil) }
		}, context.Canceled},
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(context.Background(), 50*time.Millisecond, cause)
		}, context.DeadlineExceeded},
	} {
		ctx, cancel := how.begin()
		begun := time.Now()
		err := call(ctx)
		cancel()
		if took := time.Since(begun); took > soon {
			t.Errorf("%s, %s: returned only after %v: %v", name, how.name, took, err)
		}
		if !errors.Is(err, how.class) || !errors.Is(err, cause) {
			t.Errorf("%s, %s: got %v, want %v and its cause", name, how.name, err, how.class)
		}
		if got := errors.Is(err, lakebed.ErrOutcomeUnknown); got != unknown {
			t.Errorf("%s, %s: outcome unknown is %t, want %t: %v", name, how.name, got, unknown, err)
		}
	}
}
