package experiments

import (
	"fmt"
	"strings"

	"lakebed/reports"
	"lakebed/trial/bench/sameness"
	"lakebed/trial/defects"
)

// Bounds of the verdicts on the laboratory itself. A run that has less decides nothing.
const (
	mutationHunts   = 5   // of each defect
	mediaSeeds      = 500 // of each kind of fault
	determinismMin  = 100 // trials a setting
	sameMachinesMin = 2   // clusters on this machine: in one process, and of processes
)

// incomplete leaves the verdict open where less was measured than the hypothesis speaks of.
func (j *judgement) incomplete(format string, arguments ...any) {
	j.leaveOpen("incomplete: "+format, arguments...)
}

// wholeCatalogue wants every planted bug of the catalogue, as often as the hypothesis says.
func (j *judgement) wholeCatalogue(r *reports.Result) {
	var missing, seldom []string
	all := defects.All()
	for _, d := range all {
		c, ok := r.Cell(defectCell(d.ID))
		if !ok {
			missing = append(missing, d.ID)
			continue
		}
		done, _ := c.Figure(figureMissed)
		failed, _ := c.Figure(figureFailed)
		if len(done.Samples)+len(failed.Samples) < mutationHunts {
			seldom = append(seldom, d.ID)
		}
	}
	if len(missing) > 0 {
		j.incomplete("%d of the %d defects of the catalogue were not hunted, such as %s", len(missing), len(all), missing[0])
	}
	if len(seldom) > 0 {
		j.incomplete("%d defects were hunted fewer than %d times, such as %s", len(seldom), mutationHunts, seldom[0])
	}
}

// judgeMutations: each defect of the catalogue is caught in every hunt. One that survives a hunt refutes.
func judgeMutations(r *reports.Result) reports.Verdict {
	var j judgement
	j.wholeCatalogue(r)
	var survivors []string
	hunted, slowest, slowestID := 0, 0.0, ""
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			hunted++
			if failed, ok := c.Figure(figureFailed); ok {
				j.leaveOpen("%s hunts of %s failed", short(total(&failed)), c.Name)
			}
			if missed, ok := c.Figure(figureMissed); ok && total(&missed) > 0 {
				survivors = append(survivors, strings.TrimPrefix(c.Name, defectCell("")))
			}
			if caught, ok := c.Figure(figureToCatch); ok && caught.Value > slowest {
				slowest, slowestID = caught.Value, strings.TrimPrefix(c.Name, defectCell(""))
			}
		}
	}
	switch {
	case len(survivors) > 0:
		j.refute("%d of %d defects survived a hunt: %s", len(survivors), hunted, strings.Join(survivors, ", "))
	case hunted > 0:
		j.support("%d defects, each caught in every hunt; the slowest median is %s schedules, of %s", hunted, short(slowest), slowestID)
	}
	return j.verdict()
}

// judgeMedia: no arm has a violation, each felt its kind, and every bug that skips a check is seen.
func judgeMedia(r *reports.Result) reports.Verdict {
	var j judgement
	sums := map[string]float64{}
	for _, a := range mediaArms() {
		found := map[string]float64{}
		for _, name := range []string{figureSeeds, figureViolations, figureDiffering, figureFelt} {
			f, ok := j.figureOf(r, a.name(), name)
			if !ok {
				return j.verdict()
			}
			found[name] = total(&f)
			sums[name] += found[name]
		}
		switch {
		case found[figureSeeds] < mediaSeeds:
			j.incomplete("%s seeds of %s, and it takes %d", short(found[figureSeeds]), a.name(), mediaSeeds)
		case found[figureFelt] == 0:
			j.leaveOpen("%s never felt its fault", a.name())
		}
	}
	j.none(figureViolations, sums[figureViolations])
	j.none(figureDiffering, sums[figureDiffering])
	caught := 0
	for _, id := range uncheckedDefects(false) {
		missed, ok := j.figureOf(r, defectCell(id), figureMissed)
		switch {
		case ok && total(&missed) > 0:
			j.leaveOpen("%s survived a hunt: the arms may be blind", id)
		case ok:
			caught++
		}
	}
	j.support("%d arms, %s seeds, %s faults of their kinds; %d bugs that skip a check were caught in each hunt",
		len(mediaArms()), short(sums[figureSeeds]), short(sums[figureFelt]), caught)
	return j.verdict()
}

