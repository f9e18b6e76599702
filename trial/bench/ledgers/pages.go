package ledgers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DropCached asks the kernel to forget the pages of every file below dir. Only clean pages go, so the files must have
// been synced. A file that goes or is renamed meanwhile is passed over.
func DropCached(dir string) error {
	return eachFile(dir, func(f *os.File) error {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop the cached pages of %s: %w", f.Name(), err)
		}
		return nil
	})
}

// WarmCached reads every file below dir, so that the kernel has its pages: bookies write their entry logs past them.
func WarmCached(dir string) error {
	return eachFile(dir, func(f *os.File) error {
		if _, err := io.Copy(io.Discard, f); err != nil {
			return fmt.Errorf("read %s into the page cache: %w", f.Name(), err)
		}
		return nil
	})
}

// eachFile opens every file below dir. One that goes meanwhile is passed over.
func eachFile(dir string, do func(f *os.File) error) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return do(f)
	})
}
