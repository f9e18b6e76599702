package experiments

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/reports"
	"lakebed/trial/bench/sameness"
	"lakebed/trial/defects"
)

// made is a result that nobody measured.
type made struct{ measured }

const madeGroup = "made"

// put makes a figure of a cell, of wall-clock time, or a count where the name says nothing of time.
func (m *made) put(cell, figure string, samples ...float64) *made {
	return m.putIn(madeGroup, cell, nil, quantity{figure, "1", reports.ClockWall, reports.NeitherBetter}, samples...)
}

func (m *made) putIn(group, cell string, labels []string, q quantity, samples ...float64) *made {
	c := m.group(group, "").cell(cell, labels...)
	for _, s := range samples {
		c.sample(q, s)
	}
	return m
}

func (m *made) done() *reports.Result { return &reports.Result{Groups: m.result(1)} }

// rounds are five samples around a value.
func rounds(v float64) []float64 { return []float64{v * 0.98, v * 0.99, v, v * 1.01, v * 1.02} }

// scattered are five samples over so wide a range that they decide nothing.
func scattered(v float64) []float64 { return []float64{v * 0.2, v * 5, v, v * 0.3, v * 4} }

// judged is one case of a rule.
type judged struct {
	name string
	want reports.VerdictWord
	of   *made
}

// hold runs a rule over its cases, and wants each word among them.
func hold(t *testing.T, rule judge, cases ...judged) {
	t.Helper()
	var words []reports.VerdictWord
	for _, c := range cases {
		got := rule(c.of.done())
		if got.Word != c.want || got.Reason == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, got.Word, got.Reason, c.want)
		}
		words = append(words, c.want)
	}
	for _, word := range []reports.VerdictWord{reports.Confirmed, reports.Refuted, reports.Undecided} {
		if !slices.Contains(words, word) {
			t.Errorf("no case is %s", word)
		}
	}
	if got := rule(&reports.Result{}); got.Word != reports.Undecided {
		t.Errorf("a result without figures is %s: %s", got.Word, got.Reason)
	}
}

func TestGainsOfBatchReadsDecide(t *testing.T) {
	batches := func(small, large []float64) *made {
		m := &made{}
		for _, c := range []struct {
			size, count int
			samples     []float64
		}{{batchSmall, 0, rounds(100)}, {batchSmall, batchCount, small}, {batchLarge, 0, rounds(100)}, {batchLarge, batchCount, large}} {
			m.put(batchArm{fromCache, c.size, c.count, 1}.cell(), figureEntry, c.samples...)
		}
		return m
	}
	hold(t, judgeBatchReads,
		judged{"small entries gain most", reports.Confirmed, batches(rounds(5), rounds(70))},
		judged{"no gain", reports.Refuted, batches(rounds(99), rounds(99))},
		judged{"the gain grows with the size", reports.Refuted, batches(rounds(60), rounds(10))},
		judged{"scattered", reports.Undecided, batches(scattered(60), rounds(99))},
		judged{"the gains are alike", reports.Undecided, batches(rounds(50), rounds(50))},
		judged{"one round", reports.Undecided, batches([]float64{5}, []float64{70})},
	)
}

func TestThroughputOfStripesDecides(t *testing.T) {
	stripes := func(striped, reads []float64) *made {
		m := &made{}
		for _, ack := range []int{2, 3} {
			m.put(stripeArm{slowReal, ledger.Quorum{Ensemble: 5, Write: 3, Ack: ack}, 1, 16 << 10}.cell(), figureBandwidth, striped...)
			m.put(stripeArm{slowReal, ledger.Quorum{Ensemble: 3, Write: 3, Ack: ack}, 1, 16 << 10}.cell(), figureBandwidth, rounds(100)...)
		}
		m.put(stripeReadCell(slowReal, ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}), figureRange, reads...)
		return m.put(stripeReadCell(slowReal, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}), figureRange, rounds(100)...)
	}
	hold(t, judgeStriping,
		judged{"five thirds, and dear reads", reports.Confirmed, stripes(rounds(166), rounds(500))},
		judged{"no gain", reports.Refuted, stripes(rounds(105), rounds(500))},
		judged{"no price", reports.Refuted, stripes(rounds(166), rounds(101))},
		judged{"scattered", reports.Undecided, stripes(scattered(130), rounds(500))},
		judged{"two rounds", reports.Undecided, stripes([]float64{166, 166}, rounds(500))},
	)
}

