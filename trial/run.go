package trial

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/trial/defects/defect"
	"lakebed/workloads"
	"lakebed/workloads/agenda"
)

const (
	bookieNode = "bookie"
	// healedLimit is how much virtual time a healed world gets to finish before it counts as stalled.
	healedLimit = 60 * time.Second
	// selfRestart is the pause after which a bookie that ended by itself is started again.
	selfRestart = 20 * time.Millisecond
)

// Options say which trial to run.
type Options struct {
	Scenario Scenario
	Seed     uint64
	Plan     *faults.Plan  // nil: drawn from the seed
	Trace    io.Writer     // one line an event
	Observer *sim.Observer // compares two runs
	Defect   string        // planted bug to switch on; only builds with the defects overlay have any
	// Reduction takes work and drawn values away. Nil: nothing.
	Reduction *Reduction
	Until     time.Duration // end the world here, without a verdict on what is open; zero: run to the end
	// History is shown what the clients of a cluster did, before the checkers see it, so that others can judge it too. It
	// must not change it, and has no say in the verdict. Nil: nobody asks. A trial of a single bookie has none.
	History func(*model.ClusterHistory)
	// Course is filled with what there is to know of the trial beside its result. It has no say in it. Nil: nobody asks.
	Course *Course
	// Passage is told what came to pass. Nil: nobody asks.
	Passage func(Passage)
}

// WithoutSteps makes an Options.Trace that is spared the scheduler's own lines; see sim.WithoutSteps.
func WithoutSteps(w io.Writer) io.Writer { return sim.WithoutSteps(w) }

// phase is where a trial is in its course.
type phase uint8

const (
	working phase = iota
	healed        // nothing is broken any more; the bookie is brought down once more
	verifying
	done
)

// run is one trial under way.
type run struct {
	options  Options
	world    *sim.World
	node     *sim.Node
	remotes  []*sim.Node
	driver   *faults.Driver
	config   bookie.Config
	agenda   *agenda.Agenda
	lab      *workloads.Lab
	marks    *model.Marks
	scrub    *scrubWatch
	rand     *rand.Rand
	phase    phase
	policy   sim.Policy
	serving  bool // the bookie's process has come up
	wounds   int  // places where the plan has damaged media, as far as the history knows
	findings []Finding
	excused  []Finding
	verdict  Verdict
}

// Run runs one trial to its verdict.
func Run(o Options) Result {
	if o.Defect != "" {
		defer defect.Choose(o.Defect)()
	}
	if o.Scenario.Cluster != nil {
		t := newCluster(o)
		defer t.world.Release()
		return t.runAll()
	}
	if o.Scenario.Segments != nil {
		t := newSegments(o)
		defer t.world.Release()
		return t.runAll()
	}
	if o.Scenario.CommitLog != nil {
		t := newMessageRun(o)
		defer t.world.Release()
		return t.runAll()
	}
	if o.Scenario.Registers != nil {
		t := newRegisters(o)
		defer t.world.Release()
		return t.runAll()
	}
	t := newRun(o)
	defer t.world.Release()
	return t.runAll()
}

// runAll lets the world run from its first event to its verdict.
func (t *run) runAll() Result {
	o := &t.options
	limit := o.work() + healedLimit
	if o.Until > 0 {
		limit = o.Until
	}
	t.world.At(0, t.start)
	t.startRemotes()
	t.world.At(o.work(), t.heal)
	world := t.world.Run(limit)
	return t.result(world)
}

