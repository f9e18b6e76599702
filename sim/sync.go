package sim

import (
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// mutex is a host.Mutex. Unlock hands it on directly, to a waiter that the scheduler's policy picks.
type mutex struct {
	process *process
	name    string
	owner   *task
	waiters []*task
}

func (p *process) NewMutex(name string) host.Mutex {
	p.enter()
	return &mutex{process: p, name: name}
}

func (m *mutex) Lock() {
	t := m.process.running()
	t.process.world.maybeYield(t, "lock", m.name)
	m.acquire(t)
}

func (m *mutex) acquire(t *task) {
	if m.owner == nil {
		m.owner = t
		return
	}
	invariant.Check(m.owner != t, "a task locks a mutex that it holds")
	m.waiters = append(m.waiters, t)
	t.park(taskParked, "lock", m.name)
	invariant.Check(m.owner == t, "an unlocked mutex is handed to the task that is woken for it")
}

// Unlock does nothing in a dead process: it is what deferred calls mostly do, and harms nobody.
func (m *mutex) Unlock() {
	if m.process.dead {
		m.process.peekUnlock()
		return
	}
	m.release(m.process.running())
}

func (m *mutex) release(t *task) {
	invariant.Check(m.owner != nil, "unlock of a mutex that nobody holds")
	invariant.Check(m.owner == t, "unlock of a mutex that another task holds")
	m.owner = nil
	if len(m.waiters) > 0 {
		m.handOn()
	}
}

func (m *mutex) handOn() {
	s := &m.process.world.schedule
	i := 0
	if s.policy != FIFO && len(m.waiters) > 1 {
		i = int(s.dice.below(int64(len(m.waiters))))
	}
	next := m.waiters[i]
	m.waiters = append(m.waiters[:i], m.waiters[i+1:]...)
	m.owner = next
	next.wake(wokeLock)
}

// peekUnlock counts the call, so that a dying task which only ever unlocks is given up like any other.
func (p *process) peekUnlock() {
	w := p.world
	if w.calls++; w.calls > w.config.MaxCallsInOneStep {
		p.refuse()
	}
}

// maybeYield is the scheduling point that the seed may put into a call which need not wait.
func (w *World) maybeYield(t *task, kind, name string) {
	if w.yields.permille(w.config.LockYieldPermille) {
		t.yield(kind, name)
	}
}

// cond is a host.Cond.
type cond struct {
	group   *group
	mutex   *mutex
	waiters list
}

func (c *cond) Wait() bool { return c.wait(forever) == wokeSignal }

func (c *cond) WaitFor(d time.Duration) host.Woke {
	switch c.wait(max(d, 0)) {
	case wokeSignal:
		return host.Signalled
	case wokeTimer:
		return host.TimedOut
	default:
		return host.Stopping
	}
}

// forever is a wait that only others end.
const forever time.Duration = -1

func (c *cond) wait(limit time.Duration) woke {
	t := c.group.process.running()
	c.mutex.release(t)
	why := wokeStop
	if c.group.stopping {
		t.yield("cond", c.mutex.name)
	} else {
		c.waiters.push(&t.place)
		c.group.waiters.push(&t.leash)
		if limit != forever {
			t.setAlarm(limit)
		}
		why = t.park(taskParked, "cond", c.mutex.name)
	}
	c.mutex.acquire(t)
	return why
}

func (c *cond) Signal() {
	c.group.process.enter()
	if first := c.waiters.first; first != nil {
		first.task.wake(wokeSignal)
	}
}

func (c *cond) Broadcast() {
	c.group.process.enter()
	c.waiters.wakeAll(wokeSignal)
}

// gate is a host.Gate.
type gate struct {
	group   *group
	open    bool
	waiters list
}

func (g *gate) Open() {
	g.group.process.enter()
	g.open = true
	g.waiters.wakeAll(wokeGate)
}

func (g *gate) Wait() bool {
	t := g.group.process.running()
	if g.open {
		return true
	}
	if g.group.stopping {
		t.yield("gate", g.group.path)
		return g.open
	}
	g.waiters.push(&t.place)
	g.group.waiters.push(&t.leash)
	t.park(taskParked, "gate", g.group.path)
	return g.open // an open gate wins over a stop that came first
}

// counter is a host.Counter. Tasks switch only at scheduling points, so plain arithmetic is atomic.
type counter struct {
	process *process
	value   int64
}

func (p *process) NewCounter(string) host.Counter {
	p.enter()
	return &counter{process: p}
}

func (c *counter) Add(n int64) int64 {
	c.process.enter()
	c.value += n
	return c.value
}

func (c *counter) Store(n int64) {
	c.process.enter()
	c.value = n
}

func (c *counter) Load() int64 {
	if c.process.dead {
		c.process.peek()
	} else {
		c.process.enter()
	}
	return c.value
}
