package trial

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/partition"
	"lakebed/model"
	"lakebed/sim"
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
	single
	drawn   segmentsDraw
	lab     *segments.Lab
	returns bool // the time has come at which the directories must be back
}

func newSegments(o Options) *segmentsRun {
	t := &segmentsRun{single: newSingle(o, segmentsNode), drawn: drawSegments(&o.Scenario, o.draw("segments"))}
	t.boot = t.process
	t.lab = segments.NewLab(t.drawn.mix, t.drawn.partitions, t.agenda)
	if o.Course != nil {
		t.lab.Watch(t.world.Elapsed)
	}
	keep := t.drawn.topic.Retention
	t.lab.Retention(uint64(keep.Period/timeUnit), keep.BytesMax > 0)
	for _, v := range t.drawn.config.Volumes {
		t.node.Disk(v).Format(t.drawn.device)
	}
	t.node.OnExit(t.exited)
	t.allow = t.mayLose
	t.arm(o.Scenario.segmentsShape(t.drawn.config.Volumes))
	t.world.OnMark(t.marked)
	return t
}

// marked notes what the store's clock shows, and what may take unsynced messages.
func (t *segmentsRun) marked(n *sim.Node, e host.Event) {
	t.lab.Clock(uint64(int64(n.Clock()) / int64(timeUnit)))
	if e.Name == partition.PointFailed || e.Name == partition.PointRestored {
		t.unsynced()
	}
	t.single.marked(n, e)
}

func (t *segmentsRun) unsynced() {
	if !t.drawn.durable {
		t.lab.Unsynced()
	}
}

// process is the store's process.
func (t *segmentsRun) process(h host.Host) error {
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
			t.lookAtReturn(store, segments.NewClient(h, h.Root(), t.lab, store, t.options.Scenario.Clients+1, pace, timeUnit))
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
		if h.Elapsed() > end && t.wounded() {
			break // it says what it cannot read
		}
		if h.Elapsed() > end {
			t.find(Stalled, "ejection", "a directory that works is not taken back", fmt.Sprint(store.Ejected()))
			return nil
		}
	}
	c := segments.NewClient(h, h.Root(), t.lab, store, t.options.Scenario.Clients, t.options.Scenario.pace(), timeUnit)
	if t.wounded() {
		c.VerifyDamaged()
		return nil
	}
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
	t.lab.Cut()
	t.unsynced()
	t.goOn(err, crashed)
}

// heal ends the phase of faults. Some stores run on until their directories must be back.
func (t *segmentsRun) heal() {
	t.single.heal()
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

// lookAtReturn looks, from within the store's process, whether its directories are back when they must be, and whether their
// partitions take messages.
func (t *segmentsRun) lookAtReturn(store *seglog.Store, c *segments.Client) {
	if !t.returns || t.wounded() {
		return
	}
	t.returns = false
	if out := store.Ejected(); len(out) > 0 {
		t.find(Stalled, "ejection", "a directory that works is not taken back", fmt.Sprint(out))
		return
	}
	if err := c.TakesAgain(); err != nil {
		t.find(Stalled, "ejection", "a partition of a directory that was taken back takes no message", err.Error())
	}
}

// runAll lets the world run, and asks the checkers.
func (t *segmentsRun) runAll() Result {
	world := t.runWorld(t.heal)
	history := t.lab.History()
	t.judge(world, model.CheckSegments(history))
	if t.options.Course != nil {
		t.tellCourse(toldSegments(history), t.lab.Time)
	}
	r := t.result(world, t.drawn.config.Volumes)
	r.Operations, r.Answers = t.lab.Operations(), t.lab.Answers()
	return r
}