func newRun(o Options) *run {
	s := &o.Scenario
	draw := o.draw
	worldConfig := o.Reduction.world(drawWorld(o.Seed, draw("world")))
	worldConfig.Trace, worldConfig.Observer, worldConfig.Look = o.Trace, o.Observer, o.Course.look()
	config := drawBookie(s, draw("bookie"))
	drawGroupWait(s, &config, draw("group-wait"))
	t := &run{
		options: o, world: sim.New(worldConfig), policy: worldConfig.Policy, config: o.Reduction.bookie(s, config), agenda: o.agenda(),
		marks: model.NewMarks(),
		rand:  draw("course"), verdict: OK,
	}
	t.lab = workloads.NewLab(drawMix(s, draw("mix")), 1, t.agenda)
	if o.Course != nil {
		t.lab.Recorder.Watch(t.world.Elapsed)
	}
	t.node = t.world.NewNode(bookieNode)
	t.node.Disk(bookie.JournalVolume)
	t.node.Disk(bookie.LedgerVolume)
	t.node.OnExit(t.exited)
	t.node.SetMemoryLimit(memoryAllowed(&t.config))
	t.addRemotes()
	t.config.Scrub = drawScrub(s, draw("scrub"))
	t.scrub = newScrubWatch(bookieNode)
	plan := o.Plan
	if plan == nil {
		drawn := drawPlan(s, draw("plan"))
		plan = &drawn
	}
	t.driver = faults.NewDriver(t.world, *plan, faults.Actions{Restart: func(string) { t.start() }})
	if o.Plan == nil { // an explicit plan holds what chance decided
		t.driver.UseChance(faults.SwarmChance())
	}
	t.world.OnMark(func(n *sim.Node, e host.Event) {
		t.noteDamage()
		t.marks.Hit(string(e.Name))
		t.scrub.see(t.world.Elapsed(), e, t.driver.Damage)
		t.driver.OnMark(n, string(e.Name), e.Extra)
	})
	t.world.SetPerhaps(func(n *sim.Node, p host.Point) bool { return perhaps(t.driver, t.marks, n, p) })
	return t
}

// start boots the bookie unless it runs.
func (t *run) start() {
	t.noteDamage()
	if !t.node.Running() && t.phase != done {
		t.node.Start(t.boot)
	}
}

// noteDamage tells the history of media that was damaged since the last look. It is called before each start and at
// each mark: what a bookie cannot know because of damage, it says after one of those at the earliest.
func (t *run) noteDamage() {
	if !t.options.Scenario.Damage {
		return
	}
	if n := len(t.driver.Damage()); n > t.wounds {
		t.wounds = n
		t.lab.Recorder.Damaged()
	}
}