func TestTheTailOfASlowReplicaDecides(t *testing.T) {
	slow := func(hidden, waited []float64) *made {
		m := &made{}
		for _, world := range []string{slowReal, slowVirtual} {
			for _, q := range slowShapes() {
				samples := hidden
				if q.Ack == q.Write {
					samples = waited
				}
				m.put(slowCell(world, q, slowFactor), "p99", samples...)
			}
		}
		return m
	}
	hold(t, judgeSlowReplica,
		judged{"hidden", reports.Confirmed, slow(rounds(5), rounds(50))},
		judged{"equal", reports.Refuted, slow(rounds(50), rounds(50))},
		judged{"scattered", reports.Undecided, slow(rounds(40), scattered(50))},
		judged{"four rounds", reports.Undecided, slow(rounds(5)[:4], rounds(50)[:4])},
	)
}

// lacRules is X-46 with so many violations in order, hunts that missed, and broken worlds.
func lacRules(violations, missed, bound, broken, others float64) *made {
	m := (&made{}).put(cellInOrder, figureViolations, violations).put(cellInOrder, figureIllegal, 0)
	for _, cell := range []string{cellHighest, cellContiguous} {
		m.put(cell, figureMissed, 0, missed).put(cell, figureBound, bound, bound).put(cell, figureToCatch, 12).put(cell, figureOthers, others)
	}
	return m.put(cellSearchedHi, figureBroken, 1).put(cellSearchedCo, figureBroken, broken)
}

func TestMutantsOfTheLACDecide(t *testing.T) {
	hold(t, judgeLACRules,
		judged{"caught", reports.Confirmed, lacRules(0, 0, schedulesMin, 1, 0)},
		judged{"the right rule fails", reports.Refuted, lacRules(1, 0, schedulesMin, 1, 0)},
		judged{"a mutant survives", reports.Refuted, lacRules(0, 1, schedulesMin, 1, 0)},
		judged{"the search finds nothing", reports.Refuted, lacRules(0, 0, schedulesMin, 0, 0)},
		judged{"a short hunt", reports.Undecided, lacRules(0, 1, 20, 1, 0)},
		judged{"the stalling rule loses", reports.Undecided, lacRules(0, 0, schedulesMin, 1, 1)},
	)
}

func TestReadsThatFailDecideTheChoiceOfReplicas(t *testing.T) {
	choices := func(failed, reads, holes float64) *made {
		m := &made{}
		for _, q := range choiceShapes() {
			m.put(choiceCell(q, setWithRetry), figureFailedReads, failed).put(choiceCell(q, setWithRetry), figureReads, reads)
			m.put(choiceCell(q, anyBookie), figureNotFound, holes).put(choiceCell(q, oneOfSet), figureNotFound, holes)
		}
		return m
	}
	hold(t, judgeReplicaChoice,
		judged{"none fails", reports.Confirmed, choices(0, 3000, 100)},
		judged{"one fails", reports.Refuted, choices(1, 3000, 100)},
		judged{"no holes", reports.Undecided, choices(0, 3000, 0)},
		judged{"few reads", reports.Undecided, choices(0, 10, 100)},
	)
}

// failures is X-48 with one arm in each world.
func failures(spares string, lost, pause, fragments float64, rounds int) *made {
	m := &made{}
	for _, world := range []string{slowVirtual, slowReal} {
		labels := []string{"failure", string(byCrash), "spare bookies", spares, "writer", string(newFragment)}
		for range rounds {
			for name, v := range map[string]float64{figureLost: lost, figurePause: pause, figureFragments: fragments} {
				m.putIn(slowGroup(world), world, labels, count(name, reports.NeitherBetter), v)
			}
		}
	}
	return m
}

func TestLossAndPausesDecideBookieFailure(t *testing.T) {
	hold(t, judgeBookieFailure,
		judged{"a new fragment", reports.Confirmed, failures("1", 0, 20, 2, 5)},
		judged{"a loss", reports.Refuted, failures("1", 1, 20, 2, 5)},
		judged{"blocked", reports.Refuted, failures("1", 0, 9999, 2, 5)},
		judged{"no new fragment", reports.Refuted, failures("1", 0, 20, 1, 5)},
		judged{"blocked without a spare", reports.Confirmed, failures("0", 0, 9999, 1, 5)},
		judged{"two rounds", reports.Undecided, failures("1", 0, 20, 2, 2)},
	)
}

// fencing is X-49 with so many violations in correct mode, and hunts that missed.
func fencing(violations, legal, missed, bound float64, extra ...string) *made {
	m := (&made{}).put(cellRivals, figureViolations, violations).put(cellRivals, figureLegal, legal)
	m.put(armUnfenced, figureMissed, missed).put(armUnfenced, figureBound, bound).put(armUnfenced, figureToCatch, 300)
	for _, id := range fencingDefects() {
		m.put(defectCell(id), figureMissed, 0).put(defectCell(id), figureToCatch, 100)
		for _, figure := range extra {
			m.put(defectCell(id), figure, 1)
		}
	}
	return m
}

