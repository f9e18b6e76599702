package oshost

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"lakebed/internal/invariant"
)

// Buffers come in size classes, four to each doubling, so that at most a fifth of a buffer is unused. The capacity of
// a buffer is the size of its class, which is how Put knows where it belongs.
const (
	classBytesMin = 64
	classBytesMax = 64 << 20 // larger buffers are rare: they are made for each Get and left to the collector
	classCount    = 4*20 + 1 // twenty doublings lie between the two
)

// memory pools buffers by class. A pool holds bare pointers to the first byte: unlike a slice, a pointer fits into the
// interface that sync.Pool takes without an allocation, and it keeps the whole buffer alive.
type memory struct {
	bytesInUse atomic.Int64
	classes    [classCount]sync.Pool
}

func (m *memory) Get(n int) []byte {
	invariant.Check(n >= 0, "a buffer has no negative length")
	if n > classBytesMax {
		m.bytesInUse.Add(int64(n))
		return make([]byte, n)
	}
	class, size := classOfLength(n)
	m.bytesInUse.Add(int64(size))
	if first, ok := m.classes[class].Get().(*byte); ok {
		return unsafe.Slice(first, size)[:n]
	}
	return make([]byte, n, size)
}

func (m *memory) Put(b []byte) {
	left := m.bytesInUse.Add(-int64(cap(b)))
	invariant.Check(left >= 0, "more bytes were returned than were handed out")
	if cap(b) > classBytesMax {
		return
	}
	class, size := classOfLength(cap(b))
	invariant.Check(size == cap(b), "a returned buffer must have the start that Get gave it")
	m.classes[class].Put(unsafe.SliceData(b))
}

func (m *memory) InUse() int64 { return m.bytesInUse.Load() }

// classOfLength finds the smallest class that holds n bytes. The quarter of the doubling in which n lies comes from
// the three leading bits of n-1.
func classOfLength(n int) (class, size int) {
	if n <= classBytesMin {
		return 0, classBytesMin
	}
	const shiftOfFirst = 4 // classBytesMin has four quarters of 1<<4
	shift := bits.Len(uint(n-1)) - 3
	quarters := (n-1)>>shift + 1
	return (shift-shiftOfFirst)*4 + quarters - 4, quarters << shift
}
