package shrink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lakebed/faults"
	"lakebed/trial"
	"lakebed/workloads/agenda"
)

// always is a budget without end.
func always() bool { return true }

// TestMinimizeLeavesWhatIsNeeded: of any list, wherever the needed elements stand, exactly those are left; the number of
// tests stays far below that of all subsets.
func TestMinimizeLeavesWhatIsNeeded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 1 + r.IntN(300)
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		needed := r.Perm(n)[:r.IntN(min(n, 6)+1)]
		slices.Sort(needed)
		tests := 0
		got := Minimize(all, 1, func(left []int) bool {
			tests++
			return !slices.ContainsFunc(needed, func(i int) bool { return !slices.Contains(left, i) })
		}, always)
		if !slices.Equal(got, needed) {
			t.Fatalf("of %d, needed %v: left %v", n, needed, got)
		}
		if most := 3*n + 100; tests > most {
			t.Errorf("of %d, needed %v: %d tests", n, needed, tests)
		}
	}
}

// TestMinimizeIsOneMinimal: where elements are needed only together with others, no single one can be removed from what
// is left, even if it is not the smallest that there is.
func TestMinimizeIsOneMinimal(t *testing.T) {
	fails := func(left []int) bool { // needs an odd element for each even one, and two at least
		odd := 0
		for _, i := range left {
			odd += i % 2
		}
		return len(left) >= 2 && odd*2 >= len(left)
	}
	got := Minimize([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1, fails, always)
	for i := range got {
		if fails(slices.Delete(slices.Clone(got), i, i+1)) {
			t.Errorf("%v also fails without %d", got, got[i])
		}
	}
}

// TestMinimizeStopsWithItsBudget: when there is no more, the smallest so far is returned, and no test runs.
func TestMinimizeStopsWithItsBudget(t *testing.T) {
	tests := 0
	got := Minimize(make([]int, 1000), 1, func([]int) bool { tests++; return tests == 1 }, func() bool { return tests < 3 })
	if tests != 3 || len(got) != 500 {
		t.Errorf("%d tests, %d left", tests, len(got))
	}
}

// synthetic is a failing trial that runs nowhere: fails says whether a candidate would.
func synthetic(faultCount, clients, steps int, fails func(*Candidate) bool) *reducer {
	whole := Candidate{}
	for i := range faultCount {
		whole.Plan.Elements = append(whole.Plan.Elements, faults.Element{
			ID: fmt.Sprintf("e%02d", i), Kind: faults.Kinds()[i%6], Target: faults.Target{Node: fmt.Sprintf("n%d", i%4)},
			Trigger: faults.Trigger{At: time.Duration(i+1) * 17 * time.Millisecond}, Params: faults.Params{For: 300 * time.Millisecond},
		})
	}
	for step := range steps {
		for client := range clients {
			for part := range 1 + step%3 {
				whole.Reduction.Operations = append(whole.Reduction.Operations, agenda.Op{Client: client, Step: step + 1, Part: part + 1})
			}
		}
	}
	try := func(c Candidate) Outcome {
		o := Outcome{Fails: fails(&c), Performed: c.Reduction.Operations}
		for _, e := range c.Plan.Elements {
			o.Firings = append(o.Firings, faults.Firing{ID: e.ID, At: e.Trigger.At})
		}
		return o
	}
	return &reducer{
		try: try, more: always, spare: always, work: time.Second, draws: []trial.Draw{trial.DrawSchedule, trial.DrawBookies},
		shapes: []shape{{"2/1/1", 2}, {"3/3/2", 4}}, seen: map[string]bool{}, dice: rand.New(rand.NewPCG(1, 2)),
		best: whole, outcome: try(whole),
	}
}

func has(c *Candidate, ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(c.Plan.IDs(), id) })
}

func does(c *Candidate, ops ...agenda.Op) bool {
	return !slices.ContainsFunc(ops, func(o agenda.Op) bool { return !slices.Contains(c.Reduction.Operations, o) })
}

