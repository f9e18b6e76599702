package faults

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"lakebed/sim"
)

func draw(seed uint64, shape Shape) Plan { return Draw(sim.Stream(seed, "plan"), EveryKind(), shape) }

// TestTheSameSeedDrawsTheSamePlanAndAnotherSeedAnother.
func TestTheSameSeedDrawsTheSamePlanAndAnotherSeedAnother(t *testing.T) {
	shape := testShape(time.Second)
	seen := map[string]uint64{}
	for seed := uint64(1); seed <= 50; seed++ {
		plan := draw(seed, shape)
		if !reflect.DeepEqual(plan, draw(seed, shape)) {
			t.Errorf("seed %d draws two plans", seed)
		}
		text, err := plan.MarshalJSON()
		must(t, err)
		if twin, taken := seen[string(text)]; taken {
			t.Errorf("seeds %d and %d draw one plan", seed, twin)
		}
		seen[string(text)] = seed
	}
}

// TestAnElementIsDrawnAloneWhateverFollows: a longer plan begins with the shorter one.
func TestAnElementIsDrawnAloneWhateverFollows(t *testing.T) {
	shape := testShape(time.Second)
	shape.ElementsMin, shape.ElementsMax = 20, 20
	for seed := uint64(1); seed <= 20; seed++ {
		whole := draw(seed, shape)
		for count := 1; count < 20; count++ {
			short := shape
			short.ElementsMin, short.ElementsMax = count, count
			if got := draw(seed, short); !reflect.DeepEqual(got.Elements, whole.Elements[:count]) {
				t.Fatalf("seed %d: the first %d elements differ from those of 20", seed, count)
			}
		}
	}
}

// TestDrawnPlansAreValidAndWithinTheShape, and use all of it.
func TestDrawnPlansAreValidAndWithinTheShape(t *testing.T) {
	shape := testShape(time.Second)
	shape.Peers = []string{"client"}
	kinds, triggers, sizes, off := map[Kind]int{}, map[string]int{}, map[int]bool{}, map[Kind]bool{}
	peers := map[string]bool{}
	total := 0
	for seed := uint64(1); seed <= 400; seed++ {
		plan := draw(seed, shape)
		if err := Validate(plan, shape.Allowance); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sizes[len(plan.Elements)] = true
		had := map[Kind]bool{}
		for _, e := range plan.Elements {
			total++
			kinds[e.Kind]++
			had[e.Kind] = true
			peers[e.Target.Peer] = true
			checkWithin(t, &e, &shape)
			switch {
			case e.Trigger.Visit != nil:
				triggers["visit"]++
			case e.Trigger.Operation != nil:
				triggers["operation"]++
			default:
				triggers["time"]++
			}
		}
		for _, kind := range Kinds() {
			if !had[kind] {
				off[kind] = true
			}
		}
	}
	for _, kind := range Kinds() {
		if kinds[kind] < total/len(Kinds())/3 || !off[kind] {
			t.Errorf("%s: %d of %d elements, some plans without it: %v", kind, kinds[kind], total, off[kind])
		}
	}
	if len(sizes) != 20 || !sizes[6] || !sizes[25] {
		t.Errorf("sizes %v", sizes)
	}
	for name, percent := range map[string]int{"time": 48, "visit": 33, "operation": 19} { // perhaps always waits for a visit
		if got := 100 * triggers[name] / total; got < percent-5 || got > percent+5 {
			t.Errorf("%d %% of the triggers are a %s, want about %d", got, name, percent)
		}
	}
	for _, name := range []string{"", "a", "b", "client"} {
		if !peers[name] {
			t.Errorf("no link to %q is struck", name)
		}
	}
}

func checkWithin(t *testing.T, e *Element, shape *Shape) {
	t.Helper()
	p := &e.Params
	if e.Trigger.At >= shape.Duration || p.For > shape.Duration/4 || p.RestartAfter > shape.Duration/4 {
		t.Errorf("beyond the duration: %+v", e)
	}
	if o := e.Trigger.Operation; o != nil && o.Nth > operationsMaxDefault {
		t.Errorf("operation %d", o.Nth)
	}
	if v := e.Trigger.Visit; v != nil && (v.Nth > visitsMaxDefault || v.Point == "test.failed" && v.Nth > 3) {
		t.Errorf("visit %d of %s", v.Nth, v.Point)
	}
	if e.Kind == Perhaps && e.Trigger.Visit.Point != "test.rare" {
		t.Errorf("an answer at %s, where nobody asks", e.Trigger.Visit.Point)
	}
	if e.Kind.Damages() && e.Target.Node != "b" {
		t.Errorf("damage on %s", e.Target.Node)
	}
	if e.Target.Peer == e.Target.Node && e.Target.Node != "" {
		t.Errorf("a link from %s to itself", e.Target.Node)
	}
}

