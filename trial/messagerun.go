package trial

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/workloads/messages"
)

// messageRun is one trial of a commit log under way.
type messageRun struct {
	single
	config commitlog.Config
	lab    *messages.Lab
	cuts   int64 // power cuts that the history knows of
	synced int64 // the log is durable below, as the last checkpoint says
	due    bool  // a healed store that runs on is to take a message
	asked  bool  // and was asked to
	taken  int64 // messages, until then
	full   error // why it has refused the last one: its disk was full

	remotes []*sim.Node // clients on other machines
	server  server.Config
}

func newMessageRun(o Options) *messageRun {
	s := &o.Scenario
	t := &messageRun{single: newSingle(o, brokerNode), config: drawCommitLog(s, o.draw("commitlog"))}
	t.boot = t.process
	t.lab = messages.NewLab(drawMessageMix(s, &t.config, o.draw("mix")), t.agenda)
	if o.Course != nil {
		t.lab.Watch(t.world.Elapsed)
	}
	if capacity := drawSpace(&t.config, o.draw("space")); capacity > 0 {
		t.node.Disk(commitlog.StoreVolume).Replace(capacity)
	} else {
		t.node.Disk(commitlog.StoreVolume)
		t.lab.Retention(uint64(t.config.Retention.Age / time.Millisecond)) // a full disk takes young messages, too
	}
	t.node.OnExit(t.exited)
	t.allow = t.mayLose
	t.addMessageRemotes()
	t.arm(s.messageShape())
	t.world.OnMark(t.marked)
	return t
}

// marked notes what the store's clock shows, which retention goes by.
func (t *messageRun) marked(n *sim.Node, e host.Event) {
	t.lab.Clock(uint64(int64(n.Clock()) / int64(time.Millisecond)))
	if e.Name == commitlog.PointCheckpointed {
		t.synced = e.B
	}
	t.single.marked(n, e)
}

// notePowerCuts tells the history of power cuts since the last look. One that comes while the node is down takes effect, too.
func (t *messageRun) notePowerCuts() {
	for n := int64(t.node.PowerCuts()); t.cuts < n; t.cuts++ {
		t.lab.PowerCut()
	}
}

// process is the store's process.
func (t *messageRun) process(h host.Host) error {
	t.notePowerCuts()
	t.serving = false
	config := t.config
	if t.phase == verifying {
		config.Retention.Interval = time.Hour // nothing goes while it is looked at
	}
	store, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		return err
	}
	t.serving = true
	s := &t.options.Scenario
	if t.phase == verifying {
		t.verify(messages.NewClient(h, h.Root(), t.lab, store, s.Clients, s.pace()))
		err := t.checkRetention(h, store)
		return errors.Join(err, store.Close())
	}
	door, err := t.openDoor(h, store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	clients := h.Root().New("clients")
	for i := range s.Clients {
		clients.Go("client", messages.NewClient(h, clients, t.lab, store, i, s.pace()).Run)
	}
	clients.Go("prober", func() { t.probe(clients, messages.NewClient(h, clients, t.lab, store, s.Clients+1+s.Remote, s.pace())) })
	err = store.AwaitEnd(h.Root())
	clients.Stop()
	if door != nil {
		door.Close()
	}
	closed := store.Close()
	clients.Wait()
	if err == nil {
		err = closed
	}
	return err
}

// verify reads everything in a world that is whole again.
func (t *messageRun) verify(c *messages.Client) {
	if t.wounded() {
		c.VerifyDamaged()
		return
	}
	problem, ok := c.Verify()
	switch {
	case !ok:
		t.find(Stalled, "liveness", "the healed store stopped while it was read", problem)
	case problem != "":
		t.find(Violation, "agreement", "log, queues and index do not agree", problem)
	}
}

// cleanRoundsMax is how often retention is asked to look at most. A round removes some files only.
const cleanRoundsMax = 1000

