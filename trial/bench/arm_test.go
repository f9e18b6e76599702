package bench

import (
	"testing"

	"lakebed/reports"
)

// TestEveryCombinationIsAnArmOnce, those with a goal first.
func TestEveryCombinationIsAnArmOnce(t *testing.T) {
	seen := map[string]bool{}
	goals, others := 0, 0
	for _, a := range Arms() {
		if seen[a.Name()] {
			t.Errorf("%s comes twice", a.Name())
		}
		seen[a.Name()] = true
		if _, ok := a.Goal(); !ok {
			others++
			continue
		}
		goals++
		if others > 0 {
			t.Errorf("%s has a goal and comes after one without", a.Name())
		}
	}
	if goals != 12 || others != 36 {
		t.Errorf("%d arms with a goal and %d without, want 12 and 36", goals, others)
	}
	for _, name := range []string{"journal/batches/256/100B", "bookie/blocked/1/16KiB", "bookie/batches/16/1KiB"} {
		if !seen[name] {
			t.Errorf("there is no arm %s", name)
		}
	}
}

// TestTasksAndBatchesMakeUpWhatIsOutstanding, exactly.
func TestTasksAndBatchesMakeUpWhatIsOutstanding(t *testing.T) {
	for _, a := range Arms() {
		tasks, batch := a.split()
		if tasks*batch != a.Outstanding || tasks < 1 {
			t.Errorf("%s: %d tasks with %d entries each", a.Name(), tasks, batch)
		}
		if a.Submission == Blocked && batch != 1 {
			t.Errorf("%s: a blocked task has %d entries outstanding", a.Name(), batch)
		}
	}
	if tasks, batch := (Arm{Outstanding: 256, Submission: Batches}).split(); tasks != 8 || batch != 32 {
		t.Errorf("256 outstanding in batches are %d connections of %d", tasks, batch)
	}
}

// TestAGoalIsMissedByTheMedianOrByTheLowerBound alone.
func TestAGoalIsMissedByTheMedianOrByTheLowerBound(t *testing.T) {
	batches, _ := Arm{Outstanding: 256, Submission: Batches}.Goal()
	blocked, _ := Arm{Outstanding: 256, Submission: Blocked}.Goal()
	for _, c := range []struct {
		goal  Goal
		ratio reports.Figure
		met   bool
	}{
		{batches, reports.Figure{Value: 0.85, Low: 0.80}, true},
		{batches, reports.Figure{Value: 0.849, Low: 0.84}, false},
		{batches, reports.Figure{Value: 0.95, Low: 0.799}, false},
		{blocked, reports.Figure{Value: 0.70, Low: 0.10}, true},
		{blocked, reports.Figure{Value: 0.699, Low: 0.69}, false},
	} {
		if c.goal.Met(c.ratio) != c.met {
			t.Errorf("goal %v, ratio %+v: met is %v", c.goal, c.ratio, !c.met)
		}
	}
}
