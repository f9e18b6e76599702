package faults

import (
	"lakebed/sim"
	"lakebed/sim/disk"
)

// lose has a device lose one of the pages of a sync, or write it to another place. It says nothing; what is there shows
// when the page cache lets go of the page.
func (f *diskFault) lose(op *sim.DiskOp, effect *sim.DiskEffect) {
	path, left, before := op.Path, f.dice.Int64N(op.Length/disk.PageSize), effect.Device
	effect.Device = func(page int64) disk.Landing {
		landing := disk.Landing{Page: page}
		if before != nil {
			landing = before(page)
		}
		left--
		if left != -1 || landing != (disk.Landing{Page: page}) {
			return landing // another page's turn, or another fault has it already
		}
		return f.divert(path, page)
	}
}

// divert decides where a page lands. A place that must not be lost keeps what it should.
func (f *diskFault) divert(path string, page int64) disk.Landing {
	v := f.volume
	d := v.driver
	wound := func(path string, page int64) bool {
		return d.wound(Wound{
			ID: f.ID, Node: v.node, Volume: v.name, Path: path, Offset: page * disk.PageSize, Length: disk.PageSize,
		})
	}
	right := disk.Landing{Page: page}
	if !wound(path, page) {
		return right
	}
	landing := disk.Landing{Lost: true}
	if f.Kind == MisdirectedWrite {
		if to, found := f.elsewhere(path, page); found && wound(to.Path, to.Page) {
			landing = to
		}
	}
	if f.dice.IntN(2) == 0 { // else only a power cut or memory pressure shows it
		d.world.At(0, func() { v.sim.Model().DropCaches() })
	}
	return landing
}

// elsewhere draws a page of the same file, which half of all strays stay in, or of another durable one.
func (f *diskFault) elsewhere(path string, page int64) (disk.Landing, bool) {
	var own, others []disk.PathInfo
	for _, info := range f.volume.sim.Model().Paths() {
		switch {
		case info.Path != path && info.Size > 0:
			others = append(others, info)
		case info.Path == path && info.Size > disk.PageSize:
			own = append(own, info)
		}
	}
	places := others
	if len(others) == 0 || len(own) > 0 && f.dice.IntN(2) == 0 {
		places = own
	}
	if len(places) == 0 {
		return disk.Landing{}, false
	}
	to := places[f.dice.IntN(len(places))]
	pages := (to.Size + disk.PageSize - 1) / disk.PageSize
	landing := disk.Landing{Path: to.Path, Page: f.dice.Int64N(pages)}
	if to.Path == path && landing.Page == page {
		landing.Page = (page + 1) % pages
	}
	return landing, true
}