func TestMutantsDecideFencing(t *testing.T) {
	hold(t, judgeFencing,
		judged{"caught", reports.Confirmed, fencing(0, 5000, 0, schedulesMin)},
		judged{"correct mode fails", reports.Refuted, fencing(1, 5000, 0, schedulesMin)},
		judged{"the mutant survives", reports.Refuted, fencing(0, 5000, 1, schedulesMin)},
		judged{"a short hunt", reports.Undecided, fencing(0, 5000, 1, 10)},
		judged{"little searched", reports.Undecided, fencing(0, 10, 0, schedulesMin)},
		judged{"a hunt failed", reports.Undecided, fencing(0, 5000, 0, schedulesMin, figureFailed)},
	)
}

func TestCampaignsDecide(t *testing.T) {
	campaigned := func(changed string, v float64) *made {
		m := &made{}
		for name, usual := range map[string]float64{
			figureSeeds: 6000, figureViolations: 0, figureDiffering: 0, figureIllegal: 0, figureLegal: 9000, figureCanary: 20,
			figureCaught: 20, figureMarksMissed: 0, figureMarksWanted: 8, figureOperations: 5e6,
		} {
			if name == changed {
				usual = v
			}
			m.put(cellCampaign, name, usual)
		}
		return m
	}
	hold(t, judgeCampaign,
		judged{"clean", reports.Confirmed, campaigned("", 0)},
		judged{"a violation", reports.Refuted, campaigned(figureViolations, 1)},
		judged{"no order", reports.Refuted, campaigned(figureIllegal, 1)},
		judged{"two runs differ", reports.Refuted, campaigned(figureDiffering, 1)},
		judged{"blind", reports.Undecided, campaigned(figureCaught, 0)},
		judged{"weak", reports.Undecided, campaigned(figureMarksMissed, 1)},
		judged{"little searched", reports.Undecided, campaigned(figureLegal, 10)},
	)
}

func TestSurvivorsDecideMutations(t *testing.T) {
	planted := func(figure string) *made {
		m := &made{}
		for _, d := range defects.All() {
			m.put(defectCell(d.ID), figureMissed, 0, 0, 0, 0, 0).put(defectCell(d.ID), figureToCatch, 3, 4, 3, 4, 3)
		}
		if figure != "" {
			m.put(defectCell("other"), figure, 0, 1)
		}
		return m
	}
	hold(t, judgeMutations,
		judged{"all caught", reports.Confirmed, planted("")},
		judged{"one survives one hunt", reports.Refuted, planted(figureMissed)},
		judged{"a hunt failed", reports.Undecided, planted(figureFailed)},
	)
	part, seldom := planted("").done(), planted("").done()
	part.Groups[0].Cells = part.Groups[0].Cells[1:]
	f := &seldom.Groups[0].Cells[0].Figures[0]
	f.Samples = f.Samples[1:]
	for _, r := range []*reports.Result{part, seldom} {
		if got := judgeMutations(r); got.Word != reports.Undecided || !strings.Contains(got.Reason, "incomplete") {
			t.Errorf("a part of the catalogue is %s: %s", got.Word, got.Reason)
		}
	}
}

func TestViolationsDecideMedia(t *testing.T) {
	campaigned := func(figure string, v float64) *made {
		m := &made{}
		for i, a := range mediaArms() {
			for name, usual := range map[string]float64{figureSeeds: mediaSeeds, figureViolations: 0, figureDiffering: 0, figureFelt: 9} {
				if name == figure && i == 0 {
					usual = v
				}
				m.put(a.name(), name, usual)
			}
		}
		for i, id := range uncheckedDefects(false) {
			missed := 0.0
			if figure == figureMissed && i == 0 {
				missed = v
			}
			m.put(defectCell(id), figureMissed, missed)
		}
		return m
	}
	hold(t, judgeMedia,
		judged{"clean", reports.Confirmed, campaigned("", 0)},
		judged{"a violation", reports.Refuted, campaigned(figureViolations, 1)},
		judged{"two runs differ", reports.Refuted, campaigned(figureDiffering, 1)},
		judged{"few seeds", reports.Undecided, campaigned(figureSeeds, 5)},
		judged{"nothing felt", reports.Undecided, campaigned(figureFelt, 0)},
		judged{"blind", reports.Undecided, campaigned(figureMissed, 1)},
	)
}

