package oshost

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// pastReads is a file opened once more, for reads past the page cache. Few files are read so: it is opened with the first.
type pastReads struct {
	mutex   sync.Mutex
	file    *os.File
	refused bool // the file system knows no such reads, or the device takes none of pages
}

// open returns the second descriptor, nil if there is none to be had.
func (r *pastReads) open(f *file) *os.File {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.file != nil || r.refused {
		return r.file
	}
	direct, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		r.refused = true
		return nil
	}
	if !isOpenTwice(f.file, direct) { // the name is another file's by now
		_ = direct.Close()
		r.refused = true
		return nil
	}
	r.file = direct
	return direct
}

// refuse gives such reads up. The descriptor stays open until the file is closed: others may be reading.
func (r *pastReads) refuse() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.refused = true
}

func (r *pastReads) given() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return !r.refused
}

func (r *pastReads) close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// ReadPastCache reads whole pages from the device and copies what was asked for.
func (f *file) ReadPastCache(p []byte, off int64) (int, error) {
	if err := f.enter("read"); err != nil {
		return 0, err
	}
	defer f.mutex.RUnlock()
	direct := f.reads.open(f)
	if direct == nil || !f.reads.given() {
		return f.readCached(p, off)
	}
	buffer := f.host.directs.get()
	defer f.host.directs.pool.Put(buffer)
	skip := int(off % directAlign)
	pages := min((skip+len(p)+directAlign-1)/directAlign*directAlign, directBytes)
	n, err := direct.ReadAt(buffer[:pages], off-int64(skip))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		f.reads.refuse()
		return f.readCached(p, off)
	}
	n = copy(p, buffer[min(skip, n):n])
	switch {
	case n == len(p):
		return n, nil
	case err != nil && err != io.EOF:
		return n, explain(err, "read %d bytes at %d of %s past the page cache", len(p), off, f.path)
	}
	return n, err
}

var _ host.PastCacheReader = (*file)(nil)
