package experiments

import (
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/reports"
)

// Bounds of the verdicts. They stand in the hypothesis files in words.
const (
	equalWithin     = 1.1  // two latencies, or two throughputs, within this ratio count as equal
	batchGainMin    = 0.05 // of a batch of 100 B entries over single reads
	schedulesMin    = 100_000
	pauseMax        = failureTimeout * 3 // while as many bookies as an ensemble needs are healthy
	linearizableMin = 1000               // ledgers that porcupine has searched
	choiceReadsMin  = 1000               // reads of one way, all shapes together
	holesMin        = 10                 // reads of a write set's bookie that found nothing, so that the workload is no weak one
)

// judgeBatchReads: from memory, a batch of 100 entries of 100 B takes at least 5 % less time an entry than single reads, and
// the gain of the largest entries is not above that.
func judgeBatchReads(r *reports.Result) reports.Verdict {
	var j judgement
	small, ok := j.gain(r, batchArm{fromCache, batchSmall, batchCount, 1})
	if !ok {
		return j.verdict()
	}
	switch {
	case small.Low > batchGainMin:
		j.support("a batch of 100 B entries takes %s less time an entry (%s to %s)", percent(small.Value), percent(small.Low), percent(small.High))
	case small.High <= batchGainMin:
		j.refute("a batch of 100 B entries takes only %s less time an entry (%s to %s)", percent(small.Value), percent(small.Low), percent(small.High))
	default:
		j.leaveOpen("the gain at 100 B is %s to %s", percent(small.Low), percent(small.High))
	}
	large, ok := j.gain(r, batchArm{fromCache, batchLarge, batchCount, 1})
	switch {
	case !ok:
	case large.Low > small.High:
		j.refute("the gain grows with the size of entries: %s (%s to %s) at 64 KiB", percent(large.Value), percent(large.Low), percent(large.High))
	case large.High < small.Low:
		j.support("at 64 KiB it is %s (%s to %s)", percent(large.Value), percent(large.Low), percent(large.High))
	default:
		j.leaveOpen("at 64 KiB it is %s to %s, which overlaps", percent(large.Low), percent(large.High))
	}
	return j.verdict()
}

// gain is the part of the time of single reads that a way of reading saves.
func (j *judgement) gain(r *reports.Result, a batchArm) (reports.Interval, bool) {
	single := a
	single.count = 0
	part, ok := j.figureOf(r, a.cell(), figureEntry)
	whole, found := j.figureOf(r, single.cell(), figureEntry)
	if !ok || !found {
		return reports.Interval{}, false
	}
	i, ok := j.ratio("time per entry of "+a.cell(), &part, &whole)
	return reports.Interval{Value: 1 - i.Value, Low: 1 - i.High, High: 1 - i.Low}, ok
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// judgeStriping: on this machine, with bookies at their limit, one ledger of 5/3 takes more than 1.1 times as many bytes as
// one of 3/3, and a read of 100 of its entries more than 1.1 times as long.
func judgeStriping(r *reports.Result) reports.Verdict {
	var j judgement
	for _, ack := range []int{2, 3} {
		striped, plain := ledger.Quorum{Ensemble: 5, Write: 3, Ack: ack}, ledger.Quorum{Ensemble: 3, Write: 3, Ack: ack}
		const payload = 16 << 10
		j.compare(r, fmt.Sprintf("throughput of one ledger, %s by %s,", shape(striped), shape(plain)), figureBandwidth,
			stripeArm{slowReal, striped, 1, payload}.cell(), stripeArm{slowReal, plain, 1, payload}.cell())
	}
	striped, plain := ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}
	j.compare(r, "time to read 100 entries, 5/3/2 by 3/3/2,", figureRange, stripeReadCell(slowReal, striped), stripeReadCell(slowReal, plain))
	return j.verdict()
}

// compare wants one cell's figure to be above equalWithin times another's.
func (j *judgement) compare(r *reports.Result, what, figure, part, whole string) {
	a, ok := j.figureOf(r, part, figure)
	b, found := j.figureOf(r, whole, figure)
	if !ok || !found {
		return
	}
	if i, ok := j.ratio(what, &a, &b); ok {
		j.above(what, i, equalWithin)
	}
}

