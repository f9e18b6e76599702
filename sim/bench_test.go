package sim

import (
	"testing"
	"time"

	"lakebed/engine/host"
)

// sleepers starts tasks that only sleep, each for a time of its own.
func sleepers(w *World, tasks int) {
	n := w.NewNode("n")
	n.Start(func(h host.Host) error {
		for i := range tasks {
			h.Root().Go("sleeper", func() {
				for h.Root().Sleep(time.Duration(1000 + i)) {
				}
			})
		}
		h.Root().Wait()
		return nil
	})
}

func benchmarkEvents(b *testing.B, tasks int, policy Policy) {
	w := New(Config{Seed: 1, Policy: policy, MaxEvents: int64(b.N) + int64(tasks)*3 + 10})
	sleepers(w, tasks)
	b.ReportAllocs()
	b.ResetTimer()
	w.Run(1 << 62)
	b.ReportMetric(float64(w.Events())/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEvents200Tasks(b *testing.B)     { benchmarkEvents(b, 200, Random) }
func BenchmarkEvents200TasksFIFO(b *testing.B) { benchmarkEvents(b, 200, FIFO) }
func BenchmarkEvents1000Tasks(b *testing.B)    { benchmarkEvents(b, 1000, Random) }
