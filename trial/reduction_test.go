package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/faults"
	"lakebed/workloads/agenda"
)

// TestWhatATrialDidCanBeWrittenOut: with its fired plan and its operations made explicit a trial of any scenario is taken, and
// has the same trace and disks. So they can be taken away one by one, and the first step of that is none that loses a failure.
// More seeds when asked by LAKEBED_SEEDS.
func TestWhatATrialDidCanBeWrittenOut(t *testing.T) {
	damaged := map[string]bool{}
	for _, s := range Scenarios() {
		first := uint64(1)
		if s.Name == "endings" {
			first = 5 // two clients on other machines wait for connections all the time
		}
		for seed := first; seed < first+uint64(seedCount(t, 1)); seed++ {
			var course Passage
			a := Run(Options{Scenario: s, Seed: seed, Passage: func(c Passage) { course = c }})
			if len(course.Performed) == 0 || len(course.Visited) == 0 {
				t.Fatalf("%s, seed %d: nothing came to pass", s.Name, seed)
			}
			o := Options{Scenario: s, Seed: seed, Plan: &a.Plan, Reduction: &Reduction{Operations: course.Performed}}
			if err := o.Check(); err != nil {
				t.Errorf("%s, seed %d: what it did is refused: %v", s.Name, seed, err)
				continue
			}
			b := Run(o)
			if a.Hash != b.Hash || a.Image != b.Image || !slices.Equal(a.Damage, b.Damage) {
				t.Errorf("%s, seed %d: %x, and written out %x", s.Name, seed, a.Hash, b.Hash)
			}
			damaged[s.Name] = damaged[s.Name] || len(a.Damage) > 0
		}
	}
	for _, name := range []string{"damage", "segments-damage", "commitlog-damage", "cluster-scratches"} {
		if !damaged[name] {
			t.Errorf("no trial of %s has damaged anything", name)
		}
	}
}

// TestReducedTrialsOfASoundEnginePass: taking work and drawn values away breaks no promise, so what a small trial shows is
// the engine's.
func TestReducedTrialsOfASoundEnginePass(t *testing.T) {
	for _, name := range []string{"bookie", "starts", "cluster", "cluster-foreign", "cluster-stripes", "metadata-service"} {
		s, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := uint64(1); seed <= 3; seed++ {
			var course Passage
			whole := Run(Options{Scenario: s, Seed: seed, Passage: func(c Passage) { course = c }})
			var third []agenda.Op
			for i, o := range course.Performed {
				if i%3 == int(seed%3) {
					third = append(third, o)
				}
			}
			for _, r := range reductions(&s, third) {
				o := Options{Scenario: s, Seed: seed, Plan: &whole.Plan, Reduction: &r}
				if o.Check() != nil {
					continue // a smaller cluster has not all nodes that the plan strikes
				}
				if got := Run(o); got.Failed() {
					t.Errorf("%s, seed %d, %d operations, %v, %s on %d, luck %d: %s %+v", name, seed, len(r.Operations), r.Plain,
						r.Quorum, r.Bookies, r.Luck, got.Verdict, got.Findings)
				}
			}
		}
	}
}

func reductions(s *Scenario, third []agenda.Op) []Reduction {
	list := []Reduction{
		{}, {Operations: []agenda.Op{}}, {Operations: third}, {Operations: third, Work: Span(300 * time.Millisecond), Luck: 7},
	}
	for _, d := range Draws(s) {
		list = append(list, Reduction{Operations: third, Plain: []Draw{d}})
	}
	if s.Cluster != nil {
		list = append(list, Reduction{Operations: third, Quorum: "2/1/1", Bookies: 2}, Reduction{Operations: third, Quorum: "3/3/2", Bookies: 6})
	}
	return list
}

// TestOperationsThatAreLeftOutAreNotDone: a trial does what its reduction keeps, and nothing else.
func TestOperationsThatAreLeftOutAreNotDone(t *testing.T) {
	s, err := Find("bookie")
	if err != nil {
		t.Fatal(err)
	}
	kept := []agenda.Op{{Client: 0, Step: 3, Part: 1}, {Client: 2, Step: 5, Part: 1}, {Client: 7, Step: 2, Part: 1}}
	var course Passage
	r := Run(Options{
		Scenario: s, Seed: 3, Plan: &faults.Plan{}, Reduction: &Reduction{Operations: kept}, Passage: func(c Passage) { course = c },
	})
	if len(course.Performed) != len(kept) || r.Failed() {
		t.Errorf("%v was done, %s: %+v", course.Performed, r.Verdict, r.Findings)
	}
}

// TestReductionsThatProveNothingAreRefused: a plan for nodes that are not there, or with damage beyond what a smaller
// cluster survives, is none, and says why.
func TestReductionsThatProveNothingAreRefused(t *testing.T) {
	cluster, err := Find("cluster")
	if err != nil {
		t.Fatal(err)
	}
	kill := faults.Plan{Elements: []faults.Element{{ID: "a", Kind: faults.Kill, Target: faults.Target{Node: "bookie-4"}}}}
	wipe := faults.Plan{Elements: []faults.Element{{ID: "a", Kind: faults.Wipe, Target: faults.Target{Node: "bookie-0"}}}}
	for _, c := range []struct {
		plan      *faults.Plan
		reduction Reduction
		why       string
	}{
		{nil, Reduction{Work: -1}, "ends between"},
		{nil, Reduction{Plain: []Draw{"weather"}}, "draws no"},
		{nil, Reduction{Quorum: "2/3/1", Bookies: 3}, ""},
		{nil, Reduction{Quorum: "3/3/2", Bookies: 2}, "takes 3 to"},
		{&kill, Reduction{Quorum: "3/3/2", Bookies: 3}, "no node"},
		{&wipe, Reduction{Quorum: "2/1/1", Bookies: 2}, "allowance"},
	} {
		o := Options{Scenario: cluster, Seed: 1, Plan: c.plan, Reduction: &c.reduction}
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v: %v, want %q", c.reduction, err, c.why)
		}
	}
}