// boot is the bookie's process.
func (t *run) boot(h host.Host) error {
	t.serving = false
	store, err := bookie.Open(h, h.Root(), t.config)
	if err != nil {
		return err
	}
	t.serving = true
	t.lab.Recorder.Started()
	if t.phase == verifying {
		return t.verify(h, store)
	}
	remote, err := t.serve(h, store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	clients := h.Root().New("clients")
	for i := range t.options.Scenario.Clients {
		c := workloads.NewClient(h, clients, t.lab, store, i, t.options.Scenario.pace())
		clients.Go("client", c.Run)
	}
	err = store.AwaitEnd(h.Root())
	clients.Stop()
	if remote != nil {
		remote.Close()
	}
	closed := store.Close()
	clients.Wait()
	if err == nil {
		err = closed
	}
	t.checkMemory(h, err)
	return err
}

// verify reads everything in a world that is whole again.
func (t *run) verify(h host.Host, store *bookie.Store) error {
	c := workloads.NewClient(h, h.Root(), t.lab, store, t.options.Scenario.Clients, t.options.Scenario.pace())
	if !c.Verify() {
		t.find(Stalled, "liveness", "the healed bookie stopped while it was read", "")
	}
	err := store.Close()
	t.checkMemory(h, err)
	return err
}

// checkMemory looks for buffers that a bookie which closed cleanly did not give back.
func (t *run) checkMemory(h host.Host, err error) {
	if left := h.Memory().InUse(); err == nil && left != 0 {
		t.find(LeftOver, "memory", "buffers are left after a clean close", fmt.Sprintf("%d bytes are in use", left))
	}
}

// exited goes on after the bookie's process has ended.
func (t *run) exited(err error, crashed bool) {
	recorder := t.lab.Recorder
	if crashed && !t.serving {
		t.marks.Hit(MarkReplayCut)
	}
	if err == nil && !crashed {
		recorder.Stopped()
	} else {
		recorder.Crashed()
	}
	t.noteDamage()
	if err != nil && bookie.IsRefusal(err) {
		t.refused(err)
		return
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
		t.finish(err)
	}
}

// refused ends a trial whose bookie does not take its directories: trying again cannot help. After damage that is the
// answer that is wanted, since nothing is served that might be wrong.
func (t *run) refused(err error) {
	if t.wounds == 0 {
		t.find(Refused, "restart", "a bookie refused its directories although nothing was damaged", err.Error())
	}
	t.phase = done
	t.marks.Hit(MarkRefused)
	t.world.Stop()
}

// finish ends the trial after the last look. With damaged media a bookie may be unable to start or to close.
func (t *run) finish(err error) {
	t.phase = done
	if err != nil && t.wounds == 0 {
		t.find(Stalled, "liveness", "the healed bookie did not start, serve and stop", err.Error())
	}
	t.world.Stop()
}

// heal ends the phase of faults. The bookie goes down once more, in one of the ways there are, so that what it kept in
// memory does not count.
func (t *run) heal() {
	t.driver.Heal()
	t.options.Course.healed(t.world.Elapsed())
	t.phase = healed
	for _, n := range t.remotes {
		n.Stop()
	}
	if !t.node.Running() {
		t.phase = verifying
		t.start()
		return
	}
	bringDown(t.node, t.rand)
}

func (t *run) find(verdict Verdict, checker, signature, text string) {
	if t.verdict == OK {
		t.verdict = verdict
	}
	t.findings = append(t.findings, Finding{Checker: checker, Signature: signature, Text: text})
}

// worldVerdict is the verdict on a world that failed.
func worldVerdict(world sim.Verdict) Verdict {
	switch world.Kind {
	case sim.Panic:
		return Crashed
	case sim.LeftoverTasks:
		return LeftOver
	}
	return Stalled
}

// result asks the checkers and puts everything together.
func (t *run) result(world sim.Verdict) Result {
	if world.Failed() && t.options.Until == 0 {
		t.find(worldVerdict(world), "world", fmt.Sprintf("%v: %s", world.Kind, world.Message), world.String())
	}
	t.options.tellPassage(t.agenda, t.driver)
	history := t.lab.Recorder.History()
	for _, v := range model.CheckBookie(history) {
		if t.options.Scenario.excuses(&v, t.wounds) {
			t.marks.Hit(MarkLossUnnoticed)
			t.excused = append(t.excused, Finding{Checker: v.Checker, Signature: v.Signature, Text: v.Explanation})
			continue
		}
		t.options.Course.accuse(len(t.findings), v.Ops)
		t.find(Violation, v.Checker, v.Signature, v.Explanation)
	}
	for _, f := range t.scrub.judge() {
		t.find(Violation, f.Checker, f.Signature, f.Text)
	}
	t.tellCourse(history)
	damage := damageDone(t.driver)
	image := t.node.Disk(bookie.JournalVolume).Model().ImageHash()*31 + t.node.Disk(bookie.LedgerVolume).Model().ImageHash()
	return Result{
		Scenario: t.options.Scenario.Name, Seed: t.options.Seed, Scheduler: t.policy.String(), Verdict: t.verdict, Findings: explained(t.findings, damage),
		Hash: world.Hash, Events: world.Events, Image: image, Simulated: world.At,
		Operations: t.lab.Recorder.Operations(), Answers: t.lab.Recorder.Answers(),
		Effects: t.world.Effects(), Marks: counts(t.marks), Plan: t.driver.Fired(),
		Excused: t.excused, Damage: damage,
	}
}