// judgeDeterminism: no trial differs under any setting, and enough were compared.
func judgeDeterminism(r *reports.Result) reports.Verdict {
	var j judgement
	for _, setting := range runtimes()[1:] {
		if _, ok := r.Cell(runtimeCell(setting)); !ok {
			j.incomplete("no trial ran with %s", setting)
		}
	}
	least, settings, differing := 0.0, 0, 0.0
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			compared, ok := c.Figure(figureCompared)
			differ, found := c.Figure(figureDiffering)
			if !ok || !found {
				continue
			}
			if settings == 0 || compared.Value < least {
				least = compared.Value
			}
			settings++
			differing += differ.Value
		}
	}
	switch {
	case differing > 0:
		j.refute("%s trials differ", short(differing))
	case settings == 0:
	case least < determinismMin:
		j.incomplete("%s trials a setting, and it takes %d", short(least), determinismMin)
	default:
		j.support("%s trials under %d settings more, none differs", short(least), settings)
	}
	return j.verdict()
}

// judgeSameness: no state differs from that of the script, in simulated worlds, in one process and in processes.
func judgeSameness(r *reports.Result) reports.Verdict {
	var j judgement
	unlike, ok := j.figureOf(r, cellSame, figureUnlike)
	worlds, found := j.figureOf(r, cellSame, figureWorlds)
	machines, counted := j.figureOf(r, cellSame, figureMachines)
	if !ok || !found || !counted {
		return j.verdict()
	}
	j.none("states unlike the one that follows from the script", unlike.Value)
	if machines.Value < sameMachinesMin {
		j.leaveOpen("no cluster of processes was compared")
	}
	if worlds.Value < sameWorldsFull {
		j.incomplete("%s simulated worlds, and it takes %d", short(worlds.Value), sameWorldsFull)
	}
	j.sameLedgers(r, int(worlds.Value+machines.Value))
	j.support("%s simulated worlds and %s clusters on this machine compared", short(worlds.Value), short(machines.Value))
	return j.verdict()
}

// sameLedgers wants every cluster that was compared to have had all ledgers of the script.
func (j *judgement) sameLedgers(r *reports.Result, clusters int) {
	seen, fewest, most := 0, 0.0, 0.0
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			f, ok := c.Figure(sameness.FigureLedgers)
			if !ok {
				continue
			}
			if seen == 0 {
				fewest, most = f.Value, f.Value
			}
			fewest, most = min(fewest, f.Value), max(most, f.Value)
			seen++
		}
	}
	switch {
	case seen < clusters:
		j.incomplete("the ledgers of %d clusters of %d were compared", seen, clusters)
	case fewest < most || most == 0:
		j.incomplete("%s ledgers were compared in one cluster, and %s in another", short(fewest), short(most))
	}
}

// judgeShrinking: half of all failing trials are small, and each fails alike whenever it is run again.
func judgeShrinking(r *reports.Result) reports.Verdict {
	var j judgement
	var faults, operations []float64
	minimal, missing, all := 0, 0, defects.All()
	for _, d := range all {
		found := map[string]float64{}
		c, ok := r.Cell(defectCell(d.ID))
		if !ok {
			missing++
			continue
		}
		for _, name := range []string{figureFaultsLeft, figureOperationsLeft, figureMinimal, figureReplays, figureAlike} {
			f, ok := c.Figure(name)
			if !ok {
				j.leaveOpen("%s of %s was not measured", name, d.ID)
			}
			found[name] = f.Value
		}
		faults, operations = append(faults, found[figureFaultsLeft]), append(operations, found[figureOperationsLeft])
		if found[figureMinimal] > 0 {
			minimal++
		}
		if found[figureAlike] < found[figureReplays] || found[figureReplays] == 0 {
			j.refute("%s of %s replays of %s fail alike", short(found[figureAlike]), short(found[figureReplays]), d.ID)
		}
	}
	if missing > 0 {
		j.incomplete("%d of the %d defects of the catalogue have no small trial", missing, len(all))
	}
	if len(faults) == 0 {
		return j.verdict()
	}
	said := fmt.Sprintf("%d trials made small: median %s faults and %s operations; in %d nothing can go",
		len(faults), short(reports.Median(faults)), short(reports.Median(operations)), minimal)
	if reports.Median(faults) > smallFaults || reports.Median(operations) > smallOperations {
		j.refute("%s", said)
	} else {
		j.support("%s", said)
	}
	return j.verdict()
}
