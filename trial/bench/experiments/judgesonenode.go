package experiments

import (
	"fmt"
	"slices"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// Bounds of the verdicts. They stand in the hypothesis files in words.
const (
	growthFlat     = 0.8    // of the rate by the raw line that is left at the largest size
	startMax       = 2000.0 // ms
	segmentLossMin = 0.2
	logLossMax     = 0.3
	lossReachMax   = 520.0 // ms: the interval, and what a sync takes
)

// judgeGrowth: what is stored does not slow appends down, nor starts.
func judgeGrowth(r *reports.Result) reports.Verdict {
	var j judgement
	for _, kind := range growthKinds() {
		small, ok := j.figureOf(r, growthCell(kind, 1<<20), figureByRaw)
		if !ok {
			continue
		}
		large, found := j.figureOf(r, growthCell(kind, growthEnough), figureByRaw)
		if !found {
			continue
		}
		if i, ok := j.ratio(string(kind)+", rate by raw at 20 GiB by that at 1 MiB", &large, &small); ok {
			j.above(fmt.Sprintf("%s, rate by raw at 20 GiB by that at 1 MiB,", kind), i, growthFlat)
		}
		start, ok := j.figureOf(r, startCell(kind), figureStart)
		switch {
		case !ok:
		case start.Value < startMax:
			j.support("a start of %s takes %s ms", kind, short(start.Value))
		default:
			j.refute("a start of %s takes %s ms", kind, short(start.Value))
		}
	}
	return j.verdict()
}

// judgePartitions: the segment log loses, the commit log does not.
func judgePartitions(r *reports.Result) reports.Verdict {
	var j judgement
	left := func(kind stores.Kind) (reports.Interval, bool) {
		one, ok := j.figureOf(r, partitionCell(kind, stores.Group, 1), figurePayloadRate)
		many, found := j.figureOf(r, partitionCell(kind, stores.Group, partitionsMost), figurePayloadRate)
		if !ok || !found {
			return reports.Interval{}, false
		}
		return j.ratio(fmt.Sprintf("%s at %d partitions by one", kind, partitionsMost), &many, &one)
	}
	if i, ok := left(stores.SegmentLog); ok {
		lost := reports.Interval{Value: 1 - i.Value, Low: 1 - i.High, High: 1 - i.Low}
		j.above("what the segment log loses", lost, segmentLossMin)
	}
	if i, ok := left(stores.CommitLog); ok {
		j.above("what is left of the commit log's rate", i, 1-logLossMax)
	}
	return j.verdict()
}

// judgePolicies: each mode is faster than the stricter one before it; the two that do not wait for a sync may be equal. Groups
// that wait are judged by themselves.
func judgePolicies(r *reports.Result) reports.Verdict {
	var j judgement
	modes := stores.Modes()
	for _, kind := range stores.Kinds() {
		for n := 1; n < len(modes); n++ {
			strict, ok := j.figureOf(r, policyCell(kind, stores.Policy{Mode: modes[n-1]}), figureRate)
			loose, found := j.figureOf(r, policyCell(kind, stores.Policy{Mode: modes[n]}), figureRate)
			if !ok || !found {
				continue
			}
			what := fmt.Sprintf("%s, %s by %s,", kind, modes[n], modes[n-1])
			i, ok := j.ratio(what, &loose, &strict)
			switch {
			case !ok:
			case modes[n] != stores.Never:
				j.above(what, i, 1)
			case i.High < 1:
				j.refute("%s is %s (%s to %s)", what, short(i.Value), short(i.Low), short(i.High))
			}
		}
		j.waits(r, kind)
		j.losses(r, kind)
	}
	return j.verdict()
}

// waits: a group that waits for more is faster than always, and not faster than one that goes as soon as the disk is free.
func (j *judgement) waits(r *reports.Result, kind stores.Kind) {
	always, ok := j.figureOf(r, policyCell(kind, stores.Policy{Mode: stores.Always}), figureRate)
	group, found := j.figureOf(r, policyCell(kind, stores.Policy{Mode: stores.Group}), figureRate)
	if !ok || !found {
		return
	}
	for _, policy := range stores.Policies() {
		if policy.Wait == 0 {
			continue
		}
		waiting, ok := j.figureOf(r, policyCell(kind, policy), figureRate)
		if !ok {
			continue
		}
		what := fmt.Sprintf("%s, %s by always,", kind, policy)
		if i, ok := j.ratio(what, &waiting, &always); ok {
			j.above(what, i, 1)
		}
		what = fmt.Sprintf("%s, %s by group,", kind, policy)
		if i, ok := j.ratio(what, &waiting, &group); ok && i.Low > 1 {
			j.refute("%s is %s (%s to %s)", what, short(i.Value), short(i.Low), short(i.High))
		}
	}
}

// losses: a mode that waits for a sync loses nothing at a power cut, interval what was acknowledged since the last sync, and
// never no less.
func (j *judgement) losses(r *reports.Result, kind stores.Kind) {
	lost := map[stores.Mode]float64{} // the modes that do not wait for a sync
	for _, policy := range stores.Policies() {
		f, ok := j.figureOf(r, lossCell(kind, policy), figureLostAcked)
		switch {
		case !ok:
			return
		case !policy.Mode.Synced():
			lost[policy.Mode] = f.Value
		case total(&f) > 0:
			j.refute("%s has lost %s acknowledged messages in mode %s", kind, short(total(&f)), policy)
		}
	}
	reach, ok := j.figureOf(r, lossCell(kind, stores.Policy{Mode: stores.Interval}), figureLossReach)
	if !ok {
		return
	}
	oldest := slices.Max(append(slices.Clone(reach.Samples), reach.Value))
	switch {
	case oldest > lossReachMax:
		j.refute("%s, interval: a message was lost that was acknowledged %s ms before the power cut, the bound is %s", kind, short(oldest), short(lossReachMax))
	case lost[stores.Never] < lost[stores.Interval]:
		j.refute("%s loses %s messages in mode never, and %s in interval", kind, short(lost[stores.Never]), short(lost[stores.Interval]))
	case lost[stores.Interval] == 0:
		j.leaveOpen("%s has lost nothing in mode interval: no power cut came at a bad moment", kind)
	default:
		j.support("at a power cut %s loses nothing in always and group, waiting or not, %s messages in interval, the oldest %s ms old, and %s in never",
			kind, short(lost[stores.Interval]), short(oldest), short(lost[stores.Never]))
	}
}

// judgeLayouts: one log for all ledgers is faster than one for each.
func judgeLayouts(r *reports.Result) reports.Verdict {
	var j judgement
	mixed, ok := j.figureOf(r, layoutCell(oneLogForAll, layoutDecides), figureWritten)
	single, found := j.figureOf(r, layoutCell(logPerLedger, layoutDecides), figureWritten)
	if !ok || !found {
		return j.verdict()
	}
	what := fmt.Sprintf("at %d ledgers one log by a log for each", layoutDecides)
	if i, ok := j.ratio(what, &mixed, &single); ok {
		j.above(what, i, equalWithin)
	}
	return j.verdict()
}
