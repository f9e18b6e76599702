package service_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/metatest"
	"lakebed/engine/host"
	"lakebed/sim"
)

// BenchmarkSimulatedPut measures a conditional put in a world: CPU, events and allocations.
func BenchmarkSimulatedPut(b *testing.B) {
	b.ReportAllocs()
	err := inWorld(1, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		version, err := c.Create("/k", nil, metadata.Persistent, nil)
		before := w.Events()
		b.ResetTimer()
		for i := 0; err == nil && i < b.N; i++ {
			version, err = c.Put("/k", []byte("value"), version, nil)
		}
		b.StopTimer()
		b.ReportMetric(float64(w.Events()-before)/float64(b.N), "events/op")
		return errors.Join(err, c.Close())
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSimulatedIdle measures what a session costs that does nothing for a minute.
func BenchmarkSimulatedIdle(b *testing.B) {
	b.ReportAllocs()
	err := inWorld(1, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		before := w.Events()
		b.ResetTimer()
		h.Root().Sleep(time.Duration(min(b.N, 1000)) * time.Minute) // the world ends after a day
		b.StopTimer()
		b.ReportMetric(float64(w.Events()-before)/float64(b.N), "events/op")
		return c.Close()
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPut measures conditional puts of eight clients on this machine, over loopback.
func BenchmarkPut(b *testing.B) {
	b.ReportAllocs()
	err := real(func(e *metatest.Env) error {
		g := e.Host.Root().New("clients")
		problems := make([]error, 8)
		b.ResetTimer()
		for i := range problems {
			s, err := e.Open()
			if err != nil {
				return err
			}
			g.Go("client", func() {
				key := fmt.Sprint("/k", i)
				version, err := s.Create(key, nil, metadata.Persistent, nil)
				for n := i; err == nil && n < b.N; n += len(problems) {
					version, err = s.Put(key, []byte("value"), version, nil)
				}
				problems[i] = err
				_ = s.Close()
			})
		}
		g.Wait()
		b.StopTimer()
		for _, err := range problems {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
