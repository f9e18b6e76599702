package metamorphic

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/sameness"
)

// The real worlds of these tests are nodes of oshost: goroutines, files and sockets, for the race detector too.
var _ oshost.Config

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func find(t *testing.T, names ...string) []Relation {
	t.Helper()
	found, err := Find(names)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func run(t *testing.T, o Options) *Report {
	t.Helper()
	o.Dir = t.TempDir()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func printed(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryRelationHoldsInSimulatedWorlds: with killed bookies and without, and each was tried that can be.
func TestEveryRelationHoldsInSimulatedWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	r := run(t, Options{Seed: 1, Seeds: 2})
	if !r.OK() {
		t.Error(printed(t, r))
	}
	for _, tally := range r.Relations {
		relation := Relation{Name: Unchanged}
		if tally.Name != Unchanged {
			relation = find(t, string(tally.Name))[0]
		}
		if want := relation.triedIn(Simulated); (tally.Simulated == 2) != want || tally.Real != 0 {
			t.Errorf("%+v", tally)
		}
	}
}

// TestManyShortEntriesFitIntoABatch: bookies whose store takes little refused whole batches of short entries, because those
// who collected them did not count what the journal adds.
func TestManyShortEntriesFitIntoABatch(t *testing.T) {
	if r := run(t, Options{Relations: find(t, "flush-early"), Seed: 4, Seeds: 1}); !r.OK() {
		t.Error(printed(t, r))
	}
}

// TestProcessorsDoNotShow: on real goroutines, with one and with two of them running at a time, and with other settings.
func TestProcessorsDoNotShow(t *testing.T) {
	names := []string{"one-processor", "two-processors"}
	if !testing.Short() {
		names = append(names, "striped", "flush-early", "small-journal")
	}
	before := runtime.GOMAXPROCS(0)
	r := run(t, Options{Relations: find(t, names...), Seed: 2, RealSeeds: 1})
	if !r.OK() {
		t.Error(printed(t, r))
	}
	for _, tally := range r.Relations {
		if tally.Real != 1 || tally.Simulated != 0 {
			t.Errorf("%+v", tally)
		}
	}
	if runtime.GOMAXPROCS(0) != before {
		t.Error("GOMAXPROCS is not as before")
	}
}

// flipped is a twist that changes one byte of one entry of each ledger.
func flipped(_ sameness.Name, e ledger.EntryID, p []byte) []byte {
	if e == 7 && len(p) > 0 {
		p[0] ^= 1
	}
	return p
}

// TestADifferenceUnderOneRelationIsThatRelationsAlone: one byte that differs under one configuration breaks its relation, no
// other, and the report says how to see it again.
func TestADifferenceUnderOneRelationIsThatRelationsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	o := Options{Relations: find(t, "striped", "flush-early", "mac"), Seed: 2, Seeds: 1}
	for _, name := range []Name{"striped", "flush-early"} {
		o.twist = func(tried Name) sameness.Twist {
			if tried == name {
				return flipped
			}
			return nil
		}
		r := run(t, o)
		command := "simrun metamorphic " + string(name) + " --seed 2 --seeds 1 --real 0"
		if len(r.Broken) != 1 || r.Broken[0].Relation != name || r.Broken[0].Command != command || r.tally(name).Broken != 1 {
			t.Errorf("%s: %s", name, printed(t, r))
		}
		if !strings.Contains(printed(t, r), "again: "+command) {
			t.Errorf("%s: %s", name, printed(t, r))
		}
	}
}

// TestADefectOfAllConfigurationsIsFound: where all differ alike no relation is broken, but the unchanged run is held against
// the script.
func TestADefectOfAllConfigurationsIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	r := run(t, Options{
		Relations: find(t, "striped"), Seed: 2, Seeds: 1,
		twist: func(Name) sameness.Twist { return flipped },
	})
	if len(r.Broken) != 1 || r.Broken[0].Relation != Unchanged || !strings.Contains(r.Broken[0].Text, "the script") {
		t.Error(printed(t, r))
	}
}

// TestAWorldThatDoesNotEndIsABrokenRelation: the unchanged one did, so it is the change that keeps it.
func TestAWorldThatDoesNotEndIsABrokenRelation(t *testing.T) {
	stuck := Relation{Name: "stuck", settings: func(s *sameness.Settings) { s.Bookie.Store.ChunkBytes = 0 }}
	r := run(t, Options{Relations: []Relation{stuck}, Seed: 2, Seeds: 1})
	if len(r.Broken) != 1 || r.Broken[0].Relation != "stuck" || !strings.Contains(r.Broken[0].Text, "did not come to its end") {
		t.Error(printed(t, r))
	}
}

// TestRelationsChangeWhatTheySay: names are unique, every one changes something and has a reason, and scripts that they
// make have one outcome, whatever is drawn.
func TestRelationsChangeWhatTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	seen := map[Name]bool{Unchanged: true}
	var drawn []string
	for seed := range uint64(4) {
		drawn = append(drawn, sameness.Draw(seed, seed%2 == 1).String())
	}
	for _, r := range All() {
		if seen[r.Name] || r.Change == "" || r.Why == "" || r.script == nil && r.settings == nil && r.processors == 0 {
			t.Errorf("%+v", r)
		}
		seen[r.Name] = true
		if r.Shape && r.script == nil || r.processors > 0 && r.Where != OnRealGoroutines {
			t.Errorf("%+v", r)
		}
		differ := 0 // a script may have been what the relation makes of it
		for i, before := range drawn {
			script, err := sameness.Parse(strings.NewReader(before))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := r.changed(script)
			if err != nil || script.String() != before {
				t.Errorf("script %d under relation %s: %v, or the script itself was changed", i, r.Name, err)
			}
			if changed.String() != before {
				differ++
			}
		}
		if (r.script != nil) != (differ > 0) {
			t.Errorf("relation %s changes %d scripts", r.Name, differ)
		}
		settings := sameness.DefaultSettings()
		if r.settings != nil {
			r.settings(&settings)
		}
		if err := errors.Join(settings.Bookie.Validate(), settings.Client.Validate()); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	if _, err := Find([]string{"stripes"}); err == nil || !strings.Contains(err.Error(), "there are: striped, ") {
		t.Errorf("got %v", err)
	}
}

// TestReportsRepeat: the same options give the same report, to the byte.
func TestReportsRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	var texts []string
	for range 2 {
		r := run(t, Options{Relations: find(t, "busy", "striped"), Seed: 3, Seeds: 1})
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], `"broken":[]`) {
		t.Errorf("%s", slices.Compact(texts))
	}
}

// TestAnEndedContextIsAnError, and no verdict about what was not seen.
func TestAnEndedContextIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Run(ctx, Options{Seed: 1, Seeds: 1})
	if !errors.Is(err, context.Canceled) || r.tally(Unchanged).Simulated != 0 {
		t.Errorf("got %v, %+v", err, r)
	}
}
