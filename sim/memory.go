package sim

import (
	"bytes"
	"math/bits"
	"sync"
	"unsafe"

	"lakebed/internal/invariant"
)

const (
	poison         = 0xDB
	smallestBuffer = 64
	bufferClasses  = 26 // 64 B to 2 GiB
	// quarantine is how many buffers of a class lie idle before the oldest is used again. The longer a returned buffer
	// stays poisoned, the surer a late reader or writer is found out.
	quarantine         = 8
	quarantineBytesMax = 1 << 20 // of one class; large buffers are used again at once
	poisonCheckedMax   = 4096    // bytes looked at when a buffer is used again
)

// buffer is one allocation of a size class.
type buffer struct {
	bytes []byte // whole
	class int
}

// bufferPool keeps returned buffers for all nodes of a world, and the rings of connections that are over.
//
// Spare buffers are those of worlds that are over. They are used only where a new buffer would be made. Were they used like
// those that this world got back, then which buffer is used again, and so what somebody sees who reads one that he has
// returned, would depend on what the process did before: a bug of that kind could not be shown again.
type bufferPool struct {
	free  [bufferClasses][]*buffer
	spare [bufferClasses][]*buffer
	rings [bufferClasses][][]byte
}

// idleBytesMax bounds what a released world leaves behind, so that one trial of large buffers does not stay for ever.
const idleBytesMax = 16 << 20

// idleBuffers holds the pools of released worlds for new ones, like the pages of disks. Nobody can tell a spare buffer from
// a fresh one: both are poisoned, and nobody in the new world has had them.
var idleBuffers sync.Pool // of *bufferPool

func newBufferPool() *bufferPool {
	if b, ok := idleBuffers.Get().(*bufferPool); ok {
		return b
	}
	return new(bufferPool)
}

// release leaves the buffers to new worlds, unless they are too many. It reports whether it did.
func (b *bufferPool) release() bool {
	held := 0
	for class := range b.free {
		held += (len(b.free[class]) + len(b.spare[class]) + len(b.rings[class])) * smallestBuffer << class
	}
	if held > idleBytesMax {
		return false
	}
	for class, free := range b.free {
		b.spare[class] = append(b.spare[class], free...)
		clear(free)
		b.free[class] = free[:0]
	}
	idleBuffers.Put(b)
	return true
}

// ring returns a ring of arbitrary content. Its length is a power of two.
func (b *bufferPool) ring(length int64) []byte {
	class := classOf(int(length))
	free := b.rings[class]
	if len(free) == 0 {
		return make([]byte, length)
	}
	last := len(free) - 1
	b.rings[class] = free[:last]
	return free[last]
}

// giveRing takes a ring back that nobody reads or writes any more.
func (b *bufferPool) giveRing(ring []byte) {
	if len(ring) > 0 {
		class := classOf(len(ring))
		b.rings[class] = append(b.rings[class], ring)
	}
}

var poisoned = bytes.Repeat([]byte{poison}, poisonCheckedMax) // only ever read

func classOf(n int) int {
	if n <= smallestBuffer {
		return 0
	}
	return bits.Len(uint(n-1)) - bits.Len(uint(smallestBuffer-1))
}

func (b *bufferPool) take(class int) *buffer {
	size := smallestBuffer << class
	free := b.free[class]
	kept := min(quarantine, quarantineBytesMax/size)
	if len(free) <= kept {
		return b.fresh(class)
	}
	oldest := free[0]
	copy(free, free[1:])
	b.free[class] = free[:len(free)-1]
	checked := min(size, poisonCheckedMax)
	intact := bytes.Equal(oldest.bytes[:checked], poisoned[:checked])
	invariant.Check(intact, "a buffer was written to after it was returned")
	return oldest
}

// fresh returns a buffer that this world has not had. A spare one is poisoned again: who wrote to it after it was returned
// did so in another world.
func (b *bufferPool) fresh(class int) *buffer {
	var x *buffer
	if last := len(b.spare[class]) - 1; last >= 0 {
		x = b.spare[class][last]
		b.spare[class][last] = nil
		b.spare[class] = b.spare[class][:last]
	} else {
		x = &buffer{bytes: make([]byte, smallestBuffer<<class), class: class}
	}
	fillPoison(x.bytes)
	return x
}

func (b *bufferPool) give(x *buffer) {
	fillPoison(x.bytes)
	b.free[x.class] = append(b.free[x.class], x)
}

func fillPoison(p []byte) {
	for len(p) > 0 {
		p = p[copy(p, poisoned):]
	}
}

// memory is a host.Memory: the buffers that one process has in hand.
type memory struct {
	process *process
	out     map[*byte]*buffer
	inUse   int64
}

func (m *memory) Get(n int) []byte {
	p := m.process
	p.enter()
	invariant.Check(n >= 0, "a buffer has a length that is not negative")
	class := classOf(n)
	invariant.Check(class < bufferClasses, "a buffer is at most 2 GiB long")
	x := p.world.heap.take(class)
	m.out[unsafe.SliceData(x.bytes)] = x
	m.inUse += int64(len(x.bytes))
	if limit := p.node.memoryLimit; limit > 0 && m.inUse > limit {
		p.abort(Verdict{Kind: MemoryLimit, Message: "the node has more buffers in hand than its limit allows"})
	}
	return x.bytes[:n:len(x.bytes)]
}

// Put does nothing in a dead process: deferred calls give buffers back while others of the process still hold them.
func (m *memory) Put(b []byte) {
	p := m.process
	if p.dead {
		return
	}
	p.enter()
	start := unsafe.SliceData(b)
	x := m.out[start]
	invariant.Check(x != nil, "a buffer is returned twice, or by a node that never had it, or not from its start")
	delete(m.out, start)
	m.inUse -= int64(len(x.bytes))
	p.world.heap.give(x)
}

func (m *memory) InUse() int64 {
	m.process.peek()
	return m.inUse
}
