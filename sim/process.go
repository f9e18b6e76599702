package sim

import (
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// process is one incarnation of a node, and the host that its boot function is given. It owns everything that does not
// outlive it: tasks, groups, locks, connections, buffers.
type process struct {
	world     *World
	node      *Node
	epoch     int
	dead      bool // exited or crashed: nothing it does has an effect
	crashed   bool
	root      *group
	boot      *task
	bootErr   error
	tasks     list
	memory    memory
	probe     probe
	files     []*file    // open
	locks     []*dirLock // ever taken; releasing twice is harmless
	listeners []*listener
}

var _ host.Host = (*process)(nil)

func newProcess(n *Node, epoch int) *process {
	p := &process{world: n.world, node: n, epoch: epoch}
	p.root = &group{process: p, name: "root", path: "root"}
	p.memory = memory{process: p, out: map[*byte]*buffer{}}
	p.probe = probe{process: p, sample: newDice(n.world.config.Seed, p.streamName("sample"))}
	return p
}

// streamName names a random stream of this incarnation.
func (p *process) streamName(name string) string {
	return "node/" + p.node.name + "/" + strconv.Itoa(p.epoch) + "/" + name
}

// enter begins every seam call. A task of a dead process gets no further than this.
func (p *process) enter() {
	if p.dead {
		p.refuse()
	}
	w := p.world
	if w.calls++; w.calls > w.config.MaxCallsInOneStep {
		p.abort(Verdict{Kind: Livelock, Message: "the task calls the seam over and over without ever waiting"})
	}
}

// running is enter for calls that may wait: they belong to a task of this process.
func (p *process) running() *task {
	p.enter()
	t := p.world.current
	invariant.Check(t != nil && t.process == p, "a call that may wait must come from a task of the node it belongs to")
	return t
}

// peek begins a call that only reads. The trial may still read a process that has ended; its own tasks may not.
func (p *process) peek() {
	if p.dead && p.world.current != nil && p.world.current.process == p {
		p.refuse()
	}
}

// refuse ends the calling task, which is one of a dead process.
func (p *process) refuse() {
	t := p.world.current
	invariant.Check(t != nil && t.process == p, "the host of an ended process is used from outside")
	t.raises++
	if t.raises > raisesMax {
		t.stack = string(debug.Stack())
		for {
			t.state = taskStuck
			t.coroutine.yield(struct{}{})
		}
	}
	panic(killed{})
}

// abort ends the world with a verdict on the running task, and the task with it.
func (p *process) abort(v Verdict) {
	v.Node, v.Stack = p.node.name, string(debug.Stack())
	if t := p.world.current; t != nil {
		v.Task = t.label()
	}
	p.world.fail(v)
	p.die()
	p.refuse()
}

// end takes from the process all that does not outlive it. From here on nothing it does has an effect.
func (p *process) end() {
	p.dead = true
	p.closeFiles()
}

// die ends a process whose tasks still live. They unwind before anything else happens in the world.
func (p *process) die() {
	p.end()
	p.world.dying = append(p.world.dying, p)
}

// afterHook ends a call of a hook, which counted itself in World.hooks, and does to the running task what the hook did to
// its node: end it there, or hold it.
func (p *process) afterHook() {
	w := p.world
	w.hooks--
	if p.dead {
		p.refuse()
	}
	if p.node.paused && w.current != nil {
		w.current.yield("paused", "")
	}
}

// bury unwinds the tasks of processes that died since the last turn, in the order in which they were started.
func (w *World) bury() {
	for len(w.dying) > 0 {
		p := w.dying[0]
		w.dying = w.dying[1:]
		w.schedule.withdraw(func(t *task) bool { return t.process == p }, func(*task) {})
		p.node.discardHeld(p)
		for p.tasks.first != nil {
			w.kill(p.tasks.first.task)
		}
		if p.crashed {
			p.node.tellExit(nil, true)
		}
	}
}

// exit is what follows when boot has returned.
func (w *World) exit(p *process) {
	if p.dead || w.failure != nil {
		return
	}
	if p.tasks.first != nil {
		w.fail(Verdict{Kind: LeftoverTasks, Node: p.node.name, Message: "boot returned and left behind " + p.taskNames()})
		return
	}
	w.network.exit(p)
	p.end()
	p.node.bootErr = p.bootErr
	w.noteText(actNodeExit, p.node, errorText(p.bootErr), 0, 0)
	p.node.tellExit(p.bootErr, false)
}

func (p *process) taskNames() string {
	names := ""
	for k := p.tasks.first; k != nil; k = k.next {
		names = joinWords(names, k.task.label())
	}
	return names
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (p *process) Now() host.Wall {
	p.enter()
	return p.node.wall()
}

// Elapsed is the node's own reading of the world's time. No process sees it at zero, where a deadline would mean none:
// starting takes time.
func (p *process) Elapsed() time.Duration {
	p.enter()
	return p.node.elapsed()
}

func (p *process) Root() host.Group {
	p.enter()
	return p.root
}

func (p *process) Rand(name string) *rand.Rand {
	p.enter()
	return p.world.Stream(p.streamName("rand/" + name))
}

func (p *process) Memory() host.Memory { return &p.memory }
func (p *process) Probe() host.Probe   { return &p.probe }
