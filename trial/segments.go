package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/partition"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/sim/disk"
	"lakebed/workloads/segments"
)

// returnLimit is how long a store that runs on in a healed world may take to have its directories back: some pauses of
// readmission, and what a commit and a probe may take. returnLook is how often its process looks.
const (
	returnLimit = 2500 * time.Millisecond
	returnLook  = 200 * time.Millisecond
)

// serviceLimit is how long a healed store may take to have all of its directories in service.
const serviceLimit = 20 * time.Second

// segmentsRun is one trial of a segment log under way.
type segmentsRun struct {
	options  Options
	drawn    segmentsDraw
	world    *sim.World
	node     *sim.Node
	driver   *faults.Driver
	lab      *segments.Lab
	marks    *model.Marks
	rand     *rand.Rand
	phase    phase
	serving  bool
	returns  bool // the time has come at which the directories must be back
	findings []Finding
	verdict  Verdict
}

func newSegments(o Options) *segmentsRun {
	s := &o.Scenario
	draw := func(name string) *rand.Rand { return sim.Stream(o.Seed, "trial/"+name) }
	worldConfig := o.Reduction.world(drawWorld(o.Seed, draw("world")))
	worldConfig.Trace, worldConfig.Observer = o.Trace, o.Observer
	t := &segmentsRun{
		options: o, drawn: drawSegments(s, draw("segments")), world: sim.New(worldConfig), marks: model.NewMarks(),
		rand: draw("course"), verdict: OK,
	}
	t.lab = segments.NewLab(t.drawn.mix, t.drawn.partitions)
	keep := t.drawn.topic.Retention
	t.lab.Retention(uint64(keep.Period/timeUnit), keep.BytesMax > 0)
	t.node = t.world.NewNode(segmentsNode)
	for _, v := range t.drawn.config.Volumes {
		t.node.Disk(v).Format(t.drawn.device)
	}
	t.node.OnExit(t.exited)
	plan := o.Plan
	if plan == nil {
		mix, err := s.mix()
		if err != nil {
			panic(err) // ParseScenario has looked at it
		}
		drawn := faults.Draw(draw("plan"), mix, s.segmentsShape(t.drawn.config.Volumes))
		plan = &drawn
	}
	t.driver = faults.NewDriver(t.world, *plan, faults.Actions{Restart: func(string) { t.start() }})
	if o.Plan == nil { // an explicit plan holds what chance decided
		t.driver.UseChance(faults.SwarmChance())
	}
	t.world.OnMark(t.marked)
	t.world.SetPerhaps(func(n *sim.Node, p host.Point) bool { return t.driver.Perhaps(n, string(p)) })
	return t
}

// marked notes what the store's clock shows, and what may take unsynced messages.
func (t *segmentsRun) marked(n *sim.Node, e host.Event) {
	t.lab.Clock(uint64(int64(n.Clock()) / int64(timeUnit)))
	if e.Name == partition.PointFailed || e.Name == partition.PointRestored {
		t.unsynced()
	}
	t.marks.Hit(string(e.Name))
	t.driver.OnMark(n, string(e.Name), e.Extra)
}

func (t *segmentsRun) unsynced() {
	if !t.drawn.durable {
		t.lab.Unsynced()
	}
}

func (t *segmentsRun) runAll() Result {
	o := &t.options
	limit := o.work() + healedLimit
	if o.Until > 0 {
		limit = o.Until
	}
	t.world.At(0, t.start)
	t.world.At(o.work(), t.heal)
	return t.result(t.world.Run(limit))
}

func (t *segmentsRun) start() {
	if !t.node.Running() && t.phase != done {
		t.node.Start(t.boot)
	}
}

// boot is the store's process.
func (t *segmentsRun) boot(h host.Host) error {
	t.serving = false
	store, err := seglog.Open(h, h.Root(), t.drawn.config)
	if err != nil {
		return err
	}
	t.serving = true
	if err := store.CreateTopic(segments.Topic, t.drawn.topic); err != nil && !errors.Is(err, seglog.ErrTopicExists) {
		return errors.Join(fmt.Errorf("make the topic: %w", err), store.Close())
	}
	pace := t.options.Scenario.pace()
	if t.phase == verifying {
		err = t.verify(h, store)
	} else {
		clients := h.Root().New("clients")
		for i := range t.options.Scenario.Clients {
			clients.Go("client", segments.NewClient(h, clients, t.lab, store, i, pace, timeUnit).Run)
		}
		for h.Root().Sleep(returnLook) {
			t.lookAtReturn(store)
		}
		clients.Stop()
		defer clients.Wait()
	}
	if closed := store.Close(); err == nil {
		err = closed
	}
	if left := h.Memory().InUse(); err == nil && t.phase == verifying && left != 0 {
		t.find(LeftOver, "memory", "buffers are left after a clean close", fmt.Sprintf("%d bytes are in use", left))
	}
	return err
}

