package trial

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/faults"
	"lakebed/sim"
)

func clusterScenarios(t testing.TB) []Scenario {
	var found []Scenario
	for _, s := range Scenarios() {
		if s.Cluster != nil && !s.Canary {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		t.Fatal("no scenario has a cluster")
	}
	return found
}

// TestClusterTrialsAreCleanAndRepeat: each seed gives one result, however often it runs, and no seed fails.
func TestClusterTrialsAreCleanAndRepeat(t *testing.T) {
	for _, s := range clusterScenarios(t) {
		total := map[string]int64{}
		for seed := range uint64(seedCount(t, 8)) {
			a := Run(Options{Scenario: s, Seed: seed})
			if a.Failed() {
				t.Errorf("%s, seed %d: %s: %+v", s.Name, seed, a.Verdict, a.Findings)
			}
			for prefix, counts := range map[string]map[string]int64{"effect ": a.Effects, "answer ": a.Answers, "mark ": a.Marks} {
				for k, v := range counts {
					total[prefix+k] += v
				}
			}
			total["operations"] += a.Operations
			if seed >= 3 {
				continue
			}
			b := Run(Options{Scenario: s, Seed: seed})
			if a.Hash != b.Hash || a.Events != b.Events || a.Image != b.Image || a.Verdict != b.Verdict {
				t.Errorf("%s, seed %d: %x/%d/%x and %x/%d/%x", s.Name, seed, a.Hash, a.Events, a.Image, b.Hash, b.Events, b.Image)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(total)) {
			t.Logf("%s: %-42s %d", s.Name, name, total[name])
		}
	}
}

// TestTheFiredPlanOfAClusterReplaysIt: a plan that was saved and loaded gives the same trace and disks, without chance.
func TestTheFiredPlanOfAClusterReplaysIt(t *testing.T) {
	for _, s := range clusterScenarios(t) {
		for seed := uint64(1); seed <= 3; seed++ {
			a := Run(Options{Scenario: s, Seed: seed})
			text, err := a.Plan.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var plan faults.Plan
			if err := plan.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			b := Run(Options{Scenario: s, Seed: seed, Plan: &plan})
			if a.Hash != b.Hash || a.Image != b.Image || !reflect.DeepEqual(a.Marks, b.Marks) {
				t.Errorf("%s, seed %d: %x/%x, and with its fired plan %x/%x", s.Name, seed, a.Hash, a.Image, b.Hash, b.Image)
			}
		}
	}
}

// TestDrawnClustersKeepTheAllowance: at most so many bookies may lose media that every acknowledged entry keeps a sound
// holder and recovery keeps its quorums; plans are valid within it; wipes and damage do occur.
func TestDrawnClustersKeepTheAllowance(t *testing.T) {
	damaging, shapes := map[faults.Kind]int{}, map[ledger.Quorum]int{}
	for _, s := range clusterScenarios(t) {
		for seed := range uint64(300) {
			d := drawCluster(&Options{Scenario: s, Seed: seed})
			shapes[d.quorum]++
			if n := len(d.allowance.Fragile); n >= d.quorum.Ack && n > 0 || d.bookies <= d.quorum.Ensemble {
				t.Fatalf("%s, seed %d: %d of %d bookies are fragile with %+v", s.Name, seed, n, d.bookies, d.quorum)
			}
			if err := faults.Validate(d.plan, d.allowance); err != nil {
				t.Fatalf("%s, seed %d: %v", s.Name, seed, err)
			}
			for i := range d.plan.Elements {
				if kind := d.plan.Elements[i].Kind; kind.Damages() {
					damaging[kind]++
				}
			}
			if err := d.client.Validate(); err != nil {
				t.Fatalf("%s, seed %d: %v", s.Name, seed, err)
			}
			for i := range d.nodes {
				if err := d.nodes[i].Validate(); err != nil {
					t.Fatalf("%s, seed %d: %v", s.Name, seed, err)
				}
			}
		}
	}
	for _, kind := range []faults.Kind{faults.Wipe, faults.BitRot, faults.Latent} {
		if damaging[kind] == 0 {
			t.Errorf("no plan has an element of kind %s", kind)
		}
	}
	for _, text := range []string{"5/3/2", "3/3/2", "3/3/3", "2/2/1", "2/1/1"} {
		if q, err := parseQuorum(text); err != nil || shapes[q] == 0 {
			t.Errorf("shape %s was never drawn: %v", text, err)
		}
	}
}

// TestRecoveryCanDoWithoutSoManyBookies, by hand for each shape: fewer than the ack quorum, and what is left can take the
// tail again.
func TestRecoveryCanDoWithoutSoManyBookies(t *testing.T) {
	for _, c := range []struct {
		shape          string
		spares, wanted int
	}{
		{"5/3/2", 1, 1}, {"5/3/2", 2, 1}, {"3/3/2", 1, 1}, {"3/3/3", 1, 1}, {"3/3/3", 2, 2}, {"3/3/3", 3, 2},
		{"2/2/1", 1, 0}, {"2/1/1", 2, 0}, {"5/5/3", 1, 2},
	} {
		q, err := parseQuorum(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		d := clusterDraw{quorum: q, bookies: q.Ensemble + c.spares}
		if got := d.awayMax(); got != c.wanted {
			t.Errorf("%s with %d spares: %d, want %d", c.shape, c.spares, got, c.wanted)
		}
	}
}

// TestABlackoutStrikesMostBookiesAtOneMoment, and nothing else.
func TestABlackoutStrikesMostBookiesAtOneMoment(t *testing.T) {
	s, err := Find("cluster")
	if err != nil {
		t.Fatal(err)
	}
	shape := clusterShape(&s, 5, faults.Allowance{})
	for seed := range uint64(50) {
		cuts := drawBlackout(&s, shape, sim.Stream(seed, "blackout"))
		if len(cuts) < 4 || len(cuts) > 5 {
			t.Errorf("seed %d: %d of 5 bookies", seed, len(cuts))
		}
		for _, e := range cuts {
			if e.Kind != faults.PowerCut || e.Trigger != cuts[0].Trigger || !strings.HasPrefix(e.Target.Node, "bookie-") {
				t.Errorf("seed %d: %+v", seed, e)
			}
		}
	}
}

// TestMistakesInClusterScenariosAreFound.
func TestMistakesInClusterScenariosAreFound(t *testing.T) {
	good := `
name = "x"
about = "x"
work_millis = 1
clients = 1
pace_micros = 1
[cluster]
shapes = ["3/3/2"]
spares_max = 1
sessions = 1
ledgers = 1
entries = 1
[cluster.work]
write = 1
`
	if _, err := ParseScenario([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ replace, by, says string }{
		{`"3/3/2"`, `"3/3"`, "not of the form"},
		{`"3/3/2"`, `"3/3/2/1"`, "not of the form"},
		{`"3/3/2"`, `"2/3/2"`, "must not rise"},
		{`["3/3/2"]`, `[]`, "at least one shape"},
		{"spares_max = 1", "spares_max = 0", "must be positive"},
		{"sessions = 1", "sessions = 100", "below 97"},
		{"write = 1", "write = 0", "somebody must write"},
		{"write = 1", "write = 1\ntail = -1", "negative"},
		{"clients = 1", "clients = 1\ndamage = true", "single bookie"},
		{"sessions = 1", "sessions = 1\nsession = 1", "strict mode"},
	} {
		_, err := ParseScenario([]byte(strings.Replace(good, c.replace, c.by, 1)))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s for %s: %v, want %q", c.by, c.replace, err, c.says)
		}
	}
}

// Goal: a bookie whose service a fault ended, and that needs longer to go than the healed world has to do, for its metadata store was away, has
// stopped as it should. (Seed 3072213 of cluster called it a failure.)
func TestABookieThatFailedBeforeTheWorldWasHealedMayGoLater(t *testing.T) {
	s, err := Find("cluster")
	if err != nil {
		t.Fatal(err)
	}
	r := Run(Options{Scenario: s, Seed: 3072213})
	if r.Verdict != OK || r.Marks[string(bookie.PointFailed)] == 0 {
		t.Errorf("%s, %d bookies failed: %v", r.Verdict, r.Marks[string(bookie.PointFailed)], r.Findings)
	}
}

// Goal: where every bookie has lost another entry, its last one, and no entry is lost everywhere, a ledger is recovered.
// (A campaign of 75,000 seeds found one that was not.)
func TestALedgerIsRecoveredFromBookiesThatLostTheirLastEntries(t *testing.T) {
	s, err := Find("cluster-scratches")
	if err != nil {
		t.Fatal(err)
	}
	if r := Run(Options{Scenario: s, Seed: 5034954}); r.Verdict != OK {
		t.Errorf("%s: %v", r.Verdict, r.Findings)
	}
}
