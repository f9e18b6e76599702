package sim

import (
	"io"
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Defaults for the bounds of a world whose Config leaves them zero.
const (
	defaultMaxEvents             = 200_000_000
	defaultMaxEventsAtOneInstant = 1_000_000
	defaultMaxCallsInOneStep     = 50_000_000
	defaultRecent                = 64
)

// Config says what a world is like. The caller draws the values from the seed where they should vary.
type Config struct {
	Seed   uint64
	Policy Policy
	// PCTDepth and PCTSteps belong to the PCT policy: how many times priorities change, and within how many steps.
	PCTDepth int
	PCTSteps int64
	// LockYieldPermille is how often taking a lock, or a read or write on a connection, lets other tasks go first.
	LockYieldPermille int
	// DelayPermille is how often a woken task is kept from running for up to DelayMax, as a busy machine would.
	DelayPermille int
	DelayMax      time.Duration

	// MaxEvents ends the world as a livelock. Zero: 200 million.
	MaxEvents int64
	// MaxEventsAtOneInstant ends the world because time does not advance. Zero: one million.
	MaxEventsAtOneInstant int64
	// MaxCallsInOneStep bounds the seam calls of a task between two scheduling points. Zero: 50 million.
	MaxCallsInOneStep int64

	// Net is what the network is like. Zero: LAN.
	Net NetProfile

	// Trace receives one line an event. It costs far more than the event; nil for campaigns. See WithoutSteps.
	Trace io.Writer
	// Recent is how many of the last events a failing verdict shows. Rounded up to a power of two; zero: 64.
	Recent int
	// Observer compares runs; see FirstDivergence.
	Observer *Observer
	// Look is told of every event but the scheduler's own, and of the end of each operation on a disk. It runs inside the
	// task of the event, must change nothing, and leaves hash and counts as they are.
	Look func(*Sight)
}

// World is one simulated world. It is used by one goroutine, runs once, and is then only read.
type World struct {
	config  Config
	now     time.Duration
	nodes   []*Node
	byName  map[string]*Node
	current *task // the task that runs now; nil between tasks
	hooks   int   // depth of hooks running inside the current task

	schedule scheduler
	yields   dice // where taking a lock is a scheduling point
	delays   dice // which woken task is kept waiting
	trace    trace
	heap     *bufferPool
	network  *Network
	effects  map[string]int64

	dying     []*process // dead, with tasks still to unwind
	idle      []*coroutine
	broken    []*coroutine // ended by Goexit: disposed of apart
	lastTask  int64
	wallStart int64
	dumping   bool // resumed tasks report their stack and park again

	onMark  func(*Node, host.Event)
	perhaps func(*Node, host.Point) bool
	onLog   func(*Node, LogLine)

	alarms    int  // callbacks of At to come
	nodeEnded bool // since onlyDaemons last said no
	started   bool
	ended     bool
	stopped   bool
	limit     time.Duration
	failure   *Verdict
	verdict   Verdict
	instants  int64 // events since time last moved
	calls     int64 // seam calls since the last scheduling point
}

// New makes a world with nothing in it.
func New(config Config) *World {
	setDefaults(&config)
	w := &World{config: config, byName: map[string]*Node{}, effects: map[string]int64{}, heap: newBufferPool()}
	w.schedule = newScheduler(&w.config)
	w.yields, w.delays = newDice(config.Seed, "lock yields"), newDice(config.Seed, "delays")
	w.trace = trace{hash: scramble(config.Seed), recent: make([]record, config.Recent), observer: config.Observer, onlooker: onlooker{look: config.Look}}
	w.trace.writeTo(config.Trace)
	w.network = newNetwork(w, config.Net)
	clock := newDice(config.Seed, "wall clock")
	const decade = 10 * 365 * 24 * time.Hour
	w.wallStart = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + int64(clock.upTo(decade))
	return w
}

func setDefaults(c *Config) {
	orElse := func(value *int64, standard int64) {
		if *value == 0 {
			*value = standard
		}
	}
	orElse(&c.MaxEvents, defaultMaxEvents)
	orElse(&c.MaxEventsAtOneInstant, defaultMaxEventsAtOneInstant)
	orElse(&c.MaxCallsInOneStep, defaultMaxCallsInOneStep)
	if c.Recent <= 0 {
		c.Recent = defaultRecent
	}
	size := 1
	for size < c.Recent {
		size *= 2
	}
	c.Recent = size
}

// Seed is the seed of the world.
func (w *World) Seed() uint64 { return w.config.Seed }

// Stream is the world's random stream of this name.
func (w *World) Stream(name string) *rand.Rand { return Stream(w.config.Seed, name) }

// Elapsed is the virtual time since the world began.
func (w *World) Elapsed() time.Duration { return w.now }

// Events is the number of trace events so far.
func (w *World) Events() int64 { return w.trace.events }

// Hash is the hash over all trace events so far.
func (w *World) Hash() uint64 { return w.trace.hash }

// At calls f between tasks, after this much time from now.
func (w *World) At(after time.Duration, f func()) {
	w.alarms++
	call := func() {
		w.alarms--
		f()
	}
	w.schedule.set(&timer{index: unset, call: call}, w.now+max(after, 0))
}

// Stop ends the run: the trial has seen enough. The running task goes on to its next scheduling point.
func (w *World) Stop() { w.stopped = true }

// Run lets the world go on until it is stopped, has nothing left to do, fails, or reaches the limit of virtual time.
// Nothing is left to do when no task can ever run again, or when no node but daemons runs any more and no callback of At
// is pending. Run can be called once; afterwards no task is left.
func (w *World) Run(limit time.Duration) Verdict {
	invariant.Check(!w.started, "a world runs once")
	w.started, w.limit = true, limit
	for !w.ended {
		w.turn()
	}
	w.close()
	return w.verdict
}

// Release gives the memory of disks, buffers and connections to worlds that are made from now on. It is for a world that
// has run and whose disks nobody looks at any more.
func (w *World) Release() {
	invariant.Check(w.ended, "only a world that has ended is released")
	for _, n := range w.nodes {
		for _, v := range n.volumes {
			v.disk.Release()
		}
		n.volumes = nil
	}
	for _, c := range w.network.conns { // each has one of its two directions
		c.out.giveRing()
	}
	w.network.conns = nil
	w.heap.release()
	w.heap = nil
}

// turn makes one move: whatever is due first, then a task that can run, then a jump in time.
func (w *World) turn() {
	if len(w.dying) > 0 {
		w.bury()
	}
	switch {
	case w.failure != nil:
		w.end(*w.failure)
	case w.stopped:
		w.end(Verdict{Kind: Finished})
	case w.nodeEnded && w.alarms == 0 && w.onlyDaemons():
		w.end(Verdict{Kind: Finished})
	case w.trace.events >= w.config.MaxEvents:
		w.end(Verdict{Kind: Livelock, Message: "too many events"})
	case w.instants >= w.config.MaxEventsAtOneInstant:
		w.end(Verdict{Kind: NoTimeAdvance, Message: "too many events without time advancing"})
	case w.schedule.due(w.now):
		w.fire(w.schedule.pop())
	case w.schedule.runnable():
		w.step(w.schedule.pick())
	case w.schedule.pending():
		w.advance()
	default:
		w.end(w.quiet())
	}
}

// advance jumps to the next event.
func (w *World) advance() {
	next := w.schedule.nextTime()
	if next > w.limit {
		w.now = w.limit
		w.end(Verdict{Kind: TimeLimit, Message: "the limit of virtual time was reached"})
		return
	}
	w.now, w.instants = next, 0
	w.fire(w.schedule.pop())
}

// fire does what a timer was set for.
func (w *World) fire(t *timer) {
	if t.task != nil {
		t.task.expire()
		return
	}
	w.instants++
	w.calls = 0
	w.note(actCallback, nil, nil, 0, 0)
	w.guard("world callback", t.call)
}

// step runs a task up to its next scheduling point.
func (w *World) step(t *task) {
	w.instants++
	w.note(actStep, t.process.node, t, int64(t.woke), 0)
	w.resume(t)
}

// onlyDaemons reports whether nodes that are no daemons have run and none does any more.
func (w *World) onlyDaemons() bool {
	ran := false
	for _, n := range w.nodes {
		if !n.daemon && n.Running() {
			w.nodeEnded = false // look again when the next one ends
			return false
		}
		ran = ran || !n.daemon && n.epoch > 0
	}
	return ran
}

// quiet is the verdict on a world in which nothing can happen any more.
func (w *World) quiet() Verdict {
	for _, n := range w.nodes {
		if !n.daemon && n.Running() {
			return Verdict{Kind: Deadlock, Node: n.name, Message: "nothing can run and no timer is set"}
		}
	}
	return Verdict{Kind: Finished}
}

func (w *World) end(v Verdict) {
	w.ended = true
	w.verdict = v
}

// close takes down what is left. Stacks are collected first: unwinding destroys them.
func (w *World) close() {
	v := &w.verdict
	v.At, v.Events, v.Seed = w.now, w.trace.events, w.config.Seed
	if v.Failed() {
		v.Waits = w.waits()
		v.Recent = w.trace.last()
	}
	v.Hash = w.trace.hash
	w.trace = trace{hash: v.Hash, events: v.Events} // what unwinding does is no part of the history
	for _, n := range w.nodes {
		if n.process != nil && !n.process.dead {
			n.process.die()
		}
		n.onExit = nil
	}
	w.bury()
	w.disposeCoroutines()
}
