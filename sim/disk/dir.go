package disk

import (
	"fmt"
	"strings"

	"lakebed/engine/host"
)

// Dir is a handle on a directory. Its methods follow host.Dir.
type Dir struct {
	disk  *Disk
	node  *node
	path  string
	epoch uint64
}

// Path is the directory's path at the time it was opened; the root's is empty.
func (r *Dir) Path() string { return r.path }

// check tells why the handle cannot be used for action on name, if it cannot. An empty name means the directory itself.
func (r *Dir) check(action, name string) error {
	if r.epoch != r.disk.epoch {
		return fmt.Errorf("%s %q: the directory was open at a crash: %w", action, r.join(name), host.ErrClosed)
	}
	if r.node.liveNames == 0 {
		return fmt.Errorf("%s %q: the directory was removed: %w", action, r.join(name), host.ErrNotExist)
	}
	return nil
}

// checkName is check for operations that need a plain name.
func (r *Dir) checkName(action, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%s %q in %q: not a plain name: %w", action, name, r.path, host.ErrNotExist)
	}
	return r.check(action, name)
}

func (r *Dir) join(name string) string {
	if r.path == "" || name == "" {
		return r.path + name
	}
	return r.path + "/" + name
}

// Create makes a new empty file and opens it.
func (r *Dir) Create(name string) (*File, error) {
	if err := r.checkName("create", name); err != nil {
		return nil, err
	}
	if r.node.folder.live[name] != nil {
		return nil, fmt.Errorf("create %q: %w", r.join(name), host.ErrExist)
	}
	n := r.disk.newFile()
	r.disk.link(r.node.folder, name, n)
	return r.open(name, n), nil
}

// Open opens a file that exists.
func (r *Dir) Open(name string) (*File, error) {
	if err := r.checkName("open", name); err != nil {
		return nil, err
	}
	n := r.node.folder.live[name]
	if n == nil {
		return nil, fmt.Errorf("open %q: %w", r.join(name), host.ErrNotExist)
	}
	if n.folder != nil {
		return nil, fmt.Errorf("open %q: a directory, not a file: %w", r.join(name), host.ErrNotExist)
	}
	return r.open(name, n), nil
}

func (r *Dir) open(name string, n *node) *File {
	n.opens++
	return &File{disk: r.disk, node: n, path: r.join(name), epoch: r.epoch}
}

// Sub opens the directory of that name, and makes it if it is missing.
func (r *Dir) Sub(name string) (*Dir, error) {
	if err := r.checkName("open directory", name); err != nil {
		return nil, err
	}
	n := r.node.folder.live[name]
	if n == nil {
		n = &node{folder: newFolder(), epoch: r.epoch}
		r.disk.link(r.node.folder, name, n)
	}
	if n.folder == nil {
		return nil, fmt.Errorf("open directory %q: a file has that name: %w", r.join(name), host.ErrExist)
	}
	return &Dir{disk: r.disk, node: n, path: r.join(name), epoch: r.epoch}, nil
}

// Rename gives from the name to, and takes that name from whoever had it. A directory replaces only an empty one.
func (r *Dir) Rename(from, to string) error {
	if err := r.checkName("rename", from); err != nil {
		return err
	}
	if err := r.checkName("rename to", to); err != nil {
		return err
	}
	source, target := r.node.folder.live[from], r.node.folder.live[to]
	if source == nil {
		return fmt.Errorf("rename %q to %q: %w", r.join(from), to, host.ErrNotExist)
	}
	if source == target {
		return nil // also two links of one file, which a crash can leave: POSIX asks for no change
	}
	if target != nil && (source.folder != nil || target.folder != nil) {
		if source.folder == nil || target.folder == nil || len(target.folder.live) > 0 {
			return fmt.Errorf("rename %q to %q: cannot replace it: %w", r.join(from), to, host.ErrExist)
		}
	}
	r.disk.rename(r.node.folder, from, to)
	return nil
}

// Remove takes away the name of a file, or an empty directory. Open handles of the file stay usable.
func (r *Dir) Remove(name string) error {
	if err := r.checkName("remove", name); err != nil {
		return err
	}
	n := r.node.folder.live[name]
	if n == nil {
		return fmt.Errorf("remove %q: %w", r.join(name), host.ErrNotExist)
	}
	if n.folder != nil && len(n.folder.live) > 0 {
		return fmt.Errorf("remove %q: the directory is not empty: %w", r.join(name), host.ErrExist)
	}
	r.disk.unlink(r.node.folder, name)
	return nil
}

// List returns the entries sorted by name.
func (r *Dir) List() ([]host.Info, error) {
	if err := r.check("list", ""); err != nil {
		return nil, err
	}
	live := r.node.folder.live
	entries := make([]host.Info, 0, len(live))
	for _, name := range host.SortedKeys(live) {
		info := host.Info{Name: name, Dir: live[name].folder != nil}
		if !info.Dir {
			info.Size = live[name].content.size
		}
		entries = append(entries, info)
	}
	return entries, nil
}

// Modified is what Touch last said of the file of that name. A crash does not change it.
func (r *Dir) Modified(name string) (int64, error) {
	if err := r.checkName("ask when it was written", name); err != nil {
		return 0, err
	}
	n := r.node.folder.live[name]
	if n == nil || n.content == nil {
		return 0, fmt.Errorf("ask when %q was written: %w", r.join(name), host.ErrNotExist)
	}
	return n.content.modified, nil
}

// SyncDir makes the names in this directory durable.
func (r *Dir) SyncDir() error {
	if err := r.check("sync directory", ""); err != nil {
		return err
	}
	r.disk.commitNames(r.node.folder)
	return nil
}

// Lock takes the directory until release is called or a crash comes.
func (r *Dir) Lock() (release func(), err error) {
	if err := r.check("lock", ""); err != nil {
		return nil, err
	}
	f := r.node.folder
	if f.locked {
		return nil, fmt.Errorf("lock %q: %w", r.path, host.ErrLocked)
	}
	f.locked = true
	released := false
	return func() {
		// A release that comes late must not undo the lock of the next owner.
		if !released && r.epoch == r.disk.epoch {
			f.locked = false
		}
		released = true
	}, nil
}

// Usage is the free and total space of the volume in bytes.
func (r *Dir) Usage() (free, total int64, err error) {
	if err := r.check("ask usage of", ""); err != nil {
		return 0, 0, err
	}
	free, total = r.disk.Usage()
	return free, total, nil
}
