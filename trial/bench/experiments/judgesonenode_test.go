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

// TestPoliciesAreJudgedByTheirOrder: the two modes that do not wait may be equal.
func TestPoliciesAreJudgedByTheirOrder(t *testing.T) {
	of := func(rates ...[]float64) *made {
		m := &made{}
		for _, kind := range stores.Kinds() {
			for i, mode := range stores.Modes() {
				m.put(policyCell(kind, mode), figureRate, rates[i]...)
			}
		}
		return m
	}
	hold(t, judgePolicies,
		judged{"ascending", reports.Confirmed, of(rounds(1), rounds(10), rounds(20), rounds(20))},
		judged{"a group is slower", reports.Refuted, of(rounds(10), rounds(5), rounds(20), rounds(20))},
		judged{"never is slower than interval", reports.Refuted, of(rounds(1), rounds(10), rounds(20), rounds(15))},
		judged{"noise", reports.Undecided, of(rounds(1), scattered(1), rounds(20), rounds(20))},
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
