package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/reports"
)

// ReadKind is where the entries that are read lie.
type ReadKind string

// The kinds of reads.
const (
	Cached    ReadKind = "cached"
	ReadAhead ReadKind = "read-ahead"
	Cold      ReadKind = "cold"
)

// warmth says what was warm for each kind.
func (k ReadKind) warmth() string {
	switch k {
	case Cached:
		return "random entries from the write cache"
	case ReadAhead:
		return "in order from the entry log, read ahead; page cache warm"
	default:
		return "random entries from the entry log; bookie reopened, page cache dropped"
	}
}

// readPlan is one arm of reads.
type readPlan struct {
	kind    ReadKind
	readers int
}

func (p readPlan) name() string { return fmt.Sprintf("read/%s/%d", p.kind, p.readers) }

func readPlans() []readPlan {
	var all []readPlan
	for _, kind := range []ReadKind{Cached, ReadAhead, Cold} {
		all = append(all, readPlan{kind, 1}, readPlan{kind, 16})
	}
	return all
}

// coldRoundsMax bounds the rounds of cold reads in a default run, since each opens the bookie anew.
const coldRoundsMax = 3

// readResult is what one arm of reads did.
type readResult struct {
	plan   readPlan
	rounds []round
}

// reads measures all arms of reads.
func (r *run) reads(ctx context.Context) error {
	if len(r.plan.reads) == 0 {
		return nil
	}
	set, err := newReadSet(r.dir, r.options.Seed, r.source, defaultReadSizes())
	if err != nil {
		return err
	}
	for _, plan := range r.plan.reads {
		r.step(plan.name())
		var result readResult
		if result, err = r.readPlan(ctx, set, plan); err != nil {
			err = fmt.Errorf("%s: %w", plan.name(), err)
			break
		}
		r.readings = append(r.readings, result)
	}
	return errors.Join(err, set.close())
}

func (r *run) readPlan(ctx context.Context, set *readSet, plan readPlan) (readResult, error) {
	rounds := r.pace.readRounds
	if plan.kind == Cold && !r.options.Thorough {
		rounds = min(rounds, coldRoundsMax)
	}
	result := readResult{plan: plan}
	walk := set.walks(plan)
	for i := range rounds + 1 { // the first warms up
		if err := ctx.Err(); err != nil {
			return result, err
		}
		begun := time.Now()
		over := func(now time.Time) bool { return now.Sub(begun) >= r.pace.readRound }
		if plan.kind == Cold {
			var err error
			if walk, over, err = r.chilled(set, plan, uint64(i)); err != nil {
				return result, err
			}
		}
		done, err := readRound(set, walk, over)
		if err != nil {
			return result, err
		}
		if i > 0 {
			result.rounds = append(result.rounds, done)
		}
	}
	return result, nil
}

// chilled makes the set cold, for a round that reads every cold place once.
func (r *run) chilled(set *readSet, plan readPlan, number uint64) (walks []func() place, over func(time.Time) bool, err error) {
	if err := set.chill(); err != nil {
		return nil, nil, err
	}
	next, over := handOut(set.coldPlaces(rand.New(rand.NewPCG(r.options.Seed, number))), plan.readers)
	for range plan.readers {
		walks = append(walks, next)
	}
	return walks, over, nil
}

// readRound lets one reader follow each walk until over says so.
func readRound(set *readSet, walks []func() place, over func(time.Time) bool) (round, error) {
	var runners []*runner
	for _, walk := range walks {
		runners = append(runners, &runner{worker: &reader{store: set.opened.store, next: walk}})
	}
	elapsed, used, err := drive(runners, "arm", over)
	if err != nil {
		return round{}, err
	}
	done := round{entries: steps(runners), elapsed: elapsed, usage: used, latencies: newLatencies()}
	return done, done.latencies.add(runners, 1)
}

func (a *readResult) each(of func(round) float64) (samples []float64) {
	for _, one := range a.rounds {
		samples = append(samples, of(one))
	}
	return samples
}

func (a *readResult) cell(m maker) reports.Cell {
	var histograms []latencies
	for _, one := range a.rounds {
		histograms = append(histograms, one.latencies)
	}
	c := reports.Cell{
		Name: a.plan.name(), Labels: []reports.Setting{{Name: "from", Value: string(a.plan.kind)}, {Name: "readers", Value: fmt.Sprint(a.plan.readers)}},
		Figures: []reports.Figure{m.wall(figureEntries, unitPerSecond, reports.HigherBetter,
			a.each(func(r round) float64 { return perSecond(r.entries, r.elapsed) }))},
	}
	c.Figures = append(c.Figures, m.latency(histograms)...)
	c.Figures = append(c.Figures,
		m.cpu("CPU", a.each(func(r round) float64 { return micros(r.usage.cpu, float64(r.entries)) })),
		reports.NewFigure("from the device", unitBytes, reports.ClockNone, reports.LowerBetter,
			a.each(func(r round) float64 { return float64(r.usage.diskReads) / float64(max(1, r.entries)) }), m.seed))
	return c
}
