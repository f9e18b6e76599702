package experiments

import (
	"context"

	"lakebed/reports"
	"lakebed/trial/explore"
)

// the seed's LAC rule is unsafe or stalls; the rule in order is right.

const (
	cellInOrder    = "rule/in-order"
	cellHighest    = "rule/highest"
	cellContiguous = "rule/contiguous"
	cellSearchedHi = "search/highest"
	cellSearchedCo = "search/contiguous"

	figureBroken = "worlds with a broken rule"
	figureStates = "states searched"
	figureSteps  = "steps of the counter-example"
)

// losses are the checkers that see an acknowledged entry missing.
func losses() []string { return []string{"acked", "durability", "divergence", checkerPorcupine} }

func measureLACRules(ctx context.Context, r *run) error {
	schedules := r.group("Schedules", "Trials of the scenario cluster: ledgers of five shapes, two of them striped, under faults. In order: no report is wanted.")
	right, err := r.campaign(ctx, campaignOptions{scenarios: []string{"cluster"}, seed: r.Seed, seeds: either(r, int64(3000), 10)})
	if err != nil {
		return err
	}
	r.noteFailures(right)
	c := schedules.cell(cellInOrder, "rule", "in order")
	c.sample(count(figureSeeds, reports.NeitherBetter), float64(right.Seeds))
	c.sample(count(figureViolations, reports.LowerBetter), float64(right.Violations))
	c.sample(count(figureLegal, reports.NeitherBetter), float64(right.Answers[answerLegal]))
	c.sample(count(figureIllegal, reports.LowerBetter), float64(right.Answers[answerIllegal]))

	wrong := r.group("Wrong rules", "Schedules until a checker reports: a loss for the highest watermarks, a stall for the contiguous ones.")
	steps := either(r, []int64{20, 180, 1_800, 98_000}, []int64{20, 180}) // the first is about the median of the highest
	hunts := either(r, 5, 1)
	if err := r.hunts(ctx, wrong.cell(cellHighest, "rule", "highest watermarks"), hunt{armHighest, losses(), steps}, hunts); err != nil {
		return err
	}
	if err := r.hunts(ctx, wrong.cell(cellContiguous, "rule", "contiguous watermarks"), hunt{armContiguous, []string{"world"}, steps}, hunts); err != nil {
		return err
	}
	return r.searchLACRules(ctx)
}

// searchLACRules looks for the shortest counter-examples in worlds that are small enough to be searched to the end.
func (r *run) searchLACRules(ctx context.Context) error {
	searched := r.group("Small worlds, searched to the end or to the first broken rule",
		"Striped 3/2/2, two entries. Steps are those of the shortest way to a state that breaks a rule.")
	for _, one := range []struct{ arm, cell, name string }{
		{"c1-highest", cellSearchedHi, "highest watermarks"}, {"c1-contiguous", cellSearchedCo, "contiguous watermarks"},
	} {
		arm, err := explore.FindArm(one.arm)
		if err != nil {
			return err
		}
		world := arm.World
		arm.Out(&world)
		report, err := explore.Run(ctx, []explore.Asked{{Config: world, Without: arm.ID, About: arm.Title}}, func(explore.Progress) {})
		if err != nil {
			return err
		}
		if report.Interrupted {
			return ctx.Err()
		}
		c := searched.cell(one.cell, "rule", one.name)
		broken, steps := 0.0, 0
		if v := report.Worlds[0].Violation; v != nil {
			broken, steps = 1, len(v.Steps)-1 // the first is the world at the start
		}
		c.sample(count(figureBroken, reports.NeitherBetter), broken)
		c.sample(count(figureStates, reports.NeitherBetter), float64(report.States))
		c.sample(count(figureSteps, reports.NeitherBetter), float64(steps))
	}
	return nil
}