// judgeSlowReplica: with one bookie ten times as slow, the p99 of an ensemble that must hear all three is above that of
// one that must hear two, on the clock of this machine and in virtual time.
func judgeSlowReplica(r *reports.Result) reports.Verdict {
	var j judgement
	waits := ledger.Quorum{Ensemble: 3, Write: 3, Ack: 3}
	for _, world := range []string{slowReal, slowVirtual} {
		for _, hides := range []ledger.Quorum{{Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 5, Write: 3, Ack: 2}} {
			what := fmt.Sprintf("p99 of 3/3/3 by that of %s, one bookie slowed ten times, %s clock,", shape(hides), clockOf(world))
			j.compare(r, what, "p99", slowCell(world, waits, slowFactor), slowCell(world, hides, slowFactor))
		}
	}
	return j.verdict()
}

// judgeLACRules: the rule in order breaks nothing; each wrong reading is caught by schedules and by the search.
func judgeLACRules(r *reports.Result) reports.Verdict {
	var j judgement
	if bad, ok := j.figureOf(r, cellInOrder, figureViolations); ok {
		j.none("violations with the rule in order", total(&bad))
	}
	if bad, ok := j.figureOf(r, cellInOrder, figureIllegal); ok {
		j.none("ledgers without a legal order with the rule in order", total(&bad))
	}
	for _, cell := range []string{cellHighest, cellContiguous} {
		j.caughtIn(r, cell)
	}
	if other, ok := j.figureOf(r, cellContiguous, figureOthers); ok && total(&other) > 0 {
		j.leaveOpen("the contiguous reading, which should only stall, also made %s reports of loss", short(total(&other)))
	}
	for _, cell := range []string{cellSearchedHi, cellSearchedCo} {
		broken, ok := j.figureOf(r, cell, figureBroken)
		switch {
		case ok && total(&broken) == 0:
			j.refute("the search of %s finds no broken rule", cell)
		case ok:
			j.support("%s is broken in a searched world", cell)
		}
	}
	return j.verdict()
}

// none refutes if anything was counted.
func (j *judgement) none(what string, n float64) {
	if n > 0 {
		j.refute("%s: %s", what, short(n))
		return
	}
	j.support("%s: none", what)
}

// caughtIn wants every hunt of a cell to have caught its mutant. A hunt that gave up early decides nothing.
func (j *judgement) caughtIn(r *reports.Result, cell string) {
	missed, ok := j.figureOf(r, cell, figureMissed)
	bound, found := j.figureOf(r, cell, figureBound)
	if !ok || !found {
		return
	}
	switch {
	case total(&missed) == 0:
		caught, _ := j.figureOf(r, cell, figureToCatch)
		j.support("%s is caught after %s schedules", cell, short(caught.Value))
	case bound.Value >= schedulesMin:
		j.refute("%s survived %s schedules in %s of %d hunts", cell, short(bound.Value), short(total(&missed)), len(missed.Samples))
	default:
		j.leaveOpen("%s survived %s schedules, which are fewer than %d", cell, short(bound.Value), schedulesMin)
	}
}

// judgeReplicaChoice: the write set with retry never fails; a bookie that was picked by lot, from the write set or from
// the ensemble, sometimes does not have the entry.
func judgeReplicaChoice(r *reports.Result) reports.Verdict {
	var j judgement
	reads, holes := 0.0, map[choice]float64{}
	for _, q := range choiceShapes() {
		failed, ok := j.figureOf(r, choiceCell(q, setWithRetry), figureFailedReads)
		if !ok {
			continue
		}
		j.none("reads of "+shape(q)+" with retry that failed", total(&failed))
		if all, ok := j.figureOf(r, choiceCell(q, setWithRetry), figureReads); ok {
			reads += total(&all)
		}
		for _, how := range []choice{anyBookie, oneOfSet} {
			if missing, ok := j.figureOf(r, choiceCell(q, how), figureNotFound); ok {
				holes[how] += total(&missing)
			}
		}
	}
	if reads < choiceReadsMin {
		j.leaveOpen("%s reads with retry, and it takes %d", short(reads), choiceReadsMin)
	}
	for _, how := range []choice{anyBookie, oneOfSet} {
		if holes[how] < holesMin {
			j.leaveOpen("asking %s missed only %s entries: the workload leaves too few holes", how, short(holes[how]))
			continue
		}
		j.support("asking %s missed %s entries", how, short(holes[how]))
	}
	return j.verdict()
}

