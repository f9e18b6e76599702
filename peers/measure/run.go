package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/peers/jvm"
	"lakebed/peers/stores"
	"lakebed/reports"
)

// run is one run.
type run struct {
	options Options
	plan    plan
	dir     string
	root    *os.File // dir, to sync its file system
	disk    reports.Disk
	begun   time.Time
	brokers map[stores.Broker]*jvm.Broker
	absent  map[stores.Broker]error // why there is none
	places  int
	appends []pointResult
	reads   []pointResult
	skipped []string
}

// pointResult is what the stores did at one point.
type pointResult struct {
	point stores.Point
	by    []storeRounds
}

type storeRounds struct {
	store  stores.Store
	rounds []Round
}

// Run measures. Errors: ErrUsage, ErrEnvironment, ErrBroken, the context's, or what went wrong in a store of ours.
func Run(ctx context.Context, o Options) (result reports.Result, err error) {
	r := &run{options: o, begun: time.Now(), brokers: map[stores.Broker]*jvm.Broker{}, absent: map[stores.Broker]error{}}
	if r.plan, err = o.plan(); err != nil {
		return result, err
	}
	if err = r.prepare(); err != nil {
		return result, fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	others := reports.WatchOthers()
	err = r.measure(ctx)
	r.stopBrokers()
	err = errors.Join(err, r.root.Close(), os.RemoveAll(r.dir))
	result = r.result()
	result.Machine.OthersShare = others.Share()
	result.Seconds = time.Since(r.begun).Seconds()
	return result, err
}

// Skipped is how many cells the result lacks because a store could not be measured.
func Skipped(r *reports.Result) (lines []string) {
	for _, note := range r.Notes {
		if len(note) > len(skippedWord) && note[:len(skippedWord)] == skippedWord {
			lines = append(lines, note)
		}
	}
	return lines
}

func (r *run) prepare() (err error) {
	if r.dir, err = os.MkdirTemp(r.options.Dir, ".peers-"); err != nil {
		return fmt.Errorf("make a directory to measure in: %w", err)
	}
	if r.root, err = os.Open(r.dir); err == nil {
		r.disk, err = reports.DiskOf(r.dir)
	}
	if err == nil {
		need := int64(freeBytesMin)
		if r.options.Quick {
			need = freeQuickMin
		}
		if r.disk.FreeBytes < need {
			err = fmt.Errorf("%s has %d MiB free, a run needs %d: choose another with --dir", r.options.Dir, r.disk.FreeBytes>>20, need>>20)
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(r.dir))
	}
	if above, err := filepath.Abs(filepath.Dir(r.dir)); err == nil {
		r.disk.Dir = above // the run's own directory goes with it
	}
	r.disk.Sync, r.disk.Warm = syncWords, warmWords
	return nil
}

func (r *run) measure(ctx context.Context) error {
	for _, synced := range []bool{true, false} {
		points := slices.DeleteFunc(slices.Clone(r.plan.appends), func(p stores.Point) bool { return p.Synced != synced })
		var reads []stores.Point
		if !synced {
			reads = r.plan.reads
		}
		if len(points)+len(reads) == 0 {
			continue
		}
		if err := r.startBrokers(ctx, synced); err != nil {
			return err
		}
		for _, p := range points {
			if err := r.point(ctx, p, false, &r.appends); err != nil {
				return fmt.Errorf("%s: %w", appendName(p), err)
			}
		}
		for _, p := range reads {
			if err := r.point(ctx, p, true, &r.reads); err != nil {
				return fmt.Errorf("%s: %w", readName(p), err)
			}
		}
		r.stopBrokers()
	}
	return nil
}

// startBrokers starts the brokers that the plan needs, and runs them warm.
func (r *run) startBrokers(ctx context.Context, synced bool) error {
	for _, s := range r.plan.stores {
		if s.Broker == stores.NoBroker || r.absent[s.Broker] != nil {
			continue
		}
		r.options.Progress("start " + s.Name)
		dir := filepath.Join(r.dir, fmt.Sprintf("%s-%t", s.Broker, synced))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			r.brokers[s.Broker], err = jvm.Start(ctx, s.Broker, dir, synced)
		}
		if err == nil {
			err = r.warm(s, synced)
		}
		switch {
		case err == nil:
		case r.options.Brokers == BrokersRequire || ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ErrEnvironment, err)
		default:
			r.absent[s.Broker] = err
			r.skip("%s everywhere: %v", s.Name, err)
		}
	}
	return nil
}

