package disk

import (
	"fmt"
	"io"

	"lakebed/engine/host"
)

// File is a handle on a file. Its methods follow host.File; a read is short only at the end of the file or at an
// unreadable sector, a write only when space runs out or at an unreadable sector.
type File struct {
	disk   *Disk
	node   *node
	path   string
	epoch  uint64
	closed bool
	damage Damage
}

// Again is another handle on the same file.
func (f *File) Again() (*File, error) {
	if err := f.check("open again"); err != nil {
		return nil, err
	}
	f.node.opens++
	return &File{disk: f.disk, node: f.node, path: f.path, epoch: f.epoch}, nil
}

// Drop has the cache let go of the pages of a range that are written back, as it may at any time.
func (f *File) Drop(off, n int64) {
	if n > 0 && f.checkRange("drop", off, n) == nil {
		f.node.content.evictClean(off/PageSize, (off+n-1)/PageSize)
	}
}

// Path is the file's path at the time it was opened.
func (f *File) Path() string { return f.path }

// LastDamage tells which flaws of the media the latest ReadAt, WriteBuffersAt or Truncate of this handle met.
func (f *File) LastDamage() Damage { return f.damage }

// DirtyPages is the number of pages that the next Sync writes back.
func (f *File) DirtyPages() int { return len(f.node.content.dirty) }

func (f *File) check(action string) error {
	if f.epoch != f.disk.epoch {
		return fmt.Errorf("%s %q: the file was open at a crash: %w", action, f.path, host.ErrClosed)
	}
	if f.closed {
		return fmt.Errorf("%s %q: %w", action, f.path, host.ErrClosed)
	}
	return nil
}

func (f *File) checkRange(action string, off, length int64) error {
	f.damage = Damage{}
	if err := f.check(action); err != nil {
		return err
	}
	if off < 0 || length < 0 || off+length < 0 {
		return fmt.Errorf("%s %q: offset %d and length %d make no range: %w", action, f.path, off, length, host.ErrIO)
	}
	return nil
}

// ReadAt reads what a reader sees now: cached bytes where there are any, else the media.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.checkRange("read", off, int64(len(p))); err != nil {
		return 0, err
	}
	c := f.node.content
	count := max(0, min(int64(len(p)), c.size-off))
	if len(c.flaws) > 0 {
		readable := c.meet(off, off+count, &f.damage)
		if readable < off+count {
			count = readable - off
			c.readAt(p[:count], off)
			return int(count), fmt.Errorf("read %q: unreadable sector at %d: %w", f.path, readable, host.ErrIO)
		}
	}
	c.readAt(p[:count], off)
	if count < int64(len(p)) {
		return int(count), io.EOF
	}
	return int(count), nil
}

// ReadPastCache is ReadAt of what the media has, but for pages that are not written back yet. The cache lets go of the
// others, as it may at any time.
func (f *File) ReadPastCache(p []byte, off int64) (int, error) {
	if err := f.checkRange("read", off, int64(len(p))); err != nil {
		return 0, err
	}
	if len(p) > 0 {
		f.node.content.evictClean(off/PageSize, (off+int64(len(p))-1)/PageSize)
	}
	return f.ReadAt(p, off)
}

// WriteBuffersAt writes the buffers one after the other into the cache. The count says how many bytes were taken.
func (f *File) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	var length int64
	for _, p := range b {
		length += int64(len(p))
	}
	if err := f.checkRange("write", off, length); err != nil {
		return 0, err
	}
	if length == 0 {
		return 0, nil
	}
	fits := min(length, f.disk.room(f.node, off+length)-off)
	if fits <= 0 {
		return 0, f.noSpace("write", off+length)
	}
	taken := f.node.content.write(b, off, fits, &f.damage)
	f.disk.charge(f.node)
	if taken < fits {
		return taken, fmt.Errorf("write %q at %d: the rest of a sector is unreadable: %w", f.path, off+taken, host.ErrIO)
	}
	if fits < length {
		return taken, f.noSpace("write", off+length)
	}
	return taken, nil
}

func (f *File) noSpace(action string, end int64) error {
	free, _ := f.disk.Usage()
	return fmt.Errorf("%s %q up to %d with %d bytes free: %w", action, f.path, end, free, host.ErrNoSpace)
}

// Sync makes the data and the size durable.
func (f *File) Sync() error {
	if err := f.check("sync"); err != nil {
		return err
	}
	f.node.content.sync(nil)
	f.disk.charge(f.node)
	return nil
}

// FailSync is what the media sees of a sync that fails: nothing. The dirty pages are clean afterwards without having
// been written, and readers see their content until it is evicted or the node crashes. The size stays unsynced, so that
// a later Sync makes a size durable whose data is not there.
func (f *File) FailSync() {
	if f.check("sync") == nil {
		f.node.content.failSync()
	}
}

// Landing says what the device did with a page it was asked to write.
type Landing struct {
	Lost bool   // acknowledged and never written
	Page int64  // else: the page where it landed; the right one, or another
	Path string // of the durable file that the page belongs to. Empty: this file
}

// SyncThrough is Sync through a device that lies: it reports success whatever became of the pages. A page that landed
// elsewhere damages what was there; its own place keeps the old content. One that landed where no file is, is lost. The
// device is asked in ascending page order.
func (f *File) SyncThrough(device func(page int64) Landing) error {
	if err := f.check("sync"); err != nil {
		return err
	}
	away := f.node.content.sync(device)
	f.disk.charge(f.node)
	for i := range away {
		to := &away[i]
		if target, err := f.disk.target("land in", to.Path, to.Page*PageSize, 1); err == nil {
			target.landAbroad(to.Page, &to.bytes)
		}
	}
	return nil
}

// Allocate reserves space for a range and grows the file to hold it. All of it or, with ErrNoSpace, none.
func (f *File) Allocate(off, n int64) error {
	if err := f.checkRange("allocate", off, n); err != nil {
		return err
	}
	return f.grow("allocate", off+n)
}

// Truncate sets the size. What was behind it is gone; what is new reads as zero.
func (f *File) Truncate(n int64) error {
	if err := f.checkRange("truncate", n, 0); err != nil {
		return err
	}
	c := f.node.content
	if n >= c.size {
		return f.grow("truncate", n)
	}
	if !c.truncate(n, &f.damage) {
		return fmt.Errorf("truncate %q to %d: the rest of a sector is unreadable: %w", f.path, n, host.ErrIO)
	}
	f.disk.charge(f.node)
	return nil
}

func (f *File) grow(action string, size int64) error {
	c := f.node.content
	if size <= c.size {
		return nil
	}
	if f.disk.room(f.node, size) < size {
		return f.noSpace(action, size)
	}
	c.size = size
	f.disk.charge(f.node)
	return nil
}

// Touch says when the content was last written. Only Dir.Modified looks at it.
func (f *File) Touch(at int64) { f.node.content.modified = at }

// Size is the current size, synced or not.
func (f *File) Size() (int64, error) {
	if err := f.check("ask size of"); err != nil {
		return 0, err
	}
	return f.node.content.size, nil
}

// Close ends the handle. It syncs nothing.
func (f *File) Close() error {
	if err := f.check("close"); err != nil {
		return err
	}
	f.closed = true
	f.node.opens--
	f.disk.settle(f.node)
	return nil
}