// TestTheSwarmLeavesKindsOut: however long the plan, about half of the kinds are in it, and each seed has its own half.
func TestTheSwarmLeavesKindsOut(t *testing.T) {
	shape := testShape(time.Second)
	shape.ElementsMin, shape.ElementsMax = 300, 300
	on := map[Kind]int{}
	const seeds = 60
	for seed := uint64(1); seed <= seeds; seed++ {
		had := map[Kind]bool{}
		for _, e := range draw(seed, shape).Elements {
			if !had[e.Kind] {
				on[e.Kind]++
			}
			had[e.Kind] = true
		}
		if len(had) == len(Kinds()) {
			t.Errorf("seed %d draws every kind", seed)
		}
	}
	for _, kind := range Kinds() {
		if on[kind] < seeds/4 || on[kind] > seeds*3/4 {
			t.Errorf("%s is in %d of %d plans", kind, on[kind], seeds)
		}
	}
}

// TestOnlyKindsOfTheMixThatHaveATargetAreDrawn.
func TestOnlyKindsOfTheMixThatHaveATargetAreDrawn(t *testing.T) {
	bare := Shape{Duration: time.Second, Nodes: []NodeShape{{Name: "a"}}}
	for _, c := range []struct {
		mix   Mix
		shape Shape
		want  string
	}{
		{Mix{{Kill, 1}, {Pause, 0}}, testShape(time.Second), "[kill]"},
		{Mix{{Partition, 1}, {NoSpace, 1}, {Perhaps, 1}, {BitRot, 1}}, bare, "[]"},
		{Mix{{Partition, 1}, {Stop, 1}}, bare, "[stop]"},
		{nil, testShape(time.Second), "[]"},
		{EveryKind(), Shape{Duration: time.Second}, "[]"},
	} {
		seen := map[Kind]bool{}
		kinds := []Kind{}
		for seed := uint64(1); seed <= 20; seed++ {
			for _, e := range Draw(sim.Stream(seed, "plan"), c.mix, c.shape).Elements {
				if !seen[e.Kind] {
					seen[e.Kind] = true
					kinds = append(kinds, e.Kind)
				}
			}
		}
		if fmt.Sprint(kinds) != c.want {
			t.Errorf("%v: drew %v, want %s", c.mix, kinds, c.want)
		}
	}
}

// TestWeightsCount: a kind of ten times the weight is drawn about ten times as often.
func TestWeightsCount(t *testing.T) {
	count := map[Kind]int{}
	for seed := uint64(1); seed <= 300; seed++ {
		had := map[Kind]int{}
		for _, e := range Draw(sim.Stream(seed, "plan"), Mix{{Kill, 1}, {Pause, 10}}, testShape(time.Second)).Elements {
			had[e.Kind]++
		}
		if had[Kill] > 0 && had[Pause] > 0 { // the swarm turned none off
			count[Kill] += had[Kill]
			count[Pause] += had[Pause]
		}
	}
	if ratio := count[Pause] / max(count[Kill], 1); ratio < 6 || ratio > 14 {
		t.Errorf("drew %v", count)
	}
}

// TestAMixIsMadeOfNamesAndWeights, in an order of its own.
func TestAMixIsMadeOfNamesAndWeights(t *testing.T) {
	mix, err := ParseMix(map[string]int{"stop": 2, "bit-rot": 1, "kill": 0})
	if want := (Mix{{BitRot, 1}, {Kill, 0}, {Stop, 2}}); err != nil || !reflect.DeepEqual(mix, want) {
		t.Errorf("got %v, %v", mix, err)
	}
	if _, err := ParseMix(map[string]int{"halt": 1}); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("unknown kind: %v", err)
	}
	if _, err := ParseMix(map[string]int{"kill": -1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("negative weight: %v", err)
	}
	for _, kind := range Kinds() {
		if got, err := ParseKind(string(kind)); got != kind || err != nil {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
}
