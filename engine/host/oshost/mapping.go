package oshost

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// mapping is a part of a file in the process's memory. Calls hold mutex shared and Unmap holds it alone: the addresses of what
// was unmapped are soon those of something else, and a call that is still under way would send that.
type mapping struct {
	path  string
	mutex sync.RWMutex
	pages []byte // as the kernel gave them; nil: unmapped, or nothing was mapped
	data  []byte // the part of pages that was asked for
	ended bool
}

// Map maps n bytes at off, which must lie within the file.
func (f *file) Map(off, n int64) (host.Mapping, error) {
	if err := f.enter("map"); err != nil {
		return nil, err
	}
	defer f.mutex.RUnlock()
	size, err := sizeOf(f.descriptor)
	if err != nil {
		return nil, explain(err, "map %d bytes at %d of %s", n, off, f.path)
	}
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, fmt.Errorf("map %d bytes at %d of %s, which has %d: %w", n, off, f.path, size, io.ErrUnexpectedEOF)
	}
	m := &mapping{path: f.path}
	if n == 0 {
		return m, nil // the kernel makes no empty mapping
	}
	skip := off % int64(os.Getpagesize()) // a mapping starts on a page
	m.pages, err = unix.Mmap(f.descriptor, off-skip, int(n+skip), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, explain(err, "map %d bytes at %d of %s", n, off, f.path)
	}
	m.data = m.pages[skip:]
	return m, nil
}

// enter begins a call on a part of the mapping. The caller unlocks mutex shared when it is done, unless enter failed.
func (m *mapping) enter(doing string) error {
	m.mutex.RLock()
	if m.ended {
		m.mutex.RUnlock()
		return explain(host.ErrClosed, "%s the mapping of %s", doing, m.path)
	}
	return nil
}

// ReadAt copies under a guard: the runtime turns the signal of a page that cannot be read into a panic of this task, and that
// into an error. Nobody else touches the memory; the kernel, when it sends, reports such a page as EFAULT.
func (m *mapping) ReadAt(p []byte, off int64) (n int, err error) {
	if err := m.enter("read"); err != nil {
		return 0, err
	}
	defer m.mutex.RUnlock()
	if off < 0 {
		return 0, explain(unix.EINVAL, "read at %d of the mapping of %s", off, m.path)
	}
	n, ok := copyGuarded(p, m.data[min(off, int64(len(m.data))):])
	if !ok {
		return 0, explain(unix.EFAULT, "read %d bytes at %d of the mapping of %s", len(p), off, m.path)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// copyGuarded copies from or to a mapping. Not ok: a page of it cannot be had, and some bytes may have been copied.
func copyGuarded(to, from []byte) (n int, ok bool) {
	defer func() {
		if fault := recover(); fault != nil {
			if !isFault(fault) {
				panic(fault)
			}
			n, ok = 0, false
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return copy(to, from), true
}

// isFault reports whether a panic is the runtime's answer to memory that cannot be read. No other error of it has an address.
func isFault(panicked any) bool {
	err, ok := panicked.(runtime.Error)
	if !ok {
		return false
	}
	_, ok = err.(interface{ Addr() uintptr })
	return ok
}

// Advise tells the kernel, which may know better. Its refusal changes nothing.
func (m *mapping) Advise(s host.Span, a host.Advice) {
	if m.enter("advise on") != nil {
		return
	}
	defer m.mutex.RUnlock()
	from := min(max(s.Off, 0), int64(len(m.data)))
	to := int64(len(m.data))
	if s.Len > 0 {
		to = min(from+s.Len, to)
	}
	skip := int64(len(m.pages) - len(m.data))
	from += skip
	from -= from % int64(os.Getpagesize())
	if to += skip; from < to {
		_ = unix.Madvise(m.pages[from:to], madvice(a))
	}
}

func madvice(a host.Advice) int {
	switch a {
	case host.AdviseSequential:
		return unix.MADV_SEQUENTIAL
	case host.AdviseRandom:
		return unix.MADV_RANDOM
	case host.AdviseWillNeed:
		return unix.MADV_WILLNEED
	case host.AdviseDontNeed:
		return unix.MADV_DONTNEED // of a shared mapping it drops this view, and no byte
	}
	return unix.MADV_NORMAL
}

func (m *mapping) Unmap() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.ended {
		return explain(host.ErrClosed, "unmap %s", m.path)
	}
	m.ended = true
	if m.pages == nil {
		return nil
	}
	pages := m.pages
	m.pages, m.data = nil, nil
	if err := unix.Munmap(pages); err != nil {
		return explain(err, "unmap %s", m.path)
	}
	return nil
}

// slices are the parts of the mapping that spans name. The mapping is entered.
func (m *mapping) slices(b [][]byte, spans []host.Span) ([][]byte, error) {
	for _, s := range spans {
		if s.Off < 0 || s.Len < 0 || s.Off > int64(len(m.data)) || s.Len > int64(len(m.data))-s.Off {
			return b, fmt.Errorf("send %d bytes at %d of the mapping of %s, which has %d: %w", s.Len, s.Off, m.path, len(m.data), io.ErrUnexpectedEOF)
		}
		b = append(b, m.data[s.Off:s.Off+s.Len])
	}
	return b, nil
}

func ownMapping(m host.Mapping) *mapping {
	own, ok := m.(*mapping)
	invariant.Check(ok, "a mapping is sent by connections of the host that made it")
	return own
}

// Advise tells the kernel, which may know better. Its refusal changes nothing.
func (f *file) Advise(s host.Span, a host.Advice) {
	if f.enter("advise on") != nil {
		return
	}
	defer f.mutex.RUnlock()
	_ = unix.Fadvise(f.descriptor, s.Off, s.Len, fadvice(a))
}

func fadvice(a host.Advice) int {
	switch a {
	case host.AdviseSequential:
		return unix.FADV_SEQUENTIAL
	case host.AdviseRandom:
		return unix.FADV_RANDOM
	case host.AdviseWillNeed:
		return unix.FADV_WILLNEED
	case host.AdviseDontNeed:
		return unix.FADV_DONTNEED
	}
	return unix.FADV_NORMAL
}

var (
	_ host.Mapper  = (*file)(nil)
	_ host.Adviser = (*file)(nil)
	_ host.Mapping = (*mapping)(nil)
)
