package experiments

import (
	"testing"

	"lakebed/engine/seglog/message"
	"lakebed/reports"
)

func TestLookUpsOfSparseIndexesDecide(t *testing.T) {
	looked := func(sparse []float64, bytes float64) *made {
		m := &made{}
		for _, record := range indexRecords() {
			m.put(indexArm{indexDense, record}.cell(indexWarm), figureLookUp, rounds(10)...)
			m.put(indexArm{indexSparse, record}.cell(indexWarm), figureLookUp, sparse...)
			m.put(indexArm{indexDense, record}.cell(indexAppending), figureIndexBytes, 32)
			m.put(indexArm{indexSparse, record}.cell(indexAppending), figureIndexBytes, bytes)
		}
		return m
	}
	hold(t, judgeIndexes,
		judged{"as fast, and small", reports.Confirmed, looked(rounds(12), 1)},
		judged{"three times as slow", reports.Refuted, looked(rounds(30), 1)},
		judged{"scattered", reports.Undecided, looked(scattered(20), 1)},
		judged{"nothing saved", reports.Undecided, looked(rounds(12), 31)},
		judged{"two rounds", reports.Undecided, looked([]float64{12, 12}, 1)},
	)
}

func TestRatesOfPackedLinesDecide(t *testing.T) {
	packed := func(many []float64) *made {
		m := &made{}
		m.put(packedArm{packedFew, message.Plain}.cell(packedClosed), figureLines, rounds(100)...)
		return m.put(packedArm{packedMany, message.Plain}.cell(packedClosed), figureLines, many...)
	}
	hold(t, judgePacking,
		judged{"many more", reports.Confirmed, packed(rounds(5000))},
		judged{"hardly more", reports.Refuted, packed(rounds(110))},
		judged{"scattered", reports.Undecided, packed(scattered(120))},
		judged{"two rounds", reports.Undecided, packed([]float64{5000, 5000})},
	)
}

func TestPlattersDecideAccess(t *testing.T) {
	accesses := func(rotates float64, random []float64) *made {
		m := &made{}
		m.put(cellDevice, figureRotates, rotates)
		m.put(access{false, doesRead, accessSmall}.cell(), figureByteRate, rounds(100e6)...)
		return m.put(access{true, doesRead, accessSmall}.cell(), figureByteRate, random...)
	}
	hold(t, judgeAccess,
		judged{"platters that seek", reports.Confirmed, accesses(1, rounds(0.5e6))},
		judged{"platters that do not", reports.Refuted, accesses(1, rounds(5e6))},
		judged{"flash", reports.Undecided, accesses(0, rounds(5e6))},
		judged{"scattered", reports.Undecided, accesses(1, scattered(1e6))},
	)
}

func TestSyncsOfPreparedFilesDecide(t *testing.T) {
	files := func(filled, others []float64) *made {
		m := &made{}
		for _, group := range preparedGroups() {
			for i, p := range preparations() {
				samples := others
				if i == 0 {
					samples = rounds(100)
				}
				if i == 3 {
					samples = filled
				}
				m.put(preparedCell(p, group), figureSynced, samples...)
			}
		}
		return m
	}
	hold(t, judgePreallocation,
		judged{"zeros help", reports.Confirmed, files(rounds(60), rounds(100))},
		judged{"nothing differs", reports.Refuted, files(rounds(100), rounds(100))},
		judged{"all are slower", reports.Undecided, files(rounds(150), rounds(150))},
		judged{"two rounds", reports.Undecided, files([]float64{60, 60}, []float64{100, 100})},
	)
}

func TestColdReadsOfAMixedLogDecide(t *testing.T) {
	logs := func(cold []float64) *made {
		m := &made{}
		for _, how := range []string{indexCold, indexWarm} {
			m.put(mixedCell(how, mixedFew), figureDelivery, rounds(100e6)...)
		}
		m.put(mixedCell(indexWarm, mixedMany), figureDelivery, rounds(90e6)...)
		return m.put(mixedCell(indexCold, mixedMany), figureDelivery, cold...)
	}
	hold(t, judgeMixedLog,
		judged{"many queues are slow", reports.Confirmed, logs(rounds(10e6))},
		judged{"many queues are as fast", reports.Refuted, logs(rounds(99e6))},
		judged{"scattered", reports.Undecided, logs(scattered(90e6))},
		judged{"two rounds", reports.Undecided, logs([]float64{10e6, 10e6})},
	)
}

func TestReadsOfFilteredQueuesDecide(t *testing.T) {
	queues := func(filtered []float64, wrong, collisions float64) *made {
		m := &made{}
		for _, tags := range filteredFew() {
			m.put(filteredArm{tags, false, true}.cell(), figureReadPer, filtered...)
			m.put(filteredArm{tags, false, false}.cell(), figureReadPer, rounds(100e3)...)
		}
		m.put(filteredArm{filteredAlike, true, true}.cell(), figureUnwanted, collisions)
		return m.put(filteredArm{filteredAlike, true, true}.cell(), figureWrongTag, wrong)
	}
	hold(t, judgeTagFilter,
		judged{"fewer reads", reports.Confirmed, queues(rounds(5e3), 0, 9)},
		judged{"as many reads", reports.Refuted, queues(rounds(99e3), 0, 9)},
		judged{"a wrong tag", reports.Refuted, queues(rounds(5e3), 1, 9)},
		judged{"no collision", reports.Undecided, queues(rounds(5e3), 0, 0)},
	)
}