// TestATrialIsReducedToWhatFails: faults, operations, draws, the end of work and parameters that the failure does not need
// are gone; what it needs is left, and the last pass has seen that.
func TestATrialIsReducedToWhatFails(t *testing.T) {
	first, second := agenda.Op{Client: 2, Step: 8, Part: 2}, agenda.Op{Client: 5, Step: 40, Part: 1}
	r := synthetic(25, 6, 60, func(c *Candidate) bool {
		work := time.Duration(c.Reduction.Work)
		return has(c, "e03", "e17") && does(c, first, second) && (work == 0 || work >= 400*time.Millisecond) &&
			!slices.Contains(c.Reduction.Plain, trial.DrawBookies) && c.Reduction.Bookies != 2
	})
	r.run()
	c := &r.best
	if !slices.Equal(c.Plan.IDs(), []string{"e03", "e17"}) || !slices.Equal(c.Reduction.Operations, []agenda.Op{first, second}) {
		t.Errorf("left are %v and %v", c.Plan.IDs(), c.Reduction.Operations)
	}
	if work := time.Duration(c.Reduction.Work); work < 400*time.Millisecond || work > 410*time.Millisecond {
		t.Errorf("the work ends at %s", work)
	}
	if !slices.Equal(c.Reduction.Plain, []trial.Draw{trial.DrawSchedule}) || c.Reduction.Quorum != "3/3/2" || c.Reduction.Bookies != 4 {
		t.Errorf("plain are %v, the shape is %s on %d", c.Reduction.Plain, c.Reduction.Quorum, c.Reduction.Bookies)
	}
	for _, e := range c.Plan.Elements {
		if e.Params.For != shortest || e.Trigger.At != 0 {
			t.Errorf("%s lasts %s and begins at %s", e.ID, e.Params.For, e.Trigger.At)
		}
	}
	if !r.minimal || r.removals != 4 {
		t.Errorf("minimal %v, %d removals", r.minimal, r.removals)
	}
}

// TestOtherLuckIsTried: a failure that hangs on a race goes away with almost every removal, and comes back with other luck.
// Greedy removal alone keeps most of such a trial.
func TestOtherLuckIsTried(t *testing.T) {
	needed := agenda.Op{Client: 1, Step: 3, Part: 1}
	race := func(c *Candidate) bool {
		var sum uint64 = 77 + c.Reduction.Luck
		for _, o := range c.Reduction.Operations {
			sum = sum*31 + uint64(o.Client*10_000+o.Step*10+o.Part)
		}
		sum ^= sum >> 29
		return does(c, needed) && (len(c.Reduction.Operations) > 200 || c.Reduction.Luck != 0 && sum%10 == 0)
	}
	r := synthetic(0, 3, 40, race)
	r.run()
	if n := len(r.best.Reduction.Operations); n > 4 || !r.minimal {
		t.Errorf("%d operations are left, minimal %v", n, r.minimal)
	}
	r = synthetic(0, 3, 40, race)
	for range 3 {
		r.operations()
	}
	if n := len(r.best.Reduction.Operations); n <= 200 {
		t.Errorf("greedy removal alone leaves %d operations: the race is none", n)
	}
}

// TestWhatTheBudgetDoesNotReachIsNotCalledMinimal.
func TestWhatTheBudgetDoesNotReachIsNotCalledMinimal(t *testing.T) {
	r := synthetic(10, 3, 30, func(c *Candidate) bool { return has(c, "e01") })
	r.more = func() bool { return r.tries < 20 }
	r.run()
	if r.minimal || r.tries > 20 || !has(&r.best, "e01") {
		t.Errorf("minimal %v after %d tries, left %v", r.minimal, r.tries, r.best.Plan.IDs())
	}
}

// TestSimplerElementsComeToAnEnd: taking any simpler form of an element again and again ends, for every kind of element
// that is drawn; so do the simplest ones.
func TestSimplerElementsComeToAnEnd(t *testing.T) {
	shape := faults.Shape{Duration: time.Second, Nodes: []faults.NodeShape{
		{Name: "a", Volumes: []string{"v"}, Points: []faults.PointShape{{Point: "p", Asks: true}}}, {Name: "b"},
	}, Allowance: faults.Allowance{Damage: true, Fragile: map[string]bool{"a": true, "b": true}}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		plan := faults.Draw(r, faults.EveryKind(), shape)
		for _, e := range plan.Elements {
			count := 0
			for list := simplerThan(&e); len(list) > 0; list = simplerThan(&e) {
				e = list[r.IntN(len(list))]
				if count++; count > 200 {
					t.Fatalf("no end: %+v", e)
				}
			}
		}
	}
}
