package experiments

import (
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

// losing adds what a power cut takes of each store in each mode, and how far back that reaches.
func (m *made) losing(reach float64, lost ...float64) *made {
	for _, kind := range stores.Kinds() {
		for i, mode := range stores.Modes() {
			m.put(lossCell(kind, mode), figureLostAcked, lost[i], lost[i])
		}
		m.put(lossCell(kind, stores.Interval), figureLossReach, reach/2, reach)
	}
	return m
}

// TestPoliciesAreJudgedByTheirOrder: the two modes that do not wait may be equal.
func TestPoliciesAreJudgedByTheirOrder(t *testing.T) {
	of := func(rates ...[]float64) *made {
		m := &made{}
		for _, kind := range stores.Kinds() {
			for i, mode := range stores.Modes() {
				m.put(policyCell(kind, mode), figureRate, rates[i]...)
			}
		}
		return m.losing(400, 0, 0, 300, 2000)
	}
	hold(t, judgePolicies,
		judged{"ascending", reports.Confirmed, of(rounds(1), rounds(10), rounds(20), rounds(20))},
		judged{"a group is slower", reports.Refuted, of(rounds(10), rounds(5), rounds(20), rounds(20))},
		judged{"never is slower than interval", reports.Refuted, of(rounds(1), rounds(10), rounds(20), rounds(15))},
		judged{"noise", reports.Undecided, of(rounds(1), scattered(1), rounds(20), rounds(20))},
	)
}

// TestPoliciesAreJudgedByWhatAPowerCutTakes: nothing where an append waits for a sync, and what came since the last one, or
// more, where it does not.
func TestPoliciesAreJudgedByWhatAPowerCutTakes(t *testing.T) {
	of := func(reach float64, lost ...float64) *made {
		m := &made{}
		for _, kind := range stores.Kinds() {
			for i, mode := range stores.Modes() {
				m.put(policyCell(kind, mode), figureRate, rounds(float64(10*i+10))...)
			}
		}
		if lost == nil {
			return m
		}
		return m.losing(reach, lost...)
	}
	hold(t, judgePolicies,
		judged{"as claimed", reports.Confirmed, of(500, 0, 0, 300, 2000)},
		judged{"a group is lost", reports.Refuted, of(500, 0, 1, 300, 2000)},
		judged{"always loses", reports.Refuted, of(500, 1, 0, 300, 2000)},
		judged{"an interval that did not sync", reports.Refuted, of(900, 0, 0, 300, 2000)},
		judged{"never loses less", reports.Refuted, of(500, 0, 0, 300, 200)},
		judged{"interval was lucky", reports.Undecided, of(0, 0, 0, 0, 2000)},
		judged{"no power cut", reports.Undecided, of(0)},
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
