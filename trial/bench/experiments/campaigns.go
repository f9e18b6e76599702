package experiments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lakebed/reports"
	"lakebed/trial/campaign"
)

// watchEvery is how often a campaign tells how far it is.
const watchEvery = 15 * time.Second

// campaignOptions say what one campaign of an experiment runs.
type campaignOptions struct {
	scenarios []string // empty: the default mix
	seed      uint64
	seeds     int64
	canaries  int64
	marks     []string // rare states that must each be reached
}

// campaign runs one. An interrupt is an error: half a campaign proves less than it claims.
func (r *run) campaign(ctx context.Context, o campaignOptions) (*campaign.Summary, error) {
	catalogue := Catalogue()
	catalogue.RequiredMarks = o.marks
	next := watchEvery
	options := campaign.Options{
		Catalogue: catalogue, Scenarios: o.scenarios, Seed: o.seed, Seeds: o.seeds, CanarySeeds: o.canaries,
		Watch: func(p campaign.Progress) {
			if p.Elapsed >= next {
				next = p.Elapsed + watchEvery
				r.say("%d of %d seeds, %d violations", p.Seeds, p.SeedsMax, p.Violations)
			}
		},
	}
	if len(r.Executable.Worker) > 0 {
		options.Workers, options.WorkerCommand = r.Workers, r.Executable.Worker
	}
	summary, err := campaign.Run(ctx, options)
	switch {
	case err != nil:
		return nil, err
	case summary.Interrupted:
		return nil, errors.Join(ctx.Err(), fmt.Errorf("the campaign was interrupted after %d seeds", summary.Seeds))
	}
	return summary, nil
}

// Figures of a campaign's cell.
const (
	figureSeeds       = "seeds"
	figureViolations  = "violations"
	figureOperations  = "client operations"
	figureFaults      = "faults felt"
	figureEvents      = "events"
	figureHours       = "simulated time"
	figureDistinct    = "distinct traces"
	figureTwice       = "seeds run twice"
	figureDiffering   = "seeds that differed"
	figureLegal       = "ledgers porcupine found legal"
	figureIllegal     = "ledgers porcupine found illegal"
	figureUnsearched  = "ledgers too large for porcupine"
	figureMarksWanted = "rare states wanted"
	figureMarksMissed = "rare states missed"
	figureCanary      = "canary trials"
	figureCaught      = "canary trials caught"
	figureCPU         = "processor time"
)

// sampleCampaign puts what a campaign found into a cell.
func sampleCampaign(c *cell, s *campaign.Summary) {
	var faults, canary, caught int64
	for _, n := range s.Faults {
		faults += n
	}
	for _, one := range s.Canaries {
		canary += one.Seeds
		caught += one.Caught
	}
	for _, f := range []struct {
		name   string
		value  int64
		better reports.Better
	}{
		{figureSeeds, s.Seeds, reports.NeitherBetter}, {figureViolations, s.Violations, reports.LowerBetter},
		{figureOperations, s.ClientOperations, reports.NeitherBetter}, {figureFaults, faults, reports.NeitherBetter},
		{figureEvents, s.Events, reports.NeitherBetter}, {figureDistinct, s.DistinctHashes, reports.NeitherBetter},
		{figureTwice, s.DeterminismChecked, reports.NeitherBetter}, {figureDiffering, s.Nondeterministic, reports.LowerBetter},
		{figureLegal, s.Answers[answerLegal], reports.NeitherBetter}, {figureIllegal, s.Answers[answerIllegal], reports.LowerBetter},
		{figureUnsearched, s.Answers[answerNotSearched] + s.Answers[answerUnknown], reports.NeitherBetter},
		{figureMarksWanted, int64(s.MarksRequired), reports.NeitherBetter},
		{figureMarksMissed, int64(len(s.MarksMissing)), reports.LowerBetter},
		{figureCanary, canary, reports.NeitherBetter}, {figureCaught, caught, reports.HigherBetter},
	} {
		c.sample(count(f.name, f.better), float64(f.value))
	}
	c.sample(quantity{figureHours, "s", reports.ClockVirtual, reports.NeitherBetter}, s.SimulatedSeconds)
	c.sample(quantity{figureCPU, "s", reports.ClockCPU, reports.NeitherBetter}, s.CPUSeconds)
}

// noteFailures tells what a campaign found that should not be, each with the command that shows it.
func (r *run) noteFailures(s *campaign.Summary) {
	for _, f := range s.Failures {
		r.note("%d seeds failed as %s: %s; one of them is seed %d of %s", f.Count, f.Kind, f.Signature, f.Seed, f.Scenario)
	}
	if len(s.MarksMissing) > 0 {
		r.note("rare states that were not reached: %s", strings.Join(s.MarksMissing, ", "))
	}
}

// firstCaught is how many seeds a campaign took until one of the checkers reported; zero if none did. porcupine counts as
// one more checker, wherever it is named.
func firstCaught(s *campaign.Summary, checkers []string) (seeds int64, signature string) {
	for _, f := range s.Failures {
		if !slices.Contains(checkers, f.Checker) || len(f.Seeds) == 0 {
			continue
		}
		first := int64(slices.Min(f.Seeds)-s.FirstSeed) + 1
		if seeds == 0 || first < seeds {
			seeds, signature = first, f.Checker+": "+f.Signature
		}
	}
	return seeds, signature
}

// others counts the failures that other checkers reported.
func others(s *campaign.Summary, checkers []string) (failures int64) {
	for _, f := range s.Failures {
		if !slices.Contains(checkers, f.Checker) {
			failures += f.Count
		}
	}
	return failures
}

func scenarioWords(names []string) string {
	if len(names) == 0 {
		return "the default mix"
	}
	return strings.Join(names, ", ")
}

func sortedKeys(counts map[string]int64) []string { return slices.Sorted(maps.Keys(counts)) }