// judgeBookieFailure: nothing acknowledged is lost; with a spare bookie the pause is bounded, and a writer that stays in
// its ledger gets a new fragment.
func judgeBookieFailure(r *reports.Result) reports.Verdict {
	var j judgement
	worst, lost, arms := 0.0, 0.0, 0
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			labels := labelsOf(&c)
			gone, ok := c.Figure(figureLost)
			pause, found := c.Figure(figurePause)
			fragments, counted := c.Figure(figureFragments)
			if !ok || !found || !counted {
				continue
			}
			arms++
			lost += total(&gone)
			if labels["spare bookies"] == "0" {
				continue // fewer bookies than an ensemble needs are healthy
			}
			longest := slices.Max(pause.Samples)
			worst = max(worst, longest)
			if longest > millis(pauseMax) {
				j.refute("%s: no append was acknowledged for %s ms", c.Name, short(longest))
			}
			if labels["writer"] == string(newFragment) && slices.Min(fragments.Samples) < 2 {
				j.refute("%s: no new fragment", c.Name)
			}
		}
	}
	if arms == 0 {
		return j.verdict()
	}
	j.none("acknowledged entries lost", lost)
	j.support("%d arms, longest pause with a spare bookie %s ms", arms, short(worst))
	j.wantRounds(r, slowGroup(slowReal))
	return j.verdict()
}

// wantRounds leaves the verdict open where a group on this machine has too few rounds.
func (j *judgement) wantRounds(r *reports.Result, group string) {
	for _, g := range r.Groups {
		if g.Name != group {
			continue
		}
		for _, c := range g.Cells {
			for _, f := range c.Figures {
				if len(f.Samples) < roundsDecisive {
					j.leaveOpen("%d rounds on this machine, and it takes %d", len(f.Samples), roundsDecisive)
					return
				}
			}
		}
		return
	}
	j.leaveOpen("nothing was measured on this machine")
}

func labelsOf(c *reports.Cell) map[string]string {
	labels := map[string]string{}
	for _, l := range c.Labels {
		labels[l.Name] = l.Value
	}
	return labels
}

// judgeFencing: no report in correct mode; each mutant is caught.
func judgeFencing(r *reports.Result) reports.Verdict {
	var j judgement
	if bad, ok := j.figureOf(r, cellRivals, figureViolations); ok {
		j.none("violations in correct mode", total(&bad))
	}
	if legal, ok := j.figureOf(r, cellRivals, figureLegal); ok && total(&legal) < linearizableMin {
		j.leaveOpen("porcupine searched %s ledgers, and it takes %d", short(total(&legal)), linearizableMin)
	}
	j.caughtIn(r, armUnfenced)
	for _, id := range fencingDefects() {
		j.defect(r, id)
	}
	return j.verdict()
}

// defect wants a planted bug to be caught in each hunt.
func (j *judgement) defect(r *reports.Result, id string) {
	cell := defectCell(id)
	if c, ok := r.Cell(cell); ok {
		if failed, ok := c.Figure(figureFailed); ok {
			j.leaveOpen("%s hunts for %s failed", short(total(&failed)), id)
			return
		}
	}
	missed, ok := j.figureOf(r, cell, figureMissed)
	switch {
	case ok && total(&missed) > 0:
		j.leaveOpen("%s survived its budget of processor time in %s of %d hunts", id, short(total(&missed)), len(missed.Samples))
	case ok:
		caught, _ := j.figureOf(r, cell, figureToCatch)
		j.support("%s is caught after %s schedules", id, short(caught.Value))
	}
}

// judgeCampaign: no violation and no ledger without a legal order; canaries caught, rare states reached, enough searched.
func judgeCampaign(r *reports.Result) reports.Verdict {
	var j judgement
	values := map[string]float64{}
	for _, name := range []string{
		figureSeeds, figureViolations, figureDiffering, figureIllegal, figureLegal, figureCanary, figureCaught,
		figureMarksMissed, figureMarksWanted, figureOperations,
	} {
		f, ok := j.figureOf(r, cellCampaign, name)
		if !ok {
			return j.verdict()
		}
		values[name] = total(&f)
	}
	for _, name := range []string{figureViolations, figureDiffering, figureIllegal} {
		j.none(name, values[name])
	}
	if values[figureCaught] == 0 {
		j.leaveOpen("no canary was caught in %s trials: the campaign is blind", short(values[figureCanary]))
	}
	if values[figureMarksMissed] > 0 {
		j.leaveOpen("%s of %s rare states were not reached", short(values[figureMarksMissed]), short(values[figureMarksWanted]))
	}
	if values[figureLegal] < linearizableMin {
		j.leaveOpen("porcupine searched %s ledgers, and it takes %d", short(values[figureLegal]), linearizableMin)
	}
	j.support("%s seeds, %s operations, %s ledgers found legal by porcupine, %s of %s rare states reached",
		short(values[figureSeeds]), short(values[figureOperations]), short(values[figureLegal]),
		short(values[figureMarksWanted]-values[figureMarksMissed]), short(values[figureMarksWanted]))
	return j.verdict()
}
