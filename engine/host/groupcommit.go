package host

import (
	"time"

	"lakebed/internal/invariant"
)

// GroupCommit gathers what many tasks append into groups and commits one group at a time, in one task: the next group
// fills while the last one is being written and synced, and starts as soon as it is done. P is what a group gathers;
// three of them take turns, so that nothing is allocated but one Ticket a group.
//
// If told to (GroupCommitConfig.Wait), a group that could take more is held back a while after its first append, so that
// more share one commit. A full or sealed group, Hurry, End and a failure end that wait at once.
//
// Settling a group wakes whoever waits for it, which may be hundreds. If the next group is waiting, a second task does
// it, so that the disk is not idle meanwhile. Groups are settled in order.
//
// It is fail-stop: once a commit fails, that group and every later one fail with the same error and nothing is
// committed again. Whether the failed group is durable is unknown.
type GroupCommit[P any] struct {
	tasks   Group
	mutex   Mutex
	work    Cond // the committer waits for the first append
	room    Cond // appenders wait until the open group is below the limit
	told    Cond // the settling task waits for outcomes
	free    Cond // the committer waits for an empty payload
	limit   int64
	commit  func(P) error
	settle  func(P, error)
	open    P
	spares  []P
	ticket  *Ticket
	bytes   int64
	sealed  bool // the open group takes no more, although it is below the limit
	waiting bool // the committer waits for work
	wait    time.Duration
	elapsed func() time.Duration
	begun   time.Duration // when the open group got its first append; kept only with a wait
	company bool          // the committer waits for more in the open group
	hurried bool          // it does so no more
	ending  bool
	ended   bool // the committer has ended
	failed  error

	outcomes []outcome[P] // not yet settled, in order
	taken    []outcome[P] // being settled; the two alternate
	busy     bool         // the settling task is at work
}

// outcome is a group that was committed, or was not.
type outcome[P any] struct {
	payload P
	ticket  *Ticket
	err     error
}

// Ticket stands for one group's outcome.
type Ticket struct {
	gate Gate
	err  error
}

// Wait returns nil once the group is committed, the error that stopped the commits, or ErrStopping.
func (t *Ticket) Wait() error {
	if !t.gate.Wait() {
		return ErrStopping
	}
	return t.err
}

// GroupCommitConfig says what a group commit does with its groups.
type GroupCommitConfig[P any] struct {
	Name     string
	Limit    int64         // bound on the bytes of the open group, soft by one append
	Wait     time.Duration // how long a group below Limit waits for more, from its first append on; zero: not at all
	Payloads [3]P
	Commit   func(P) error
	Settle   func(P, error) // told every group's outcome, before its waiters are; leaves the payload empty
}

// NewGroupCommit starts the committing task in a group of its own below g.
func NewGroupCommit[P any](h Host, g Group, config GroupCommitConfig[P]) *GroupCommit[P] {
	tasks := g.New(config.Name)
	m := h.NewMutex(config.Name)
	c := &GroupCommit[P]{
		tasks: tasks, mutex: m, work: tasks.NewCond(m), room: tasks.NewCond(m), told: tasks.NewCond(m), free: tasks.NewCond(m),
		limit: config.Limit, wait: config.Wait, elapsed: h.Elapsed, commit: config.Commit, settle: config.Settle,
		open: config.Payloads[0], spares: config.Payloads[1:],
		ticket: &Ticket{gate: tasks.NewGate()},
	}
	tasks.Go(config.Name, c.run)
	tasks.Go(config.Name+"-settle", c.settleAll)
	return c
}

// AwaitRoom waits until the open group is below its limit. Others may fill it before the caller enters. It returns the
// error that stopped the commits, or ErrStopping.
func (c *GroupCommit[P]) AwaitRoom() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.full() && c.failed == nil {
		if !c.room.Wait() {
			return ErrStopping
		}
	}
	return c.failed
}

// Fail stops all further commits with err, as if one had failed.
func (c *GroupCommit[P]) Fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.failed == nil {
		c.failed = err
		c.room.Broadcast()
		if c.company {
			c.work.Signal() // nothing is committed any more, so there is nothing to share
		}
	}
}

// Enter locks the open group for appending. The caller appends, then calls Leave with the bytes it added. Not ok: the
// group has reached its limit or commits have failed, and nothing is locked; AwaitRoom waits, or tells the error.
func (c *GroupCommit[P]) Enter() (payload P, ticket *Ticket, ok bool) {
	c.mutex.Lock()
	if c.full() || c.failed != nil {
		c.mutex.Unlock()
		return payload, nil, false
	}
	return c.open, c.ticket, true
}

