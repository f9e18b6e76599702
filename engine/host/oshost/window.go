package oshost

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

const (
	// windowBytes is how much of a file is mapped for writing at a time. To move the window costs two calls of the kernel.
	windowBytes = 1 << 20
	// mappedBytesMax is the longest write that goes through memory. A page that is touched for the first time costs about what the kernel
	// saves of a call, so that longer writes gain nothing.
	mappedBytesMax = 16 << 10
)

// window is a part of a file that is mapped for writing. It follows the writes, from the front of the file to its end.
type window struct {
	asked atomic.Bool
	mutex sync.Mutex
	pages []byte // nil: none is mapped
	from  int64  // where pages begin in the file
}

// WriteThroughMemory has small writes copied into a window from now on.
func (f *file) WriteThroughMemory() bool {
	if f.enter("write through memory to") != nil {
		return false
	}
	defer f.mutex.RUnlock()
	f.window.asked.Store(true)
	return true
}

// writeMapped copies buffers to where they belong. Not ok: the kernel is to write them, which knows how to make a file longer and
// what is wrong with a device. Then some of the bytes may be there already.
func (f *file) writeMapped(b [][]byte, off int64) (n int64, ok bool) {
	w := &f.window
	if !w.asked.Load() || off < 0 {
		return 0, false
	}
	total := int64(0)
	for _, buffer := range b {
		total += int64(len(buffer))
	}
	if total > mappedBytesMax {
		return 0, false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.holds(off, total) && !f.moveWindow(off, total) {
		return 0, false
	}
	at := off - w.from
	for _, buffer := range b {
		copied, ok := copyGuarded(w.pages[at:], buffer)
		if !ok {
			w.drop()
			return 0, false
		}
		at += int64(copied)
	}
	return total, true
}

func (w *window) holds(off, n int64) bool {
	return w.pages != nil && off >= w.from && off+n <= w.from+int64(len(w.pages))
}

// moveWindow maps the part of the file that a write goes to, as far as there is one: behind the end of a file there are no pages.
// Only writes ahead of the window move it. Its mutex is held.
func (f *file) moveWindow(off, n int64) bool {
	w := &f.window
	if w.pages != nil && off < w.from {
		return false
	}
	size, err := sizeOf(f.descriptor)
	if err != nil || off+n > size {
		return false
	}
	w.drop()
	from := off - off%int64(os.Getpagesize())
	pages, err := unix.Mmap(f.descriptor, from, int(min(windowBytes, size-from)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		w.asked.Store(false) // the file system maps no files, or the process has too many mappings: the kernel writes
		return false
	}
	w.pages, w.from = pages, from
	return true
}

// drop ends the mapping. The mutex is held, or nobody writes.
func (w *window) drop() {
	if w.pages != nil {
		_ = unix.Munmap(w.pages) // it fails for none but a wrong address
		w.pages = nil
	}
}

var _ host.MemoryWriter = (*file)(nil)
