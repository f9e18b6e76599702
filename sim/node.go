package sim

import (
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
	"lakebed/sim/disk"
)

// Node is a machine of the world: a name, a clock and disks, and at most one process at a time. It outlives its
// processes.
type Node struct {
	world     *World
	name      string
	index     int
	daemon    bool
	process   *process // the present one, or the last
	epoch     int      // processes so far
	powerCuts int

	volumes     []*Volume // in order of first use
	paused      bool
	powerless   bool // the last crash was a power cut, and nothing was started since
	lastPort    int
	refuseUntil time.Duration
	held        []*task // could run, were it not for the pause

	clogged          bool // no byte comes or goes
	slowReceiveUntil time.Duration
	slowReceiveDelay time.Duration // of each read of a connection
	pressedUntil     time.Duration // nothing stays in the page cache

	clock       clock
	clockOffset time.Duration
	clockJumped bool // and nobody has looked since
	memoryLimit int64
	visits      map[host.Point]*int64 // pointers, because looking up costs less than assigning
	bootErr     error
	onExit      func(err error, crashed bool)
}

// NewNode adds a machine. Names are unique; they key its random streams and its network address.
func (w *World) NewNode(name string) *Node {
	invariant.Checkf(w.byName[name] == nil, "there is no second node %q", name)
	n := &Node{world: w, name: name, index: len(w.nodes), visits: map[host.Point]*int64{}}
	w.nodes = append(w.nodes, n)
	w.byName[name] = n
	return n
}

// Node returns the machine of this name, or nil.
func (w *World) Node(name string) *Node { return w.byName[name] }

// Nodes returns all machines in the order in which they were made.
func (w *World) Nodes() []*Node { return append([]*Node(nil), w.nodes...) }

// Name is the name of the node and of its network address.
func (n *Node) Name() string { return n.name }

// Epoch counts the processes started so far.
func (n *Node) Epoch() int { return n.epoch }

// PowerCuts counts the power cuts that the node has met, those included that came when it had no process.
func (n *Node) PowerCuts() int { return n.powerCuts }

// SetDaemon says that the world may end while this node still waits for work.
func (n *Node) SetDaemon(yes bool) { n.daemon = yes }

// SetMemoryLimit ends the world with a verdict when a process has more than this many bytes of buffers in hand. Zero:
// no limit.
func (n *Node) SetMemoryLimit(bytes int64) { n.memoryLimit = bytes }

// OnExit has f called, between tasks, after each process of the node ended and unwound. f may start the next one.
func (n *Node) OnExit(f func(err error, crashed bool)) { n.onExit = f }

// Visits counts how often the node came to a point, over all its processes, with the visit that is under way.
func (n *Node) Visits(p host.Point) int64 {
	if count := n.visits[p]; count != nil {
		return *count
	}
	return 0
}

func (n *Node) visit(p host.Point) {
	count := n.visits[p]
	if count == nil {
		count = new(int64)
		n.visits[p] = count
	}
	*count++
}

// Running reports whether the node has a process.
func (n *Node) Running() bool { return n.process != nil && !n.process.dead }

// BootErr is the error that the last boot to return returned.
func (n *Node) BootErr() error { return n.bootErr }

// MemoryInUse is the bytes of buffers in hand of the present process, or of the last one when it ended: what it leaked.
func (n *Node) MemoryInUse() int64 {
	if n.process == nil {
		return 0
	}
	return n.process.memory.inUse
}

// startDelay is how long a process takes to start. A node that crashes and restarts for ever so at least lets time go by.
const startDelay = time.Millisecond

// Start starts a process, which runs after startDelay. The node must have none.
func (n *Node) Start(boot func(host.Host) error) {
	n.mustBeDown("starts")
	n.epoch++
	if n.epoch > 1 {
		n.world.effect(EffectRestart)
	}
	p := newProcess(n, n.epoch)
	n.process, n.bootErr, n.powerless = p, nil, false
	n.world.network.reboot(n)
	n.world.noteText(actNodeStart, n, "", int64(n.epoch), 0)
	outer := &group{process: p, name: "main", path: "main"}
	p.boot = n.world.newTask(outer, "boot", func() { p.bootErr = boot(p) })
	p.boot.state = taskDelayed
	n.world.schedule.set(&p.boot.timer, n.world.now+startDelay)
}

func (n *Node) mustBeDown(what string) {
	invariant.Checkf(!n.Running(), "node %q %s only while it is not running", n.name, what)
}