// verify looks at everything in a world that is whole again: all directories must come into service, everything that is
// there is read, and what retention is to remove goes.
func (t *segmentsRun) verify(h host.Host, store *seglog.Store) error {
	for end := h.Elapsed() + serviceLimit; len(store.Ejected()) > 0; h.Root().Sleep(20 * time.Millisecond) {
		if h.Elapsed() > end {
			t.find(Stalled, "ejection", "a directory that works is not taken back", fmt.Sprint(store.Ejected()))
			return nil
		}
	}
	c := segments.NewClient(h, h.Root(), t.lab, store, t.options.Scenario.Clients, t.options.Scenario.pace(), timeUnit)
	if err := c.Verify(); err != nil {
		t.find(Violation, "available", "a healed store does not answer", err.Error())
		return nil
	}
	return t.checkRetention(h, store)
}

// checkRetention looks that nothing is left that retention is to remove. The newest segment is sealed by one look and
// goes with the next.
func (t *segmentsRun) checkRetention(h host.Host, store *seglog.Store) error {
	before := h.Now()
	for range 3 {
		if err := store.Retain(); err != nil {
			return err
		}
		h.Root().Sleep(50 * time.Millisecond)
	}
	topics, err := store.Topics()
	if err != nil {
		return err
	}
	keep := t.drawn.topic.Retention
	for number, p := range topics[0].Partitions {
		total := int64(0)
		for i, s := range p.Segments {
			total += s.Bytes
			newest := time.Duration(s.Newest) * timeUnit
			// The first of them only: behind a younger one, which a clock that was set back leaves, nothing is removed.
			if i == 0 && len(p.Segments) > 1 && newest+keep.Period+timeUnit < time.Duration(before) {
				t.find(Violation, "retention", "a segment is older than the period", fmt.Sprintf("segment %d of partition %d: %+v", s.Base, number, s))
			}
		}
		if keep.BytesMax > 0 && total > keep.BytesMax && len(p.Segments) > 1 {
			t.find(Violation, "retention", "a partition is larger than its bound", fmt.Sprintf("partition %d has %d bytes, the bound is %d", number, total, keep.BytesMax))
		}
	}
	return nil
}

// exited goes on after the store's process has ended.
func (t *segmentsRun) exited(err error, crashed bool) {
	if crashed && !t.serving {
		t.marks.Hit(MarkReplayCut)
	}
	t.lab.Cut()
	t.unsynced()
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
		t.phase = done
		if err != nil {
			t.find(Stalled, "liveness", "the healed store did not start, serve and stop", err.Error())
		}
		t.world.Stop()
	}
}

// heal ends the phase of faults. Some stores run on until their directories must be back.
func (t *segmentsRun) heal() {
	t.driver.Heal()
	t.phase = healed
	if t.rand.IntN(3) > 0 || !t.node.Running() {
		t.bringDown()
		return
	}
	t.world.At(returnLimit, func() { t.returns = true })
	t.world.At(returnLimit+2*returnLook, func() {
		if t.phase == healed { // else it has ended by itself
			t.bringDown()
		}
	})
}

// lookAtReturn looks, from within the store's process, whether its directories are back when they must be.
func (t *segmentsRun) lookAtReturn(store *seglog.Store) {
	if out := store.Ejected(); t.returns && len(out) > 0 {
		t.returns = false
		t.find(Stalled, "ejection", "a directory that works is not taken back", fmt.Sprint(out))
	}
}

// bringDown has the store go down once more, in one of the ways there are.
func (t *segmentsRun) bringDown() {
	switch {
	case !t.node.Running():
		t.phase = verifying
		t.start()
	case t.rand.IntN(3) == 0:
		t.node.Stop()
	case t.rand.IntN(2) == 0:
		t.node.Crash(sim.KillProcess())
	default:
		t.node.Crash(sim.PowerCut(disk.Mixed))
	}
}

func (t *segmentsRun) find(verdict Verdict, checker, signature, text string) {
	if t.verdict == OK {
		t.verdict = verdict
	}
	t.findings = append(t.findings, Finding{Checker: checker, Signature: signature, Text: text})
}

// result asks the checkers and puts everything together.
func (t *segmentsRun) result(world sim.Verdict) Result {
	if world.Failed() && t.options.Until == 0 {
		verdict := Stalled
		if world.Kind == sim.Panic {
			verdict = Crashed
		} else if world.Kind == sim.LeftoverTasks {
			verdict = LeftOver
		}
		t.find(verdict, "world", fmt.Sprintf("%v: %s", world.Kind, world.Message), world.String())
	}
	for _, v := range model.CheckSegments(t.lab.History()) {
		t.find(Violation, v.Checker, v.Signature, v.Explanation)
	}
	marks := make(map[string]int64)
	for _, name := range t.marks.Names() {
		marks[name] = int64(t.marks.Count(name))
	}
	image := uint64(0)
	for _, v := range t.drawn.config.Volumes {
		image = image*31 + t.node.Disk(v).Model().ImageHash()
	}
	return Result{
		Scenario: t.options.Scenario.Name, Seed: t.options.Seed, Verdict: t.verdict, Findings: t.findings,
		Hash: world.Hash, Events: world.Events, Image: image, Simulated: world.At,
		Operations: t.lab.Operations(), Answers: t.lab.Answers(),
		Effects: t.world.Effects(), Marks: marks, Plan: t.driver.Fired(),
	}
}
