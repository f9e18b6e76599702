package lakebed_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"lakebed"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

const benchInFlight = 1000

// inFlight lets so many appends be under way, and counts outcomes.
type inFlight struct {
	places chan struct{}
	failed error
}

func newInFlight() *inFlight { return &inFlight{places: make(chan struct{}, benchInFlight)} }

func (f *inFlight) drain() {
	for range benchInFlight {
		f.places <- struct{}{}
	}
}

// engineOp is an append through the engine alone: what the public forms are compared with.
type engineOp struct {
	client.Op
	flight *inFlight
	free   chan *engineOp
}

func (o *engineOp) Appended(op *client.Op) {
	if op.Err != nil {
		o.flight.failed = op.Err
	}
	o.free <- o
	<-o.flight.places
}

func benchWorld(b *testing.B) *world {
	b.ReportAllocs()
	return start(b, 3, lakebed.Config{})
}

// measured runs what is measured, and reports the processor time of the whole process besides, which a busy machine disturbs
// less than wall-clock time.
func measured(b *testing.B, run func()) {
	b.ResetTimer()
	before := processorTime(b)
	run()
	after := processorTime(b)
	b.StopTimer()
	b.ReportMetric(float64((after-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkAppend measures an append of 100 B, 3/3/2, a thousand in flight, through each form; "engine" is the floor. All
// three bookies are in this process, and are most of what is measured. Wall clock.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 100)
	b.Run("engine", func(b *testing.B) { benchEngine(b, payload) })
	b.Run("func", func(b *testing.B) { benchFunc(b, context.Background(), payload) })
	b.Run("func-cancellable", func(b *testing.B) { benchFunc(b, b.Context(), payload) })
	b.Run("async", func(b *testing.B) { benchAsync(b, payload) })
	b.Run("batch-100", func(b *testing.B) { benchBatch(b, payload, 100) })
	b.Run("batch-1000", func(b *testing.B) { benchBatch(b, payload, 1000) })
	b.Run("wait", func(b *testing.B) { benchWait(b, payload) })
}

func benchEngine(b *testing.B, payload []byte) {
	w := benchWorld(b)
	err := oshost.Run(context.Background(), oshost.Config{}, func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(w.local.Metadata()...))
		if err != nil {
			return err
		}
		defer store.Close()
		c, err := client.New(h, h.Root(), store, client.DefaultConfig())
		if err != nil {
			return err
		}
		defer c.Close()
		writer, err := c.Create(client.DefaultCreateOptions())
		if err != nil {
			return err
		}
		f, free := newInFlight(), make(chan *engineOp, benchInFlight)
		for range benchInFlight {
			op := &engineOp{flight: f, free: free}
			op.Done = op
			free <- op
		}
		measured(b, func() {
			for range b.N {
				f.places <- struct{}{}
				if err := writer.Append(payload, &(<-free).Op); err != nil {
					b.Fatal(err)
				}
			}
			f.drain()
		})
		return f.failed
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchFunc(b *testing.B, ctx context.Context, payload []byte) {
	writer := benchWorld(b).create(lakebed.LedgerOptions{})
	f := newInFlight()
	done := func(_ lakebed.EntryID, err error) {
		if err != nil {
			f.failed = err
		}
		<-f.places
	}
	measured(b, func() {
		for range b.N {
			f.places <- struct{}{}
			if err := writer.AppendFunc(ctx, payload, done); err != nil {
				b.Fatal(err)
			}
		}
		f.drain()
	})
	if f.failed != nil {
		b.Fatal(f.failed)
	}
}

func benchAsync(b *testing.B, payload []byte) {
	writer := benchWorld(b).create(lakebed.LedgerOptions{})
	ring := make([]*lakebed.Pending, benchInFlight)
	measured(b, func() {
		for i := range b.N + len(ring) {
			place := &ring[i%len(ring)]
			if *place != nil {
				if _, err := (*place).Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				*place = nil
			}
			if i < b.N {
				var err error
				if *place, err = writer.AppendAsync(b.Context(), payload); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func benchBatch(b *testing.B, payload []byte, size int) {
	writer := benchWorld(b).create(lakebed.LedgerOptions{})
	payloads := make([][]byte, size)
	for i := range payloads {
		payloads[i] = payload
	}
	measured(b, func() {
		for left := b.N; left > 0; left -= size {
			if _, err := writer.AppendBatch(b.Context(), payloads[:min(size, left)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchWait(b *testing.B, payload []byte) {
	writer := benchWorld(b).create(lakebed.LedgerOptions{})
	b.SetParallelism(benchInFlight / 2)
	measured(b, func() {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := writer.Append(b.Context(), payload); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkRead measures reads of entries of 100 B from the bookies' write caches, one outstanding.
func BenchmarkRead(b *testing.B) {
	const entries = 10_000
	for _, c := range []struct {
		name string
		per  int
		read func(*lakebed.Reader, context.Context, lakebed.EntryID) error
	}{
		{"single", 1, func(r *lakebed.Reader, ctx context.Context, id lakebed.EntryID) error {
			_, err := r.ReadEntry(ctx, id)
			return err
		}},
		{"batch-100", 100, func(r *lakebed.Reader, ctx context.Context, id lakebed.EntryID) error {
			_, err := r.BatchRead(ctx, id, lakebed.BatchLimits{Entries: 100})
			return err
		}},
		{"borrowed-batch-100", 100, func(r *lakebed.Reader, ctx context.Context, id lakebed.EntryID) error {
			batch, err := r.BorrowBatch(ctx, id, lakebed.BatchLimits{Entries: 100})
			if err == nil {
				batch.Release()
			}
			return err
		}},
	} {
		for _, edge := range []struct {
			name string
			ctx  context.Context
		}{{"background", context.Background()}, {"cancellable", b.Context()}} {
			b.Run(c.name+"/"+edge.name, func(b *testing.B) {
				w := benchWorld(b)
				writer := w.create(lakebed.LedgerOptions{})
				if _, err := writer.AppendBatch(b.Context(), payloads(0, entries)); err != nil {
					b.Fatal(err)
				}
				if err := writer.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				r := w.open(writer.ID())
				measured(b, func() {
					for i := 0; i < b.N; i += c.per {
						if err := c.read(r, edge.ctx, lakebed.EntryID(i%entries/c.per*c.per)); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}
