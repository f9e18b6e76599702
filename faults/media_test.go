package faults

import (
	"reflect"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// twoFiles has a node with two durable files write "new" over the "old" of the first, under a plan, and tells what both
// hold when the page cache has let go.
func twoFiles(t *testing.T, plan Plan, allow func(Wound) bool) (first, second []byte, d *Driver) {
	t.Helper()
	plan.Elements = append(plan.Elements, Element{
		ID: "press", Kind: MemoryPressure, Trigger: visit("test.written", 1), Target: Target{Node: "a"}, Params: Params{For: ms},
	})
	_, d = aloneWith(t, 1, plan, allow, func(h host.Host, _ int) {
		fill := func(f host.File, b byte, pages int) {
			text := make([]byte, pages*disk.PageSize)
			for i := range text {
				text[i] = b
			}
			must(t, host.WriteFullAt(f, text, 0))
			must(t, f.Sync())
		}
		_, f := newFile(t, h, "f")
		_, g := newFile(t, h, "g")
		fill(f, 'o', 3)
		fill(g, 'g', 2)
		h.Probe().Mark(host.Event{Name: "test.ready"})
		fill(f, 'n', 3)
		h.Probe().Mark(host.Event{Name: "test.written"})
		first, second = make([]byte, 3*disk.PageSize), make([]byte, 2*disk.PageSize)
		_, err := host.ReadFull(f, first, 0)
		must(t, err)
		_, err = host.ReadFull(g, second, 0)
		must(t, err)
	})
	return first, second, d
}

// pages has the first byte of each page.
func pages(p []byte) string {
	text := ""
	for i := 0; i < len(p); i += disk.PageSize {
		text += string(rune(p[i]))
	}
	return text
}

func ready(kind Kind, id string, times int64) Element {
	return Element{ID: id, Kind: kind, Trigger: visit("test.ready", 1), Target: onDisk, Params: Params{Times: times}}
}

// TestALostWriteLeavesOnePageOld and is recorded as what it is; a place that must not be lost keeps its write.
func TestALostWriteLeavesOnePageOld(t *testing.T) {
	first, second, d := twoFiles(t, Plan{Elements: []Element{ready(LostWrite, "e", 0)}}, nil)
	old := -1
	for i, b := range pages(first) {
		if b == 'o' {
			old = i
		}
	}
	w := d.Damage()
	if len(w) != 1 || w[0].Path != "f" || w[0].Offset != int64(old)*disk.PageSize || w[0].Length != disk.PageSize || pages(second) != "gg" {
		t.Errorf("%q and %q, wounds %+v", pages(first), pages(second), w)
	}
	first, _, d = twoFiles(t, Plan{Elements: []Element{ready(LostWrite, "e", 0)}}, func(Wound) bool { return false })
	if l := d.DamageLedger(); pages(first) != "nnn" || len(d.Damage()) != 0 || len(l) != 1 || !l[0].Spared {
		t.Errorf("not allowed: %q, ledger %+v", pages(first), l)
	}
}

// TestTwoFaultsOfOneSyncLoseTwoPages, or one if both strike the same: neither undoes the other.
func TestTwoFaultsOfOneSyncLoseTwoPages(t *testing.T) {
	lost := map[int]bool{}
	for _, id := range []string{"e", "f", "g", "h"} {
		first, _, d := twoFiles(t, Plan{Elements: []Element{ready(LostWrite, "one", 0), ready(LostWrite, id, 0)}}, nil)
		old := 0
		for _, b := range pages(first) {
			if b == 'o' {
				old++
			}
		}
		if old != len(d.Damage()) {
			t.Errorf("%d pages are old, wounds %+v", old, d.Damage())
		}
		lost[old] = true
	}
	if !lost[2] {
		t.Errorf("lost %v", lost)
	}
}

// TestAMisdirectedWriteDamagesTwoPlaces: its own keeps the old bytes, and some other place of either file has the new ones.
func TestAMisdirectedWriteDamagesTwoPlaces(t *testing.T) {
	same, other := 0, 0
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		first, second, d := twoFiles(t, Plan{Elements: []Element{ready(MisdirectedWrite, id, 0)}}, nil)
		w := d.Damage()
		if len(w) != 2 || w[0].Path != "f" || pages(first)[w[0].Offset/disk.PageSize] != 'o' {
			t.Fatalf("%s: %q and %q, wounds %+v", id, pages(first), pages(second), w)
		}
		at := int(w[1].Offset / disk.PageSize)
		if w[1].Path == "f" {
			same++
			if w[1].Offset == w[0].Offset {
				t.Errorf("%s: it landed where it belongs", id)
			}
		} else if other++; pages(second)[at] != 'n' {
			t.Errorf("%s: %q, wounds %+v", id, pages(second), w)
		}
	}
	if same == 0 || other == 0 {
		t.Errorf("%d landed in the same file, %d in the other", same, other)
	}
}

