package experiments

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lakebed/model"
	"lakebed/trial"
	"lakebed/trial/campaign"
)

// Scenarios of this package's own: one of package trial's with one setting changed.
const (
	armHighest    = "arm-lac-highest"
	armContiguous = "arm-lac-contiguous"
	armUnfenced   = "arm-recovery-unfenced"
	armNamed      = "arm-segments-named"
	armBalanced   = "arm-segments-balanced"
)

// arm is a scenario with one setting changed.
type arm struct {
	name, of, about string
	change          func(*trial.Scenario)
}

func arms() []arm {
	all := []arm{
		{armHighest, "cluster", "The LAC is made of the highest entry that each bookie has (C-1, first reading).",
			func(s *trial.Scenario) { s.Cluster.LACRule = "highest" }},
		{armContiguous, "cluster", "The LAC is made of the entry up to which each bookie has everything (C-1, second reading).",
			func(s *trial.Scenario) { s.Cluster.LACRule = "contiguous" }},
		{armUnfenced, "cluster-fences", "Recovery reads do not fence (bookkeeper#2614).",
			func(s *trial.Scenario) { s.Cluster.UnfencedRecovery = true }},
	}
	for _, a := range mediaArms() {
		all = append(all, arm{a.name(), a.of, a.about(), a.change})
	}
	return all
}

// segmentArms are the scenario of segment logs with the choice of partitions fixed.
func segmentArms() []trial.Scenario {
	var all []trial.Scenario
	for _, one := range []struct{ name, placement, about string }{
		{armNamed, trial.PlaceNamed, "Every append names its partition."},
		{armBalanced, trial.PlaceBalanced, "The store chooses the partition of every append."},
	} {
		s, err := trial.Find("segments")
		if err != nil {
			panic(err) // held by a test
		}
		segments := *s.Segments
		segments.Placement = one.placement
		s.Name, s.About, s.Segments, s.Weight = one.name, one.about, &segments, 0
		all = append(all, s)
	}
	return all
}

// Catalogue is what campaigns of experiments run: the scenarios of package trial and the arms. It is what a worker serves.
func Catalogue() campaign.Catalogue {
	c := campaign.Catalogue{Run: runJudged, Scenarios: trial.Scenarios(), RequiredMarks: trial.RequiredMarks()}
	for _, a := range arms() {
		s, err := trial.Find(a.of)
		if err != nil {
			panic(err) // held by a test
		}
		if s.Cluster != nil {
			cluster := *s.Cluster
			s.Cluster = &cluster
		}
		a.change(&s)
		s.Name, s.About, s.Weight = a.name, a.about, 0
		c.Scenarios = append(c.Scenarios, s)
	}
	c.Scenarios = append(c.Scenarios, segmentArms()...)
	return c
}

// ServeWorker makes this process a worker of a campaign of experiments.
func ServeWorker() error { return campaign.ServeProcess(Catalogue()) }

// Bounds of the search for an order. A ledger that is past them is counted as not searched. To find that there is no order
// takes longest, and a trial in which others have found so already needs no proof: one of its small ledgers will do.
const (
	searchOpsMax       = 60
	searchOpsMaxFailed = 24
	searchTime         = time.Second
)

// What porcupine says of ledgers, as a campaign counts answers.
const (
	answerLegal       = "porcupine legal"
	answerIllegal     = "porcupine illegal"
	answerUnknown     = "porcupine unknown"
	answerNotSearched = "porcupine not-searched"
)

// checkerPorcupine is the finding of a ledger without any legal order.
const checkerPorcupine = "porcupine"

// runJudged runs a trial whose history porcupine judges as well, ledger by ledger. A ledger that it finds illegal is a
// finding of its own, so that a trial in which only one of both judges objects cannot pass.
func runJudged(o trial.Options) trial.Result {
	var history *model.ClusterHistory
	o.History = func(h *model.ClusterHistory) { history = h }
	r := trial.Run(o)
	if history == nil {
		return r // of a single bookie
	}
	if r.Answers == nil {
		r.Answers = map[string]int64{}
	}
	most := searchOpsMax
	if r.Failed() {
		most = searchOpsMaxFailed
	}
	findings := searchOrders(history, most, r.Answers)
	r.Findings = append(r.Findings, findings...)
	// A campaign names a failure by its first finding, and what hunts ask for is whether something was lost.
	slices.SortStableFunc(r.Findings, func(a, b trial.Finding) int { return rank(a.Checker) - rank(b.Checker) })
	if len(findings) > 0 && r.Verdict == trial.OK {
		r.Verdict = trial.Violation
	}
	return r
}

// rank puts the checkers that see a loss in front of all others.
func rank(checker string) int {
	if at := slices.Index(losses(), checker); at >= 0 {
		return at
	}
	return len(losses())
}

// searchOrders has porcupine look at each ledger of a history that is small enough.
func searchOrders(h *model.ClusterHistory, most int, answers map[string]int64) (findings []trial.Finding) {
	var order []model.LedgerID
	sizes := map[model.LedgerID]int{}
	for i := range h.Ops {
		id := h.Ops[i].Ledger
		if sizes[id] == 0 {
			order = append(order, id)
		}
		sizes[id]++
	}
	for _, id := range order {
		if sizes[id] > most {
			answers[answerNotSearched]++
			continue
		}
		switch model.LinearizeLedger(h, id, searchTime) {
		case porcupine.Ok:
			answers[answerLegal]++
		case porcupine.Illegal:
			answers[answerIllegal]++
			findings = append(findings, trial.Finding{
				Checker: checkerPorcupine, Signature: "no order of a ledger's operations is legal",
				Text: fmt.Sprintf("ledger %d, %d operations", id, sizes[id]),
			})
		default:
			answers[answerUnknown]++
		}
	}
	return findings
}