func TestWhatIsLeftDecidesShrinking(t *testing.T) {
	shrunk := func(faults, operations, alike float64, leftOut int) *made {
		m := &made{}
		for _, d := range defects.All()[leftOut:] {
			c := defectCell(d.ID)
			m.put(c, figureFaultsLeft, faults).put(c, figureOperationsLeft, operations).put(c, figureMinimal, 1).
				put(c, figureReplays, 10).put(c, figureAlike, alike)
		}
		return m
	}
	hold(t, judgeShrinking,
		judged{"small", reports.Confirmed, shrunk(5, 8, 10, 0)},
		judged{"many faults", reports.Refuted, shrunk(6, 8, 10, 0)},
		judged{"many operations", reports.Refuted, shrunk(5, 9, 10, 0)},
		judged{"not alike", reports.Refuted, shrunk(5, 8, 9, 0)},
		judged{"one is missing", reports.Undecided, shrunk(1, 1, 10, 1)},
	)
}

func TestDifferingTracesDecideDeterminism(t *testing.T) {
	compared := func(trials, differing float64) *made {
		m := &made{}
		for _, setting := range runtimes()[1:] {
			m.put(runtimeCell(setting), figureCompared, trials).put(runtimeCell(setting), figureDiffering, differing)
		}
		return m
	}
	part := compared(400, 0).done()
	part.Groups[0].Cells = part.Groups[0].Cells[:2]
	if got := judgeDeterminism(part); got.Word != reports.Undecided || !strings.Contains(got.Reason, "incomplete: no trial ran with GOGC=") {
		t.Errorf("two settings are %s: %s", got.Word, got.Reason)
	}
	hold(t, judgeDeterminism,
		judged{"equal", reports.Confirmed, compared(400, 0)},
		judged{"one differs", reports.Refuted, compared(400, 1)},
		judged{"few trials", reports.Undecided, compared(10, 0)},
	)
}

func TestUnlikeStatesDecideSameness(t *testing.T) {
	sameOf := func(unlike, machines, worlds float64, ledgers ...float64) *made {
		m := (&made{}).put(cellSame, figureUnlike, unlike).put(cellSame, figureWorlds, worlds).put(cellSame, figureMachines, machines)
		for i, n := range ledgers {
			m.put(fmt.Sprint("cluster ", i), sameness.FigureLedgers, n)
		}
		return m
	}
	all := []float64{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}
	same := func(unlike, machines float64) *made { return sameOf(unlike, machines, sameWorldsFull, all...) }
	hold(t, judgeSameness,
		judged{"the same", reports.Confirmed, same(0, 2)},
		judged{"unlike", reports.Refuted, same(1, 2)},
		judged{"no processes", reports.Undecided, same(0, 1)},
		judged{"few worlds", reports.Undecided, sameOf(0, 2, 9, all...)},
		judged{"a cluster is missing", reports.Undecided, sameOf(0, 2, sameWorldsFull, all[1:]...)},
		judged{"a ledger is missing", reports.Undecided, sameOf(0, 2, sameWorldsFull, append([]float64{6}, all[1:]...)...)},
	)
}

// TestEachHypothesisHasAProgramAndSaysWhatItIs: the files are complete, and none is without a measurement or a rule.
func TestEachHypothesisHasAProgramAndSaysWhatItIs(t *testing.T) {
	all := Hypotheses()
	if len(all) != len(programs()) {
		t.Errorf("%d hypotheses, %d programs", len(all), len(programs()))
	}
	for _, h := range all {
		e, err := find(h.ID)
		if err != nil || e.measure == nil || e.judge == nil {
			t.Errorf("%s: %v", h.ID, err)
		}
		lower, err := Find(ID(strings.ToLower(string(h.ID))))
		if err != nil || lower.ID != h.ID {
			t.Errorf("%s is not found in lower case: %v", h.ID, err)
		}
	}
	if h, err := Find("x-7"); err != nil || h.ID != "X-07" {
		t.Errorf("x-7: %s, %v", h.ID, err)
	}
	if _, err := Find("X-99"); err == nil || !strings.Contains(err.Error(), "X-45") {
		t.Errorf("X-99: %v", err)
	}
}

// TestAHypothesisThatIsIncompleteIsRefused, and so is one with a key that nobody knows.
func TestAHypothesisThatIsIncompleteIsRefused(t *testing.T) {
	for text, reason := range map[string]string{
		`id = "X-1"`:                        "mode",
		"id = \"X-1\"\nmode = \"S\"":        "title",
		"id = \"X-1\"\nmood = \"S\"":        "strict",
		"id = \"X-1\"\nmode = \"V\"":        "none of",
		"id = 7":                            "hypothesis",
		strings.Repeat("[", 100) + "id = 1": "hypothesis",
	} {
		if _, err := ParseHypothesis([]byte(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
