package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"lakebed/internal/invariant"
)

// raisesMax is how often a dying task may swallow its own death before the world gives it up.
const raisesMax = 1000

// killed is what a call of a dead process panics with. Its type is private: only this package's wrapper can know it.
type killed struct{}

// woke is the reason for which a task goes on.
type woke uint8

const (
	wokeStart woke = iota
	wokeYield
	wokeSignal
	wokeTimer
	wokeStop
	wokeLock
	wokeGate
	wokeJoin
	wokeDisk
	wokeNet
)

var wokeNames = [...]string{"start", "yield", "signal", "timer", "stop", "lock", "gate", "join", "disk", "net"}

type taskState uint8

const (
	taskReady   taskState = iota // in the scheduler's ready list, or about to be
	taskHeld                     // could run, but its node is paused
	taskDelayed                  // woken, and kept waiting by Config.DelayPermille
	taskRunning
	taskParked
	taskDone
	taskStuck // swallows its own death; given up
)

// wait says what a parked task waits for.
type wait struct {
	kind string // a word of ours: "lock", "cond", "sleep", "read"
	name string // of the lock, file, peer
}

// task is one line of execution of a process.
type task struct {
	id       int64
	name     string
	process  *process
	group    *group
	body     func()
	state    taskState
	priority uint64
	woke     woke

	place seat          // in the queue of what it waits for
	leash seat          // in the queue of the group whose stop wakes it
	kin   seat          // in the list of its process's tasks
	timer timer         // ends a sleep or a timed wait
	alarm time.Duration // what the node's own clock must show by then; zero: nothing
	wait  wait

	coroutine *coroutine // nil until it first runs, and again once it ended
	returned  bool
	exited    bool // by runtime.Goexit
	raises    int
	stack     string // filled for verdicts
}

// coroutine runs tasks one after the other: a grown stack and three microseconds are saved by using it again.
type coroutine struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	task  *task
}

