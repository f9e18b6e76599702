package oshost

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

const (
	// directAlign is what address, offset and length of a direct write must be multiples of. Devices ask for 512 or 4096, few for
	// more: see tryPast.
	directAlign = 4096
	// directBytes is how much goes to the device with one call: what the caller has in pieces is gathered here first.
	directBytes = 1 << 20
)

// directPool keeps buffers for direct writes, which a device takes from aligned memory only.
type directPool struct{ pool sync.Pool }

func (p *directPool) get() *[directBytes]byte {
	if b, ok := p.pool.Get().(*[directBytes]byte); ok {
		return b
	}
	raw := make([]byte, directBytes+directAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % directAlign
	return (*[directBytes]byte)(raw[skip:])
}

// WritePastCache opens the file once more, for writes that leave no copy in the page cache. File systems that know none are
// left as they are.
func (f *file) WritePastCache() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed || f.direct != nil {
		return f.direct != nil
	}
	direct, err := os.OpenFile(f.path, os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return false
	}
	if !isOpenTwice(f.file, direct) { // the name is another file's by now
		_ = direct.Close()
		return false
	}
	f.direct = direct
	return true
}

func isOpenTwice(a, b *os.File) bool {
	first, err := a.Stat()
	if err != nil {
		return false
	}
	second, err := b.Stat()
	return err == nil && os.SameFile(first, second)
}

// goesPast reports whether a write can leave out the page cache: one that ends within a page would have to read the rest.
func (f *file) goesPast(b [][]byte, off int64) bool {
	if f.direct == nil || f.refusal.Load() || off%directAlign != 0 {
		return false
	}
	total := 0
	for _, buffer := range b {
		total += len(buffer)
	}
	return total > 0 && total%directAlign == 0
}

// tryPast is writePast until the kernel says that the device does not take such a write: its sectors may be longer than a page,
// or the file system opens files for direct writes that it then does not do. From then on all goes through the cache. A bookie
// could never flush otherwise, since it would try the same again.
func (f *file) tryPast(b [][]byte, off int64) (int64, error) {
	n, err := f.writePast(b, off)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EOPNOTSUPP) {
		return n, err
	}
	f.refusal.Store(true)
	if n > 0 {
		return n, nil // a short write; the rest comes again
	}
	return f.writeThrough(b, off)
}

// writePast is WriteBuffersAt to the device. Like vectorPool.write it stops at the first short call.
func (f *file) writePast(b [][]byte, off int64) (int64, error) {
	buffer := f.host.directs.get()
	defer f.host.directs.pool.Put(buffer)
	descriptor := int(f.direct.Fd())
	var done int64
	at := 0 // in b[0]
	for len(b) > 0 {
		filled := 0
		for len(b) > 0 && filled < directBytes {
			n := copy(buffer[filled:], b[0][at:])
			filled += n
			if at += n; at == len(b[0]) {
				b, at = b[1:], 0
			}
		}
		n, err := writeOne(descriptor, buffer[:filled], off+done)
		done += int64(n)
		if err != nil || n < filled {
			return done, err
		}
	}
	return done, nil
}

var _ host.PastCacheWriter = (*file)(nil)
