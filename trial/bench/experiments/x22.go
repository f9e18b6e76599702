package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/reports"
)

// what is preallocated syncs faster than a file that grows.

// prepared is what a file is before its first record.
type prepared string

const preparedGrowing prepared = "growing"

func preparations() []prepared {
	return []prepared{
		preparedGrowing, prepared(series.Sparse), prepared(series.Fallocated), prepared(series.ZeroFilled), prepared(series.Recycled),
	}
}

const (
	preparedRecord = 1 << 10
	preparedVolume = "log"
)

const (
	figureSynced  = "p50"
	figureExtents = "extents of the full file"
	figureStall   = "time until it is ready"
)

func preparedGroups() []int { return []int{1, 16} }

func preparedCell(p prepared, group int) string { return fmt.Sprintf("%s/%d", p, group) }

func measurePreallocation(ctx context.Context, r *run) error {
	r.synced = "each group of records"
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		return onThisMachine(ctx, r, dir, preparedVolume, func(h host.Host) error {
			volume, err := h.Disk(preparedVolume)
			if err != nil {
				return err
			}
			for round := range either(r, 5, 1) {
				for _, group := range preparedGroups() {
					for _, p := range preparations() {
						if ctx.Err() != nil {
							return ctx.Err()
						}
						one := preparedRound{r, p, group, fmt.Sprintf("%s-%d-%d", p, group, round), dir}
						if err := one.measure(volume); err != nil {
							return fmt.Errorf("%s: %w", preparedCell(p, group), err)
						}
					}
				}
				r.say("round %d", round+1)
			}
			r.plotPrepared()
			return nil
		})
	})
}

// preparedRound is one file.
type preparedRound struct {
	*run
	as    prepared
	group int // records
	name  string
	dir   string
}

func (p preparedRound) bytes() int64 { return int64(either(p.run, 64<<20, 1<<20)) }

// measure makes a file ready, appends and syncs groups until it is full or time is up, and looks what came of it.
func (p preparedRound) measure(volume host.Dir) error {
	f, stall, err := p.prepare(volume)
	if err != nil {
		return err
	}
	took, err := p.appendAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	extents, known := extentsOf(filepath.Join(p.dir, preparedVolume, p.name))
	c := p.run.group(preparedGroup(p.group), "Samples are rounds: quantiles of a write and its sync.").
		cell(preparedCell(p.as, p.group), "file", string(p.as), "records a sync", fmt.Sprint(p.group))
	for _, q := range []struct {
		name string
		at   float64
	}{{figureSynced, 0.5}, {"p99", 0.99}, {"p99.9", 0.999}} {
		c.sample(quantity{q.name, "µs", reports.ClockWall, reports.LowerBetter}, reports.Quantile(took, q.at))
	}
	if known {
		c.sample(count(figureExtents, reports.LowerBetter), extents)
	}
	c.sample(quantity{figureStall, "ms", reports.ClockWall, reports.LowerBetter}, millis(stall))
	return volume.Remove(p.name)
}

// prepare makes the file, durably, as a store does before its first record, and tells how long that takes. A recycled file
// has had its first life before.
func (p preparedRound) prepare(volume host.Dir) (f host.File, stall time.Duration, err error) {
	began := time.Now()
	if f, err = volume.Create(p.name); err != nil {
		return nil, 0, err
	}
	switch p.as {
	case prepared(series.Sparse):
		err = f.Truncate(p.bytes())
	case prepared(series.Fallocated):
		err = f.Allocate(0, p.bytes())
	case prepared(series.ZeroFilled):
		err = p.fillWith(f, 0)
	case prepared(series.Recycled):
		if err = errors.Join(p.fillWith(f, 0xa5), f.Sync()); err == nil {
			began = time.Now()
			err = host.WriteFullAt(f, make([]byte, 4<<10), 0) // no old record may stand first
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = volume.SyncDir()
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, time.Since(began), nil
}

func (p preparedRound) fillWith(f host.File, with byte) error {
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = with
	}
	for at := int64(0); at < p.bytes(); at += int64(len(chunk)) {
		if err := host.WriteFullAt(f, chunk, at); err != nil {
			return err
		}
	}
	return nil
}

// appendAll writes and syncs group after group, and returns how long each took in microseconds.
func (p preparedRound) appendAll(f host.File) (took []float64, err error) {
	group := make([]byte, p.group*preparedRecord)
	for i := range group {
		group[i] = byte(i + 1)
	}
	length := either(p.run, 700*time.Millisecond, 20*time.Millisecond)
	began := time.Now()
	for at := int64(0); at+int64(len(group)) <= p.bytes() && (at == 0 || time.Since(began) < length); at += int64(len(group)) {
		one := time.Now()
		if err = host.WriteFullAt(f, group, at); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return nil, err
		}
		took = append(took, micros(time.Since(one)))
	}
	return took, nil
}

func preparedGroup(group int) string {
	if group == 1 {
		return "Each record synced alone"
	}
	return fmt.Sprintf("%d records a sync", group)
}

// extentsOf asks the file system in how many pieces a file lies. Not known: it does not tell.
func extentsOf(path string) (float64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	// struct fiemap without room for extents: the kernel then only counts them (linux/fiemap.h).
	asked := struct {
		start, length                     uint64
		flags, mapped, room, reservedZero uint32
	}{length: ^uint64(0)}
	const fsIocFiemap = 0xC020660B
	if _, _, failed := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fsIocFiemap, uintptr(unsafe.Pointer(&asked))); failed != 0 {
		return 0, false
	}
	return float64(asked.mapped), true
}

// plotPrepared draws what a sync takes, file by file.
func (r *run) plotPrepared() {
	for _, group := range preparedGroups() {
		plot := reports.Plot{
			Name: fmt.Sprintf("sync-%d", group), Title: preparedGroup(group) + ": a write and its sync, p50 (wall clock)", Bars: true,
			X: reports.Axis{Label: "file"}, Y: reports.Axis{Label: "p50", Unit: "µs"},
		}
		for _, p := range preparations() {
			plot.X.Names = append(plot.X.Names, string(p))
		}
		r.lines(r.Seed, plot, preparedGroup(group), quantity{name: figureSynced}, "records a sync", func(labels map[string]string) float64 {
			for i, p := range preparations() {
				if labels["file"] == string(p) {
					return float64(i)
				}
			}
			return -1
		})
	}
}

// judgePreallocation: some way of preparing a file makes its syncs faster than those of one that grows.
func judgePreallocation(r *reports.Result) reports.Verdict {
	var j judgement
	differ, compared := 0, 0
	for _, group := range preparedGroups() {
		growing, ok := j.figureOf(r, preparedCell(preparedGrowing, group), figureSynced)
		if !ok {
			continue
		}
		for _, p := range preparations()[1:] {
			other, ok := j.figureOf(r, preparedCell(p, group), figureSynced)
			if !ok {
				continue
			}
			what := fmt.Sprintf("growing by %s, %d a sync", p, group)
			i, ok := j.ratio(what, &growing, &other)
			if !ok {
				continue
			}
			compared++
			if i.Low > 1 || i.High < 1 {
				differ++
			}
			if i.Low > equalWithin {
				j.support("%s: %s (%s to %s)", what, short(i.Value), short(i.Low), short(i.High))
			}
		}
	}
	switch {
	case compared > 0 && differ == 0:
		j.refute("no way of preparing a file differs from the growing one")
	case compared > 0 && len(j.favour) == 0:
		j.leaveOpen("%d of %d differ, and none is faster than the growing one by more than %s times", differ, compared, short(equalWithin))
	}
	return j.verdict()
}
