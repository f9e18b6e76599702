package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/sim/disk"
	"lakebed/workloads/agenda"
)

// single is a trial of one store on one node, with its clients in its process: what those of segment logs and of commit
// logs have in common. Its course is that of a trial of one bookie.
type single struct {
	options  Options
	world    *sim.World
	policy   sim.Policy
	node     *sim.Node
	driver   *faults.Driver
	agenda   *agenda.Agenda
	marks    *model.Marks
	rand     *rand.Rand
	boot     func(host.Host) error      // the store's process
	allow    func(faults.Wound) bool    // has the last word on what is destroyed; set before arm
	restart  func(node string)          // of a node that a fault took down; nil: the store's
	unfit    func(*faults.Element) bool // what no drawn plan may have; nil: nothing
	phase    phase
	serving  bool // the store's process has come up
	findings []Finding
	verdict  Verdict
}

// newSingle makes a world with the store's node in it, in which nothing is going to break yet.
func newSingle(o Options, node string) single {
	worldConfig := o.Reduction.world(drawWorld(o.Seed, o.draw("world")))
	worldConfig.Trace, worldConfig.Observer, worldConfig.Look = o.Trace, o.Observer, o.Course.look()
	world := sim.New(worldConfig)
	return single{
		options: o, world: world, policy: worldConfig.Policy, node: world.NewNode(node), agenda: o.agenda(),
		marks: model.NewMarks(), rand: o.draw("course"), verdict: OK,
	}
}

// draw is the stream of a part of what a seed decides before anything happens.
func (o *Options) draw(name string) *rand.Rand { return sim.Stream(o.Seed, "trial/"+name) }

// arm has things break: as the plan says, or one drawn for this shape.
func (t *single) arm(shape faults.Shape) {
	o := &t.options
	plan := o.Plan
	if plan == nil {
		mix, err := o.Scenario.mix()
		if err != nil {
			panic(err) // ParseScenario has looked at it
		}
		drawn := faults.Draw(o.draw("plan"), mix, shape)
		if t.unfit != nil {
			drawn.Elements = slices.DeleteFunc(drawn.Elements, func(e faults.Element) bool { return t.unfit(&e) })
		}
		plan = &drawn
	}
	t.driver = faults.NewDriver(t.world, *plan, faults.Actions{Restart: t.again, Allow: t.allow})
	if o.Plan == nil { // an explicit plan holds what chance decided
		t.driver.UseChance(faults.SwarmChance())
	}
	t.world.SetPerhaps(func(n *sim.Node, p host.Point) bool { return perhaps(t.driver, t.marks, n, p) })
}

// again starts a node that a fault took down.
func (t *single) again(node string) {
	if t.restart != nil {
		t.restart(node)
		return
	}
	t.start()
}

// marked notes a rare state, and has break what is to break there.
func (t *single) marked(n *sim.Node, e host.Event) {
	t.marks.Hit(string(e.Name))
	t.driver.OnMark(n, string(e.Name), e.Extra)
}

// runWorld lets the world run from its first event to its last.
func (t *single) runWorld(heal func()) sim.Verdict {
	o := &t.options
	limit := o.work() + healedLimit
	if o.Until > 0 {
		limit = o.Until
	}
	t.world.At(0, t.start)
	t.world.At(o.work(), heal)
	return t.world.Run(limit)
}

func (t *single) start() {
	if !t.node.Running() && t.phase != done {
		t.node.Start(t.boot)
	}
}

// heal ends the phase of faults.
func (t *single) heal() {
	t.driver.Heal()
	t.options.Course.healed(t.world.Elapsed())
	t.phase = healed
}

// bringDown has the store go down once more, so that what it kept in memory does not count.
func (t *single) bringDown() {
	if !t.node.Running() {
		t.phase = verifying
		t.start()
		return
	}
	bringDown(t.node, t.rand)
}

// bringDown has a node go down in one of the ways there are.
func bringDown(n *sim.Node, r *rand.Rand) {
	switch {
	case r.IntN(3) == 0:
		n.Stop()
	case r.IntN(2) == 0:
		n.Crash(sim.KillProcess())
	default:
		n.Crash(sim.PowerCut(disk.Mixed))
	}
}

// goOn does what follows when the store's process has ended.
func (t *single) goOn(err error, crashed bool) {
	if crashed && !t.serving {
		t.marks.Hit(MarkReplayCut)
	}
	switch t.phase {
	case working:
		if err != nil && !crashed {
			t.marks.Hit(MarkEndedByItself)
			t.world.At(selfRestart, t.start)
		}
	case healed:
		t.phase = verifying
		t.world.At(selfRestart, t.start)
	case verifying:
		if err != nil && !t.wounded() {
			t.find(Stalled, "liveness", "the healed store did not start, serve and stop", err.Error())
		}
		t.end()
	}
}

// end ends the trial: nothing is left to look at, or nothing can be.
func (t *single) end() {
	t.phase = done
	t.world.Stop()
}

// wounded reports whether synced bytes were destroyed. Whatever a store then says that it cannot give is told.
func (t *single) wounded() bool { return len(t.driver.Damage()) > 0 }

func (t *single) find(verdict Verdict, checker, signature, text string) {
	if t.verdict == OK {
		t.verdict = verdict
	}
	t.findings = append(t.findings, Finding{Checker: checker, Signature: signature, Text: text})
}

// judge adds what is wrong with the world itself and with the clients' history.
func (t *single) judge(world sim.Verdict, violations []model.Violation) {
	if world.Failed() && t.options.Until == 0 {
		t.find(worldVerdict(world), "world", fmt.Sprintf("%v: %s", world.Kind, world.Message), world.String())
	}
	for _, v := range violations {
		t.find(Violation, v.Checker, v.Signature, v.Explanation)
	}
}

// result is all of the trial's result but for what clients did.
func (t *single) result(world sim.Verdict, volumes []string) Result {
	t.options.tellPassage(t.agenda, t.driver)
	image := uint64(0)
	for _, v := range volumes {
		image = image*31 + t.node.Disk(v).Model().ImageHash()
	}
	damage := damageDone(t.driver)
	return Result{
		Scenario: t.options.Scenario.Name, Seed: t.options.Seed, Scheduler: t.policy.String(), Verdict: t.verdict,
		Findings: explained(t.findings, damage), Damage: damage,
		Hash: world.Hash, Events: world.Events, Image: image, Simulated: world.At,
		Effects: t.world.Effects(), Marks: counts(t.marks), Plan: t.driver.Fired(),
	}
}
