package experiments

import (
	"context"
	"strings"

	"lakebed/reports"
	"lakebed/trial"
	"lakebed/trial/campaign"
)

// what the disk did wrong is noticed, and never served.

// mediaArm is a scenario in which the disks do one thing wrong, beside crashes that have everything read again.
type mediaArm struct {
	felt string // the fault as trials count it
	of   string // the scenario whose clients and promise it has
	mix  map[string]int
}

func (a *mediaArm) name() string { return "arm-" + a.of + "-" + a.felt }

func (a *mediaArm) about() string {
	return "The clients of " + a.of + ", and of all that goes wrong with disks only this: " + a.felt + "."
}

func (a *mediaArm) change(s *trial.Scenario) { s.Faults = a.mix }

// mediaArms are the kinds that requirement X-72 names. Torn pages come with the power cuts.
func mediaArms() []mediaArm {
	const one, damaged, cluster = "bookie", "damage", "cluster-scratches"
	with := func(kind string) map[string]int {
		return map[string]int{kind: 12, "kill": 5, "power-cut": 5, "stop": 1, "memory-pressure": 4}
	}
	return []mediaArm{
		{"torn-page", one, map[string]int{"power-cut": 12, "kill": 3, "memory-pressure": 4}},
		{"short-write", one, with("short-write")},
		{"no-space", one, with("no-space")},
		{"sync-error", one, with("sync-error")},
		{"bit-rot", damaged, with("bit-rot")},
		{"latent-error", damaged, with("latent")},
		{"lost-write", damaged, with("lost-write")},
		{"misdirected-write", damaged, with("misdirected-write")},
		{"bit-rot", cluster, with("bit-rot")},
		{"latent-error", cluster, with("latent")},
	}
}

// uncheckedDefects are bugs of the catalogue that each skip a check which one of the arms needs.
func uncheckedDefects(quick bool) []string {
	if quick {
		return []string{"short-write-offset"}
	}
	return []string{
		"torn-tail-accepted", "short-write-offset", "slow-down-drops", "retry-after-failed-fsync", "rot-as-torn-tail",
		"read-unverified", "index-unverified", "corrupt-as-absent", "read-error-as-absent", "digest-not-verified",
	}
}

const (
	groupMedia     = "One kind of fault at a time"
	groupUnchecked = "Bugs that skip a check"

	figureFelt  = "its kind, felt"
	figureTells = "answers that tell of it"
)

func measureMedia(ctx context.Context, r *run) error {
	g := r.group(groupMedia, "Answers that tell of it: errors, and \"unknown\" of a bookie that lost something. Full disks and failed syncs have them too.")
	for _, a := range mediaArms() {
		s, err := r.campaign(ctx, campaignOptions{scenarios: []string{a.name()}, seed: r.Seed, seeds: either(r, int64(mediaSeeds), 12)})
		if err != nil {
			return err
		}
		r.noteFailures(s)
		sampleMedia(g.cell(a.name(), "fault", a.felt, "clients and promise of", a.of), &a, s)
	}
	return r.detect(ctx, groupUnchecked, uncheckedDefects(r.Quick), either(r, 3, 1), either(r, 120.0, 20))
}

// sampleMedia puts what the campaign of one arm found into its cell.
func sampleMedia(c *cell, a *mediaArm, s *campaign.Summary) {
	var tells int64
	for answer, n := range s.Answers {
		if strings.HasSuffix(answer, " error") || strings.HasSuffix(answer, " unknown-state") || strings.HasSuffix(answer, " no-space") {
			tells += n
		}
	}
	for _, f := range []struct {
		name   string
		value  int64
		better reports.Better
	}{
		{figureSeeds, s.Seeds, reports.NeitherBetter}, {figureViolations, s.Violations, reports.LowerBetter},
		{figureOperations, s.ClientOperations, reports.NeitherBetter}, {figureFelt, s.Faults[a.felt], reports.NeitherBetter},
		{figureTells, tells, reports.NeitherBetter},
		{figureTwice, s.DeterminismChecked, reports.NeitherBetter}, {figureDiffering, s.Nondeterministic, reports.LowerBetter},
	} {
		c.sample(count(f.name, f.better), float64(f.value))
	}
	c.sample(quantity{figureCPU, "s", reports.ClockCPU, reports.NeitherBetter}, s.CPUSeconds)
}