// full says that nothing may be appended to the open group. The mutex is held.
func (c *GroupCommit[P]) full() bool { return c.bytes >= c.limit || c.sealed }

// Seal has the open group take no more, as if it had reached its limit. It is for whoever has entered and appended something.
func (c *GroupCommit[P]) Seal() { c.sealed = true }

// Leave unlocks the group that Enter returned. With bytes == 0 nothing was appended and no commit is started.
func (c *GroupCommit[P]) Leave(bytes int64) {
	if bytes > 0 {
		if c.bytes == 0 && c.wait > 0 {
			c.begun = c.elapsed()
		}
		c.bytes += bytes
		if c.waiting || c.company && c.full() {
			c.waiting = false
			c.work.Signal()
		}
	}
	c.mutex.Unlock()
}

// run commits until the group commit ends. After a failure it goes on failing what comes, so that nobody waits.
func (c *GroupCommit[P]) run() {
	for {
		payload, ticket, ok := c.next()
		if !ok {
			return
		}
		err := c.failure()
		if err == nil {
			err = c.commit(payload)
		}
		c.finish(outcome[P]{payload, ticket, err})
	}
}

// next takes the open group once it holds something, and opens an empty one.
func (c *GroupCommit[P]) next() (payload P, ticket *Ticket, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.bytes == 0 {
		if c.ending {
			c.ended = true
			c.told.Signal()
			return payload, nil, false
		}
		c.waiting = true
		if !c.work.Wait() {
			c.ending = true // what is still appended is committed before the task ends
		}
	}
	c.awaitCompany()
	for len(c.spares) == 0 {
		c.free.Wait()
	}
	payload, ticket = c.open, c.ticket
	c.open, c.ticket = c.spares[len(c.spares)-1], &Ticket{gate: c.tasks.NewGate()}
	c.spares = c.spares[:len(c.spares)-1]
	c.bytes, c.sealed = 0, false
	c.room.Broadcast()
	return payload, ticket, true
}

// awaitCompany waits until the open group, which holds something, has waited long enough for more. The mutex is held.
func (c *GroupCommit[P]) awaitCompany() {
	for c.wait > 0 && !c.full() && !c.hurried && !c.ending && c.failed == nil {
		left := c.wait - (c.elapsed() - c.begun)
		if left <= 0 {
			break
		}
		c.company = true
		if c.work.WaitFor(left) == Stopping {
			break
		}
	}
	c.company = false
}

// Hurry has no group wait for more from now on. It is for whoever calls End, but first waits for those who have appended.
func (c *GroupCommit[P]) Hurry() {
	if c.wait == 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.hurried = true
	if c.company {
		c.work.Signal()
	}
}

func (c *GroupCommit[P]) failure() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failed
}

// finish settles a group, or has it settled if there is more to commit or an earlier one is not settled yet.
func (c *GroupCommit[P]) finish(o outcome[P]) {
	if o.err != nil {
		c.Fail(o.err)
	}
	c.mutex.Lock()
	if c.bytes > 0 || c.busy || len(c.outcomes) > 0 {
		c.outcomes = append(c.outcomes, o)
		c.told.Signal()
		c.mutex.Unlock()
		return
	}
	c.mutex.Unlock()
	c.tell(o)
}

// tell settles one group.
func (c *GroupCommit[P]) tell(o outcome[P]) {
	c.settle(o.payload, o.err)
	c.mutex.Lock()
	c.spares = append(c.spares, o.payload)
	c.free.Signal()
	c.mutex.Unlock()
	o.ticket.err = o.err
	o.ticket.gate.Open()
}

// settleAll settles what the committer hands over, until that has ended.
func (c *GroupCommit[P]) settleAll() {
	for {
		c.mutex.Lock()
		c.busy = false
		for len(c.outcomes) == 0 {
			if c.ended {
				c.mutex.Unlock()
				return
			}
			c.told.Wait()
		}
		c.busy = true
		c.outcomes, c.taken = c.taken[:0], c.outcomes
		c.mutex.Unlock()
		for _, o := range c.taken {
			c.tell(o)
		}
		clear(c.taken)
	}
}

// End commits and settles what was appended and ends the tasks. Nothing may be appended afterwards.
func (c *GroupCommit[P]) End() {
	c.mutex.Lock()
	c.ending = true
	c.work.Signal()
	c.mutex.Unlock()
	c.tasks.Wait()
	c.tasks.Stop()
	invariant.Check(c.bytes == 0, "an ended group commit has nothing left to commit")
}
