package oshost

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vectorsMax is the kernel's limit on the vectors of one gather call (IOV_MAX).
const vectorsMax = 1024

// vectorPool keeps vector lists for gather writes. The call of package unix builds a new one for each write of more
// than eight buffers.
type vectorPool struct{ pool sync.Pool }

func (p *vectorPool) get() *[vectorsMax]unix.Iovec {
	if v, ok := p.pool.Get().(*[vectorsMax]unix.Iovec); ok {
		return v
	}
	return new([vectorsMax]unix.Iovec)
}

// write writes b at off in as few calls as the limit allows. It stops at the first short one: the caller must go on
// from an exact count, and a short write is often the last before an error that says why.
func (p *vectorPool) write(descriptor int, b [][]byte, off int64) (int64, error) {
	if len(b) == 1 {
		n, err := writeOne(descriptor, b[0], off)
		return int64(n), err
	}
	vectors := p.get()
	defer p.pool.Put(vectors)
	var done int64
	for len(b) > 0 {
		count, taken, bytes := fill(vectors, b)
		b = b[taken:]
		if count == 0 {
			continue // nothing but empty buffers
		}
		n, err := writeVectors(descriptor, vectors[:count], off+done)
		clear(vectors[:count]) // a pooled list must not keep buffers alive
		done += int64(n)
		if err != nil || int64(n) < bytes {
			return done, err
		}
	}
	return done, nil
}

// fill points vectors at the buffers from the start of b, leaving out empty ones. It returns how many vectors are set,
// how many buffers of b that covers, and their bytes.
func fill(vectors *[vectorsMax]unix.Iovec, b [][]byte) (count, taken int, bytes int64) {
	for _, buffer := range b {
		if len(buffer) > 0 {
			if count == vectorsMax {
				return count, taken, bytes
			}
			vectors[count].Base = unsafe.SliceData(buffer)
			vectors[count].SetLen(len(buffer))
			count++
			bytes += int64(len(buffer))
		}
		taken++
	}
	return count, taken, bytes
}

func writeOne(descriptor int, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Pwrite(descriptor, p, off)
		if !interrupted(err) {
			return max(n, 0), err
		}
	}
}

// writeVectors is pwritev. The kernel takes the offset as two halves and ignores the upper one where a word holds all.
func writeVectors(descriptor int, vectors []unix.Iovec, off int64) (int, error) {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_PWRITEV, uintptr(descriptor),
			uintptr(unsafe.Pointer(unsafe.SliceData(vectors))), uintptr(len(vectors)),
			uintptr(off), uintptr(uint64(off)>>32), 0)
		if errno == 0 {
			return int(n), nil
		}
		if !interrupted(errno) {
			return 0, errno
		}
	}
}
