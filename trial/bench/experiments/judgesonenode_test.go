package experiments

import (
	"slices"
	"testing"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// TestGrowthIsJudgedByTheLargestSizeAndTheStart.
func TestGrowthIsJudgedByTheLargestSizeAndTheStart(t *testing.T) {
	of := func(large []float64, start float64) *made {
		m := &made{}
		for _, kind := range growthKinds() {
			m.put(growthCell(kind, 1<<20), figureByRaw, rounds(0.9)...)
			m.put(growthCell(kind, growthEnough), figureByRaw, large...)
			m.put(startCell(kind), figureStart, start)
		}
		return m
	}
	hold(t, judgeGrowth,
		judged{"flat", reports.Confirmed, of(rounds(0.88), 900)},
		judged{"half the rate", reports.Refuted, of(rounds(0.45), 900)},
		judged{"a slow start", reports.Refuted, of(rounds(0.88), 2100)},
		judged{"noise", reports.Undecided, of(scattered(0.8), 900)},
		judged{"nothing large", reports.Undecided, (&made{}).put(growthCell(stores.SegmentLog, 1<<20), figureByRaw, rounds(1)...)},
	)
}

// TestPartitionsAreJudgedByWhatBothLogsLose.
func TestPartitionsAreJudgedByWhatBothLogsLose(t *testing.T) {
	of := func(segments, messages []float64) *made {
		m := &made{}
		for kind, many := range map[stores.Kind][]float64{stores.SegmentLog: segments, stores.CommitLog: messages} {
			m.put(partitionCell(kind, stores.Group, 1), figurePayloadRate, rounds(100)...)
			m.put(partitionCell(kind, stores.Group, partitionsMost), figurePayloadRate, many...)
		}
		return m
	}
	hold(t, judgePartitions,
		judged{"as claimed", reports.Confirmed, of(rounds(5), rounds(90))},
		judged{"segments do not collapse", reports.Refuted, of(rounds(85), rounds(90))},
		judged{"one log is not flat", reports.Refuted, of(rounds(5), rounds(60))},
		judged{"noise", reports.Undecided, of(scattered(80), rounds(90))},
	)
}

// waiting are the policies whose groups wait for more.
func waiting() []stores.Policy {
	return slices.DeleteFunc(stores.Policies(), func(p stores.Policy) bool { return p.Wait == 0 })
}

// losing adds what a power cut takes of each store in each mode, and where groups wait, and how far back the mode interval's
// loss reaches.
func (m *made) losing(reach, waited float64, lost ...float64) *made {
	for _, kind := range stores.Kinds() {
		for i, mode := range stores.Modes() {
			m.put(lossCell(kind, stores.Policy{Mode: mode}), figureLostAcked, lost[i], lost[i])
		}
		for _, policy := range waiting() {
			m.put(lossCell(kind, policy), figureLostAcked, 0, waited)
		}
		m.put(lossCell(kind, stores.Policy{Mode: stores.Interval}), figureLossReach, reach/2, reach)
	}
	return m
}

// ordered adds rates of each store in each mode, and where groups wait.
func (m *made) ordered(waited []float64, rates ...[]float64) *made {
	for _, kind := range stores.Kinds() {
		for i, mode := range stores.Modes() {
			m.put(policyCell(kind, stores.Policy{Mode: mode}), figureRate, rates[i]...)
		}
		for _, policy := range waiting() {
			m.put(policyCell(kind, policy), figureRate, waited...)
		}
	}
	return m
}

// TestPoliciesAreJudgedByTheirOrder: the two modes that do not wait for a sync may be equal, and so may a group that waits for
// more and one that does not.
func TestPoliciesAreJudgedByTheirOrder(t *testing.T) {
	of := func(waited []float64, rates ...[]float64) *made {
		return (&made{}).ordered(waited, rates...).losing(400, 0, 0, 0, 300, 2000)
	}
	hold(t, judgePolicies,
		judged{"ascending", reports.Confirmed, of(rounds(5), rounds(1), rounds(10), rounds(20), rounds(20))},
		judged{"waiting costs nothing", reports.Confirmed, of(rounds(10), rounds(1), rounds(10), rounds(20), rounds(20))},
		judged{"waiting pays", reports.Refuted, of(rounds(15), rounds(1), rounds(10), rounds(20), rounds(20))},
		judged{"waiting is slower than always", reports.Refuted, of(rounds(1), rounds(2), rounds(10), rounds(20), rounds(20))},
		judged{"a group is slower", reports.Refuted, of(rounds(5), rounds(10), rounds(5), rounds(20), rounds(20))},
		judged{"never is slower than interval", reports.Refuted, of(rounds(5), rounds(1), rounds(10), rounds(20), rounds(15))},
		judged{"noise", reports.Undecided, of(rounds(5), rounds(1), scattered(1), rounds(20), rounds(20))},
	)
}

// TestPoliciesAreJudgedByWhatAPowerCutTakes: nothing where an append waits for a sync, and what came since the last one, or
// more, where it does not.
func TestPoliciesAreJudgedByWhatAPowerCutTakes(t *testing.T) {
	of := func(reach, waited float64, lost ...float64) *made {
		m := (&made{}).ordered(rounds(15), rounds(10), rounds(20), rounds(30), rounds(40))
		if lost == nil {
			return m
		}
		return m.losing(reach, waited, lost...)
	}
	hold(t, judgePolicies,
		judged{"as claimed", reports.Confirmed, of(500, 0, 0, 0, 300, 2000)},
		judged{"a group is lost", reports.Refuted, of(500, 0, 0, 1, 300, 2000)},
		judged{"a group that waited is lost", reports.Refuted, of(500, 1, 0, 0, 300, 2000)},
		judged{"always loses", reports.Refuted, of(500, 0, 1, 0, 300, 2000)},
		judged{"an interval that did not sync", reports.Refuted, of(900, 0, 0, 0, 300, 2000)},
		judged{"never loses less", reports.Refuted, of(500, 0, 0, 0, 300, 200)},
		judged{"interval was lucky", reports.Undecided, of(0, 0, 0, 0, 0, 2000)},
		judged{"no power cut", reports.Undecided, of(0, 0)},
	)
}

// TestLayoutsAreJudgedAtAThousandLedgers.
func TestLayoutsAreJudgedAtAThousandLedgers(t *testing.T) {
	of := func(mixed []float64) *made {
		return (&made{}).put(layoutCell(oneLogForAll, layoutDecides), figureWritten, mixed...).
			put(layoutCell(logPerLedger, layoutDecides), figureWritten, rounds(10)...)
	}
	hold(t, judgeLayouts,
		judged{"much faster", reports.Confirmed, of(rounds(50))},
		judged{"equal", reports.Refuted, of(rounds(10.2))},
		judged{"noise", reports.Undecided, of(scattered(12))},
	)
}
