package faults

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestACrashAtAVisitLetsNothingBehindItHappen, at each visit, by mark and by question.
func TestACrashAtAVisitLetsNothingBehindItHappen(t *testing.T) {
	for nth := int64(1); nth <= 5; nth++ {
		for _, point := range []string{"test.before", "test.ask"} {
			plan := Plan{Elements: []Element{{ID: "kill", Kind: Kill, Trigger: visit(point, nth), Target: Target{Node: "a"}, Params: Params{StaysDown: true}}}}
			before, behind := int64(0), int64(0)
			alone(t, 1, plan, func(h host.Host, _ int) {
				for range 10 {
					before++
					if point == "test.ask" {
						h.Probe().Perhaps("test.ask")
					} else {
						h.Probe().Mark(host.Event{Name: "test.before"})
					}
					behind++
				}
			})
			if before != nth || behind != nth-1 {
				t.Errorf("%s, visit %d: %d times before the point, %d behind it", point, nth, before, behind)
			}
		}
	}
}

// TestAnOperationTriggerHitsThatVeryOperation, counting only the kind and the paths that match.
func TestAnOperationTriggerHitsThatVeryOperation(t *testing.T) {
	for nth := int64(1); nth <= 4; nth++ {
		plan := Plan{Elements: []Element{{
			ID: "fail", Kind: WriteError, Target: onDisk, Params: Params{Times: 1},
			Trigger: Trigger{Operation: &Operation{Node: "a", Volume: testVolume, Kind: sim.DiskWrite, Path: "g*", Nth: nth}},
		}}}
		var failed []int64
		alone(t, 1, plan, func(h host.Host, _ int) {
			_, f := newFile(t, h, "f")
			_, g := newFile(t, h, "g1")
			for i := int64(1); i <= 4; i++ {
				must(t, host.WriteFullAt(f, []byte("x"), i))
				g.ReadAt(make([]byte, 1), 0) //nolint:errcheck // an operation of another kind
				if host.WriteFullAt(g, []byte("x"), i) != nil {
					failed = append(failed, i)
				}
			}
		})
		if len(failed) != 1 || failed[0] != nth {
			t.Errorf("write %d of g was to fail, but %v did", nth, failed)
		}
	}
}

// TestATimeTriggersAtThatTime, whatever the caller does to its plan after it handed it over.
func TestATimeTriggersAtThatTime(t *testing.T) {
	plan := one(Pause, Target{Node: "a"}, Params{For: 70 * ms})
	r := newRig(t, 1, plan)
	plan.Elements[0] = Element{ID: "other", Kind: Kill, Target: Target{Node: "a"}}
	r.run(t, 400*ms)
	if f := r.driver.Firings(); len(f) != 1 || f[0] != (Firing{"e", warm}) {
		t.Errorf("fired %v", f)
	}
	if r.count("a", "test.step", 0, warm) == 0 || r.count("a", "test.step", warm+ms, warm+70*ms) > 0 || r.count("a", "test.step", warm+70*ms, 400*ms) == 0 {
		t.Error("the pause does not span its time")
	}
}

// TestACrashMayHitTheRestartOfAnEarlierOne: while the node is down, at the instant at which it starts, and while it boots.
// It comes back from each.
func TestACrashMayHitTheRestartOfAnEarlierOne(t *testing.T) {
	for _, kind := range []Kind{Kill, PowerCut, Stop} {
		for _, second := range []time.Duration{0, 5 * ms, 10 * ms, 10*ms + 1, 10*ms + 20*time.Microsecond, 11 * ms} {
			for seed := uint64(1); seed <= 3; seed++ {
				plan := one(kind, Target{Node: "a"}, Params{RestartAfter: 10 * ms})
				next := plan.Elements[0]
				next.ID, next.Kind, next.Trigger.At = "again", PowerCut, warm+second
				next.Params.Survival = disk.Mixed
				plan.Elements = append(plan.Elements, next)
				r := newRig(t, seed, plan)
				r.run(t, 400*ms)
				if r.count("a", "test.step", 200*ms, 400*ms) == 0 {
					t.Errorf("%s, then a power cut %s later, seed %d: the node did not come back", kind, second, seed)
				}
				if len(r.driver.Firings()) != 2 {
					t.Errorf("fired %v", r.driver.Firings())
				}
			}
		}
	}
}

