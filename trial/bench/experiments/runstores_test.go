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