// TestLatentErrorsOfAClusterAreNeighbours, at once or one after the other.
func TestLatentErrorsOfAClusterAreNeighbours(t *testing.T) {
	for _, spread := range []time.Duration{0, 100 * ms} {
		plan := one(Latent, onDisk, Params{Times: 6, Length: 512, For: spread})
		_, d := alone(t, 1, plan, func(h host.Host, _ int) {
			_, f := newFile(t, h, "f")
			full := make([]byte, 1<<20)
			for i := range full {
				full[i] = 1
			}
			must(t, host.WriteFullAt(f, full, 0))
			must(t, f.Sync())
			h.Root().Sleep(time.Second)
		})
		moments, places := map[time.Duration]bool{}, map[int64]bool{}
		for _, w := range d.Damage() {
			moments[w.At], places[w.Offset] = true, true
			if far := w.Offset - d.Damage()[0].Offset; far > clusterReach || far < -clusterReach || w.At > warm+spread {
				t.Errorf("%+v is far from the first", w)
			}
		}
		if len(d.Damage()) != 6 || len(places) < 5 || (len(moments) > 1) != (spread > 0) {
			t.Errorf("spread %s: %+v", spread, d.Damage())
		}
	}
}

// TestASwizzleClogsSomeNodesInUnrelatedOrders: each clog begins in the first half, ends in the second, and none is left.
func TestASwizzleClogsSomeNodesInUnrelatedOrders(t *testing.T) {
	counts := map[int]bool{}
	for seed := uint64(1); seed <= 12; seed++ {
		r := newRig(t, seed, one(Swizzle, Target{}, Params{For: 200 * ms}))
		r.run(t, 600*ms)
		silent := 0
		for _, name := range []string{"a", "b"} {
			if r.count(name, "test.answered", warm+90*ms, warm+100*ms) == 0 {
				silent++
			}
			if r.count(name, "test.answered", warm+450*ms, 600*ms) == 0 {
				t.Errorf("seed %d: %s is not answered after the end", seed, name)
			}
		}
		counts[silent] = true
	}
	if !counts[0] || !counts[2] {
		t.Errorf("silent nodes: %v", counts)
	}
}

// TestClogsAndDriftsThatOverlapEndOneByOne.
func TestClogsAndDriftsThatOverlapEndOneByOne(t *testing.T) {
	clog := one(Clog, Target{Node: "a"}, Params{For: 200 * ms})
	shorter := clog.Elements[0]
	shorter.ID, shorter.Params.For = "shorter", 50*ms
	clog.Elements = append(clog.Elements, shorter)
	r := newRig(t, 1, clog)
	r.run(t, 600*ms)
	if n := r.count("a", "test.answered", warm+60*ms, warm+200*ms); n > 0 {
		t.Errorf("%d answers under the longer clog", n)
	}
	if r.count("a", "test.answered", warm+450*ms, 600*ms) == 0 {
		t.Error("no answer after both")
	}
	drift := one(ClockDrift, Target{Node: "a"}, Params{For: 200 * ms, PPM: 100_000})
	second := drift.Elements[0]
	second.ID, second.Params = "second", Params{For: 100 * ms, PPM: -50_000}
	drift.Elements = append(drift.Elements, second)
	var own, real time.Duration
	w, _ := alone(t, 1, drift, func(h host.Host, _ int) {
		h.Root().Sleep(time.Second)
		own = h.Elapsed()
	})
	real = w.Elapsed()
	if gained := own - real; gained < 14*ms || gained > 16*ms { // 100 ms at +50,000 ppm, 100 ms at +100,000
		t.Errorf("the clock gained %s", gained)
	}
}