// TestANodeThatIsSlowToStopComesBackWhenItHas: here because its disk does not answer.
func TestANodeThatIsSlowToStopComesBackWhenItHas(t *testing.T) {
	for _, heal := range []bool{false, true} {
		plan := one(Stop, Target{Node: "a"}, Params{RestartAfter: 10 * ms})
		plan.Elements = append(plan.Elements, Element{
			ID: "stuck", Kind: StuckDisk, Trigger: Trigger{At: warm - 20*ms}, Target: onDisk, Params: Params{For: 300 * ms},
		})
		end := warm + 280*ms
		r := newRig(t, 1, plan)
		if heal {
			end = warm + 200*ms
			r.world.At(end, r.driver.Heal)
		}
		r.run(t, 1500*ms)
		if n := r.count("a", "test.step", warm, end); n > 0 {
			t.Errorf("healed %v: %d steps while the disk was stuck", heal, n)
		}
		if r.clean != 1 || r.world.Node("a").Epoch() != 2 || r.count("a", "test.step", 1200*ms, 1500*ms) == 0 {
			t.Errorf("healed %v: %d clean ends, %d processes: the node did not come back", heal, r.clean, r.world.Node("a").Epoch())
		}
	}
}

// TestALaterCrashPutsTheRestartOff: a node that is down stays down as long as the later order says.
func TestALaterCrashPutsTheRestartOff(t *testing.T) {
	plan := one(Kill, Target{Node: "a"}, Params{RestartAfter: 20 * ms})
	plan.Elements = append(plan.Elements, Element{
		ID: "cut", Kind: PowerCut, Trigger: Trigger{At: warm + 10*ms}, Target: Target{Node: "a"}, Params: Params{RestartAfter: 100 * ms},
	})
	r := newRig(t, 1, plan)
	r.run(t, 400*ms)
	if r.count("a", "test.step", warm+5*ms, warm+110*ms) > 0 || r.count("a", "test.step", warm+110*ms, 400*ms) == 0 {
		t.Error("the node did not come back when the second order says")
	}
	if r.world.Node("a").Epoch() != 2 {
		t.Errorf("%d processes", r.world.Node("a").Epoch())
	}
}

// TestANodeThatIsDownForReasonsOfItsOwnStaysDown.
func TestANodeThatIsDownForReasonsOfItsOwnStaysDown(t *testing.T) {
	for _, kind := range []Kind{Kill, PowerCut, Stop, Pause} {
		plan := one(kind, Target{Node: "a"}, Params{RestartAfter: ms})
		if kind == Pause {
			plan.Elements[0].Params = Params{For: ms}
		}
		r := newRig(t, 1, plan)
		r.world.At(warm/2, func() { r.world.Node("a").Crash(sim.KillProcess()) })
		r.world.At(2*warm, r.driver.Heal)
		r.run(t, 400*ms)
		if r.world.Node("a").Epoch() != 1 {
			t.Errorf("%s started a node that others took down", kind)
		}
	}
}

// TestARestartByOthersIsNotRepeated.
func TestARestartByOthersIsNotRepeated(t *testing.T) {
	for _, kind := range []Kind{Kill, Stop} {
		r := newRig(t, 1, one(kind, Target{Node: "a"}, Params{RestartAfter: 50 * ms}))
		r.world.At(warm+20*ms, func() { r.start("a") })
		r.world.At(warm+70*ms, func() { r.world.Node("a").Crash(sim.KillProcess()) })
		r.run(t, 400*ms)
		if r.world.Node("a").Epoch() != 2 {
			t.Errorf("%s: %d processes", kind, r.world.Node("a").Epoch())
		}
	}
}

// TestANodeThatOthersStartedIsTheirs: when it dies by itself, a power cut does not bring it back.
func TestANodeThatOthersStartedIsTheirs(t *testing.T) {
	plan := one(Kill, Target{Node: "a"}, Params{StaysDown: true})
	plan.Elements = append(plan.Elements, Element{
		ID: "cut", Kind: PowerCut, Trigger: Trigger{At: warm + 60*ms}, Target: Target{Node: "a"}, Params: Params{RestartAfter: ms},
	})
	r := newRig(t, 1, plan)
	r.world.At(warm+20*ms, func() { r.start("a") })
	r.world.At(warm+40*ms, func() { r.world.Node("a").Crash(sim.KillProcess()) })
	r.run(t, 400*ms)
	if r.world.Node("a").Epoch() != 2 {
		t.Errorf("%d processes", r.world.Node("a").Epoch())
	}
}

