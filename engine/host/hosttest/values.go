package hosttest

import (
	"bytes"
	"errors"
	"fmt"

	"lakebed/engine/host"
)

// values are the contracts of what is shared or drawn: locks, counters, buffers, random streams.
func values() []Contract {
	return []Contract{
		alone("AMutexExcludes", mutexExcludes),
		alone("ACounterLosesNoAddition", counterAdds),
		alone("BuffersHaveTheLengthAskedFor", bufferLengths),
		alone("InUseReturnsToWhereItWas", inUse),
		alone("BuffersInUseDoNotOverlap", buffersApart),
		alone("ABufferMayComeBackShorter", bufferShorter),
		alone("RandomStreamsOfTwoNamesDiffer", randomApart),
		alone("TheProbeAnswers", func(h host.Host) error {
			h.Probe().Mark(host.Event{Name: "hosttest.mark", A: 1})
			_ = h.Probe().Perhaps("hosttest.perhaps") || h.Probe().Sample()
			return nil
		}),
		alone("LogTakesEveryKindOfField", func(h host.Host) error {
			h.Log(host.Note, "a line", host.F("number", 7), host.F("text", "t"), host.F("error", host.ErrIO),
				host.F("duration", moment), host.F("nothing", nil))
			h.Log(host.Debug, "a line without fields")
			return nil
		}),
	}
}

func mutexExcludes(h host.Host) error {
	g := h.Root().New("group")
	m := h.NewMutex("hosttest.excludes")
	count := 0
	for range 4 {
		g.Go("task", func() {
			for i := range 200 {
				m.Lock()
				seen := count
				if i%50 == 0 {
					g.Sleep(0) // gives others every chance to slip in
				}
				count = seen + 1
				m.Unlock()
			}
		})
	}
	g.Wait()
	return equal("increments under the mutex", count, 800)
}

func counterAdds(h host.Host) error {
	g := h.Root().New("group")
	c := h.NewCounter("hosttest.counter")
	c.Store(-5)
	for range 4 {
		g.Go("task", func() {
			for i := range 200 {
				c.Add(2)
				if i%50 == 0 {
					g.Sleep(0)
				}
			}
		})
	}
	g.Wait()
	return errors.Join(equal("Load", c.Load(), 1595), equal("Add returns the new value", c.Add(-1600), -5))
}

func bufferLengths(h host.Host) error {
	for _, n := range []int{0, 1, 63, 64, 65, 100, 4096, 4097, 1 << 16, 1<<20 + 1} {
		b := h.Memory().Get(n)
		length, capacity := len(b), cap(b)
		h.Memory().Put(b)
		if length != n || capacity < n {
			return that(false, "Get(%d) has length %d and capacity %d", n, length, capacity)
		}
	}
	return nil
}

func inUse(h host.Host) error {
	memory := h.Memory()
	before := memory.InUse()
	var buffers [][]byte
	var bytesOut int64
	for n := 1; n < 100_000; n *= 3 {
		b := memory.Get(n)
		buffers = append(buffers, b)
		bytesOut += int64(cap(b))
	}
	during := memory.InUse() - before
	for _, b := range buffers {
		memory.Put(b)
	}
	return errors.Join(equal("bytes in use while held, by capacity", during, bytesOut),
		equal("bytes in use after all came back", memory.InUse(), before))
}

func buffersApart(h host.Host) error {
	memory := h.Memory()
	var buffers [][]byte
	for i := range 50 {
		b := memory.Get(100 + i)
		for j := range b {
			b[j] = byte(i)
		}
		buffers = append(buffers, b)
		if i%3 == 0 { // a buffer that comes back is handed out again, and still to one only
			memory.Put(buffers[0])
			buffers = buffers[1:]
		}
	}
	var failures []error
	for _, b := range buffers {
		if bytes.Count(b, b[:1]) != len(b) {
			failures = append(failures, fmt.Errorf("a buffer of %d bytes was written through another", len(b)))
		}
		memory.Put(b)
	}
	return errors.Join(failures...)
}

func bufferShorter(h host.Host) error {
	memory := h.Memory()
	before := memory.InUse()
	memory.Put(memory.Get(5000)[:10])
	memory.Put(memory.Get(5000)[:0])
	b := memory.Get(5000)
	memory.Put(b[:cap(b)])
	return equal("bytes in use", memory.InUse(), before)
}

func randomApart(h host.Host) error {
	first, second := h.Rand("hosttest.first"), h.Rand("hosttest.second")
	same := 0
	for range 64 {
		if first.Uint64() == second.Uint64() {
			same++
		}
	}
	return equal("draws that agree", same, 0)
}