// TestATargetIsResolvedWhereTheMarkIsMade: the visitor, or one that the mark names; who is named and unknown is spared.
func TestATargetIsResolvedWhereTheMarkIsMade(t *testing.T) {
	for _, c := range []struct {
		target Target
		extra  string
		down   []string
	}{
		{Target{Node: Visitor}, "b:1", []string{"a"}},
		{Target{Node: Named}, "b:1", []string{"b"}},
		{Target{Node: Named}, "b:1,nobody:2", []string{"b"}},
		{Target{Node: Named}, "nobody:2", nil},
		{Target{Node: Named}, "", nil},
	} {
		plan := one(Kill, c.target, Params{StaysDown: true})
		plan.Elements[0].Trigger = Trigger{Visit: &Visit{Node: AnyNode, Point: "test.told", Nth: 2}}
		r := newRig(t, 1, plan)
		r.world.At(warm, func() {
			a := r.world.Node("a")
			r.driver.OnMark(r.world.Node("b"), "test.told", c.extra) // the first of all nodes
			r.driver.OnMark(a, "test.told", c.extra)
			r.driver.OnMark(a, "test.told", c.extra)
		})
		r.run(t, 300*ms)
		var down []string
		for _, n := range r.world.Nodes() {
			if n.Epoch() == 1 && r.count(n.Name(), "test.step", warm+50*ms, 300*ms) == 0 {
				down = append(down, n.Name())
			}
		}
		if !reflect.DeepEqual(down, c.down) || len(r.driver.Firings()) != 1 {
			t.Errorf("%+v, told %q: %v are down, fired %v", c.target, c.extra, down, r.driver.Firings())
		}
	}
}

// TestHalfOfAPlanIsAimedWhereTheShapeSaysSo: at the aims' points, targets and kinds, and the rest is as ever.
func TestHalfOfAPlanIsAimedWhereTheShapeSaysSo(t *testing.T) {
	shape := testShape(time.Second)
	shape.Allowance = Allowance{Damage: true, Fragile: map[string]bool{"a": true, "b": true}}
	shape.AimedPercent = 50
	shape.Aims = []Aim{
		{Name: "joined", Point: "test.joined", VisitsMax: 5, Target: Target{Node: Named}, Kinds: []Kind{Kill, Pause}},
		{Name: "disk", Point: "test.synced", Target: Target{Node: Visitor}, Volumes: []string{testVolume}, Kinds: []Kind{SyncError, LostWrite}},
		{Name: "parted", Point: "test.answered", Target: Target{Node: Visitor, Peer: Named}, Kinds: []Kind{Partition, Kill}},
	}
	mix := Mix{{Kill, 1}, {Pause, 1}, {SyncError, 1}, {LostWrite, 1}, {Partition, 1}, {Stop, 1}}
	aimed, total, aims := 0, 0, map[string]int{}
	for seed := uint64(1); seed <= 300; seed++ {
		plan := Draw(sim.Stream(seed, "plan"), mix, shape)
		if err := Validate(plan, shape.Allowance); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, plan)
		for _, e := range plan.Elements {
			total++
			if !resolved(e.Target.Node) {
				continue
			}
			aimed++
			aims[e.Trigger.Visit.Point]++
			if e.Kind == Stop || (e.Target.Peer != "") != (e.Kind == Partition) || e.Trigger.Visit.Node != AnyNode {
				t.Errorf("%+v", e)
			}
		}
	}
	if percent := 100 * aimed / total; percent < 35 || percent > 52 || len(aims) != 3 {
		t.Errorf("%d %% are aimed: %v", percent, aims)
	}
}