// TestFaultsThatOverlapEachLastTheirTime: the end of a short one does not end the long one.
func TestFaultsThatOverlapEachLastTheirTime(t *testing.T) {
	for _, c := range []struct {
		long, short Kind
		target      Target
		missing     string
	}{
		{Pause, Pause, Target{Node: "a"}, "test.step"},
		{StuckDisk, StuckDisk, onDisk, "test.step"},
		{NoSpace, StuckDisk, onDisk, "test.step"},
		{Partition, OneWayPartition, Target{Node: "a", Peer: "b"}, "test.answered"},
		{OneWayPartition, Partition, Target{Node: "a", Peer: "b"}, "test.answered"},
		{Partition, Partition, Target{Node: "a"}, "test.answered"},
	} {
		for _, shortFirst := range []bool{true, false} {
			plan := one(c.long, c.target, Params{For: 300 * ms})
			short := Element{ID: "short", Kind: c.short, Trigger: Trigger{At: warm + 10*ms}, Target: c.target, Params: Params{For: 50 * ms}}
			if shortFirst {
				short.Trigger.At = warm - 10*ms
			}
			plan.Elements = append(plan.Elements, short)
			r := newRig(t, 1, plan)
			r.run(t, 900*ms)
			// A call that was under way may still fail or succeed for a moment.
			if n := r.count("a", c.missing, warm+60*ms, warm+300*ms); n > 0 {
				t.Errorf("%s within %s: %d times %s", c.short, c.long, n, c.missing)
			}
			if r.count("a", c.missing, 700*ms, 900*ms) == 0 {
				t.Errorf("%s within %s does not end", c.short, c.long)
			}
			if n := r.world.Effects()["stuck-disk"]; c.long == StuckDisk && n != 1 {
				t.Errorf("the one operation that stuck was let go between, and %d stuck", n)
			}
		}
	}
}

// TestAPauseEndsWithItsProcess: a pause of the next process is as long as it says.
func TestAPauseEndsWithItsProcess(t *testing.T) {
	plan := one(Pause, Target{Node: "a"}, Params{For: 300 * ms})
	plan.Elements = append(plan.Elements,
		Element{ID: "kill", Kind: Kill, Trigger: Trigger{At: 150 * ms}, Target: Target{Node: "a"}, Params: Params{RestartAfter: 10 * ms}},
		Element{ID: "next", Kind: Pause, Trigger: Trigger{At: 200 * ms}, Target: Target{Node: "a"}, Params: Params{For: 20 * ms}})
	r := newRig(t, 1, plan)
	r.run(t, 500*ms)
	if r.count("a", "test.step", 201*ms, 220*ms) > 0 || r.count("a", "test.step", 230*ms, 400*ms) < 10 {
		t.Error("the second pause does not span its own time")
	}
}

// TestHealEndsEverything: each fault that would last for ever is over after Heal, at once or after a retransmission.
func TestHealEndsEverything(t *testing.T) {
	const healed, settled, end = 300 * ms, 700 * ms, 1200 * ms
	for _, c := range strong {
		kind := c.plan.Elements[0].Kind
		if kind.Damages() {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, 1, c.plan)
			r.world.At(healed, r.driver.Heal)
			r.run(t, end)
			for _, node := range []string{"a", "b"} {
				for _, good := range []string{"test.step", "test.answered"} {
					if n := r.count(node, good, settled, end); n < 50 {
						t.Errorf("node %s: %d times %s", node, n, good)
					}
				}
				for _, bad := range []string{"test.failed", "test.unanswered"} {
					if n := r.count(node, bad, settled, end); n > 0 {
						t.Errorf("node %s: %d times %s", node, n, bad)
					}
				}
			}
		})
	}
}

// TestHealSendsAgainWhatAStallHolds: bytes that met the stall do not wait for the time at which it was to end.
func TestHealSendsAgainWhatAStallHolds(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	server, client := w.NewNode("b"), w.NewNode("a")
	d := NewDriver(w, one(Stall, Target{Node: "a", Peer: "b"}, Params{For: 10 * time.Minute}), Actions{})
	server.Start(func(h host.Host) error {
		l, err := h.Net().Listen("b:1")
		must(t, err)
		c, err := l.Accept()
		must(t, err)
		_, err = c.Read(make([]byte, 1))
		must(t, err)
		if at := h.Elapsed(); at < 2*warm || at > 2*warm+300*ms {
			t.Errorf("the byte came at %s", at)
		}
		return nil
	})
	client.Start(func(h host.Host) error {
		h.Root().Sleep(warm / 2) // the listener is there
		c, err := h.Net().Dial("b:1", nil)
		must(t, err)
		h.Root().Sleep(warm)
		must(t, c.WriteBuffers([][]byte{{1}}))
		return nil
	})
	w.At(2*warm, d.Heal)
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	if w.Effects()["stall"] != 1 {
		t.Errorf("effects %v", w.Effects())
	}
}

