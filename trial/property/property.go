package property

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"lakebed/faults"
	"lakebed/trial"
	"lakebed/trial/campaign"
	"lakebed/trial/defects/defect"
	"lakebed/workloads/agenda"
)

// Bounds of what is drawn. Simple trials come first, and most promises break within a few steps or not at all.
const (
	seedMax       = 1 << 16
	operationsMax = 120
	stepMax       = 60 // about as many as a client begins in a trial
	partMax       = 4
)

// Draw draws a trial of a scenario: its seed, the plan of faults, and the operations that clients do.
func Draw(t *rapid.T, s trial.Scenario) trial.Options {
	o := trial.Options{Scenario: s, Seed: rapid.Uint64Range(1, seedMax).Draw(t, "seed")}
	o.Reduction = &trial.Reduction{Operations: Operations(o.Clients()).Draw(t, "operations")}
	plan := faults.PlanGenerator(o.Shape()).Draw(t, "plan")
	o.Plan = &plan
	return o
}

// Operations generates sets of operations of these clients. Each operation is one group of draws.
func Operations(clients []int) *rapid.Generator[[]agenda.Op] {
	one := rapid.Custom(func(t *rapid.T) agenda.Op {
		return agenda.Op{
			Client: rapid.SampledFrom(clients).Draw(t, "client"),
			Step:   rapid.IntRange(1, stepMax).Draw(t, "step"),
			Part:   rapid.IntRange(1, partMax).Draw(t, "part"),
		}
	})
	return rapid.Custom(func(t *rapid.T) []agenda.Op {
		ops := rapid.SliceOfNDistinct(one, 0, operationsMax, func(o agenda.Op) agenda.Op { return o }).Draw(t, "operations")
		slices.SortFunc(ops, func(a, b agenda.Op) int {
			return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Part, b.Part))
		})
		if ops == nil {
			ops = []agenda.Op{} // nil would be all operations
		}
		return ops
	})
}

// Run runs a trial and fails the test if it breaks a promise. The result is for further claims.
func Run(t *rapid.T, o trial.Options) trial.Result {
	t.Helper()
	if err := checkPlanted(os.Getenv(defect.Variable)); err != nil {
		t.Fatal(err)
	}
	r := trial.Run(o)
	if !r.Failed() {
		return r
	}
	var told []string
	for _, f := range r.Findings {
		told = append(told, f.Checker+": "+f.Signature+"\n"+f.Text)
	}
	t.Fatalf("seed %d of %s with %s and %s: %s\n%s%s", o.Seed, o.Scenario.Name, counted(len(o.Plan.Elements), "fault"),
		counted(len(o.Reduction.Operations), "operation"), r.Verdict, strings.Join(told, "\n"), keep(t.Name(), &o, &r))
	return r
}

// FailuresDirectory is where failing trials are kept, beside the test. The last one is the smallest.
const FailuresDirectory = "failures"

// keep writes a failing trial as a case for simrun, and says where. rapid's own files hold draws, which only the test
// understands. With -rapid.nofailfile there are none of either. A scenario that the test has changed cannot be kept: a case
// names its scenario.
func keep(test string, o *trial.Options, r *trial.Result) (said string) {
	if none := flag.Lookup("rapid.nofailfile"); none != nil && none.Value.String() == "true" {
		return ""
	}
	if known, err := trial.Find(o.Scenario.Name); err != nil || !reflect.DeepEqual(known, o.Scenario) {
		return ""
	}
	file := filepath.Join(FailuresDirectory, strings.ReplaceAll(test, "/", "-")+".json")
	err := os.MkdirAll(FailuresDirectory, 0o755)
	if err == nil {
		err = campaign.WriteCase(file, campaign.Case{
			Build: campaign.ThisBuild(), Kind: campaign.Kind(r.Verdict), Signature: r.Findings[0].Signature, Defect: os.Getenv(defect.Variable),
			Result: *r, Reduction: o.Reduction,
		})
	}
	if err != nil {
		return "\nthe trial could not be kept: " + err.Error()
	}
	return "\nkept as " + file + ", for simrun replay, shrink, and replay --html"
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// checkPlanted reports that a bug is asked for which is not there: the test would pass, and seem to see nothing.
func checkPlanted(id string) error {
	if id == "" || defect.Compiled {
		return nil
	}
	return fmt.Errorf("%s=%s, and this program has no planted bugs: build it with go test -overlay DIR/overlay.json, "+
		"which \"simrun defects --overlay DIR\" writes", defect.Variable, id)
}
