package sim

import (
	"syscall"
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
	before := processorTime(b)
	w.Run(1 << 62)
	b.ReportMetric(float64(w.Events())/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(w.Events())/(processorTime(b)-before).Seconds(), "events/cpu-s")
}

// processorTime is what this process has used so far: on a shared machine the clock on the wall says little.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkEvents200Tasks(b *testing.B)     { benchmarkEvents(b, 200, Random) }
func BenchmarkEvents200TasksFIFO(b *testing.B) { benchmarkEvents(b, 200, FIFO) }
func BenchmarkEvents1000Tasks(b *testing.B)    { benchmarkEvents(b, 1000, Random) }

// BenchmarkEcho is a request and an answer of 100 bytes over a connection.
func BenchmarkEcho(b *testing.B) {
	w := New(Config{Seed: 1})
	b.ReportAllocs()
	w.NewNode("server").Start(func(h host.Host) error {
		l, err := h.Net().Listen("server:1")
		if err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		buffer := make([]byte, 200)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return nil
			}
			if err := c.WriteBuffers([][]byte{buffer[:n]}); err != nil {
				return err
			}
		}
	})
	w.NewNode("client").Start(func(h host.Host) error {
		c, err := h.Net().Dial("server:1", nil)
		if err != nil {
			return err
		}
		buffer := make([]byte, 100)
		for range b.N {
			if err := c.WriteBuffers([][]byte{buffer}); err != nil {
				return err
			}
			for got := 0; got < 100; {
				n, err := c.Read(buffer[got:])
				if err != nil {
					return err
				}
				got += n
			}
		}
		return c.Close()
	})
	b.ResetTimer()
	if v := w.Run(1 << 62); v.Failed() {
		b.Fatal(v.String())
	}
	b.ReportMetric(float64(w.Events())/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkWriteSync is a write of 4 KiB to a file, overwritten in place, and its sync.
func BenchmarkWriteSync(b *testing.B) {
	w := New(Config{Seed: 1})
	b.ReportAllocs()
	w.NewNode("n").Start(func(h host.Host) error {
		dir, err := h.Disk("data")
		if err != nil {
			return err
		}
		f, err := dir.Create("f")
		if err != nil {
			return err
		}
		page := make([]byte, 4096)
		for i := range b.N {
			page[0] = byte(i)
			if err := host.WriteFullAt(f, page, int64(i%1000)*4096); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return nil
	})
	b.ResetTimer()
	if v := w.Run(1 << 62); v.Failed() {
		b.Fatal(v.String())
	}
	b.ReportMetric(float64(w.Events())/b.Elapsed().Seconds(), "events/s")
}