// TestHealCancelsWhatHasNotFired, whatever it waits for, and chance.
func TestHealCancelsWhatHasNotFired(t *testing.T) {
	plan := Plan{Elements: []Element{
		{ID: "time", Kind: Kill, Trigger: Trigger{At: 200 * ms}, Target: Target{Node: "a"}},
		{ID: "visit", Kind: Kill, Trigger: Trigger{Visit: &Visit{Node: "a", Point: "test.step", Nth: 40}}, Target: Target{Node: "a"}},
		{ID: "operation", Kind: Kill, Trigger: Trigger{Operation: &Operation{Node: "a", Volume: testVolume, Kind: sim.DiskSync, Nth: 40}}, Target: Target{Node: "a"}},
		rarely("a", 40),
	}}
	for _, heal := range []bool{true, false} {
		r := newRig(t, 1, plan)
		if heal {
			r.world.At(50*ms, r.driver.Heal)
			r.world.At(60*ms, func() { r.driver.UseChance(Chance{ArmedPermille: 1000, TimesMax: 10}) })
		}
		r.run(t, 400*ms)
		if n := len(r.driver.Firings()); heal && n != 0 || !heal && n != 4 {
			t.Errorf("healed %v: fired %v", heal, r.driver.Firings())
		}
	}
}

// testShape fits the rig.
func testShape(duration time.Duration) Shape {
	node := func(name string) NodeShape {
		return NodeShape{Name: name, Volumes: []string{testVolume}, Points: []PointShape{
			{Point: "test.step", Weight: 3}, {Point: "test.answered"}, {Point: "test.failed", VisitsMax: 3}, {Point: "test.rare", Asks: true},
		}}
	}
	return Shape{Duration: duration, Nodes: []NodeShape{node("a"), node("b")}, Allowance: Allowance{Fragile: map[string]bool{"b": true}, Damage: true}}
}

// TestTheFiredPlanReplaysTheRun: drawn plans with chance on, saved and loaded, give the same trace and the same disks with
// chance off.
func TestTheFiredPlanReplaysTheRun(t *testing.T) {
	chance, fired := 0, map[Kind]bool{}
	for seed := uint64(1); seed <= 25; seed++ {
		plan := Draw(sim.Stream(seed, "plan"), EveryKind(), testShape(300*ms))
		first := newRig(t, seed, plan)
		first.driver.UseChance(Chance{ArmedPermille: 700, TimesMax: 5})
		first.world.At(400*ms, first.driver.Heal)
		a := first.run(t, 600*ms)

		explicit := roundTrip(t, first.driver.Fired())
		chance += len(explicit.Elements) - len(plan.Elements)
		second := newRig(t, seed, explicit)
		second.world.At(400*ms, second.driver.Heal)
		b := second.run(t, 600*ms)

		if a.Hash != b.Hash || a.Events != b.Events || image(first) != image(second) {
			t.Errorf("seed %d: %s and %s", seed, a.Summary(), b.Summary())
		}
		if !reflect.DeepEqual(first.driver.Firings(), second.driver.Firings()) {
			t.Errorf("seed %d: fired %v and %v", seed, first.driver.Firings(), second.driver.Firings())
		}
		if x := second.driver.Fired(); !reflect.DeepEqual(x, explicit) {
			t.Errorf("seed %d: the replay's plan is another one", seed)
		}
		for _, f := range first.driver.Firings() {
			fired[explicit.Only(f.ID).Elements[0].Kind] = true
		}
	}
	if chance < 20 || len(fired) < len(Kinds())-2 {
		t.Errorf("%d yes answers by chance, kinds %v: too little to prove anything", chance, fired)
	}
}

func image(r *rig) string {
	text := ""
	for _, n := range r.world.Nodes() {
		text += fmt.Sprintf("%s %x ", n.Name(), n.Disk(testVolume).Model().ImageHash())
	}
	return text
}

