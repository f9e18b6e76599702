package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
)

// freeBytesMin is the room that a run needs below its directory: raw line, journals, and the entry logs of one arm.
const (
	freeBytesMin         = 6 << 30
	freeBytesMinThorough = 40 << 30
)

// run is one run under way.
type run struct {
	options  Options
	pace     pace
	dir      string
	begun    time.Time
	report   Report
	raw      *rawLine
	source   *source
	subjects map[Subject]subject
	done     int // steps, for the progress
	total    int
}

// Run measures. It makes a directory below o.Dir and removes it again. Errors: ErrUsage, ErrEnvironment, the context's,
// or what went wrong in the engine.
func Run(ctx context.Context, o Options) (Report, error) {
	arms, err := o.arms()
	if err != nil {
		return Report{}, err
	}
	r := &run{options: o, pace: o.pace(), begun: time.Now(), subjects: make(map[Subject]subject)}
	if err := r.prepare(); err != nil {
		return Report{}, err
	}
	machine := machineUsageNow()
	err = r.measure(ctx, arms)
	for _, s := range []Subject{Journal, Bookie} {
		if opened := r.subjects[s]; opened != nil {
			err = errors.Join(err, opened.close())
		}
	}
	err = errors.Join(err, r.raw.close(), os.RemoveAll(r.dir))
	r.report.judge()
	r.report.Others = othersShare(machine, machineUsageNow(), r.report.Place.CPUs)
	r.report.Seconds = time.Since(r.begun).Seconds()
	return r.report, err
}

// prepare makes the directory and the raw line.
func (r *run) prepare() error {
	dir, err := os.MkdirTemp(r.options.Dir, ".simrun-bench-")
	if err != nil {
		return fmt.Errorf("%w: make a directory to measure in: %w", ErrEnvironment, err)
	}
	r.dir = dir
	r.report = Report{
		Started: r.begun, Clock: clockText, Sync: syncText, Thorough: r.options.Thorough, Seed: r.options.Seed,
	}
	if err = r.inspect(); err == nil {
		r.raw, err = newRawLine(dir, journal.DefaultConfig().FileBytes, r.options.Seed)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.source = newSource(sourceBytes, r.options.Seed+1)
	return nil
}

// inspect looks at the place, and refuses one without room.
func (r *run) inspect() error {
	place, err := placeOf(r.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	r.report.Place = place
	need := int64(freeBytesMin)
	if r.options.Thorough {
		need = freeBytesMinThorough
	}
	if place.FreeBytes < need {
		return fmt.Errorf("%w: %s has %d MiB free, a run needs %d: choose another with --dir",
			ErrEnvironment, place.Dir, place.FreeBytes>>20, need>>20)
	}
	return nil
}

// measure runs the workloads: arms with a goal, reads, the other arms, so that a run that is cut short has what matters.
// fio comes when the journal's arms have said how large groups are, and before a bookie has used the disk: the removal
// of its entry logs keeps the file system busy for a while.
func (r *run) measure(ctx context.Context, arms []Arm) error {
	of := func(wanted func(Arm) bool) []Arm {
		return slices.DeleteFunc(slices.Clone(arms), func(a Arm) bool { return !wanted(a) })
	}
	r.total = len(arms)
	if r.options.wants(FioLine) {
		r.total++
	}
	if r.options.wants(ReadPaths) {
		r.total += len(readPlans())
	}
	goals := func(subject Subject) error {
		chosen := of(func(a Arm) bool { return hasGoal(a) && a.Subject == subject })
		return r.appends(ctx, chosen, r.pace.goalRound, r.pace.goalPairs)
	}
	others := func() error {
		return r.appends(ctx, of(func(a Arm) bool { return !hasGoal(a) }), r.pace.otherRound, r.pace.otherPairs)
	}
	for _, part := range []func() error{
		func() error { return goals(Journal) },
		func() error { return r.fio(ctx) },
		func() error { return goals(Bookie) },
		func() error { return r.reads(ctx) },
		others,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func hasGoal(a Arm) bool {
	_, ok := a.Goal()
	return ok
}

func (r *run) step(doing string) {
	if r.options.Progress != nil {
		r.options.Progress(doing, r.done, r.total)
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

func (r *run) appends(ctx context.Context, arms []Arm, length time.Duration, pairs int) error {
	for _, arm := range arms {
		r.step(arm.Name())
		count := r.pairsInTime(arm, pairs)
		if count == 0 {
			r.report.Skipped = append(r.report.Skipped, arm.Name())
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
	before, machine := s.observer().background(), machineUsageNow()
	pairs, err := p.run(ctx, count)
	if err != nil {
		return err
	}
	work := s.observer().background().since(before)
	result := appendResult(arm, pairs, p.latencies, work, r.options.Seed)
	result.OthersCPUShare = othersShare(machine, machineUsageNow(), r.report.Place.CPUs)
	r.report.Appends = append(r.report.Appends, result)
	return s.forget()
}
