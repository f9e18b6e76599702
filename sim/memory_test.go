package sim

import (
	"testing"

	"lakebed/engine/host"
)

func TestMemoryIsAccountedByCapacity(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Start(func(h host.Host) error {
		m := h.Memory()
		for _, size := range []int{0, 1, 64, 65, 4096, 5000} {
			before := m.InUse()
			b := m.Get(size)
			if len(b) != size || m.InUse() != before+int64(cap(b)) || m.InUse() != n.MemoryInUse() {
				t.Errorf("size %d: length %d, capacity %d, in use %d", size, len(b), cap(b), m.InUse())
			}
			m.Put(b[:0])
			if m.InUse() != before {
				t.Errorf("%d bytes in use after the return", m.InUse())
			}
		}
		m.Get(100)
		return nil
	})
	finish(t, w)
	if n.MemoryInUse() != 128 {
		t.Fatalf("the leak shows as %d", n.MemoryInUse())
	}
}

func TestReturnedBufferIsPoisoned(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		b := h.Memory().Get(10_000)
		clear(b)
		h.Memory().Put(b)
		for i, x := range b {
			if x != poison {
				t.Fatalf("byte %d is %x", i, x)
			}
		}
	})
	finish(t, w)
}

func TestWrongUseOfMemoryPanics(t *testing.T) {
	cases := map[string]func(m host.Memory){
		"returned twice": func(m host.Memory) { b := m.Get(10); m.Put(b); m.Put(b) },
		"never had":      func(m host.Memory) { m.Put(make([]byte, 10)) },
		"its start":      func(m host.Memory) { m.Put(m.Get(10)[1:]) },
		"not negative":   func(m host.Memory) { m.Get(-1) },
		"was written to": func(m host.Memory) {
			b := m.Get(100)
			m.Put(b)
			b[50] = 1
			for range 3 * quarantine { // until the same buffer comes round again
				m.Put(m.Get(100))
			}
		},
	}
	for part, f := range cases {
		w := New(Config{Seed: 1})
		start(w, "n", func(h host.Host) {
			h.Root().Go("wrong", func() { f(h.Memory()) })
			h.Root().Wait()
		})
		v := expect(t, w, Panic)
		mustContain(t, v.Message, part)
	}
}

func TestMemoryLimitIsAVerdict(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	n := start(w, "n", func(h host.Host) {
		for {
			h.Memory().Get(1024)
		}
	})
	n.SetMemoryLimit(1 << 20)
	v := expect(t, w, MemoryLimit)
	mustContain(t, v.Stack, "TestMemoryLimitIsAVerdict")
}

func TestBuffersAreUsedAgain(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		if got := testing.AllocsPerRun(1000, func() { h.Memory().Put(h.Memory().Get(512)) }); got > 0 {
			t.Errorf("%v allocations for each buffer", got)
		}
	})
	finish(t, w)
}