// TestChanceArmsPointsBySeed: some seeds arm a point and some do not, its bound holds, and nodes roll their own dice.
func TestChanceArmsPointsBySeed(t *testing.T) {
	armed, differ := 0, 0
	for seed := uint64(1); seed <= 40; seed++ {
		r := newRig(t, seed, Plan{})
		r.driver.UseChance(Chance{ArmedPermille: 500, TimesMax: 3})
		r.run(t, 100*ms)
		visits := map[string][]int64{}
		for _, e := range r.driver.Fired().Elements {
			v := e.Trigger.Visit
			visits[v.Node] = append(visits[v.Node], v.Nth)
		}
		if len(visits["a"]) > 3 || len(visits["b"]) > 3 {
			t.Errorf("seed %d: yes answers %v, with at most three each", seed, visits)
		}
		if len(visits) > 0 {
			armed++
		}
		if !reflect.DeepEqual(visits["a"], visits["b"]) {
			differ++
		}
	}
	if armed < 5 || armed > 30 || differ < armed/2 {
		t.Errorf("%d of 40 seeds armed the point, with different answers for two nodes in %d", armed, differ)
	}
}

// TestChanceIsOffUnlessAskedFor, and the usual chance is one.
func TestChanceIsOffUnlessAskedFor(t *testing.T) {
	yes := 0
	for seed := uint64(1); seed <= 20; seed++ {
		off, on := newRig(t, seed, Plan{}), newRig(t, seed, Plan{})
		on.driver.UseChance(SwarmChance())
		off.run(t, 100*ms)
		on.run(t, 100*ms)
		if n := len(off.driver.Fired().Elements); n > 0 {
			t.Errorf("seed %d: %d yes answers without chance", seed, n)
		}
		yes += len(on.driver.Fired().Elements)
	}
	if yes == 0 {
		t.Error("the usual chance never answers yes")
	}
}

// TestAnElementDrawsOnlyFromItsOwnStream: damage strikes the same bytes whatever other elements there are.
func TestAnElementDrawsOnlyFromItsOwnStream(t *testing.T) {
	plan := Plan{Elements: []Element{
		{ID: "one", Kind: BitRot, Trigger: visit("test.idle", 1), Target: onDisk, Params: Params{Times: 5}},
		{ID: "two", Kind: Latent, Trigger: visit("test.idle", 2), Target: onDisk, Params: Params{Times: 3, Length: 512}},
		{ID: "three", Kind: BitRot, Trigger: visit("test.idle", 3), Target: onDisk, Params: Params{Times: 5}},
	}}
	wounds := func(plan Plan) map[string]string {
		_, d := alone(t, 7, plan, func(h host.Host, _ int) {
			_, f := newFile(t, h, "f")
			full := make([]byte, 1<<20) // so large that the elements do not meet
			for i := range full {
				full[i] = 1
			}
			must(t, host.WriteFullAt(f, full, 0))
			must(t, f.Sync())
			for range 3 {
				h.Probe().Mark(host.Event{Name: "test.idle"})
			}
		})
		found := map[string]string{}
		for _, w := range d.Damage() {
			found[w.ID] += fmt.Sprintf("%s:%d+%d ", w.Path, w.Offset, w.Length)
		}
		return found
	}
	all := wounds(plan)
	for _, id := range plan.IDs() {
		if got := wounds(plan.Only(id))[id]; got != all[id] || got == "" {
			t.Errorf("%s alone strikes %q, with the others %q", id, got, all[id])
		}
	}
	if all["one"] == all["three"] {
		t.Error("two elements draw the same")
	}
}

// TestTriggersCountFromATimeOn: a visit or an operation before After does not count. So a fault keeps its moment when what
// was counted before it goes.
func TestTriggersCountFromATimeOn(t *testing.T) {
	fired := func(after time.Duration) map[string]time.Duration {
		plan := Plan{Elements: []Element{
			{ID: "visit", Kind: Kill, Trigger: Trigger{Visit: &Visit{Node: "a", Point: "test.step", Nth: 2, After: after}}, Target: Target{Node: "a"}},
			{ID: "operation", Kind: Kill, Trigger: Trigger{Operation: &Operation{Node: "a", Volume: testVolume, Kind: sim.DiskSync, Nth: 2, After: after}}, Target: Target{Node: "a"}},
		}}
		r := newRig(t, 1, plan)
		r.run(t, 400*ms)
		at := map[string]time.Duration{}
		for _, f := range r.driver.Firings() {
			at[f.ID] = f.At
		}
		return at
	}
	early, late := fired(0), fired(200*ms)
	for _, id := range []string{"visit", "operation"} {
		if early[id] == 0 || early[id] >= 200*ms || late[id] < 200*ms {
			t.Errorf("%s: fired at %s, and counting from 200 ms on at %s", id, early[id], late[id])
		}
	}
}
