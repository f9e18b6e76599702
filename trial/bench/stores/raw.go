package stores

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	rawFileBytes = 64 << 20 // written from start to end over and over
	rawFillBytes = 1 << 20
)

// Raw is a file whose blocks are written, into which groups go with one write, and one sync, each.
type Raw struct {
	file   *os.File
	at     int64
	bytes  int64
	source []byte
}

// NewRaw makes a raw line below dir.
func NewRaw(dir string) (*Raw, error) { return newRaw(dir, rawFileBytes) }

func newRaw(dir string, bytes int64) (*Raw, error) {
	f, err := os.Create(filepath.Join(dir, "raw-line"))
	if err != nil {
		return nil, fmt.Errorf("make the raw line's file: %w", err)
	}
	l := &Raw{file: f, bytes: bytes, source: content(0, rawFillBytes)}
	for at := int64(0); at < bytes && err == nil; at += rawFillBytes {
		_, err = f.WriteAt(l.source, at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("fill the raw line's file: %w", err)
	}
	return l, nil
}

// Replay writes groups in their order, again and again for so long.
func (l *Raw) Replay(groups []int64, synced bool, length time.Duration) (done Round, err error) {
	before, begun := cpuNow(), time.Now()
	for i := 0; len(groups) > 0 && time.Since(begun) < length; i++ {
		size := groups[i%len(groups)]
		if err := l.group(size, synced); err != nil {
			return done, err
		}
		done.Groups = append(done.Groups, size)
	}
	done.Elapsed, done.CPU = time.Since(begun), cpuNow()-before
	return done, nil
}

// group asks the kernel as a program in C does, without telling Go's scheduler: that would let another task have the
// processor during a sync.
func (l *Raw) group(size int64, synced bool) error {
	if l.at+size > l.bytes {
		l.at = 0
	}
	fd := l.file.Fd()
	for left := min(size, l.bytes); left > 0; {
		n := min(left, int64(len(l.source)))
		written, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(l.source))), uintptr(n), uintptr(l.at), 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("raw line: write %d bytes at %d: %w", n, l.at, errno)
		}
		if errno == 0 {
			left, l.at = left-int64(written), l.at+int64(written)
		}
	}
	for synced {
		_, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, fd, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("raw line: sync: %w", errno)
		}
		break
	}
	return nil
}

// Close closes the file, which its directory's owner removes.
func (l *Raw) Close() error { return l.file.Close() }

// dropCache tells the page cache to forget every file below a directory. They must be synced.
func dropCache(dir string) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}
