package faults

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lakebed/internal/invariant"
	"lakebed/sim/disk"
)

// Wound is a place where the plan destroyed synced bytes. The list of wounds is what explains a loss. One without a
// volume means all that the node held.
type Wound struct {
	ID     string // of the element
	At     time.Duration
	Node   string
	Volume string
	Path   string
	Offset int64
	Length int64 // in bytes; one for a flipped bit. Zero: all of the volume or node
	Spared bool  // the trial did not allow it, and nothing was destroyed
}

// Damage returns the wounds so far, in order, without those that were spared.
func (d *Driver) Damage() []Wound {
	return slices.DeleteFunc(slices.Clone(d.wounds), func(w Wound) bool { return w.Spared })
}

// DamageLedger returns all that was or would have been destroyed, in order.
func (d *Driver) DamageLedger() []Wound { return slices.Clone(d.wounds) }

// wound asks whether a place may be destroyed, and keeps the answer. The caller destroys it if so.
func (d *Driver) wound(w Wound) bool {
	w.At = d.world.Elapsed()
	w.Spared = d.actions.Allow != nil && !d.actions.Allow(w)
	d.wounds = append(d.wounds, w)
	return !w.Spared
}

// damage does the damage of an element at once. It strikes files by chance, whatever their size, and within a file bytes
// that hold something: a flipped bit in a journal's unused tail would prove nothing.
func (d *Driver) damage(v *volume, e *Element) {
	if e.Kind == Latent {
		d.damageCluster(v, e)
		return
	}
	rng, model := d.stream(e), v.sim.Model()
	for range max(e.Params.Times, 1) {
		path, offset, ok := vulnerable(model, e.Target.Path, rng)
		if !ok {
			return // nothing synced, or nothing but zeros
		}
		bit := uint(rng.IntN(8))
		if d.wound(Wound{ID: e.ID, Node: v.node, Volume: v.name, Path: path.Path, Offset: offset, Length: 1}) {
			mustDamage(model.RotWorn(path.Path, offset, bit, e.Params.Again))
		}
	}
}

func mustDamage(err error) {
	invariant.Checkf(err == nil, "a place that was found can be damaged: %v", err)
}

// clusterReach is how far the errors of a cluster lie apart at most. Such errors show strong locality (FAST 2008).
const clusterReach = 32 << 10

// damageCluster makes sectors unreadable in one neighbourhood of one file, at once or one after the other.
func (d *Driver) damageCluster(v *volume, e *Element) {
	rng := d.stream(e)
	path, first, ok := vulnerable(v.sim.Model(), e.Target.Path, rng)
	if !ok {
		return
	}
	d.latent(v, e, path.Path, first)
	for range max(e.Params.Times, 1) - 1 {
		near := first + rng.Int64N(2*clusterReach) - clusterReach
		if e.Params.For == 0 {
			d.latent(v, e, path.Path, near)
			continue
		}
		d.world.At(time.Duration(rng.Int64N(int64(e.Params.For))), func() {
			if !d.healed {
				d.latent(v, e, path.Path, near)
			}
		})
	}
}

// latent makes one place unreadable, or the end of the file if the place lies behind it.
func (d *Driver) latent(v *volume, e *Element, path string, offset int64) {
	model := v.sim.Model()
	size := durableSize(model, path)
	if size == 0 {
		return // the file is gone
	}
	offset = min(max(offset, 0), size-1)
	length := min(max(e.Params.Length, 1), size-offset)
	if d.wound(Wound{ID: e.ID, Node: v.node, Volume: v.name, Path: path, Offset: offset, Length: length}) {
		mustDamage(model.Latent(path, offset, length))
	}
}

// durableSize is the size of a durable file. Zero: there is none.
func durableSize(model *disk.Disk, path string) int64 {
	for _, info := range model.Paths() {
		if info.Path == path {
			return info.Size
		}
	}
	return 0
}

