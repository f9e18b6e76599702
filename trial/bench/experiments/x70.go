package experiments

import (
	"context"

	"lakebed/reports"
	"lakebed/trial"
)

// campaigns that must find nothing.

const cellCampaign = "campaign"

// clusterScenarios are those in which ledgers are replicated.
func clusterScenarios() (names []string) {
	for _, s := range trial.Scenarios() {
		if s.Cluster != nil && s.Weight > 0 && !s.Canary {
			names = append(names, s.Name)
		}
	}
	return names
}

// clusterMarks are the rare states without which a campaign over clusters has not tried the protocol.
func clusterMarks() []string {
	return []string{
		trial.MarkRecoveriesRaced, trial.MarkFencedUnacked, trial.MarkAckedInRecovery, trial.MarkTailRecovered,
		trial.MarkClosedUnderWriter, trial.MarkClosedEmpty, trial.MarkWriteSetRestarted, trial.MarkEnsembleChangedTwice,
	}
}

func measureLinearizable(ctx context.Context, r *run) error {
	return r.measureCampaign(ctx, "Replicated ledgers",
		"Appends, reads, reads of the LAC, recoveries and closes, ledger by ledger. Outcomes that nobody learned stay open to the end.",
		campaignOptions{scenarios: clusterScenarios(), seeds: either(r, int64(6000), 12), marks: clusterMarks()})
}

func measureDurability(ctx context.Context, r *run) error {
	return r.measureCampaign(ctx, "All scenarios of the default mix",
		"Single bookies and clusters; crashes, power cuts, failing and damaged disks within what the promise allows. Everything acknowledged is read back.",
		campaignOptions{seeds: either(r, int64(12_000), 12), marks: trial.RequiredMarks()})
}

func (r *run) measureCampaign(ctx context.Context, name, note string, o campaignOptions) error {
	o.seed, o.canaries = r.Seed, either(r, int64(20), 2)
	s, err := r.campaign(ctx, o)
	if err != nil {
		return err
	}
	r.noteFailures(s)
	sampleCampaign(r.group(name, note).cell(cellCampaign, "scenarios", scenarioWords(o.scenarios)), s)
	answers := r.group("What clients were told", "Operations by their outcome.")
	for _, name := range sortedKeys(s.Answers) {
		answers.cell("answer/"+name, "operation and outcome", name).sample(count("count", reports.NeitherBetter), float64(s.Answers[name]))
	}
	return nil
}
