package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
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

// ReadResult is what one arm of reads did.
type ReadResult struct {
	Name              string      `json:"name"`
	Kind              ReadKind    `json:"kind"`
	Warm              string      `json:"warm"`
	Readers           int         `json:"readers"`
	PayloadBytes      int         `json:"payload_bytes"`
	Rounds            int         `json:"rounds"`
	Entries           int64       `json:"entries"`
	EntriesPerSecond  Interval    `json:"entries_per_second"`
	Latency           Percentiles `json:"latency"`
	CPUMicrosPerEntry float64     `json:"cpu_micros_per_entry"`
	DiskBytesPerEntry float64     `json:"disk_bytes_per_entry"` // fetched from the device, as the kernel counts
}

// reads measures all arms of reads.
func (r *run) reads(ctx context.Context) error {
	if !r.options.wants(ReadPaths) {
		return nil
	}
	set, err := newReadSet(r.dir, r.options.Seed, r.source, defaultReadSizes())
	if err != nil {
		return err
	}
	for _, plan := range readPlans() {
		r.step(plan.name())
		var result ReadResult
		if result, err = r.readPlan(ctx, set, plan); err != nil {
			err = fmt.Errorf("%s: %w", plan.name(), err)
			break
		}
		r.report.Reads = append(r.report.Reads, result)
	}
	return errors.Join(err, set.close())
}

func (r *run) readPlan(ctx context.Context, set *readSet, plan readPlan) (ReadResult, error) {
	rounds := r.pace.readRounds
	if plan.kind == Cold && !r.options.Thorough {
		rounds = min(rounds, coldRoundsMax)
	}
	walk := set.walks(plan)
	gathered := gatheredReads{latencies: newLatencies()}
	for i := range rounds + 1 { // the first warms up
		if err := ctx.Err(); err != nil {
			return ReadResult{}, err
		}
		if i == 1 {
			gathered = gatheredReads{latencies: newLatencies()}
		}
		var err error
		if plan.kind == Cold {
			err = r.coldRound(set, plan, uint64(i), &gathered)
		} else {
			begun := time.Now()
			over := func(now time.Time) bool { return now.Sub(begun) >= r.pace.readRound }
			err = gathered.round(set, walk, over)
		}
		if err != nil {
			return ReadResult{}, err
		}
	}
	return gathered.result(plan, r.options.Seed), nil
}

// coldRound reads every cold place once.
func (r *run) coldRound(set *readSet, plan readPlan, number uint64, gathered *gatheredReads) error {
	if err := set.chill(); err != nil {
		return err
	}
	next, over := handOut(set.coldPlaces(rand.New(rand.NewPCG(r.options.Seed, number))), plan.readers)
	walks := make([]func() place, plan.readers)
	for i := range walks {
		walks[i] = next
	}
	return gathered.round(set, walks, over)
}

// gatheredReads adds up the rounds of one arm.
type gatheredReads struct {
	latencies latencies
	rates     []float64
	entries   int64
	used      usage
}

// round lets one reader follow each walk until over says so.
func (g *gatheredReads) round(set *readSet, walks []func() place, over func(time.Time) bool) error {
	var runners []*runner
	for _, walk := range walks {
		runners = append(runners, &runner{worker: &reader{store: set.opened.store, next: walk}})
	}
	elapsed, used, err := drive(runners, "arm", over)
	if err != nil {
		return err
	}
	entries := steps(runners)
	g.entries += entries
	g.rates = append(g.rates, perSecond(entries, elapsed))
	g.used.cpu += used.cpu
	g.used.diskReads += used.diskReads
	return g.latencies.add(runners, 1)
}

func (g *gatheredReads) result(plan readPlan, seed uint64) ReadResult {
	return ReadResult{
		Name: plan.name(), Kind: plan.kind, Warm: plan.kind.warmth(), Readers: plan.readers,
		PayloadBytes: readPayloadBytes, Rounds: len(g.rates), Entries: g.entries,
		EntriesPerSecond: medianInterval(g.rates, seed), Latency: g.latencies.percentiles(),
		CPUMicrosPerEntry: g.used.cpu.Seconds() * 1e6 / float64(g.entries),
		DiskBytesPerEntry: float64(g.used.diskReads) / float64(g.entries),
	}
}
