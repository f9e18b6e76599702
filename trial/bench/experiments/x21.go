package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/reports"
)

// sequential access is a hundred times faster than random access on disks that rotate.

// access is how a file is gone through, and what is done to it.
type access struct {
	random bool
	doing  string
	block  int
}

const (
	doesRead  = "read"
	doesWrite = "write"
	doesSync  = "write and sync"
)

const (
	accessSmall    = 4 << 10
	accessTimes    = 100
	cellDevice     = "device"
	figureRotates  = "the device rotates"
	figureOpsRate  = "operations a second"
	figureByteRate = "bytes a second"
)

func (a access) order() string {
	if a.random {
		return "random"
	}
	return "sequential"
}

func (a access) cell() string { return fmt.Sprintf("%s/%s/%d B", a.doing, a.order(), a.block) }

func (r *run) accesses() (all []access) {
	for _, doing := range []string{doesRead, doesWrite, doesSync} {
		for _, block := range either(r, []int{512, accessSmall, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, []int{accessSmall}) {
			all = append(all, access{false, doing, block}, access{true, doing, block})
		}
	}
	return all
}

func measureAccess(ctx context.Context, r *run) error {
	r.synced = "as each group of figures says"
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		rotates, err := rotating(dir)
		if err != nil {
			r.note("whether the device rotates is not known: %v", err)
		} else {
			if madeUp(dir) {
				r.note("the disk is virtual: what it says of itself (rotates: %g) counts for nothing", rotates)
				rotates = 0
			}
			r.group("Device", "As the kernel says, unless the disk is a virtual one.").cell(cellDevice, "device", "below the files").
				sample(count(figureRotates, reports.NeitherBetter), rotates)
		}
		a, err := openAccessed(filepath.Join(dir, "accessed"), int64(either(r, 256<<20, 4<<20)))
		if err != nil {
			return err
		}
		for round := range either(r, 5, 1) {
			for _, one := range r.accesses() {
				if ctx.Err() != nil {
					return errors.Join(ctx.Err(), a.file.Close())
				}
				if err := r.accessRound(a, one, round); err != nil {
					return errors.Join(fmt.Errorf("%s: %w", one.cell(), err), a.file.Close())
				}
			}
			r.say("round %d", round+1)
		}
		r.plotAccess()
		return a.file.Close()
	})
}

// accessed is the file, opened past the page cache, with a buffer that the device can take.
type accessed struct {
	file   *os.File
	bytes  int64
	buffer []byte
}

func openAccessed(path string, bytes int64) (*accessed, error) {
	// A mapping begins at a page, which is what direct I/O wants of a buffer.
	buffer, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("make a buffer: %w", err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range buffer {
		buffer[i] = byte(random.Uint32())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s past the page cache: %w", path, err)
	}
	for at := int64(0); at < bytes && err == nil; at += int64(len(buffer)) {
		_, err = f.WriteAt(buffer, at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill %s: %w", path, err), f.Close())
	}
	return &accessed{f, bytes, buffer}, nil
}

// accessRound goes through the file for a while in one way.
func (r *run) accessRound(a *accessed, one access, round int) error {
	length := either(r, 250*time.Millisecond, 20*time.Millisecond)
	random := rand.New(rand.NewPCG(r.Seed, uint64(round)))
	blocks := a.bytes / int64(one.block)
	block, turns := a.buffer[:one.block], int64(0)
	began := time.Now()
	for ; turns == 0 || time.Since(began) < length; turns++ {
		at := turns % blocks
		if one.random {
			at = random.Int64N(blocks)
		}
		var err error
		if one.doing == doesRead {
			_, err = a.file.ReadAt(block, at*int64(one.block))
		} else {
			_, err = a.file.WriteAt(block, at*int64(one.block))
		}
		if err == nil && one.doing == doesSync {
			err = unix.Fdatasync(int(a.file.Fd()))
		}
		if err != nil {
			return err
		}
	}
	took := time.Since(began).Seconds()
	c := r.group(accessGroup(one.doing), "One operation under way, direct I/O.").
		cell(one.cell(), "order", one.order(), "block", fmt.Sprintf("%d B", one.block))
	c.sample(quantity{figureByteRate, "B/s", reports.ClockWall, reports.HigherBetter}, float64(turns)*float64(one.block)/took)
	c.sample(quantity{figureOpsRate, "1/s", reports.ClockWall, reports.HigherBetter}, float64(turns)/took)
	return nil
}

func accessGroup(doing string) string { return strings.ToUpper(doing[:1]) + doing[1:] }

func (r *run) plotAccess() {
	for i, doing := range []string{doesRead, doesWrite, doesSync} {
		r.lines(r.Seed, reports.Plot{
			Name: fmt.Sprintf("access-%d", i), Title: accessGroup(doing) + ", by the size of blocks (wall clock)",
			X: reports.Axis{Label: "block", Unit: "B", Log: true}, Y: reports.Axis{Label: "bytes a second", Unit: "B/s", Log: true},
		}, accessGroup(doing), quantity{name: figureByteRate}, "order", func(labels map[string]string) float64 {
			var x float64
			_, _ = fmt.Sscanf(labels["block"], "%g", &x) // a label of ours
			return x
		})
	}
}

// rotating asks the kernel whether the device below a directory has platters: 1 or 0.
func rotating(dir string) (float64, error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, err
	}
	device := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev))
	for _, path := range []string{device + "/queue/rotational", device + "/../queue/rotational"} { // a partition's is its disk's
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if strings.TrimSpace(string(text)) == "1" {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("nothing below %s says so", device)
}

// madeUp reports whether the device is one that a host makes up: what such a one says of platters is a default.
func madeUp(dir string) bool {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return false
	}
	path, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev)))
	return err == nil && (strings.Contains(path, "/virtio") || strings.Contains(path, "/vbd-")) // KVM's and Xen's
}

// judgeAccess: on a device that rotates, sequential reads of 4 KiB are a hundred times as fast as random ones. On others
// nothing is decided, and the ratio is told.
func judgeAccess(r *reports.Result) reports.Verdict {
	var j judgement
	rotates, known := j.figureOf(r, cellDevice, figureRotates)
	sequential, ok := j.figureOf(r, access{false, doesRead, accessSmall}.cell(), figureByteRate)
	random, found := j.figureOf(r, access{true, doesRead, accessSmall}.cell(), figureByteRate)
	if !known || !ok || !found {
		return j.verdict()
	}
	const what = "sequential by random reads of 4 KiB,"
	i, ok := j.ratio(what, &sequential, &random)
	switch {
	case !ok:
	case rotates.Value == 0:
		j.leaveOpen("the device does not rotate, so the claim cannot be decided here; %s are %s (%s to %s) times as fast",
			strings.TrimSuffix(what, ","), short(i.Value), short(i.Low), short(i.High))
	default:
		j.above(what, i, accessTimes)
	}
	return j.verdict()
}
