package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Place says where the figures were measured.
type Place struct {
	Dir        string `json:"dir"`
	FileSystem string `json:"file_system"`
	Device     string `json:"device"`
	FreeBytes  int64  `json:"free_bytes"`
	CPUs       int    `json:"cpus"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	InMemory   bool   `json:"in_memory"` // the directory is not on a disk: no figure about syncing means anything
}

func (p Place) String() string {
	return fmt.Sprintf("%s on %s (%s), %d CPUs, Linux %s, %s", p.Dir, p.FileSystem, p.Device, p.CPUs, p.Kernel, p.Go)
}

// placeOf describes the file system that holds a directory.
func placeOf(dir string) (Place, error) {
	p := Place{Dir: dir, CPUs: runtime.NumCPU(), Kernel: kernelRelease(), Go: runtime.Version()}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return p, fmt.Errorf("ask for the file system of %s: %w", dir, err)
	}
	p.FreeBytes = int64(stat.Bavail) * stat.Bsize
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return p, fmt.Errorf("read the list of mounts: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return p, fmt.Errorf("resolve %s: %w", dir, err)
	}
	p.FileSystem, p.Device = mountOf(string(mounts), real)
	p.InMemory = p.FileSystem == "tmpfs" || p.FileSystem == "ramfs"
	return p, nil
}

// mountOf finds the mount with the longest path above dir in the text of mountinfo. Of two at one path the later one
// covers the earlier.
func mountOf(mounts, dir string) (fileSystem, device string) {
	fileSystem, device = "unknown", "unknown"
	best := -1
	for lines := bufio.NewScanner(strings.NewReader(mounts)); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(source) < 2 {
			continue
		}
		if at := fields[4]; len(at) >= best && isBelow(dir, at) {
			best, fileSystem, device = len(at), source[0], source[1]
		}
	}
	return fileSystem, device
}

func isBelow(path, above string) bool {
	return path == above || above == "/" || strings.HasPrefix(path, above+"/")
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// dropCached asks the kernel to forget the pages of every file below dir. Only clean pages go, so the files must have
// been synced. A file that goes or is renamed meanwhile is passed over.
func dropCached(dir string) error {
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
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop the cached pages of %s: %w", path, err)
		}
		return nil
	})
}
