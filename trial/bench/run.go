package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/reports"
	"lakebed/trial/bench/ledgers"
	"lakebed/trial/bench/stores"
)

// freeBytesMin is the room that a run needs below its directory: raw line, journals, and the entry logs of one
// arm, or of a group of cells of whole ledgers.
const (
	freeBytesMin         = 6 << 30
	freeBytesMinThorough = 40 << 30
)

// run is one run under way.
type run struct {
	options Options
	plan    plan
	pace    pace
	dir     string
	begun   time.Time

	raw      *rawLine // nil: nothing is compared with it
	source   *source
	subjects map[Subject]subject
	done     int // steps, for the progress
	total    int

	disk     reports.Disk
	appends  []appendResult
	skipped  []string // arms for which the time did not suffice
	fioFound *fioResult
	readings []readResult
	ledgers  ledgers.Findings
	stores   stores.Findings
}

// Run measures. It makes a directory below o.Dir and removes it again. Errors: ErrUsage, ErrEnvironment, the context's,
// or what went wrong in the engine.
func Run(ctx context.Context, o Options) (reports.Result, error) {
	chosen, err := o.plan()
	if err != nil {
		return reports.Result{}, err
	}
	r := &run{options: o, plan: chosen, pace: o.pace(), begun: time.Now(), subjects: make(map[Subject]subject), total: chosen.steps()}
	if err := r.prepare(); err != nil {
		return reports.Result{}, err
	}
	others := reports.WatchOthers()
	err = r.measure(ctx)
	for _, s := range []Subject{Journal, Bookie} {
		if opened := r.subjects[s]; opened != nil {
			err = errors.Join(err, opened.close())
		}
	}
	if r.raw != nil {
		err = errors.Join(err, r.raw.close())
	}
	err = errors.Join(err, os.RemoveAll(r.dir))
	result := r.result()
	result.Machine.OthersShare = others.Share()
	result.Seconds = time.Since(r.begun).Seconds()
	return result, err
}

// prepare makes the directory, and the raw line if something is to be compared with it.
func (r *run) prepare() error {
	dir, err := os.MkdirTemp(r.options.Dir, ".simrun-bench-")
	if err != nil {
		return fmt.Errorf("%w: make a directory to measure in: %w", ErrEnvironment, err)
	}
	r.dir = dir
	if err = r.inspect(); err == nil && (len(r.plan.arms) > 0 || r.plan.fio) {
		r.raw, err = newRawLine(dir, journal.DefaultConfig().FileBytes, r.options.Seed)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.source = newSource(sourceBytes, r.options.Seed+1)
	return nil
}

// inspect looks at the disk, and refuses one without room.
func (r *run) inspect() error {
	disk, err := reports.DiskOf(r.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	disk.Sync, disk.Warm = syncWords, warmWords
	if above, err := filepath.Abs(filepath.Dir(r.dir)); err == nil {
		disk.Dir = above // the run's own directory goes with it
	}
	r.disk = disk
	need := int64(freeBytesMin)
	if r.options.Thorough {
		need = freeBytesMinThorough
	}
	if disk.FreeBytes < need {
		return fmt.Errorf("%w: %s has %d MiB free, a run needs %d: choose another with --dir",
			ErrEnvironment, disk.Dir, disk.FreeBytes>>20, need>>20)
	}
	return nil
}

// measure runs the workloads: arms with a goal, reads, the other arms, so that a run that is cut short has what matters,
// and then whole ledgers, which keep to a time of their own. fio comes when the journal's arms have said how large groups
// are, and before a bookie has used the disk: the removal of its entry logs keeps the file system busy for a while.
func (r *run) measure(ctx context.Context) error {
	of := func(wanted func(Arm) bool) []Arm {
		return slices.DeleteFunc(slices.Clone(r.plan.arms), func(a Arm) bool { return !wanted(a) })
	}
	goals := func(subject Subject) error {
		chosen := of(func(a Arm) bool { return hasGoal(a) && a.Subject == subject })
		return r.appendArms(ctx, chosen, r.pace.goalRound, r.pace.goalPairs)
	}
	others := func() error {
		return r.appendArms(ctx, of(func(a Arm) bool { return !hasGoal(a) }), r.pace.otherRound, r.pace.otherPairs)
	}
	for _, part := range []func() error{
		func() error { return goals(Journal) },
		func() error { return r.fio(ctx) },
		func() error { return goals(Bookie) },
		func() error { return r.reads(ctx) },
		others,
		func() error { return r.wholeLedgers(ctx) },
		func() error { return r.singleNodeStores(ctx) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// wholeLedgers measures clients and bookies over loopback TCP. What went before it ends first: a bookie that is open would
// go on with its checkpoints.
func (r *run) wholeLedgers(ctx context.Context) (err error) {
	if r.plan.ledgers.Empty() {
		return nil
	}
	for _, kind := range []Subject{Journal, Bookie} {
		if s := r.subjects[kind]; s != nil {
			delete(r.subjects, kind)
			if err := s.close(); err != nil {
				return err
			}
		}
	}
	o := r.options.ledgers()
	o.Dir, o.Progress = r.dir, r.step
	r.ledgers, err = ledgers.Run(ctx, o)
	return err
}

// singleNodeStores measures the stores of one node, beside a raw line of their own.
func (r *run) singleNodeStores(ctx context.Context) (err error) {
	if r.plan.stores.Empty() {
		return nil
	}
	o := r.options.stores()
	o.Dir, o.Progress = r.dir, r.step
	r.stores, err = stores.Run(ctx, o)
	return err
}

func hasGoal(a Arm) bool {
	_, ok := a.Goal()
	return ok
}

func (r *run) step(doing string) {
	if r.options.Progress != nil {
		r.options.Progress(doing, min(r.done, r.total), r.total) // lines beside the arms are not counted ahead
	}
	r.done++
}

// pairsInTime is how many of the pairs asked for an arm gets, so that a default run ends in time on a slow machine.
func (r *run) pairsInTime(arm Arm, asked int) int {
	spent := time.Since(r.begun)
	switch {
	case hasGoal(arm) || r.pace.skipAfter == 0 || spent < r.pace.hurryAfter:
		return asked
	case spent < r.pace.skipAfter:
		return min(asked, r.pace.hurryPairs)
	default:
		return 0
	}
}

func (r *run) appendArms(ctx context.Context, arms []Arm, length time.Duration, pairs int) error {
	for _, arm := range arms {
		r.step(arm.Name())
		count := r.pairsInTime(arm, pairs)
		if count == 0 {
			r.skipped = append(r.skipped, arm.Name())
			continue
		}
		if err := r.appendArm(ctx, arm, length, count); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) appendArm(ctx context.Context, arm Arm, length time.Duration, count int) error {
	s := r.subjects[arm.Subject]
	if s == nil {
		var err error
		if s, err = openSubject(arm.Subject, r.dir, r.options.Seed); err != nil {
			return err
		}
		r.subjects[arm.Subject] = s
	}
	p, err := newPairing(arm, s, r.raw, r.source, length)
	if err != nil {
		return err
	}
	before, others := s.observer().background(), reports.WatchOthers()
	pairs, err := p.run(ctx, count)
	if err != nil {
		return err
	}
	r.appends = append(r.appends, appendResult{
		arm: arm, pairs: pairs, background: s.observer().background().since(before), others: others.Share(),
	})
	return s.forget()
}
