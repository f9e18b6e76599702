package disk

import (
	"math"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Config describes a volume.
type Config struct {
	Capacity int64 // in bytes; rounded down to pages
	// SparesSynced limits the garbage of a torn sector to bytes that the write was to change. Without it, a synced
	// byte is at risk whenever somebody writes to its sector, which formats that do not pad to sectors cannot survive.
	SparesSynced bool
}

// Disk is one volume. It survives the crashes of its node; handles do not.
type Disk struct {
	capacity int64 // in pages
	spares   bool  // Config.SparesSynced
	used     int64 // pages charged to what is reachable now
	held     int64 // further pages that only a crash could bring back
	epoch    uint64
	root     *node
	files    []*node // every file that has a name or an open handle, in no meaningful order
	pool     *pool   // nil: released
}

// New makes an empty volume. Its root directory is durable from the start.
func New(config Config) *Disk {
	invariant.Check(config.Capacity >= PageSize, "a volume has room for at least one page")
	d := &Disk{capacity: config.Capacity / PageSize, spares: config.SparesSynced, pool: newPool()}
	d.root = &node{folder: newFolder(), liveNames: 1, keptNames: 1}
	return d
}

// Release gives the memory to disks that are made from now on. The disk and its handles must not be used any more.
func (d *Disk) Release() {
	for _, n := range d.files {
		n.content.free()
	}
	d.pool.release()
	*d = Disk{}
}

// Root opens the root directory. The handle is valid until the next crash.
func (d *Disk) Root() *Dir {
	return &Dir{disk: d, node: d.root, epoch: d.epoch}
}

// DropCaches evicts every clean page from the cache, so that reads see the media again. It matters where the two
// differ: after a failed, lost or misdirected write-back.
func (d *Disk) DropCaches() {
	for _, n := range d.files {
		n.content.evictClean(0, math.MaxInt64)
	}
}

// Usage is the free and total space in bytes.
func (d *Disk) Usage() (free, total int64) {
	return (d.capacity - d.used) * PageSize, d.capacity * PageSize
}

// node is a file or a directory, whatever its names. It lives as long as somebody refers to it: a live name, a name
// that is durable or may become so at a crash, or a handle.
type node struct {
	folder  *folder  // nil for a file
	content *content // nil for a directory

	liveNames int
	keptNames int // durable names, and unsynced changes that would give it one
	opens     int // handles of files

	used, held int64 // what this file is charged with, in pages
	index      int   // in Disk.files
	epoch      uint64
}

func (d *Disk) newFile() *node {
	n := &node{content: newContent(d.pool), index: len(d.files), epoch: d.epoch}
	d.files = append(d.files, n)
	return n
}

// settle accounts for a change of references or sizes of n, and frees it if nobody refers to it any more.
func (d *Disk) settle(n *node) {
	invariant.Check(n.liveNames >= 0 && n.keptNames >= 0 && n.opens >= 0, "references are released once")
	if n.content != nil {
		d.charge(n)
	}
	if n.liveNames > 0 || n.keptNames > 0 || n.opens > 0 {
		return
	}
	if n.folder != nil {
		d.freeFolder(n.folder)
		return
	}
	d.forget(n)
	n.content.free()
}

// forget takes a file out of the list of all files.
func (d *Disk) forget(n *node) {
	last := d.files[len(d.files)-1]
	d.files[n.index] = last
	last.index = n.index
	d.files = d.files[:len(d.files)-1]
}

func (d *Disk) freeFolder(f *folder) {
	for _, name := range host.SortedKeys(f.durable) {
		child := f.durable[name]
		child.keptNames--
		d.settle(child)
	}
	for _, c := range f.pending {
		if c.node != nil {
			c.node.keptNames--
			d.settle(c.node)
		}
	}
	f.durable, f.pending = nil, nil
}