// checkRetention looks that no file is left that is to go: one whose successor begins with a message that is too old itself.
func (t *messageRun) checkRetention(h host.Host, store *commitlog.Store) error {
	h.Root().Sleep(t.config.Retention.Age) // then all may go but the newest file
	before := time.Duration(h.Now())
	first := int64(-1)
	for range cleanRoundsMax {
		if store.Stats().First == first {
			break
		}
		first = store.Stats().First
		if err := store.Clean(); err != nil {
			return err
		}
	}
	if _, err := store.CheckAgreement(); err != nil && !t.wounded() {
		t.find(Violation, "agreement", "log, queues and index do not agree when old files are gone", err.Error())
	}
	stored, found := t.lab.StoredAt(first + t.config.FileBytes)
	if found && len(t.config.Retention.DeleteHours) > 0 && time.Duration(stored)*time.Millisecond+t.config.Retention.Age < before {
		t.find(Violation, "retention", "a file is older than the period", fmt.Sprintf("the log begins at %d, the next file has messages of %d ms", first, stored))
	}
	return nil
}

// probe has a store that runs on in the healed world take a message when it must. One whose disk is full may refuse it, if it has
// taken others' instead: clients fill a small disk as fast as retention empties it.
func (t *messageRun) probe(group host.Group, c *messages.Client) {
	for group.Sleep(returnLook) {
		if !t.due {
			continue
		}
		if !t.asked {
			t.asked, t.taken = true, t.lab.Taken()
		}
		t.full = nil
		err := c.TakesAgain()
		if errors.Is(err, host.ErrNoSpace) {
			t.full = err
			continue
		}
		if err != nil && !t.wounded() {
			t.find(Stalled, "writable", takesNone, err.Error())
		}
		t.due = false
	}
}

// takesNone is the signature of a store that refuses everything though nothing disturbs it.
const takesNone = "a healed store takes no message"

// exited goes on after the store's process has ended.
func (t *messageRun) exited(err error, crashed bool) {
	t.lab.Ended()
	t.notePowerCuts()
	if errors.Is(err, commitlog.ErrCorrupt) && t.wounded() {
		t.marks.Hit(MarkRefused)
		t.end()
		return
	}
	if errors.Is(err, commitlog.ErrCorrupt) {
		t.find(Refused, "restart", "a store calls its files damaged although nothing was", err.Error())
		t.end()
		return
	}
	t.goOn(err, crashed)
}

// messageReturn is how long a store that runs on in a healed world may take until it takes messages: a round of retention,
// and some attempts to make a file.
const messageReturn = 1200 * time.Millisecond

// heal ends the phase of faults. Some stores run on, and must take a message, before all go down once more.
func (t *messageRun) heal() {
	t.single.heal()
	if t.rand.IntN(3) > 0 || !t.node.Running() {
		t.endAll()
		return
	}
	t.world.At(messageReturn, func() { t.due = true })
	t.world.At(messageReturn+5*returnLook, func() {
		if t.phase != healed {
			return // it has ended by itself
		}
		switch {
		case !t.due || !t.asked || t.wounded():
		case t.full != nil && t.lab.Taken() == t.taken:
			t.find(Stalled, "writable", takesNone, t.full.Error())
		case t.full == nil:
			t.find(Stalled, "writable", "a healed store does not answer whether it takes a message", "")
		}
		t.endAll()
	})
}

// endAll has the store go down. Who is on another machine goes before it: what he sends while everything is read would not be
// looked for.
func (t *messageRun) endAll() {
	for _, n := range t.remotes {
		n.Stop()
	}
	t.bringDown()
}

// promised is the flush mode by which the store is judged.
func (t *messageRun) promised() commitlog.FlushMode {
	if promise := t.options.Scenario.CommitLog.Promise; promise != "" {
		return commitlog.FlushMode(promise)
	}
	return t.config.Flush
}

// runAll lets the world run, and asks the checkers.
func (t *messageRun) runAll() Result {
	t.startMessageRemotes()
	world := t.runWorld(t.heal)
	mode := t.promised()
	durable := mode == commitlog.FlushAlways || mode == commitlog.FlushGroup
	history := t.lab.History(durable, t.config.AckAfterDispatch)
	t.judge(world, t.unexcused(model.CheckMessages(history)))
	if t.options.Course != nil {
		t.tellCourse(toldMessages(history), t.lab.Time)
	}
	r := t.result(world, []string{commitlog.StoreVolume})
	r.Operations, r.Answers = t.lab.Operations(), t.lab.Answers()
	return r
}