// Stop asks the process to end, as SIGTERM does.
func (n *Node) Stop() {
	if n.Running() {
		n.world.noteText(actNodeStop, n, "", 0, 0)
		n.process.root.stop()
	}
}

// How says in which way a node crashes.
type How struct {
	power    bool
	survival disk.Survival
}

// KillProcess ends the process alone: what it wrote stays in the page cache, synced or not.
func KillProcess() How { return How{} }

// PowerCut ends the machine: of what was not synced, survival says how much is left.
func PowerCut(survival disk.Survival) How { return How{power: true, survival: survival} }

// Crash ends the process without asking. Called from a task of the node itself it does not return; called from a hook
// inside such a task, the task ends when the hook returns. A power cut also reaches a node that has no process, since
// its page cache outlived the last one.
func (n *Node) Crash(how How) {
	w := n.world
	wasRunning := n.Running()
	if how.power {
		n.powerless = true
		n.cutPower(how.survival)
	}
	if !wasRunning {
		return
	}
	p := n.process
	if how.power {
		w.effect(EffectPowerCut)
	} else {
		w.effect(EffectCrash)
	}
	w.noteText(actNodeCrash, n, "", int64(n.epoch), 0)
	p.crashed = true
	w.network.crash(p, how.power)
	p.die()
	n.paused = false
	if w.hooks == 0 && w.current != nil && w.current.process == p {
		p.refuse()
	}
}

// Pause keeps the node's tasks from running while time goes on, as a long garbage collection or a migrating virtual
// machine does.
func (n *Node) Pause() {
	if n.paused || !n.Running() {
		return
	}
	w := n.world
	w.noteText(actNodePause, n, "", 0, 0)
	w.effect(EffectPause)
	n.paused = true
	w.schedule.withdraw(func(t *task) bool { return t.process.node == n }, func(t *task) {
		t.state = taskHeld
		n.held = append(n.held, t)
	})
	if t := w.current; w.hooks == 0 && t != nil && t.process.node == n {
		t.yield("paused", "")
	}
}

// Resume ends a pause.
func (n *Node) Resume() {
	if !n.paused {
		return
	}
	n.world.noteText(actNodeResume, n, "", 0, 0)
	n.paused = false
	held := n.held
	n.held = nil
	for _, t := range held {
		t.becomeReady()
	}
}

// JumpClock moves the node's wall clock; Elapsed does not notice.
func (n *Node) JumpClock(d time.Duration) {
	n.world.noteText(actClockJump, n, "", int64(d), 0)
	n.clockOffset += d
	n.clockJumped = n.clockJumped || d != 0
}

// PressMemory empties the node's page cache now and keeps it empty for a time: reads go to the device, and see what the
// media holds.
func (n *Node) PressMemory(d time.Duration) {
	n.world.noteText(actNodePause, n, "memory pressure", int64(d), 0)
	n.pressedUntil = n.world.now + d
	for _, v := range n.volumes {
		v.disk.DropCaches()
	}
}

// pressed reports whether a read finds nothing in the page cache, and counts that it did.
func (n *Node) pressed() bool {
	if n.world.now >= n.pressedUntil {
		return false
	}
	n.world.effect(EffectMemoryPressure)
	return true
}

// receiveDelay is how much longer a read of a connection takes now, and counts that it does.
func (n *Node) receiveDelay() time.Duration {
	if n.world.now >= n.slowReceiveUntil {
		return 0
	}
	n.world.effect(EffectSlowReceiver)
	return n.slowReceiveDelay
}

// Clock is what the node's wall clock shows. Looking at it from outside counts for nothing.
func (n *Node) Clock() host.Wall {
	return host.Wall(n.world.wallStart + int64(n.world.now+n.clock.ahead(n.world.now)+n.clockOffset))
}

func (n *Node) wall() host.Wall {
	if n.clockJumped {
		n.clockJumped = false
		n.world.effect(EffectClockJump)
	}
	return host.Wall(n.world.wallStart + int64(n.elapsed()+n.clockOffset))
}

// discardHeld forgets the tasks of a dead process that a pause kept from running.
func (n *Node) discardHeld(p *process) {
	kept := n.held[:0]
	for _, t := range n.held {
		if t.process != p {
			kept = append(kept, t)
		}
	}
	clear(n.held[len(kept):])
	n.held = kept
}

// tellExit runs the node's callback between tasks.
func (n *Node) tellExit(err error, crashed bool) {
	n.world.nodeEnded = true
	if n.onExit != nil {
		n.world.guard("exit callback of "+n.name, func() { n.onExit(err, crashed) })
	}
}
