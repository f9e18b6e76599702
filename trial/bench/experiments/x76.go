package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"lakebed/reports"
	"lakebed/trial/defects"
	"lakebed/trial/shrink"
)

// a failing trial becomes small.

// Bounds of the verdict: of half of all trials.
const (
	smallFaults     = 5
	smallOperations = 8
)

const (
	groupShrunk = "The first failing trial of each planted bug"

	figureFaultsBefore     = "faults before"
	figureFaultsLeft       = "faults left"
	figureOperationsBefore = "operations before"
	figureOperationsLeft   = "operations left"
	figureMinimal          = "nothing can go"
	figureReplays          = "replays in new processes"
	figureAlike            = "replays that fail alike"
	figureTries            = "trials run"
	figureShrinkTime       = "time to make it small"
)

// shrinkBudget bounds the processor time of one failure. Nearly all take less than the default of a minute; trials of single-node stores with
// two thousand operations take more.
const shrinkBudget = 5 * time.Minute

func measureShrinking(ctx context.Context, r *run) error {
	var ids []string // the whole catalogue
	if r.Quick {
		ids = []string{"no-sync"}
	}
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		budget := either(r, shrinkBudget, time.Second)
		r.say("building the engine with all defects planted")
		table, err := defects.ShrinkAll(ctx, defects.ShrinkOptions{
			Sources: r.Sources, IDs: ids, Workers: r.Workers, Seed: r.Seed, CPUSeconds: 120, Budget: budget, Out: filepath.Join(dir, "shrunk"),
			Watch: func(row defects.ShrinkRow) {
				r.say("%s: %d faults and %d operations, %s %s", row.ID, row.After.Faults, row.After.Operations, row.Ending, row.Failure)
			},
		})
		if err != nil {
			return err
		}
		g := r.group(groupShrunk, fmt.Sprintf(
			"Each within %s of processor time, %d side by side. Nothing can go: 1 where a last pass has found each fault and operation needed, 0 where the time ran out before.",
			budget, r.Workers))
		for i := range table.Defects {
			r.sampleShrunk(g, &table.Defects[i])
		}
		return nil
	})
}

// sampleShrunk puts what became of one failing trial into a cell. A trial that was not made small has no figures.
func (r *run) sampleShrunk(g *group, row *defects.ShrinkRow) {
	if row.Failure != "" {
		r.note("%s: %s", row.ID, row.Failure)
		return
	}
	minimal := 0.0
	if row.Ending == shrink.Minimal {
		minimal = 1
	}
	c := g.cell(defectCell(row.ID), "defect", row.ID, "scenario", row.Scenario, "caught by", row.Checker, "seed", fmt.Sprint(row.Seed))
	for _, f := range []struct {
		name   string
		value  int
		better reports.Better
	}{
		{figureFaultsBefore, row.Before.Faults, reports.NeitherBetter}, {figureFaultsLeft, row.After.Faults, reports.LowerBetter},
		{figureOperationsBefore, row.Before.Operations, reports.NeitherBetter},
		{figureOperationsLeft, row.After.Operations, reports.LowerBetter},
		{figureReplays, row.Replays, reports.NeitherBetter}, {figureAlike, row.Alike, reports.HigherBetter},
		{figureTries, row.Tries, reports.NeitherBetter},
	} {
		c.sample(count(f.name, f.better), float64(f.value))
	}
	c.sample(count(figureMinimal, reports.HigherBetter), minimal)
	c.sample(quantity{figureShrinkTime, "s", reports.ClockCPU, reports.LowerBetter}, row.CPUSeconds)
}
