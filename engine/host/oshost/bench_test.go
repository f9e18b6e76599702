package oshost_test

import (
	"bytes"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/hosttest"
)

// The hot paths must not allocate: run with -benchmem. TestHotPathsDoNotAllocate holds them to it.

func BenchmarkMutex(b *testing.B) {
	m := newHost(b, configIn(b.TempDir())).NewMutex("bench")
	for b.Loop() {
		m.Lock()
		m.Unlock() //lint:ignore SA2001 the lock itself is what is measured
	}
}

func BenchmarkCounter(b *testing.B) {
	c := newHost(b, configIn(b.TempDir())).NewCounter("bench")
	for b.Loop() {
		c.Add(1)
	}
}

func BenchmarkBuffer(b *testing.B) {
	memory := newHost(b, configIn(b.TempDir())).Memory()
	for b.Loop() {
		memory.Put(memory.Get(4096))
	}
}

// BenchmarkCondRoundTrip is two tasks that hand a turn back and forth.
func BenchmarkCondRoundTrip(b *testing.B) {
	benchmarkTurns(b, func(c host.Cond) { c.Wait() })
}

func BenchmarkCondRoundTripWaitFor(b *testing.B) {
	benchmarkTurns(b, func(c host.Cond) { c.WaitFor(time.Hour) })
}

func benchmarkTurns(b *testing.B, wait func(host.Cond)) {
	h := newHost(b, configIn(b.TempDir()))
	turns := startTurns(h, wait)
	for b.Loop() {
		turns.play()
	}
	turns.end()
}

// turns lets two tasks alternate over two conditions.
type turns struct {
	mutex        host.Mutex
	ours, theirs host.Cond
	theirTurn    bool
	ended        bool
	wait         func(host.Cond)
	group        host.Group
}

func startTurns(h host.Host, wait func(host.Cond)) *turns {
	m := h.NewMutex("turns")
	g := h.Root().New("turns")
	t := &turns{mutex: m, ours: g.NewCond(m), theirs: g.NewCond(m), wait: wait, group: g}
	g.Go("other", func() {
		m.Lock()
		defer m.Unlock()
		for !t.ended {
			if t.theirTurn {
				t.theirTurn = false
				t.ours.Signal()
			}
			wait(t.theirs)
		}
	})
	return t
}

func (t *turns) play() {
	t.mutex.Lock()
	t.theirTurn = true
	t.theirs.Signal()
	for t.theirTurn {
		t.wait(t.ours)
	}
	t.mutex.Unlock()
}

func (t *turns) end() {
	t.mutex.Lock()
	t.ended = true
	t.mutex.Unlock()
	t.group.Stop()
	t.group.Wait()
}

// BenchmarkGate makes, opens and passes a gate: it is made anew for each commit group, so that allocates.
func BenchmarkGate(b *testing.B) {
	root := newHost(b, configIn(b.TempDir())).Root()
	for b.Loop() {
		gate := root.NewGate()
		gate.Open()
		gate.Wait()
	}
}

func BenchmarkSleepOfNothing(b *testing.B) {
	root := newHost(b, configIn(b.TempDir())).Root()
	for b.Loop() {
		root.Sleep(0)
	}
}

func benchmarkFile(tb testing.TB) host.File {
	tb.Helper()
	d, err := newHost(tb, configIn(tb.TempDir())).Disk(hosttest.Volume)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := d.Create("file")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

func BenchmarkGatherWrite(b *testing.B) {
	f := benchmarkFile(b)
	for _, count := range []int{1, 16, 1024} {
		b.Run(map[int]string{1: "1buffer", 16: "16buffers", 1024: "1024buffers"}[count], func(b *testing.B) {
			buffers := make([][]byte, count)
			for i := range buffers {
				buffers[i] = bytes.Repeat([]byte{byte(i)}, 100)
			}
			b.SetBytes(int64(count) * 100)
			for b.Loop() {
				if _, err := f.WriteBuffersAt(buffers, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	f := benchmarkFile(b)
	p := make([]byte, 4096)
	if err := host.WriteFullAt(f, p, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.ReadAt(p, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteAndSync(b *testing.B) {
	f := benchmarkFile(b)
	p := make([]byte, 4096)
	for b.Loop() {
		if err := host.WriteFullAt(f, p, 0); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// connected gives both ends of a connection over loopback.
func connected(tb testing.TB) (near, far host.Conn) {
	tb.Helper()
	net := newHost(tb, configIn(tb.TempDir())).Net()
	listener, err := net.Listen("127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.Dial(listener.Addr(), nil); err != nil {
		tb.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func BenchmarkConnection(b *testing.B) {
	for name, limit := range map[string]time.Duration{"unlimited": 0, "limited": time.Minute} {
		b.Run(name, func(b *testing.B) {
			near, far := connected(b)
			near.Limits(limit, limit)
			far.Limits(limit, limit)
			buffers := [][]byte{make([]byte, 12), make([]byte, 100)}
			p := make([]byte, 4096)
			for b.Loop() {
				if err := transfer(near, far, buffers, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func transfer(near, far host.Conn, buffers [][]byte, p []byte) error {
	if err := near.WriteBuffers(buffers); err != nil {
		return err
	}
	for left := 112; left > 0; {
		n, err := far.Read(p)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// TestHotPathsDoNotAllocate: a call that allocates costs more in collections than in itself.
func TestHotPathsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget on purpose")
	}
	h := newHost(t, configIn(t.TempDir()))
	mutex, counter, memory, root := h.NewMutex("m"), h.NewCounter("c"), h.Memory(), h.Root()
	f := benchmarkFile(t)
	many := [][]byte{make([]byte, 10), make([]byte, 20), make([]byte, 30)}
	for range 40 {
		many = append(many, make([]byte, 10))
	}
	page := make([]byte, 4096)
	near, far := connected(t)
	near.Limits(time.Minute, time.Minute)
	far.Limits(time.Minute, time.Minute)
	frame := [][]byte{make([]byte, 12), make([]byte, 100)}
	waiting := startTurns(h, func(c host.Cond) { c.Wait() })
	defer waiting.end()
	timed := startTurns(h, func(c host.Cond) { c.WaitFor(time.Hour) })
	defer timed.end()
	gate := root.NewGate()
	gate.Open()

	for name, call := range map[string]func(){
		"mutex":        func() { mutex.Lock(); mutex.Unlock() }, //lint:ignore SA2001 the lock itself is what is measured
		"counter":      func() { counter.Add(1) },
		"buffer":       func() { memory.Put(memory.Get(4096)) },
		"cond":         waiting.play,
		"timed cond":   timed.play,
		"open gate":    func() { gate.Wait() },
		"sleep":        func() { root.Sleep(time.Nanosecond) },
		"gather write": func() { f.WriteBuffersAt(many, 0) },
		"write":        func() { f.WriteBuffersAt(many[:1], 0) },
		"read":         func() { f.ReadAt(page[:10], 0) },
		"size":         func() { f.Size() },
		"connection": func() {
			if err := transfer(near, far, frame, page); err != nil {
				t.Error(err)
			}
		},
	} {
		call() // the first use may fill a pool
		if allocations := testing.AllocsPerRun(200, call); allocations >= 1 {
			t.Errorf("%s allocates %v times per call", name, allocations)
		}
	}
}
