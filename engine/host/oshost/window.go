package oshost

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

const (
	// windowBytes is how much of a file is mapped for writing at a time. To move the window costs two calls of the kernel.
	windowBytes = 1 << 20
	// mappedBytesMax is the longest write that goes through memory. A page that is touched for the first time costs about what the kernel
	// saves of a call, so that longer writes gain nothing.
	mappedBytesMax = 16 << 10
	// readyBytes is how much of the window is made ready at once, so that no page of it has to be waited for when it is written.
	readyBytes = 64 << 10
	// readyFor is how long that is believed: the kernel writes dirty pages out after some seconds, and asks again before they change.
	readyFor = 100 * time.Millisecond
)

// window is a part of a file that is mapped for writing. It follows the writes, from the front of the file to its end.
//
// A page that is not there, or was written out, is waited for where it is touched, and the runtime knows nothing of that: the task keeps its
// processor, and a collection of garbage waits for it, with all other tasks. On a disk that hangs that would be for ever. So pages are made
// ready by a call of the kernel, during which the runtime gives the processor to others, as in a write.
type window struct {
	asked atomic.Bool
	syncs atomic.Int64 // of the file, which write pages out
	mutex sync.Mutex
	pages []byte // nil: none is mapped
	from  int64  // where pages begin in the file

	readyFrom, readyTo int64 // of pages, those that are ready
	readyAt            time.Time
	readySyncs         int64 // syncs when that was found
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
	if !w.isReady(at, at+total) && !w.makeReady(at, at+total) {
		return 0, false
	}
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
	w.pages, w.from, w.readyTo = pages, from, 0
	return true
}

func (w *window) isReady(from, to int64) bool {
	return from >= w.readyFrom && to <= w.readyTo && w.syncs.Load() == w.readySyncs && time.Since(w.readyAt) < readyFor
}

// makeReady has the kernel find the pages of a write, and some behind them, and makes them writable. Without that the window goes: pages that
// cannot be had are the kernel's to explain, and older ones than Linux 5.14 know no such call.
func (w *window) makeReady(from, to int64) bool {
	from -= from % int64(os.Getpagesize())
	to = min(max(to, from+readyBytes), int64(len(w.pages)))
	w.readySyncs, w.readyAt = w.syncs.Load(), time.Now() // before: what happens meanwhile counts
	for from < to {
		err := unix.Madvise(w.pages[from:to], unix.MADV_POPULATE_WRITE)
		if interrupted(err) || err == unix.EAGAIN {
			continue
		}
		if err == unix.EINVAL {
			w.asked.Store(false)
		}
		if err != nil {
			w.drop()
			return false
		}
		break
	}
	w.readyFrom, w.readyTo = from, to
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
