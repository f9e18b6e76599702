package host

import (
	"errors"
	"fmt"
	"io"
)

// shortLimit bounds how often in a row a transfer may make no progress before it counts as broken.
const shortLimit = 16

// ReadFull fills p from off, going on after short reads. io.ErrUnexpectedEOF with the count read if the file ends first.
func ReadFull(f File, p []byte, off int64) (int, error) {
	done, stuck := 0, 0
	for done < len(p) {
		n, err := f.ReadAt(p[done:], off+int64(done))
		done += n
		if done == len(p) {
			break
		}
		if err == io.EOF {
			return done, io.ErrUnexpectedEOF
		}
		if err != nil {
			return done, err
		}
		if stuck = stuckAfter(stuck, int64(n)); stuck > shortLimit {
			return done, fmt.Errorf("read at %d makes no progress: %w", off+int64(done), ErrIO)
		}
	}
	return done, nil
}

// WriteFull writes all of b at off, going on after short writes. On an error the count says how much was taken. It
// may shift its own copy of b but never changes what b holds.
func WriteFull(f File, b [][]byte, off int64) (int64, error) {
	var done int64
	stuck := 0
	rest := b
	for {
		n, err := f.WriteBuffersAt(rest, off+done)
		done += n
		if err != nil {
			return done, err
		}
		if rest = after(rest, n); len(rest) == 0 {
			return done, nil
		}
		if stuck = stuckAfter(stuck, n); stuck > shortLimit {
			return done, fmt.Errorf("write at %d makes no progress: %w", off+done, ErrIO)
		}
	}
}

// WriteFullAt is WriteFull of a single buffer.
func WriteFullAt(f File, p []byte, off int64) error {
	_, err := WriteFull(f, [][]byte{p}, off)
	return err
}

// StartWriteback begins to write n bytes at off to the device, where the machine can.
func StartWriteback(f File, off, n int64) {
	if b, ok := f.(BackWriter); ok {
		b.StartWriteback(off, n)
	}
}

// WriteThroughMemory has later small writes to f cost no call of the kernel, where the machine can.
func WriteThroughMemory(f File) bool {
	w, ok := f.(MemoryWriter)
	return ok && w.WriteThroughMemory()
}

// WritePastCache has later writes of whole pages to f leave no copy in the page cache, where the machine can.
func WritePastCache(f File) bool {
	w, ok := f.(PastCacheWriter)
	return ok && w.WritePastCache()
}

// ReadPastCache is f.ReadAt from the device, where the machine can.
func ReadPastCache(f File, p []byte, off int64) (int, error) {
	if r, ok := f.(PastCacheReader); ok {
		return r.ReadPastCache(p, off)
	}
	return f.ReadAt(p, off)
}

// Modified is when the content of a file was last written, where the machine can tell; see Dater.
func Modified(d Dir, name string) (Wall, error) {
	if dater, ok := d.(Dater); ok {
		return dater.Modified(name)
	}
	return 0, fmt.Errorf("when %s was written is not known here: %w", name, ErrNotExist)
}

func stuckAfter(stuck int, n int64) int {
	if n > 0 {
		return 0
	}
	return stuck + 1
}

// after returns what is left of b behind its first n bytes. It copies the outer slice only where it must cut a buffer.
func after(b [][]byte, n int64) [][]byte {
	for len(b) > 0 && n >= int64(len(b[0])) {
		n -= int64(len(b[0]))
		b = b[1:]
	}
	if len(b) == 0 || n == 0 {
		return b
	}
	cut := append([][]byte(nil), b...)
	cut[0] = cut[0][n:]
	return cut
}

// UnfinishedSuffix marks files that ReplaceFile, or whoever works like it, has not finished. After a crash they may be
// left over, and mean nothing.
const UnfinishedSuffix = ".new"

// CreateFresh creates a file, and removes first what may be there under the name.
func CreateFresh(d Dir, name string) (File, error) {
	f, err := d.Create(name)
	if errors.Is(err, ErrExist) {
		if err = d.Remove(name); err == nil {
			f, err = d.Create(name)
		}
	}
	return f, err
}

// ReplaceFile gives a file new content, durably: after a crash there is the old content or the new. It is written under
// another name and renamed only when it is synced.
func ReplaceFile(d Dir, name string, content []byte) error {
	fresh := name + UnfinishedSuffix
	f, err := CreateFresh(d, fresh)
	if err != nil {
		return err
	}
	if err = WriteFullAt(f, content, 0); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = d.Rename(fresh, name)
	}
	if err == nil {
		err = d.SyncDir()
	}
	return err
}
