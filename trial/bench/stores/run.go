package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lakebed/reports"
)

// Options say what to measure and for how long.
type Options struct {
	Dir      string // below which directories are made
	Only     string // part of the names of what is measured; empty: all
	Thorough bool
	Seed     uint64
	Length   time.Duration // of a round; zero: as the pace says
	Progress func(doing string)

	tiny bool // one round on small files, for tests
}

// Findings are what a run has measured.
type Findings struct {
	Settings []reports.Setting
	Groups   []reports.Group
	Goals    []reports.Goal
	Plots    []reports.Plot
	Notes    []string
}

const (
	roundBytesMax = 256 << 20 // of payload, so that a round of mode never leaves room on the disk
	readBytes     = 64 << 20  // of payload that reads find
	tinyBytes     = 1 << 20
)

// pace is how many rounds of which length.
func (o Options) pace() (rounds int, length time.Duration) {
	rounds, length = 3, 100*time.Millisecond
	if o.Thorough {
		rounds, length = 5, 500*time.Millisecond
	}
	if o.tiny {
		rounds = 1
	}
	if o.Length > 0 {
		length = o.Length
	}
	return rounds, length
}

func (o Options) size(usual int64) int64 {
	if o.tiny {
		return tinyBytes
	}
	return usual
}

// lab is a run under way.
type lab struct {
	options Options
	dir     string
	raw     *Raw
	made    int
	appends []appendResult
	reads   []readResult
}

// appendResult is a cell with its rounds, and those of the raw line that followed each.
type appendResult struct {
	cell  Cell
	pairs []pair
}

type pair struct{ store, raw Round }

type readResult struct {
	cell   ReadCell
	rounds []Round
}

// Run measures. It makes a directory below o.Dir and removes it again.
func Run(ctx context.Context, o Options) (Findings, error) {
	plan := o.Plan()
	dir, err := os.MkdirTemp(o.Dir, "stores-")
	if err != nil {
		return Findings{}, fmt.Errorf("make a directory for the stores: %w", err)
	}
	l := &lab{options: o, dir: dir}
	if len(plan.Appends) > 0 {
		l.raw, err = newRaw(dir, o.size(rawFileBytes))
	}
	if err == nil {
		err = l.measure(ctx, plan)
	}
	if l.raw != nil {
		err = errors.Join(err, l.raw.Close())
	}
	err = errors.Join(err, os.RemoveAll(dir))
	return l.findings(), err
}

// measure takes cells of one mode and one number of partitions together, those of all stores: their rounds take turns.
func (l *lab) measure(ctx context.Context, plan Plan) error {
	type shared struct {
		mode       Mode
		partitions int
	}
	var order []shared
	groups := map[shared][]Cell{}
	for _, c := range plan.Appends {
		key := shared{c.Mode, c.Partitions}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	for _, key := range order {
		if err := l.appendGroup(ctx, groups[key]); err != nil {
			return err
		}
	}
	for _, kind := range Kinds() {
		cells := slices.DeleteFunc(slices.Clone(plan.Reads), func(c ReadCell) bool { return c.Kind != kind })
		if len(cells) > 0 {
			if err := l.readGroup(ctx, cells); err != nil {
				return fmt.Errorf("measure reads of %s: %w", kind, err)
			}
		}
	}
	return nil
}

func (l *lab) step(doing string) {
	if l.options.Progress != nil {
		l.options.Progress(doing)
	}
}

func (l *lab) newDir() (string, error) {
	l.made++
	dir := filepath.Join(l.dir, fmt.Sprint(l.made))
	return dir, os.Mkdir(dir, 0o755)
}

// inDir has f use a directory that goes afterwards.
func (l *lab) inDir(f func(dir string) error) error {
	dir, err := l.newDir()
	if err != nil {
		return fmt.Errorf("make a directory for stores: %w", err)
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}

func (l *lab) appendGroup(ctx context.Context, cells []Cell) error {
	return l.inDir(func(dir string) (err error) {
		rigs := map[Kind]*Rig{}
		defer func() {
			for _, kind := range Kinds() {
				if rigs[kind] != nil {
					err = errors.Join(err, rigs[kind].Close())
				}
			}
		}()
		for _, c := range cells {
			if rigs[c.Kind] == nil {
				if rigs[c.Kind], err = Open(filepath.Join(dir, string(c.Kind)), c.Kind, c.Mode, c.Partitions, l.options.Seed); err != nil {
					return err
				}
			}
		}
		results := make([]appendResult, len(cells))
		rounds, _ := l.options.pace()
		for n := range rounds + 1 { // the first does not count
			for i, c := range cells {
				if n == 1 {
					l.step(c.Name())
				}
				p, err := l.pair(ctx, rigs[c.Kind], c)
				if err != nil {
					return fmt.Errorf("measure %s: %w", c.Name(), err)
				}
				results[i].cell = c
				if n > 0 {
					results[i].pairs = append(results[i].pairs, p)
				}
			}
		}
		l.appends = append(l.appends, results...)
		return nil
	})
}

func (l *lab) pair(ctx context.Context, rig *Rig, c Cell) (p pair, err error) {
	_, length := l.options.pace()
	if p.store, err = rig.Append(ctx, c.Appenders, c.PayloadBytes, length, roundBytesMax); err != nil {
		return p, err
	}
	p.raw, err = l.raw.Replay(p.store.Groups, c.Mode.Synced(), length)
	return p, err
}

// readGroup fills a store, and reads it: warm ones first, from the store that wrote; then cold ones, each from a store that was
// opened anew.
func (l *lab) readGroup(ctx context.Context, cells []ReadCell) error {
	return l.inDir(func(dir string) error {
		kind := cells[0].Kind
		rig, err := Open(dir, kind, Group, 1, l.options.Seed)
		if err != nil {
			return err
		}
		_, err = rig.Append(ctx, manyAppenders, pagePayload, time.Minute, l.options.size(readBytes))
		first, last := rig.Times()
		results := make([]readResult, len(cells))
		rounds, _ := l.options.pace()
		for i, c := range cells {
			l.step(c.Name())
			results[i].cell = c
			for n := 0; n < rounds && err == nil; n++ {
				if c.Cold {
					if _, err = rig.Restart(); err != nil {
						return err
					}
				}
				var r Round
				r, err = l.readRound(ctx, rig, c, first, last, uint64(n))
				results[i].rounds = append(results[i].rounds, r)
			}
		}
		l.reads = append(l.reads, results...)
		return errors.Join(err, rig.Close())
	})
}

func (l *lab) readRound(ctx context.Context, rig *Rig, c ReadCell, first, last int64, n uint64) (Round, error) {
	_, length := l.options.pace()
	if c.Way == FromTime {
		return rig.Seek(ctx, first, last, length, l.options.Seed+n)
	}
	return rig.Read(ctx, length)
}
