package experiments

import (
	"testing"

	"lakebed/engine/seglog/partition"
)

// TestTimeRulesRun: the source's rule errs where files were copied, and nowhere that nothing happened.
func TestTimeRulesRun(t *testing.T) {
	r := quickly(t, "X-16", Program{})
	if value(t, r, datedCell(copiedFiles, partition.ByModification), figureWrong) == 0 {
		t.Error("copied files do no harm")
	}
	if value(t, r, datedCell(undisturbed, partition.ByModification), figureWrong) > 0 {
		t.Error("the source's rule errs without a reason")
	}
}

func TestEjectionRuns(t *testing.T) {
	r := quickly(t, "X-19", Program{})
	for _, a := range ailments()[1:] {
		if value(t, r, ailingCell(a), figureEjected) == 0 {
			t.Errorf("%s: it was ejected at once", a)
		}
	}
}

// TestOrderRuns: the control shows what out of order is.
func TestOrderRuns(t *testing.T) {
	r := quickly(t, "X-20", Program{})
	if value(t, r, orderedArm{true, orderedManyUnder}.cell(), figureInverted) == 0 {
		t.Error("four appends under way are never out of order")
	}
}

func TestQueuesRun(t *testing.T) { quickly(t, "X-27", Program{}) }

func TestPollsRun(t *testing.T) { quickly(t, "X-29", Program{}) }

func TestRetentionRuns(t *testing.T) { quickly(t, "X-30", Program{}) }

// TestIndexesRun: an item for each message takes many times the bytes of one each 4 KiB.
func TestIndexesRun(t *testing.T) {
	r := quickly(t, "X-15", Program{})
	dense, sparse := indexArm{indexDense, 100}, indexArm{indexSparse, 100}
	if value(t, r, dense.cell(indexAppending), figureIndexBytes) < 2*value(t, r, sparse.cell(indexAppending), figureIndexBytes) {
		t.Error("a dense index is hardly larger than a sparse one")
	}
}

func TestPackingRuns(t *testing.T) { quickly(t, "X-18", Program{}) }

func TestAccessRuns(t *testing.T) { quickly(t, "X-21", Program{}) }

func TestPreallocationRuns(t *testing.T) { quickly(t, "X-22", Program{}) }

// TestMixedLogRuns: messages that lie apart take a read each.
func TestMixedLogRuns(t *testing.T) {
	r := quickly(t, "X-25", Program{})
	if value(t, r, mixedCell(indexWarm, mixedFew), figureReadsPer) >= value(t, r, mixedCell(indexWarm, 50), figureReadsPer) {
		t.Error("messages that lie together take no fewer reads")
	}
}

// TestTagFilterRuns: the store sends what shares the hash, and the filter saves reads.
func TestTagFilterRuns(t *testing.T) {
	r := quickly(t, "X-28", Program{})
	if value(t, r, filteredArm{filteredAlike, true, true}.cell(), figureUnwanted) == 0 {
		t.Error("no message shares the hash of the wanted tag")
	}
	if value(t, r, filteredArm{100, false, true}.cell(), figureReadPer)*2 > value(t, r, filteredArm{100, false, false}.cell(), figureReadPer) {
		t.Error("the filter saves less than half")
	}
}
