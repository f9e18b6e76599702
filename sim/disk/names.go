package disk

import (
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// pendingMax bounds the unsynced changes of one directory. At the bound they become durable, as the periodic commit of
// a real file system would have made them long before.
const pendingMax = 256

// folder is the content of a directory: its names as readers see them, the names a crash leaves, and the changes that
// lead from the second to the first.
type folder struct {
	live    map[string]*node
	durable map[string]*node
	pending []change
	locked  bool
}

// change is an unsynced change of one name.
type change struct {
	name  string
	node  *node  // what the name stands for from now on; nil: nothing
	after int    // the pending change that must survive for this one to; -1: none
	from  string // the name that a directory leaves, all of whose earlier changes must survive; else empty
	bound bool   // survives whenever it may
}

func newFolder() *folder {
	return &folder{live: map[string]*node{}, durable: map[string]*node{}}
}

// link gives a new node its first name.
func (d *Disk) link(f *folder, name string, n *node) {
	d.commitFullFolder(f)
	d.setLive(f, name, n)
	f.record(change{name: name, node: n, after: -1})
}

func (d *Disk) unlink(f *folder, name string) {
	d.commitFullFolder(f)
	f.record(change{name: name, after: -1})
	d.setLive(f, name, nil)
}

// rename is a link and an unlink. The unlink implies the link, so that no crash can lose what is renamed. For a
// directory the link implies the unlink too, and that the directory had come to be where it leaves from: it cannot
// have two names.
func (d *Disk) rename(f *folder, from, to string) {
	d.commitFullFolder(f)
	n := f.live[from]
	arrival := change{name: to, node: n, after: -1}
	if n.folder != nil {
		arrival.from = from
	}
	f.record(arrival)
	f.record(change{name: from, after: len(f.pending) - 1, bound: n.folder != nil})
	d.setLive(f, to, n)
	d.setLive(f, from, nil)
}

func (f *folder) record(c change) {
	if c.node != nil {
		c.node.keptNames++
	}
	f.pending = append(f.pending, c)
}

// setLive changes what readers see. The new node is counted before the old one is released, so that a node that only
// changes its name is not freed on the way.
func (d *Disk) setLive(f *folder, name string, n *node) {
	old := f.live[name]
	if n == nil {
		delete(f.live, name)
	} else {
		f.live[name] = n
		n.liveNames++
	}
	if old != nil {
		old.liveNames--
		d.settle(old)
	}
}

// commitFullFolder makes room for the two changes of a rename.
func (d *Disk) commitFullFolder(f *folder) {
	if len(f.pending)+2 > pendingMax {
		d.commitNames(f)
	}
}

// commitNames makes the names of a directory durable.
func (d *Disk) commitNames(f *folder) {
	pending := f.pending
	f.pending = f.pending[:0:0]
	for _, c := range pending {
		old := f.durable[c.name]
		if c.node == nil {
			delete(f.durable, c.name)
		} else {
			f.durable[c.name] = c.node // the change's reference becomes the name's
		}
		if old != nil {
			old.keptNames--
			d.settle(old)
		}
	}
	invariant.Check(len(f.durable) == len(f.live), "a synced directory shows its durable names")
}

// commitTree makes the names below f durable, parents first: what is removed for good is freed before it is walked.
func (d *Disk) commitTree(f *folder) {
	d.commitNames(f)
	for _, name := range host.SortedKeys(f.durable) {
		if child := f.durable[name]; child.folder != nil {
			d.commitTree(child.folder)
		}
	}
}

// settleNames applies to the durable names the unsynced changes that survive the crash. The references of nodes are
// counted anew afterwards.
func (c *crash) settleNames(f *folder, path string) {
	for i, alive := range c.survivors(f.pending, path) {
		switch change := f.pending[i]; {
		case !alive:
		case change.node == nil:
			delete(f.durable, change.name)
		default:
			f.durable[change.name] = change.node
		}
	}
}

// survivors decides which changes survive. Without the order of the changes of one name, a file that was renamed away
// could be overwritten in its old place by its successor before its new name exists.
func (c *crash) survivors(pending []change, path string) []bool {
	type history struct {
		length int64
		broken bool
	}
	histories := map[string]history{}
	alive := make([]bool, len(pending))
	for i, change := range pending {
		h := histories[change.name]
		if !h.broken && !histories[change.from].broken && (change.after < 0 || alive[change.after]) {
			alive[i] = change.bound || c.keepsName(joinPath(path, change.name), h.length)
		}
		histories[change.name] = history{length: h.length + 1, broken: !alive[i]}
	}
	return alive
}

func (c *crash) keepsName(path string, ordinal int64) bool {
	switch c.mode {
	case Keep:
		return true
	case Drop:
		return false
	}
	c.choose.at(path, drawName-ordinal)
	return c.choose.pick(2) == 0
}
