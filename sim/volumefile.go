package sim

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // only ever read

// volumePath is a path in the two forms that are needed without building strings at every operation.
type volumePath struct {
	text  string // volume and path, for people
	inner string // within the volume, for plans
}

func (p volumePath) join(name string) volumePath {
	inner := name
	if p.inner != "" {
		inner = p.inner + "/" + name
	}
	return volumePath{text: p.text + "/" + name, inner: inner}
}

// file is a host.File: the model's file with time, faults and a process that may die.
type file struct {
	process *process
	volume  *Volume
	inner   *disk.File
	path    volumePath
	place   int // in process.files; unset: closed
}

func (p *process) adopt(v *Volume, inner *disk.File, path volumePath) *file {
	f := &file{process: p, volume: v, inner: inner, path: path, place: len(p.files)}
	p.files = append(p.files, f)
	return f
}

// disown forgets a file that its owner closed.
func (p *process) disown(f *file) {
	end := len(p.files) - 1
	p.files[f.place] = p.files[end]
	p.files[f.place].place = f.place
	p.files = p.files[:end]
	f.place = unset
}

// closeFiles is what the operating system does for a process that ends.
func (p *process) closeFiles() {
	for _, f := range p.files {
		f.inner.Close() //nolint:errcheck // it can only say that a power cut closed it before
		f.place = unset
	}
	for _, l := range p.locks {
		l.release()
	}
	p.files, p.locks = nil, nil
}

// finish ends an operation. What it did is done; other tasks may go on before its caller learns the outcome.
func (f *file) finish(kind DiskKind, off int64, err error) error {
	t := f.process.running()
	f.process.world.seeDiskEnd(t, kind, f.path.text, err)
	f.process.world.maybeYield(t, diskKindNames[kind], f.path.text)
	if err == nil || err == io.EOF {
		return err
	}
	w := f.process.world
	switch {
	case errors.Is(err, host.ErrClosed): // the caller's own doing
	case errors.Is(err, host.ErrNoSpace):
		w.effect(EffectNoSpace)
	case kind == DiskRead:
		w.effect(EffectReadError)
	case kind == DiskSync:
		w.effect(EffectSyncError)
	default:
		w.effect(EffectWriteError)
	}
	return fmt.Errorf("%s %s/%s at %d: %w", kind, f.process.node.name, f.path.text, off, err)
}

func (f *file) ReadAt(p []byte, off int64) (int, error) { return f.read(f.inner.ReadAt, p, off) }

// ReadPastCache lets the scrubber of a bookie see what the cache still covers.
func (f *file) ReadPastCache(p []byte, off int64) (int, error) {
	return f.read(f.inner.ReadPastCache, p, off)
}

var _ host.PastCacheReader = (*file)(nil)

func (f *file) read(from func([]byte, int64) (int, error), p []byte, off int64) (int, error) {
	effect := f.volume.perform(f.process, &f.path, DiskRead, off, int64(len(p)), 0)
	if effect.Err != nil && effect.Short == 0 {
		return 0, f.finish(DiskRead, off, effect.Err)
	}
	wanted := len(p)
	if effect.Short > 0 {
		p = p[:min(wanted, effect.Short)]
	}
	n, err := from(p, off)
	f.countDamage()
	if err == nil {
		if err = effect.Err; err == nil && n < wanted {
			f.process.world.effect(EffectShortRead)
		}
	}
	return n, f.finish(DiskRead, off, err)
}

// countDamage counts flaws of the media where a node met them, and not where they were made.
func (f *file) countDamage() {
	d := f.inner.LastDamage()
	if !d.Any() {
		return
	}
	w := f.process.world
	w.effectTimes(EffectBitRot, d.RotBits)
	w.effectTimes(EffectLatentError, d.LatentSectors)
	w.effectTimes(EffectLostWrite, d.LostSectors)
	w.effectTimes(EffectMisdirectedWrite, d.StraySectors)
}

func (f *file) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	length, sum := int64(0), uint32(0)
	for _, p := range b {
		length += int64(len(p))
		sum = crc32.Update(sum, castagnoli, p)
	}
	f.process.world.trace.onlooker.hand(0, b)
	effect := f.volume.perform(f.process, &f.path, DiskWrite, off, length, sum)
	if effect.Err != nil && effect.Short == 0 {
		return 0, f.finish(DiskWrite, off, effect.Err)
	}
	if effect.Short > 0 && int64(effect.Short) < length {
		b = firstBytes(b, int64(effect.Short))
	}
	n, err := f.inner.WriteBuffersAt(b, off)
	f.touch()
	f.countDamage()
	if err == nil {
		if err = effect.Err; err == nil && n < length {
			f.process.world.effect(EffectShortWrite)
		}
	}
	return n, f.finish(DiskWrite, off, err)
}

// firstBytes returns the buffers that hold the first n bytes of b, without changing b.
func firstBytes(b [][]byte, n int64) [][]byte {
	var first [][]byte
	for _, p := range b {
		if n <= 0 {
			break
		}
		p = p[:min(int64(len(p)), n)]
		first = append(first, p)
		n -= int64(len(p))
	}
	return first
}

// touch notes when the content was written. Nobody sees the clock by it who does not ask.
func (f *file) touch() { f.inner.Touch(int64(f.process.node.Clock())) }

func (f *file) Sync() error {
	dirty := int64(f.inner.DirtyPages()) * disk.PageSize
	effect := f.volume.perform(f.process, &f.path, DiskSync, 0, dirty, 0)
	if effect.Err != nil {
		if effect.MarkClean {
			f.inner.FailSync()
		}
		return f.finish(DiskSync, 0, effect.Err)
	}
	if effect.Lie {
		f.process.world.effect(EffectLyingSync)
		return f.finish(DiskSync, 0, nil)
	}
	if effect.Device != nil {
		return f.finish(DiskSync, 0, f.inner.SyncThrough(effect.Device))
	}
	return f.finish(DiskSync, 0, f.inner.Sync())
}

func (f *file) Allocate(off, n int64) error {
	if effect := f.volume.perform(f.process, &f.path, DiskAllocate, off, n, 0); effect.Err != nil {
		return f.finish(DiskAllocate, off, effect.Err)
	}
	return f.finish(DiskAllocate, off, f.inner.Allocate(off, n))
}

func (f *file) Truncate(n int64) error {
	if effect := f.volume.perform(f.process, &f.path, DiskTruncate, n, 0, 0); effect.Err != nil {
		return f.finish(DiskTruncate, n, effect.Err)
	}
	err := f.inner.Truncate(n)
	f.touch()
	f.countDamage()
	return f.finish(DiskTruncate, n, err)
}

func (f *file) Size() (int64, error) {
	f.process.enter()
	return f.inner.Size()
}

func (f *file) Close() error {
	f.process.enter()
	if f.place != unset {
		f.process.disown(f)
	}
	return f.inner.Close()
}
