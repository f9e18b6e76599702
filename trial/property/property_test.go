package property_test

import (
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"lakebed/trial"
	"lakebed/trial/property"
)

// set gives a flag of rapid a value for the time of a test.
func set(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, before); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingAcknowledgedIsLost is the example of the package's documentation: whatever breaks, a bookie and a cluster keep
// what they promise.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	set(t, "rapid.checks", "40")
	for _, name := range []string{"bookie", "cluster"} {
		scenario, err := trial.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			property.Run(t, property.Draw(t, scenario))
		})
	}
}

// witness stands for a test that is to fail.
type witness struct {
	testing.TB // for what needs no answer of its own
	failed     bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }
func (w *witness) Error(...any)          { w.failed = true }
func (w *witness) Fatalf(string, ...any) { w.failed = true }
func (w *witness) Fatal(...any)          { w.failed = true }
func (w *witness) FailNow()              { w.failed = true }
func (w *witness) Fail()                 { w.failed = true }
func (w *witness) Failed() bool          { return w.failed }
func (w *witness) Logf(string, ...any)   {}
func (w *witness) Log(...any)            {}

// TestABrokenPromiseShrinksToAFewOperations: with a journal that never syncs, a planted bug by an ordinary setting, the
// property fails, and what rapid shows in the end is as small as what simrun shrink aims at.
func TestABrokenPromiseShrinksToAFewOperations(t *testing.T) {
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.seed", "1")
	set(t, "rapid.shrinktime", "2s")
	scenario, err := trial.Find("canary")
	if err != nil {
		t.Fatal(err)
	}
	var last trial.Options
	w := &witness{TB: t}
	rapid.Check(w, func(t *rapid.T) {
		o := property.Draw(t, scenario)
		r := trial.Run(o)
		if r.Failed() {
			last = o // the last one that fails is the smallest: rapid shows that
			t.Fatalf("%s", fmt.Sprint(r.Findings[0].Signature))
		}
	})
	if !w.failed {
		t.Fatal("a journal that never syncs kept its promises")
	}
	t.Logf("seed %d, %d faults, operations %v", last.Seed, len(last.Plan.Elements), last.Reduction.Operations)
	if n := len(last.Reduction.Operations); n > 8 || len(last.Plan.Elements) > 5 {
		t.Errorf("%d faults and %d operations are left", len(last.Plan.Elements), n)
	}
	if again := trial.Run(last); !again.Failed() {
		t.Error("the smallest trial passes when it is run again")
	}
}
