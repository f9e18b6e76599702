package disk

import (
	"maps"
	"math/rand/v2"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Survival says what a crash does to everything that was not synced.
type Survival uint8

// The ways in which unsynced state fares at a crash.
const (
	Keep        Survival = iota // all of it survives
	Drop                        // none of it survives
	RandomPages                 // every page, size and change of a name by its own coin, pages whole
	Torn                        // like RandomPages, and pages may tear at and inside sectors
	Mixed                       // one crash in ten Keep, one in ten Drop, else RandomPages or Torn file by file
)

// String is the name used in plans and reports.
func (s Survival) String() string {
	names := [...]string{"keep", "drop", "random-pages", "torn", "mixed"}
	if int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// CrashReport counts what became of the unsynced state. Files that lost their name are not looked into.
type CrashReport struct {
	PagesKept       int // dirty pages whose latest version reached the media
	PagesOlder      int // dirty pages of which an earlier unsynced version did
	PagesLost       int // dirty pages that kept the old content, also for lack of size
	PagesTorn       int // dirty pages that are a mixture
	SizesLost       int // files that grew and came back shorter than they were
	TruncatesUndone int

	NamesLost        int // names that were visible and are gone; a lost directory counts once
	NamesResurrected int // names that were not visible and are back
	NamesMoved       int // names that now stand for another file than before
}

// Crash ends all handles and locks and leaves what the media holds, plus what mode lets survive of the unsynced rest.
// It draws one number from rng, which may be nil for Keep and Drop.
func (d *Disk) Crash(mode Survival, rng *rand.Rand) CrashReport {
	invariant.Check(mode <= Mixed, "the survival mode is one of the known ones")
	var base uint64
	if rng != nil {
		base = rng.Uint64()
	} else {
		invariant.Check(mode == Keep || mode == Drop, "a crash that draws has a random stream")
	}
	return d.crash(mode, &seeded{base: base})
}

// crash lets each decision be made by choose.
func (d *Disk) crash(mode Survival, choose chooser) CrashReport {
	if mode == Mixed {
		choose.at("", drawMode)
		switch choose.pick(10) {
		case 0:
			mode = Keep
		case 1:
			mode = Drop
		}
	}
	d.epoch++
	c := crash{disk: d, mode: mode, choose: choose}
	d.root.epoch = d.epoch
	c.folder(d.root.folder, "")
	d.bury()
	return c.report
}

// crash is one crash under way.
type crash struct {
	disk   *Disk
	mode   Survival
	choose chooser
	report CrashReport
}

// folder settles the names of a directory and then all that they lead to. Names first: a file without one is gone.
func (c *crash) folder(f *folder, path string) {
	before := f.live
	c.settleNames(f, path)
	f.live, f.pending, f.locked = maps.Clone(f.durable), nil, false
	c.countNames(before, f.live)
	for _, name := range host.SortedKeys(f.durable) {
		child, childPath := f.durable[name], joinPath(path, name)
		if child.epoch != c.disk.epoch {
			child.epoch = c.disk.epoch
			child.liveNames, child.keptNames, child.opens = 0, 0, 0
			if child.folder != nil {
				c.folder(child.folder, childPath)
			} else {
				c.file(child.content, childPath)
			}
		}
		child.liveNames++
		child.keptNames++
	}
}

func (c *crash) countNames(before, after map[string]*node) {
	for _, name := range host.SortedKeys(before) {
		if after[name] == nil {
			c.report.NamesLost++
		} else if after[name] != before[name] {
			c.report.NamesMoved++
		}
	}
	for _, name := range host.SortedKeys(after) {
		if before[name] == nil {
			c.report.NamesResurrected++
		}
	}
}

// bury frees the files that no name leads to any more, and charges the others anew.
func (d *Disk) bury() {
	all := d.files
	d.files, d.used, d.held = nil, 0, 0
	for _, n := range all {
		if n.epoch != d.epoch {
			n.content.free()
			continue
		}
		n.index, n.used, n.held = len(d.files), 0, 0
		d.files = append(d.files, n)
		d.charge(n)
	}
	invariant.Check(d.used <= d.capacity && d.held == 0, "what a crash leaves fits the volume")
}

func joinPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "/" + name
}
