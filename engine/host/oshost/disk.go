package oshost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

const (
	filePermissions      = 0o644
	directoryPermissions = 0o755
)

// dir is a directory by path. It keeps no descriptor, so it needs no closing and any number of them may exist.
type dir struct {
	host *Host
	path string
}

// errName says that a name cannot be used in a directory of a volume.
var errName = errors.New("not a plain name")

// place checks name and returns its path. The engine never means to leave a directory, so a separator is a bug or
// hostile input, and both must stop here.
func (d *dir) place(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("%q in %s: %w", name, d.path, errName)
	}
	if name == lockName {
		return "", fmt.Errorf("%q in %s is kept for the directory lock: %w", name, d.path, errName)
	}
	return filepath.Join(d.path, name), nil
}

func (d *dir) Create(name string) (host.File, error) {
	path, err := d.place(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, filePermissions)
	if err != nil {
		return nil, explain(err, "create %s", path)
	}
	return newFile(d.host, f, path), nil
}

func (d *dir) Open(name string) (host.File, error) {
	path, err := d.place(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, explain(err, "open %s", path)
	}
	return newFile(d.host, f, path), nil
}

func (d *dir) Sub(name string) (host.Dir, error) {
	path, err := d.place(name)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, directoryPermissions); err != nil && !isDirectory(path) {
		return nil, explain(err, "make directory %s", path)
	}
	return &dir{host: d.host, path: path}, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (d *dir) Rename(from, to string) error {
	source, err := d.place(from)
	if err != nil {
		return err
	}
	target, err := d.place(to)
	if err != nil {
		return err
	}
	if err := os.Rename(source, target); err != nil {
		return explain(err, "rename %s to %s", source, target)
	}
	return nil
}

func (d *dir) Remove(name string) error {
	path, err := d.place(name)
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if errors.Is(err, unix.ENOTEMPTY) {
		err = d.host.removeUnlocked(path, err)
	}
	if err != nil {
		return explain(err, "remove %s", path)
	}
	return nil
}

func (d *dir) List() ([]host.Info, error) {
	entries, err := os.ReadDir(d.path) // sorted by name
	if err != nil {
		return nil, explain(err, "list %s", d.path)
	}
	infos := make([]host.Info, 0, len(entries))
	for _, entry := range entries {
		if entry.Name() == lockName {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the names were read
		}
		if err != nil {
			return nil, explain(err, "list %s", d.path)
		}
		found := host.Info{Name: entry.Name(), Dir: entry.IsDir()}
		if !found.Dir {
			found.Size = info.Size() // of a directory it is an artefact of the file system
		}
		infos = append(infos, found)
	}
	return infos, nil
}

func (d *dir) Modified(name string) (host.Wall, error) {
	path, err := d.place(name)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, explain(err, "ask when %s was written", path)
	}
	return host.Wall(info.ModTime().UnixNano()), nil
}

func (d *dir) SyncDir() error {
	if err := syncDirectory(d.path); err != nil {
		return explain(err, "sync directory %s", d.path)
	}
	return nil
}

// Usage counts as free what an ordinary process may use: a file system keeps a reserve for root.
func (d *dir) Usage() (free, total int64, err error) {
	var stat unix.Statfs_t
	for {
		if err = unix.Statfs(d.path, &stat); !interrupted(err) {
			break
		}
	}
	if err != nil {
		return 0, 0, explain(err, "ask for the space of %s", d.path)
	}
	return int64(stat.Bavail) * stat.Frsize, int64(stat.Blocks) * stat.Frsize, nil
}

// makeDurable makes path and its missing parents, and syncs the directory above each one it made: no SyncDir of the
// engine reaches above the root of a volume.
func makeDurable(path string) error {
	if isDirectory(path) {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeDurable(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, directoryPermissions); err != nil && !isDirectory(path) {
		return err
	}
	return syncDirectory(parent)
}

func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close() // read-only: it has nothing to say that the failed sync did not
		return err
	}
	return f.Close()
}
