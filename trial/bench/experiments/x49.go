package experiments

import (
	"context"
	"fmt"

	"lakebed/reports"
	"lakebed/trial/defects"
)

// fencing and recovery keep one history.

const cellRivals = "correct"

// fencingDefects are planted into the engine; armUnfenced is an ordinary setting that says the same.
func fencingDefects() []string { return []string{"recovery-reads-plain", "entry-read-does-not-fence"} }

func defectCell(id string) string { return "defect/" + id }

func measureFencing(ctx context.Context, r *run) error {
	s, err := r.campaign(ctx, campaignOptions{
		scenarios: []string{"cluster-rivals", "cluster-fences"}, seed: r.Seed, seeds: either(r, int64(4000), 10),
	})
	if err != nil {
		return err
	}
	r.noteFailures(s)
	sampleCampaign(r.group("Correct", "Rivals recover ledgers of live writers, over slow, stalled and cut links. Every history is also searched by porcupine.").
		cell(cellRivals, "scenarios", "cluster-rivals, cluster-fences"), s)

	wrong := r.group("Recovery reads that do not fence", "Schedules until a checker reports a loss.")
	steps := either(r, []int64{200, 1_800, 8_000, 90_000}, []int64{10})
	err = r.hunts(ctx, wrong.cell(armUnfenced, "arm", "setting: recovery reads do not fence"),
		hunt{armUnfenced, losses(), steps}, either(r, 3, 1))
	if err != nil {
		return err
	}
	return r.detect(ctx, "Planted into the engine", fencingDefects(), either(r, 3, 1), either(r, 90.0, 1))
}

// detect hunts for planted bugs and puts a cell for each into a group.
func (r *run) detect(ctx context.Context, groupName string, ids []string, hunts int, budget float64) error {
	r.say("building the engine with all defects planted")
	table, err := defects.Detect(ctx, defects.Options{
		Sources: r.Sources, IDs: ids, Campaigns: hunts, Workers: r.Workers, Seed: r.Seed, CPUSeconds: budget,
		Watch: func(p defects.Progress) { r.say("%s", p) },
	})
	if err != nil {
		return err
	}
	g := r.group(groupName, fmt.Sprintf("%d hunts each from different seeds; a hunt ends at %s s of processor time.", hunts, short(budget)))
	for i := range table.Defects {
		r.sampleDefect(g, &table.Defects[i])
	}
	return nil
}

// sampleDefect puts what became of one planted bug into a cell.
func (r *run) sampleDefect(g *group, row *defects.Row) {
	c := g.cell(defectCell(row.ID), "defect", row.ID, "origin", row.Origin, "scenario", row.Scenario, "caught by", orDash(row.Checker),
		"a unit test sees", row.UnitTest)
	for _, caught := range row.Hunts {
		missed := 0.0
		switch {
		case caught.Failure != "":
			r.note("%s: a hunt came to no end: %s", row.ID, caught.Failure)
			c.sample(count(figureFailed, reports.LowerBetter), 1)
			continue
		case !caught.Caught:
			missed = 1
		default:
			c.sample(count(figureToCatch, reports.LowerBetter), float64(caught.Seeds))
		}
		c.sample(count(figureMissed, reports.LowerBetter), missed)
		c.sample(quantity{figureHuntCPU, "s", reports.ClockCPU, reports.LowerBetter}, caught.CPUSeconds)
	}
}

const (
	figureFailed  = "hunts that failed"
	figureHuntCPU = "processor time of a hunt"
)

func orDash(text string) string {
	if text == "" {
		return "—"
	}
	return text
}
