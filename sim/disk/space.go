package disk

import "lakebed/internal/invariant"

func pagesOf(size int64) int64 { return (size + PageSize - 1) / PageSize }

// charge brings the account of a file up to date. What a crash could bring back beyond what is there now is held apart:
// it is free for the asking, but not before it is gone for good.
func (d *Disk) charge(n *node) {
	now, durable := pagesOf(n.content.size), pagesOf(n.content.mediaSize)
	var used, held int64
	if n.liveNames > 0 || n.opens > 0 {
		used = now
	}
	if n.keptNames > 0 {
		held = max(now, durable) - used
	}
	d.used += used - n.used
	d.held += held - n.held
	n.used, n.held = used, held
	invariant.Check(d.used >= 0 && d.used+d.held <= d.capacity, "all that a crash can leave fits the volume")
}

// room returns the largest size up to the wanted one that the file can grow to, and makes that space available. It never
// answers less than the current size.
func (d *Disk) room(n *node, want int64) int64 {
	if want <= n.content.size {
		return want
	}
	now := pagesOf(n.content.size)
	size := want
	if pagesOf(want)-now > d.capacity-d.used {
		size = (now + d.capacity - d.used) * PageSize
	}
	if pagesOf(size)-now > d.capacity-d.used-d.held {
		d.commitMetadata()
	}
	return size
}

// commitMetadata makes all pending names and truncates durable, which releases all space that is held.
func (d *Disk) commitMetadata() {
	d.commitTree(d.root.folder)
	for _, n := range d.files {
		n.content.commitTruncate()
		d.charge(n)
	}
	invariant.Check(d.held == 0, "a commit of the metadata leaves nothing to bring back")
}