func newCoroutine() *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for {
			c.task.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// newTask makes a task that the caller must make runnable.
func (w *World) newTask(g *group, name string, body func()) *task {
	w.lastTask++
	t := &task{id: w.lastTask, name: name, process: g.process, group: g, body: body}
	t.place.task, t.leash.task, t.kin.task = t, t, t
	t.timer = timer{index: unset, task: t}
	g.live++
	g.process.tasks.push(&t.kin)
	w.trace.add(&record{at: w.now, node: g.process.node, task: t, what: actTaskStart, text: name})
	return t
}

// label names the task within its node.
func (t *task) label() string { return fmt.Sprintf("%s/%s#%d", t.group.path, t.name, t.id) }

// run is the outermost frame of the task on its coroutine.
func (t *task) run() {
	defer t.finish()
	t.body()
	t.returned = true
}

// finish looks at how the task ended. It is the deferred function itself, so that recover works and the panicking
// frames are still on the stack: iter.Pull would re-panic in the scheduler and lose them.
func (t *task) finish() {
	value := recover()
	w := t.process.world
	switch {
	case value == nil && !t.returned:
		t.exited = true
		w.fail(Verdict{Kind: Goexit, Node: t.process.node.name, Task: t.label(),
			Message: "the task called runtime.Goexit (a failing testing.T does)", Stack: string(debug.Stack())})
	case value != nil && !t.process.dead:
		w.fail(Verdict{Kind: Panic, Node: t.process.node.name, Task: t.label(),
			Message: fmt.Sprint(value), Stack: string(debug.Stack())})
	}
	// A panic of a dead process is either ours or the work of a deferred call that a real crash would not have run.
	t.leave()
	if t.exited {
		// Goexit would go on to end the goroutine that runs the world. Hold it here until it can be let go elsewhere.
		t.coroutine.yield(struct{}{})
	}
}

// leave takes the task off the books of its group and process.
func (t *task) leave() {
	w := t.process.world
	t.state = taskDone
	t.kin.remove()
	w.note(actTaskEnd, t.process.node, t, 0, 0)
	t.group.live--
	if t.group.live == 0 && !t.process.dead {
		t.group.joiners.wakeAll(wokeJoin)
	}
}

// resume lets the task run up to its next scheduling point.
func (w *World) resume(t *task) {
	if t.coroutine == nil {
		t.coroutine = w.takeCoroutine()
		t.coroutine.task = t
	}
	w.current, w.calls = t, 0
	t.state = taskRunning
	t.coroutine.next()
	w.current = nil
	if t.state != taskDone {
		return
	}
	w.retire(t)
	if t == t.process.boot {
		w.exit(t.process)
	}
}

// park gives up the processor until somebody wakes the task, and returns why it did.
func (t *task) park(state taskState, kind, name string) woke {
	w := t.process.world
	invariant.Check(w.current == t, "only the running task may wait")
	invariant.Check(w.hooks == 0, "a hook must not call anything that waits")
	t.wait = wait{kind, name}
	t.state = state
	for t.coroutine.yield(struct{}{}); w.dumping; t.coroutine.yield(struct{}{}) {
		t.stack = string(debug.Stack())
	}
	if t.process.dead {
		t.process.refuse()
	}
	return t.woke
}

// parkUntil parks with a timer; whoever else can wake the task must have been told before.
func (t *task) parkUntil(at time.Duration, kind, name string) woke {
	t.process.world.schedule.set(&t.timer, at)
	return t.park(taskParked, kind, name)
}

// setAlarm sets the timer of a task that is about to park for a time as its node measures it.
func (t *task) setAlarm(d time.Duration) {
	n := t.process.node
	t.alarm = n.elapsed() + d
	n.world.schedule.set(&t.timer, n.worldTime(t.alarm))
}

// yield lets other tasks go first.
func (t *task) yield(kind, name string) {
	t.process.world.schedule.demote(t)
	t.woke = wokeYield
	t.becomeReady()
	t.park(t.state, kind, name)
}

// wake makes a parked task runnable and takes it out of every queue it waits in.
func (t *task) wake(why woke) {
	w := t.process.world
	invariant.Check(t.state == taskParked, "only a parked task can be woken")
	t.place.remove()
	t.leash.remove()
	w.schedule.unset(&t.timer)
	t.woke, t.alarm = why, 0
	if w.config.DelayMax > 0 && w.delays.permille(w.config.DelayPermille) {
		t.state = taskDelayed
		w.schedule.set(&t.timer, w.now+w.delays.upTo(w.config.DelayMax))
		return
	}
	t.becomeReady()
}

// expire is called when the task's timer goes off.
func (t *task) expire() {
	if t.state == taskDelayed {
		t.becomeReady()
		return
	}
	if n := t.process.node; t.alarm > n.elapsed() { // its clock has slowed down meanwhile
		n.world.schedule.set(&t.timer, n.worldTime(t.alarm))
		return
	}
	t.wake(wokeTimer)
}

func (t *task) becomeReady() {
	node := t.process.node
	if node.paused {
		t.state = taskHeld
		node.held = append(node.held, t)
		return
	}
	t.state = taskReady
	t.process.world.schedule.enqueue(t)
}

func (w *World) takeCoroutine() *coroutine {
	if end := len(w.idle) - 1; end >= 0 {
		c := w.idle[end]
		w.idle = w.idle[:end]
		return c
	}
	return newCoroutine()
}

// retire keeps the coroutine of an ended task for the next one.
func (w *World) retire(t *task) {
	c := t.coroutine
	t.coroutine, c.task = nil, nil
	if t.exited {
		w.broken = append(w.broken, c)
		return
	}
	w.idle = append(w.idle, c)
}

// kill unwinds one task of a dead process.
func (w *World) kill(t *task) {
	t.place.remove()
	t.leash.remove()
	w.schedule.unset(&t.timer)
	if t.coroutine == nil {
		t.leave() // it never ran
		return
	}
	w.current = t
	t.coroutine.next()
	w.current = nil
	if t.state == taskDone {
		w.retire(t)
		return
	}
	t.kin.remove()
	w.fail(Verdict{Kind: Panic, Node: t.process.node.name, Task: t.label(),
		Message: "the task survives its own death: it recovers every panic and goes on", Stack: t.stack})
}

// disposeCoroutines ends the coroutines themselves; all tasks are gone by now.
func (w *World) disposeCoroutines() {
	for _, c := range w.idle {
		c.stop()
	}
	for _, c := range w.broken {
		// Goexit spreads to whoever resumes the coroutine, so that must be a goroutine nobody needs.
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			c.next()
		}()
		<-gone
	}
	w.idle, w.broken = nil, nil
}
