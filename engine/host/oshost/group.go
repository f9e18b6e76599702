package oshost

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lakebed/engine/host"
)

// group owns goroutines. Waiters of its conditions and gates select on stop, so a stop needs no list of them.
type group struct {
	host     *Host
	path     string // names from the root, for the report of left-over tasks
	stop     chan struct{}
	stopping atomic.Bool

	mutex sync.Mutex
	idle  sync.Cond // no task is left
	tasks int
}

func newGroup(h *Host, path string) *group {
	g := &group{host: h, path: path, stop: make(chan struct{})}
	g.idle.L = &g.mutex
	return g
}

func (g *group) Go(name string, f func()) {
	t := &task{group: g, name: name}
	g.mutex.Lock()
	g.tasks++
	g.mutex.Unlock()
	g.host.tasks.enter(t)
	go func() {
		f()
		// Not deferred: while a broken invariant unwinds a task, nobody may see the group as joined and go on to
		// store what the invariant was meant to stop.
		g.left(t)
	}()
}

func (g *group) left(t *task) {
	// Out of the register first: whoever returns from Wait must not find the task there.
	g.host.tasks.leave(t)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.tasks--
	if g.tasks == 0 {
		g.idle.Broadcast()
	}
}

func (g *group) New(name string) host.Group { return newGroup(g.host, g.path+"/"+name) }

func (g *group) NewCond(m host.Mutex) host.Cond { return &cond{group: g, user: m} }

func (g *group) NewGate() host.Gate { return &gate{group: g, open: make(chan struct{})} }

func (g *group) Sleep(d time.Duration) bool {
	if g.Stopping() {
		return false
	}
	if d <= 0 {
		runtime.Gosched()
		return !g.Stopping()
	}
	w := g.host.waiters.get()
	defer g.host.waiters.put(w)
	select {
	case <-w.after(d):
		return true
	case <-g.stop:
		return false
	}
}

func (g *group) Stop() {
	if g.stopping.CompareAndSwap(false, true) {
		close(g.stop)
	}
}

func (g *group) Stopping() bool { return g.stopping.Load() }

func (g *group) Wait() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for g.tasks > 0 {
		g.idle.Wait()
	}
}
