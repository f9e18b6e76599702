package disk

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/host"
)

// Damage counts the flaws of the media that an operation met.
type Damage struct {
	RotBits       int // flipped bits among the bytes read
	LatentSectors int // unreadable sectors; the operation stopped at the first
	LostSectors   int // sectors whose latest write-back failed or was lost: what was read is older
	StraySectors  int // sectors overwritten by a write that belonged elsewhere
}

// Any reports whether there was any damage.
func (d Damage) Any() bool { return d != Damage{} }

// PathInfo is a durable file.
type PathInfo struct {
	Path string // relative to the root, parts separated by "/"
	Size int64  // durable size
}

// Paths lists the durable files, sorted by path. Only these can be damaged.
func (d *Disk) Paths() []PathInfo {
	paths := appendPaths(nil, d.root.folder, "")
	slices.SortFunc(paths, func(a, b PathInfo) int { return strings.Compare(a.Path, b.Path) })
	return paths
}

func appendPaths(paths []PathInfo, f *folder, parent string) []PathInfo {
	for _, name := range host.SortedKeys(f.durable) {
		child, path := f.durable[name], joinPath(parent, name)
		if child.folder != nil {
			paths = appendPaths(paths, child.folder, path)
			continue
		}
		paths = append(paths, PathInfo{Path: path, Size: child.content.mediaSize})
	}
	return paths
}

// Touch says when a durable file was last written, as a copy or a restore would.
func (d *Disk) Touch(path string, at int64) error {
	c, err := d.target("touch", path, 0, 1)
	if err == nil {
		c.modified = at
	}
	return err
}

// Rot flips a bit (0 to 7) of the byte at offset of a durable file on the media. It is sticky: the same bit reads
// wrong until its byte is rewritten, and rotting it again changes nothing.
func (d *Disk) Rot(path string, offset int64, bit uint) error { return d.RotWorn(path, offset, bit, 0) }

// RotWorn is Rot at a place that is worn: what is written there rots again, so many times, each time in a bit of its own.
func (d *Disk) RotWorn(path string, offset int64, bit uint, again int64) error {
	c, err := d.target("rot", path, offset, 1)
	if err != nil {
		return err
	}
	c.rot(offset, uint8(bit%8), again)
	return nil
}

// Latent makes the sectors that hold a range of a durable file unreadable until they are rewritten.
func (d *Disk) Latent(path string, offset, length int64) error {
	c, err := d.target("make unreadable", path, offset, length)
	if err != nil {
		return err
	}
	c.latent(offset, offset+length)
	return nil
}

// target finds the media of a durable file, and checks that the range lies within it.
func (d *Disk) target(action, path string, offset, length int64) (*content, error) {
	n := d.root
	for name := range strings.SplitSeq(path, "/") {
		if n.folder == nil || n.folder.durable[name] == nil {
			return nil, fmt.Errorf("%s %q: %w", action, path, host.ErrNotExist)
		}
		n = n.folder.durable[name]
	}
	if n.folder != nil {
		return nil, fmt.Errorf("%s %q: a directory: %w", action, path, host.ErrNotExist)
	}
	if offset < 0 || length <= 0 || offset > n.content.mediaSize-length {
		return nil, fmt.Errorf("%s %q: %d bytes at %d of a durable %d: %w",
			action, path, length, offset, n.content.mediaSize, host.ErrNotExist)
	}
	return n.content, nil
}