func (r *run) stopBrokers() {
	for name, b := range r.brokers {
		b.Stop()
		delete(r.brokers, name)
	}
}

// warm has a broker's JVM see appends before any is measured.
func (r *run) warm(s stores.Store, synced bool) error {
	w, err := r.open(s, stores.Point{Synced: synced, PayloadBytes: 1 << 10, Partitions: 1, Appenders: 64})
	if err != nil {
		return err
	}
	_, err = w.ask(request{Do: doRound, Length: r.options.warmUp(), Bytes: roundBytesMax})
	return errors.Join(err, w.end())
}

func (r *run) skip(format string, arguments ...any) {
	line := skippedWord + fmt.Sprintf(format, arguments...)
	r.skipped = append(r.skipped, line)
	r.options.Progress(line)
}

// open starts a worker with a store in a fresh directory.
func (r *run) open(s stores.Store, p stores.Point) (*remote, error) {
	r.places++
	name := fmt.Sprintf("place-%d", r.places)
	dir := filepath.Join(r.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	w, err := startWorker(r.options.Program, s, dir, p.PayloadBytes)
	if err != nil {
		return nil, err
	}
	ask := request{Do: doOpen, Store: s.Name, Place: stores.Place{Dir: dir, Point: p, Name: name, Seed: r.options.Seed}}
	if b := r.brokers[s.Broker]; b != nil {
		ask.Place.Address, ask.Processes = b.Address, b.Processes()
	}
	if _, err := w.ask(ask); err != nil {
		_ = w.end() // nothing is open, which it says
		return nil, err
	}
	return w, nil
}

// point opens all stores, has them take turns, and closes them.
func (r *run) point(ctx context.Context, p stores.Point, reading bool, results *[]pointResult) (err error) {
	name := appendName(p)
	if reading {
		name = readName(p)
	}
	r.options.Progress(name)
	var workers []*remote
	defer func() {
		for _, w := range workers {
			if ended := w.end(); ended != nil && w.failed == nil && w.store.Kind == stores.Ours {
				err = errors.Join(err, ended)
			}
		}
	}()
	for _, s := range r.plan.stores {
		if r.absent[s.Broker] != nil {
			continue
		}
		if why := s.Cannot(p); why != "" {
			r.skip("%s at %s: %s", s.Name, name, why)
			continue
		}
		w, err := r.open(s, p)
		if err != nil {
			if s.Kind == stores.Ours {
				return err
			}
			r.skip("%s at %s: %v", s.Name, name, err)
			continue
		}
		workers = append(workers, w)
	}
	if err := r.takeTurns(ctx, workers, name, reading); err != nil {
		return err
	}
	result := pointResult{point: p}
	for _, w := range workers {
		if w.failed == nil {
			result.by = append(result.by, storeRounds{store: w.store, rounds: w.rounds})
		}
	}
	*results = append(*results, result)
	return nil
}

// takeTurns runs the rounds. The first of each store does not count: it makes files, fills caches, and of readings it is
// the fill and the check.
func (r *run) takeTurns(ctx context.Context, workers []*remote, name string, reading bool) error {
	for n := range r.options.rounds() + 1 {
		for i := range workers {
			w := workers[(i+n)%len(workers)]
			if w.failed != nil {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			round, err := r.turn(w, n == 0, reading)
			if errors.Is(err, ErrBroken) || err != nil && w.store.Kind != stores.Peer {
				return err
			}
			if err != nil {
				w.failed = err
				r.skip("%s at %s: %v", w.store.Name, name, err)
				continue
			}
			if n > 0 {
				w.rounds = append(w.rounds, round)
			}
			if err := unix.Syncfs(int(r.root.Fd())); err != nil {
				return fmt.Errorf("sync the file system between two rounds: %w", err)
			}
		}
	}
	return nil
}

func (r *run) turn(w *remote, first, reading bool) (Round, error) {
	switch {
	case !reading:
		return w.ask(request{Do: doRound, Length: r.options.length(), Bytes: roundBytesMax})
	case !first:
		return w.ask(request{Do: doRead, Length: r.options.length()})
	}
	if _, err := w.ask(request{Do: doFill, Bytes: r.options.fillBytes(w.payload)}); err != nil {
		return Round{}, err
	}
	return w.ask(request{Do: doCheck})
}
