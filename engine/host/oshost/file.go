package oshost

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// file is an open file. Calls hold mutex shared and Close holds it alone, because the descriptor of a closed file is
// soon the descriptor of another: a call that is still under way would read or write that one.
type file struct {
	host       *Host
	path       string
	mutex      sync.RWMutex
	file       *os.File
	descriptor int         // of file, while it is open
	direct     *os.File    // the same file for writes past the page cache; nil without
	refusal    atomic.Bool // a write past it was refused: no other is tried
	reads      pastReads   // reads past it
	window     window      // for writes through memory
	closed     bool
}

var (
	_ host.File       = (*file)(nil)
	_ host.BackWriter = (*file)(nil)
)

func newFile(h *Host, f *os.File, path string) *file {
	return &file{host: h, path: path, file: f, descriptor: int(f.Fd())}
}

// enter begins a call. The caller unlocks mutex shared when it is done, unless enter failed.
func (f *file) enter(doing string) error {
	f.mutex.RLock()
	if f.closed {
		f.mutex.RUnlock()
		return explain(host.ErrClosed, "%s %s", doing, f.path)
	}
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.enter("read"); err != nil {
		return 0, err
	}
	defer f.mutex.RUnlock()
	return f.readCached(p, off)
}

func (f *file) readCached(p []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return n, explain(err, "read %d bytes at %d of %s", len(p), off, f.path)
	}
	return n, err
}

func (f *file) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	if err := f.enter("write"); err != nil {
		return 0, err
	}
	defer f.mutex.RUnlock()
	if n, ok := f.writeMapped(b, off); ok {
		return n, nil
	}
	write := f.writeThrough
	if f.goesPast(b, off) {
		write = f.tryPast
	}
	n, err := write(b, off)
	if err != nil {
		return n, explain(err, "write at %d of %s", off+n, f.path)
	}
	return n, nil
}

func (f *file) writeThrough(b [][]byte, off int64) (int64, error) {
	return f.host.vectors.write(f.descriptor, b, off)
}

// Sync does not try again after a failure: the kernel reports a lost page once and then counts it as clean.
func (f *file) Sync() error {
	if err := f.enter("sync"); err != nil {
		return err
	}
	defer f.mutex.RUnlock()
	f.window.syncs.Add(1)
	defer f.window.syncs.Add(1)
	for {
		err := unix.Fdatasync(f.descriptor)
		if interrupted(err) {
			continue
		}
		if err != nil {
			return explain(err, "sync %s", f.path)
		}
		return nil
	}
}

// StartWriteback asks for the start alone. The flags that wait would also take the report of a failed write, and the
// Sync that must hear of it would not. For the same reason its own error says nothing that Sync does not say.
func (f *file) StartWriteback(off, n int64) {
	if f.enter("write back") != nil {
		return
	}
	defer f.mutex.RUnlock()
	_ = unix.SyncFileRange(f.descriptor, off, n, unix.SYNC_FILE_RANGE_WRITE)
	f.window.syncs.Add(1)
}

func (f *file) Truncate(n int64) error {
	if err := f.enter("truncate"); err != nil {
		return err
	}
	defer f.mutex.RUnlock()
	f.window.mutex.Lock() // what is copied behind the end of a file is lost
	defer f.window.mutex.Unlock()
	f.window.drop()
	if err := f.file.Truncate(n); err != nil {
		return explain(err, "truncate %s to %d bytes", f.path, n)
	}
	return nil
}

func (f *file) Size() (int64, error) {
	if err := f.enter("ask for the size of"); err != nil {
		return 0, err
	}
	defer f.mutex.RUnlock()
	size, err := sizeOf(f.descriptor)
	if err != nil {
		return 0, explain(err, "ask for the size of %s", f.path)
	}
	return size, nil
}

func sizeOf(descriptor int) (int64, error) {
	var stat unix.Stat_t
	for {
		if err := unix.Fstat(descriptor, &stat); !interrupted(err) {
			return stat.Size, err
		}
	}
}

// Close waits for the calls inside the file. A second Close is an error, so that a double owner is found out.
func (f *file) Close() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return explain(host.ErrClosed, "close %s", f.path)
	}
	f.closed = true
	f.window.drop() // nobody writes
	err := f.file.Close()
	if f.direct != nil {
		err = errors.Join(err, f.direct.Close())
	}
	err = errors.Join(err, f.reads.close())
	if err != nil {
		return explain(err, "close %s", f.path)
	}
	return nil
}
