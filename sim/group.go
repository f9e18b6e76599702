package sim

import (
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// group is a host.Group.
type group struct {
	process  *process
	name     string
	path     string
	stopping bool
	live     int  // tasks started in it and not ended
	waiters  list // tasks that its stop wakes
	joiners  list // tasks in Wait
}

// Go is a scheduling point: who goes on first, the starter or the started, is the scheduler's choice.
func (g *group) Go(name string, f func()) {
	t := g.process.running()
	g.process.world.newTask(g, name, f).becomeReady()
	t.yield("go", name)
}

func (g *group) New(name string) host.Group {
	g.process.enter()
	return &group{process: g.process, name: name, path: g.path + "/" + name}
}

func (g *group) NewCond(m host.Mutex) host.Cond {
	g.process.enter()
	mutex, ours := m.(*mutex)
	invariant.Check(ours && mutex.process == g.process, "a condition needs a mutex of the same node")
	return &cond{group: g, mutex: mutex}
}

func (g *group) NewGate() host.Gate {
	g.process.enter()
	return &gate{group: g}
}

// Sleep on a group that stops yields before it says so: a loop that ignores the answer becomes a verdict, not a hang.
func (g *group) Sleep(d time.Duration) bool {
	t := g.process.running()
	if g.stopping || d <= 0 {
		t.yield("sleep", g.path)
		return !g.stopping
	}
	g.waiters.push(&t.leash)
	t.setAlarm(d)
	return t.park(taskParked, "sleep", g.path) != wokeStop
}

func (g *group) Stop() {
	g.process.enter()
	g.stop()
}

func (g *group) stop() {
	if g.stopping {
		return
	}
	g.stopping = true
	g.waiters.wakeAll(wokeStop)
}

func (g *group) Stopping() bool {
	g.process.enter()
	return g.stopping
}

func (g *group) Wait() {
	t := g.process.running()
	invariant.Check(t.group != g, "a task must not wait for its own group")
	for g.live > 0 {
		g.joiners.push(&t.place)
		t.park(taskParked, "join", g.path)
	}
}
