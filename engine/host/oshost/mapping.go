package oshost

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Map maps n bytes at off, which must lie within the file: to touch a page past the end would kill the process. The
// caller must not truncate the file below the mapping while it lasts. The mapping outlives Close.
func (f *file) Map(off, n int64) (data []byte, unmap func(), err error) {
	if err := f.enter("map"); err != nil {
		return nil, nil, err
	}
	defer f.mutex.RUnlock()
	size, err := sizeOf(f.descriptor)
	if err != nil {
		return nil, nil, explain(err, "map %d bytes at %d of %s", n, off, f.path)
	}
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, nil, fmt.Errorf("map %d bytes at %d of %s, which has %d: %w", n, off, f.path, size,
			io.ErrUnexpectedEOF)
	}
	if n == 0 {
		return nil, func() {}, nil // the kernel makes no empty mapping
	}
	skip := off % int64(os.Getpagesize()) // a mapping starts on a page
	pages, err := unix.Mmap(f.descriptor, off-skip, int(n+skip), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, explain(err, "map %d bytes at %d of %s", n, off, f.path)
	}
	var once sync.Once
	// Munmap of a whole mapping fails for none but arguments that were not from Mmap.
	return pages[skip:], func() { once.Do(func() { _ = unix.Munmap(pages) }) }, nil
}
