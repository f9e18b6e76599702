package trial

import (
	"strings"
	"testing"
	"time"

	"lakebed/faults"
	"lakebed/workloads/agenda"
)

// TestWhatATrialDidCanBeWrittenOut: with its fired plan and its operations made explicit a trial has the same trace and
// disks. So they can be taken away one by one, and the first step of that is none that loses a failure. In seed 5 of
// endings two clients on other machines wait for connections all the time.
func TestWhatATrialDidCanBeWrittenOut(t *testing.T) {
	for name, first := range map[string]uint64{
		"bookie": 1, "damage": 1, "cluster": 1, "cluster-foreign": 1, "endings": 4, "segments": 1, "commitlog-remote": 1,
	} {
		s, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := first; seed < first+3; seed++ {
			var course Passage
			a := Run(Options{Scenario: s, Seed: seed, Passage: func(c Passage) { course = c }})
			if len(course.Performed) == 0 || len(course.Visited) == 0 {
				t.Fatalf("%s, seed %d: nothing came to pass", name, seed)
			}
			o := Options{Scenario: s, Seed: seed, Plan: &a.Plan, Reduction: &Reduction{Operations: course.Performed}}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			b := Run(o)
			if a.Hash != b.Hash || a.Image != b.Image {
				t.Errorf("%s, seed %d: %x, and written out %x", name, seed, a.Hash, b.Hash)
			}
		}
	}
}

// TestReducedTrialsOfASoundEnginePass: taking work and drawn values away breaks no promise, so what a small trial shows is
// the engine's.
func TestReducedTrialsOfASoundEnginePass(t *testing.T) {
	for _, name := range []string{"bookie", "starts", "cluster", "cluster-foreign", "cluster-stripes"} {
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

// TestPlansOfAllScenariosNameNodesThatAreThere: a case is refused if its plan names others, so no plan that a trial has
// written out may.
func TestPlansOfAllScenariosNameNodesThatAreThere(t *testing.T) {
	for _, s := range Scenarios() {
		const seed = 1
		r := Run(Options{Scenario: s, Seed: seed})
		o := Options{Scenario: s, Seed: seed, Plan: &r.Plan}
		if err := o.CheckNames(); err != nil {
			t.Errorf("seed %d of %s: %v", seed, s.Name, err)
		}
	}
}
