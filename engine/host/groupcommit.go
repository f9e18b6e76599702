package host

import "lakebed/internal/invariant"

// GroupCommit gathers what many tasks append into groups and commits one group at a time, in one task: the next group
// fills while the last one is being written and synced, and starts as soon as it is done. P is what a group gathers;
// two of them alternate, so that nothing is allocated but one Ticket a group.
//
// It is fail-stop: once a commit fails, that group and every later one fail with the same error and nothing is
// committed again. Whether the failed group is durable is unknown.
type GroupCommit[P any] struct {
	tasks   Group
	mutex   Mutex
	work    Cond // the committer waits for the first append
	room    Cond // appenders wait until the open group is below the limit
	limit   int64
	commit  func(P) error
	settle  func(P, error)
	open    P
	spare   P
	ticket  *Ticket
	bytes   int64
	waiting bool // the committer waits for work
	ending  bool
	failed  error
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
	Limit    int64 // bound on the bytes of the open group, soft by one append
	Payloads [2]P  // they alternate
	Commit   func(P) error
	Settle   func(P, error) // told every group's outcome, before its waiters are; leaves the payload empty
}

// NewGroupCommit starts the committing task in a group of its own below g.
func NewGroupCommit[P any](h Host, g Group, config GroupCommitConfig[P]) *GroupCommit[P] {
	tasks := g.New(config.Name)
	m := h.NewMutex(config.Name)
	c := &GroupCommit[P]{
		tasks: tasks, mutex: m, work: tasks.NewCond(m), room: tasks.NewCond(m),
		limit: config.Limit, commit: config.Commit, settle: config.Settle,
		open: config.Payloads[0], spare: config.Payloads[1],
		ticket: &Ticket{gate: tasks.NewGate()},
	}
	tasks.Go(config.Name, c.run)
	return c
}

// AwaitRoom waits until the open group is below its limit. Others may fill it before the caller enters. It returns the
// error that stopped the commits, or ErrStopping.
func (c *GroupCommit[P]) AwaitRoom() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.bytes >= c.limit && c.failed == nil {
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
	}
}

// Enter locks the open group for appending. The caller appends, then calls Leave with the bytes it added. Not ok: the
// group has reached its limit or commits have failed, and nothing is locked; AwaitRoom waits, or tells the error.
func (c *GroupCommit[P]) Enter() (payload P, ticket *Ticket, ok bool) {
	c.mutex.Lock()
	if c.bytes >= c.limit || c.failed != nil {
		c.mutex.Unlock()
		return payload, nil, false
	}
	return c.open, c.ticket, true
}

// Leave unlocks the group that Enter returned. With bytes == 0 nothing was appended and no commit is started.
func (c *GroupCommit[P]) Leave(bytes int64) {
	if bytes > 0 {
		c.bytes += bytes
		if c.waiting {
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
		c.finish(payload, ticket, err)
	}
}

// next takes the open group once it holds something, and opens the spare one.
func (c *GroupCommit[P]) next() (payload P, ticket *Ticket, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.bytes == 0 {
		if c.ending {
			return payload, nil, false
		}
		c.waiting = true
		if !c.work.Wait() {
			c.ending = true // what is still appended is committed before the task ends
		}
	}
	payload, ticket = c.open, c.ticket
	c.open, c.ticket = c.spare, &Ticket{gate: c.tasks.NewGate()}
	c.bytes = 0
	c.room.Broadcast()
	return payload, ticket, true
}

func (c *GroupCommit[P]) failure() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failed
}

func (c *GroupCommit[P]) finish(payload P, ticket *Ticket, err error) {
	c.settle(payload, err)
	c.mutex.Lock()
	c.spare = payload
	c.mutex.Unlock()
	if err != nil {
		c.Fail(err)
	}
	ticket.err = err
	ticket.gate.Open()
}

// End commits what was appended and ends the task. Nothing may be appended afterwards.
func (c *GroupCommit[P]) End() {
	c.mutex.Lock()
	c.ending = true
	c.work.Signal()
	c.mutex.Unlock()
	c.tasks.Wait()
	c.tasks.Stop()
	invariant.Check(c.bytes == 0, "an ended group commit has nothing left to commit")
}
