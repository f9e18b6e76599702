package experiments

import (
	"context"

	"lakebed/reports"
)

// hunt looks for the first seed on which an arm that is wrong on purpose is caught.
type hunt struct {
	scenario string
	checkers []string // one of which must report
	steps    []int64  // how many seeds are run at a time, until one is caught; their sum is the bound
}

// huntStride keeps the seeds of two hunts apart.
const huntStride = 1_000_000

// Figures of a hunt's cell.
const (
	figureToCatch = "schedules to detection" // one sample a hunt that caught something
	figureHunts   = "hunts"
	figureMissed  = "hunts without a catch"
	figureBound   = "schedules of a hunt at most"
	figureOthers  = "reports of other checkers"
)

// hunts runs several, from different seeds, and puts what they found into a cell.
func (r *run) hunts(ctx context.Context, c *cell, h hunt, hunts int) error {
	bound := int64(0)
	for _, step := range h.steps {
		bound += step
	}
	for i := range hunts {
		seeds, other, err := r.hunt(ctx, h, r.Seed+uint64(i)*huntStride)
		if err != nil {
			return err
		}
		c.sample(count(figureHunts, reports.NeitherBetter), 1)
		missed := 0.0
		if seeds == 0 {
			missed = 1
			r.say("%s: nothing within %d schedules", h.scenario, bound)
		} else {
			c.sample(count(figureToCatch, reports.LowerBetter), float64(seeds))
			r.say("%s: caught after %d schedules", h.scenario, seeds)
		}
		c.sample(count(figureMissed, reports.LowerBetter), missed)
		c.sample(count(figureBound, reports.NeitherBetter), float64(bound))
		c.sample(count(figureOthers, reports.NeitherBetter), float64(other))
	}
	return nil
}

// hunt runs more and more seeds until a checker that counts reports. Zero: none did.
func (r *run) hunt(ctx context.Context, h hunt, first uint64) (seeds, other int64, err error) {
	for _, step := range h.steps {
		s, err := r.campaign(ctx, campaignOptions{scenarios: []string{h.scenario}, seed: first + uint64(seeds), seeds: step})
		if err != nil {
			return 0, 0, err
		}
		other += others(s, h.checkers)
		if caught, signature := firstCaught(s, h.checkers); caught > 0 {
			r.say("%s: %s", h.scenario, signature)
			return seeds + caught, other, nil
		}
		seeds += step
	}
	return 0, other, nil
}