// vulnerable draws a durable file among those that match, and the offset of one of its bytes that is not zero.
func vulnerable(model *disk.Disk, pattern string, rng *rand.Rand) (disk.PathInfo, int64, bool) {
	var candidates []disk.PathInfo
	for _, info := range model.Paths() {
		if info.Size > 0 && matches(pattern, info.Path) {
			candidates = append(candidates, info)
		}
	}
	for len(candidates) > 0 {
		i := rng.IntN(len(candidates))
		if offset, ok := writtenByte(model, candidates[i], rng); ok {
			return candidates[i], offset, true
		}
		candidates = slices.Delete(candidates, i, i+1)
	}
	return disk.PathInfo{}, 0, false
}

const (
	// offsetTries is how many offsets are tried before a file is searched. A try does not depend on what else was
	// damaged, so that taking one element away shifts no other.
	offsetTries = 64
	// scanBytesMax bounds how much of a file is searched.
	scanBytesMax = 256 << 20
)

// writtenByte draws the offset of a byte that is not zero. The model shows what readers see and not the media, so a byte
// that was written since the last sync may count although the durable one is zero; damage there is hidden until a crash
// drops the writes.
func writtenByte(model *disk.Disk, info disk.PathInfo, rng *rand.Rand) (int64, bool) {
	f := openFile(model, info.Path)
	if f == nil {
		return 0, false // its name is gone, though not yet durably
	}
	defer f.Close() //nolint:errcheck // it was only read
	for range offsetTries {
		offset := rng.Int64N(info.Size)
		from := offset - offset%disk.PageSize
		if page := readPage(f, from, info.Size); page[offset-from] != 0 {
			return offset, true
		}
	}
	return searchWritten(f, info.Size, rng)
}

// searchWritten draws among all pages that hold something, and then among the bytes of that page.
func searchWritten(f *disk.File, size int64, rng *rand.Rand) (int64, bool) {
	var written []int64
	for from := int64(0); from < min(size, scanBytesMax); from += disk.PageSize {
		if readPage(f, from, size) != [disk.PageSize]byte{} {
			written = append(written, from)
		}
	}
	if len(written) == 0 {
		return 0, false
	}
	from := written[rng.IntN(len(written))]
	var places []int64
	for i, b := range readPage(f, from, size) {
		if b != 0 {
			places = append(places, from+int64(i))
		}
	}
	return places[rng.IntN(len(places))], true
}

// readPage reads the durable part of a page. What cannot be read, because damage was there before, is zero.
func readPage(f *disk.File, from, size int64) [disk.PageSize]byte {
	var page [disk.PageSize]byte
	f.ReadAt(page[:min(disk.PageSize, size-from)], from) //nolint:errcheck // what was read counts
	return page
}

// openFile opens a file of the model by its path. Nil: it is not there.
func openFile(model *disk.Disk, path string) *disk.File {
	parent, name := "", path
	if slash := strings.LastIndexByte(path, '/'); slash >= 0 {
		parent, name = path[:slash], path[slash+1:]
	}
	dir := openDirectory(model, parent)
	if dir == nil {
		return nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil
	}
	return f
}

func isDirectory(model *disk.Disk, path string) bool { return openDirectory(model, path) != nil }

// openDirectory opens a directory of the model by its path, the root's being empty. It looks before it opens, because
// the model would make what is missing. Nil: it is not there.
func openDirectory(model *disk.Disk, path string) *disk.Dir {
	dir := model.Root()
	if path == "" {
		return dir
	}
	for name := range strings.SplitSeq(path, "/") {
		entries, err := dir.List()
		if err != nil {
			return nil
		}
		is := false
		for _, entry := range entries {
			is = is || entry.Dir && entry.Name == name
		}
		if !is {
			return nil
		}
		if dir, err = dir.Sub(name); err != nil {
			return nil
		}
	}
	return dir
}
