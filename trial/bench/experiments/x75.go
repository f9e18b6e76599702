package experiments

import (
	"context"

	"lakebed/reports"
	"lakebed/trial/bench/sameness"
)

// the same workload ends in the same logical state in a world and on this machine.

const (
	cellSame        = "all worlds"
	figureUnlike    = "states unlike the script's"
	figureWorlds    = "simulated worlds"
	figureMachines  = "clusters on this machine"
	sameWorldsFull  = 10
	sameWorldsQuick = 1
)

func measureSameness(ctx context.Context, r *run) error {
	o := sameness.Options{
		Seed: r.Seed, Worlds: either(r, sameWorldsFull, sameWorldsQuick), Command: r.command(),
		Executable: either(r, r.Executable.Self, ""),
	}
	var found reports.Result
	err := r.inScratch(ctx, func(ctx context.Context, dir string) (err error) {
		o.Dir = dir
		found, err = sameness.Run(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range found.Settings {
		r.note("%s: %s", s.Name, s.Value)
	}
	for _, note := range found.Notes {
		r.note("%s", note)
	}
	machines, unlike := 1.0, 0.0
	if o.Executable != "" {
		machines++
	}
	if found.Verdict.Word == reports.Refuted {
		unlike = 1
		r.note("%s", found.Verdict.Reason)
	}
	c := r.group("The comparison", "Each state is held against the one that follows from the script alone.").cell(cellSame, "what", cellSame)
	c.sample(count(figureUnlike, reports.LowerBetter), unlike)
	c.sample(count(figureWorlds, reports.NeitherBetter), float64(o.Worlds))
	c.sample(count(figureMachines, reports.NeitherBetter), machines)
	r.ready = append(r.ready, found.Groups...)
	return nil
}
