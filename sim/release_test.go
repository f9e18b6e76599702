package sim

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"lakebed/engine/host"
)

// chatter makes a world in which connections come and go, some end with bytes that nobody read, and buffers are used
// and returned.
func chatter(t *testing.T, seed uint64) *World {
	w := New(Config{Seed: seed})
	server := start(w, "server", func(h host.Host) {
		l, err := h.Net().Listen("server:1")
		check(t, err)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.Root().Go("echo", func() {
				b := h.Memory().Get(3000)
				defer h.Memory().Put(b)
				for {
					if c.WriteBuffers([][]byte{b[:100]}) != nil {
						return
					}
					if n, err := c.Read(b); n == 0 || err != nil {
						return
					}
				}
			})
		}
	})
	server.SetDaemon(true)
	start(w, "client", func(h host.Host) {
		for i := range 20 {
			c, err := h.Net().Dial("server:1", nil)
			if err != nil {
				t.Error(err)
				return
			}
			b := h.Memory().Get(5000 + 500*i)
			check(t, c.WriteBuffers([][]byte{b}))
			h.Root().Sleep(time.Millisecond)
			h.Memory().Put(b)
			if i%3 > 0 {
				check(t, c.Close())
			}
		}
	})
	return w
}

// TestAReleasedWorldDoesNotShowInLaterOnes: a world that uses buffers and rings of others has the trace it has with fresh
// ones, and what it gets is poisoned.
func TestAReleasedWorldDoesNotShowInLaterOnes(t *testing.T) {
	hashes := map[uint64]uint64{}
	for round := range 4 {
		for seed := range uint64(5) {
			w := chatter(t, seed)
			hash := finish(t, w).Hash
			if first, known := hashes[seed]; known && first != hash {
				t.Errorf("round %d, seed %d: trace %x, and %x with fresh buffers", round, seed, hash, first)
			}
			hashes[seed] = hash
			w.Release()
		}
	}
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		for size := 1; size <= 64<<10; size *= 2 {
			b := h.Memory().Get(size)
			if want := bytes.Repeat([]byte{poison}, size); !bytes.Equal(b, want) {
				t.Errorf("a buffer of %d bytes is not poisoned", size)
			}
			h.Memory().Put(b)
		}
	})
	finish(t, w)
	w.Release()
}

// reuse takes and returns buffers, and tells of each that was taken which one it was, in the order of their first coming.
func reuse(b *bufferPool) []int {
	var order []int
	numbers := map[*buffer]int{}
	var out []*buffer
	for i := range 400 {
		if i%7 < 4 || len(out) == 0 {
			x := b.take(i % 3)
			if _, known := numbers[x]; !known {
				numbers[x] = len(numbers)
			}
			order, out = append(order, numbers[x]), append(out, x)
			continue
		}
		b.give(out[0])
		out = out[1:]
	}
	for _, x := range out {
		b.give(x)
	}
	return order
}

// TestWhichBufferIsUsedAgainDoesNotDependOnEarlierWorlds: a bug that reads or writes a buffer after it was returned must fail
// alike in a process that has run other worlds before, and one world's late writer is not another's.
func TestWhichBufferIsUsedAgainDoesNotDependOnEarlierWorlds(t *testing.T) {
	used := new(bufferPool)
	first := reuse(used)
	for class := range 3 {
		used.free[class][0].bytes[0] = 0 // somebody wrote to it, and nobody noticed any more
	}
	if !used.release() {
		t.Fatal("a small pool was not kept")
	}
	if again := reuse(used); !slices.Equal(first, again) {
		t.Errorf("buffers come in the order\n%v, and with fresh ones\n%v", again, first)
	}
	if slices.Equal(first, slices.Sorted(slices.Values(first))) {
		t.Error("no buffer was used again")
	}
}

// TestAPoolThatIsTooLargeIsLeftToTheCollector: one trial of large buffers must not stay for ever.
func TestAPoolThatIsTooLargeIsLeftToTheCollector(t *testing.T) {
	b := new(bufferPool)
	b.give(&buffer{bytes: make([]byte, 2*idleBytesMax), class: classOf(2 * idleBytesMax)})
	if b.release() {
		t.Error("a pool of twice the bound was kept")
	}
}
