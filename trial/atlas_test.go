package trial

import (
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/model"
)

// TestAnEntryNeverLosesMoreCopiesThanItsBudget: fragile holders count as lost, whoever lost it counts once, and an entry
// whose holders nobody knows is not touched.
func TestAnEntryNeverLosesMoreCopiesThanItsBudget(t *testing.T) {
	a := newAtlas(2, map[string]bool{"weak": true})
	one, two := entryKey{1, 7}, entryKey{2, 0}
	holders := func(names ...string) func(entryKey) ([]string, bool) {
		return func(entryKey) ([]string, bool) { return names, len(names) > 0 }
	}
	take := func(node string, hit []entryKey, names ...string) bool {
		ok := a.allowed(node, hit, holders(names...))
		if ok {
			a.lose(node, hit)
		}
		return ok
	}
	for i, step := range []struct {
		node  string
		hit   []entryKey
		names []string
		want  bool
	}{
		{"a", []entryKey{one}, []string{"a", "b", "weak"}, true},       // a, and weak may go at any time
		{"a", []entryKey{one}, []string{"a", "b", "weak"}, true},       // the same copy again
		{"b", []entryKey{one}, []string{"a", "b", "weak"}, false},      // the last one
		{"b", []entryKey{two, one}, []string{"a", "b", "weak"}, false}, // beside an entry that has enough
		{"b", []entryKey{two}, []string{"a", "b", "c"}, true},          // weak does not hold it
		{"c", []entryKey{two}, []string{"a", "b", "c"}, true},          // two of a budget of two
		{"a", []entryKey{two}, []string{"a", "b", "c"}, false},         //
		{"a", []entryKey{{3, 0}}, nil, false},                          // holders unknown
		{"a", nil, []string{"a"}, false},                               // nothing is there to lose
	} {
		if got := take(step.node, step.hit, step.names...); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
	if a.most() != 2 {
		t.Errorf("most is %d", a.most())
	}
}

// TestMoreBookiesAreDamagedThanAnyEntryCouldLose, in some trial, and all is found all the same; what is spared is told.
func TestMoreBookiesAreDamagedThanAnyEntryCouldLose(t *testing.T) {
	s, err := Find("cluster-scratches")
	if err != nil {
		t.Fatal(err)
	}
	beyond, spared := 0, 0
	for seed := range uint64(seedCount(t, 8)) {
		r := Run(Options{Scenario: s, Seed: seed})
		if r.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, r.Verdict, r.Findings)
		}
		nodes := map[string]bool{}
		for _, w := range r.Damage {
			if w.Spared {
				spared++
			} else {
				nodes[w.Node] = true
			}
		}
		if d := drawCluster(&Options{Scenario: s, Seed: seed}); len(nodes) > d.quorum.Ack-1 {
			beyond++
		}
	}
	if beyond == 0 || spared == 0 {
		t.Errorf("%d trials damaged more than Qa-1 bookies, %d places were spared", beyond, spared)
	}
}

// TestAimsMeetTheirTargets: in some trials each aim's moment comes and somebody is there to be struck.
func TestAimsMeetTheirTargets(t *testing.T) {
	s, err := Find("cluster-aimed")
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]int{}
	for seed := range uint64(seedCount(t, 15)) {
		c := newCluster(Options{Scenario: s, Seed: seed})
		c.runAll()
		for _, f := range c.driver.Firings() {
			for _, a := range clusterAims() {
				if strings.Contains(f.ID, "-"+a.Name+"-") {
					fired[a.Name]++
				}
			}
		}
		c.world.Release()
	}
	t.Logf("fired: %v", fired)
	if len(fired) < len(clusterAims())*2/3 {
		t.Errorf("only %v of %d aims fired", fired, len(clusterAims()))
	}
}

// TestAMarkNamesTheBookiesThatJoined, by the metadata, since the engine does not say.
func TestAMarkNamesTheBookiesThatJoined(t *testing.T) {
	c := &cluster{ledgers: map[ledger.ID]ledger.Metadata{1: {Fragments: []ledger.Fragment{
		{First: 0, Ensemble: []ledger.BookieID{"a:1", "b:1", "c:1"}}, {First: 4, Ensemble: []ledger.BookieID{"a:1", "d:1", "e:1"}},
	}}, 2: {Fragments: []ledger.Fragment{{First: 0, Ensemble: []ledger.BookieID{"a:1", "b:1"}}}}}}
	for _, want := range []struct {
		event host.Event
		names string
	}{
		{host.Event{Name: client.PointEnsembleChanged, A: 1}, "d:1,e:1"},
		{host.Event{Name: client.PointRecoveryEnsemble, A: 2}, ""},
		{host.Event{Name: client.PointEnsembleChanged, A: 3}, ""},
		{host.Event{Name: client.PointRecoveryStarted, A: 1}, "a:1,d:1,e:1"},
		{host.Event{Name: client.PointAcked, A: 1, Extra: "b:1"}, "b:1"},
	} {
		if got := c.naming(&want.event); got != want.names {
			t.Errorf("%+v names %q", want.event, got)
		}
	}
}

// TestALiftedScenarioExcusesLossAndNeverAWrongAnswer, and loss only where the plan destroyed something.
func TestALiftedScenarioExcusesLossAndNeverAWrongAnswer(t *testing.T) {
	lifted, strict := Scenario{Lifted: true}, Scenario{}
	for _, checker := range []string{model.CheckerContent, model.CheckerInvented, model.CheckerRange, model.CheckerEnd,
		model.CheckerMetadata, model.CheckerConfirmed, model.CheckerHistory, model.CheckerAckOrder} {
		if lifted.excuses(&model.Violation{Checker: checker}, 9) {
			t.Errorf("%s is excused", checker)
		}
	}
	if lifted.excuses(&model.Violation{Checker: model.CheckerBeyond, Signature: "beyond: entry above the confirmed one"}, 1) {
		t.Error("an entry that is not confirmed is excused")
	}
	for _, checker := range lossCheckers {
		v := &model.Violation{Checker: checker}
		if !lifted.excuses(v, 1) || lifted.excuses(v, 0) || strict.excuses(v, 1) {
			t.Errorf("%s: with and without damage %v, %v, not lifted %v", checker, lifted.excuses(v, 1), lifted.excuses(v, 0), strict.excuses(v, 1))
		}
	}
}

// TestAForgedCookieLetsABookieStartWithNothing: no wiped bookie is refused, and some trial loses what was acknowledged.
func TestAForgedCookieLetsABookieStartWithNothing(t *testing.T) {
	s, err := Find("forged-cookie")
	if err != nil {
		t.Fatal(err)
	}
	lost, wiped := 0, 0
	for seed := range uint64(seedCount(t, 60)) {
		if lost > 0 && seed > 6 {
			break
		}
		r := Run(Options{Scenario: s, Seed: seed})
		if r.Failed() || r.Marks[MarkRefused] > 0 {
			t.Errorf("seed %d: %s, refused %d: %+v", seed, r.Verdict, r.Marks[MarkRefused], r.Findings)
		}
		lost += len(r.Excused)
		wiped += len(r.Damage)
		if len(r.Excused) > 0 && !slices.ContainsFunc(r.Plan.Elements, func(e faults.Element) bool { return e.Kind == faults.Wipe }) {
			t.Errorf("seed %d: lost %+v without a wipe", seed, r.Excused)
		}
	}
	if wiped == 0 || !testing.Short() && lost == 0 {
		t.Errorf("%d wipes, %d losses", wiped, lost)
	}
}
