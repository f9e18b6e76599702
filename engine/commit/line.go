package commit

import (
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Line is where appends wait to be committed. P is what a group gathers; three of them take turns.
type Line[P any] struct {
	h          host.Host
	tasks      host.Group
	mutex      host.Mutex
	work       host.Cond // the committing task waits for the turn
	room       host.Cond // appenders wait until the open group is below the limit, in AwaitRoom
	place      host.Cond // and in EnterInTurn
	told       host.Cond // the settling task waits for outcomes
	free       host.Cond // the committing task waits for an empty payload
	limit      int64
	wait       time.Duration
	byAppender bool
	commit     func(P) error
	settle     func(P, error) error

	open    P
	spares  []P
	waiters *waiters // of the open group
	bytes   int64
	queued  int           // appenders in EnterInTurn; one of them is signalled whenever there is room
	begun   time.Duration // when the open group got its first append; kept only with a wait
	company bool          // the committing task waits for more in the open group
	hurried bool          // it does so no more
	turn    turn
	ending  bool
	ended   bool // the committing task has ended
	failed  error

	outcomes []outcome[P] // not yet settled, in order
	taken    []outcome[P] // being settled; the two alternate
	busy     bool         // the settling task is at work
}

// turn says who commits. It is somebody's whenever the open group holds something.
type turn uint8

const (
	nobodys turn = iota
	appenders
	tasks // also from the moment at which the task is called
)

// waiters are those who wait for one group's outcome.
type waiters struct {
	gate host.Gate // nil: nobody does
	err  error
}

// outcome is a group that was committed, or was not.
type outcome[P any] struct {
	payload P
	waiters *waiters
	err     error
}

// Ticket stands for the outcome of what Commit was called for.
type Ticket struct {
	waiters *waiters // nil: it is known
	err     error
}

// Wait returns nil once the group is committed, the error that stopped the commits, or ErrStopping.
func (t Ticket) Wait() error {
	if t.waiters == nil {
		return t.err
	}
	if !t.waiters.gate.Wait() {
		return host.ErrStopping
	}
	return t.waiters.err
}

// Config says what a line does with its groups.
type Config[P any] struct {
	Name       string
	Limit      int64         // bound on the bytes of the open group, soft by one append
	Wait       time.Duration // how long a group below Limit waits for more, from its first append on; zero: not at all
	ByAppender bool          // an appender that finds nobody before it commits in its own task, unless groups wait
	Payloads   [3]P
	Commit     func(P) error
	// Settle is told every group's outcome, before its waiters are. They are told what it returns. It leaves the payload empty.
	Settle func(P, error) error
}

// New starts the tasks of a line in a group of their own below g.
func New[P any](h host.Host, g host.Group, config Config[P]) *Line[P] {
	own := g.New(config.Name)
	m := h.NewMutex(config.Name)
	l := &Line[P]{
		h: h, tasks: own, mutex: m, work: own.NewCond(m), room: own.NewCond(m), place: own.NewCond(m), told: own.NewCond(m), free: own.NewCond(m),
		limit: config.Limit, wait: config.Wait, byAppender: config.ByAppender, commit: config.Commit, settle: config.Settle,
		open: config.Payloads[0], spares: config.Payloads[1:], waiters: &waiters{},
	}
	own.Go(config.Name, l.run)
	own.Go(config.Name+"-settle", l.settleAll)
	return l
}

// AwaitRoom waits until the open group is below its limit. Others may fill it before the caller enters. It returns the
// error that stopped the commits, or ErrStopping.
func (l *Line[P]) AwaitRoom() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for l.bytes >= l.limit && l.failed == nil {
		if !l.room.Wait() {
			return host.ErrStopping
		}
	}
	return l.failed
}

// Fail stops all further commits with err, as if one had failed.
func (l *Line[P]) Fail(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.failed == nil {
		l.failed = err
		l.room.Broadcast()
		l.place.Broadcast()
		if l.company {
			l.work.Signal() // nothing is committed any more, so there is nothing to share
		}
	}
}

// Enter locks the open group for appending. The caller appends, then calls Commit, Leave or Withdraw. Not ok: the group has
// reached its limit or commits have failed, and nothing is locked; AwaitRoom waits, or tells the error.
func (l *Line[P]) Enter() (payload P, ok bool) {
	l.mutex.Lock()
	if l.bytes >= l.limit || l.failed != nil {
		l.mutex.Unlock()
		return payload, false
	}
	return l.open, true
}

// EnterInTurn is Enter for who waits for room: those who wait get it one after the other, in the order in which they came. It
// returns the error that stopped the commits, or ErrStopping, and then nothing is locked. Where a group holds a
// few appends, and many wait, AwaitRoom would wake all of them for each.
func (l *Line[P]) EnterInTurn() (payload P, err error) {
	l.mutex.Lock()
	for behind := l.queued > 0; l.failed == nil && (l.bytes >= l.limit || behind); behind = false {
		l.queued++
		on := l.place.Wait()
		l.queued--
		if !on {
			l.mutex.Unlock()
			return payload, host.ErrStopping
		}
	}
	if err := l.failed; err != nil {
		l.mutex.Unlock()
		return payload, err
	}
	return l.open, nil
}

// passRoom calls the next one who waits, if there is room. The mutex is held.
func (l *Line[P]) passRoom() {
	if l.queued > 0 && l.bytes < l.limit {
		l.place.Signal()
	}
}

// Leads says whether Commit will commit in this task: the group has no other append, and gets none. It is for whoever has
// entered.
func (l *Line[P]) Leads() bool {
	// A group whose outcome is not yet told has to be settled first. One that waits for more does so in the committing task,
	// since its appender would have to let others wait for it, and could not be freed meanwhile.
	return l.byAppender && l.wait == 0 && l.turn == nobodys && !l.busy && len(l.outcomes) == 0
}

// Withdraw unlocks the group that Enter returned, and to which nothing was appended.
func (l *Line[P]) Withdraw() {
	l.passRoom()
	l.mutex.Unlock()
}

// Leave unlocks the group after so many bytes were appended, at least one, for a caller that does not wait. A task commits it.
func (l *Line[P]) Leave(bytes int64) {
	if l.bytes == 0 && l.wait > 0 {
		l.begun = l.h.Elapsed()
	}
	l.bytes += bytes
	l.callTask()
	if l.company && l.bytes >= l.limit {
		l.work.Signal()
	}
	l.passRoom()
	l.mutex.Unlock()
}

// Commit unlocks the group after so many bytes were appended, at least one. If Leads it returns when they are committed and
// settled, or not.
func (l *Line[P]) Commit(bytes int64) Ticket {
	if l.Leads() {
		invariant.Check(l.bytes == 0, "what is in the open group is somebody's turn")
		return Ticket{err: l.lead()}
	}
	w := l.waiters
	if w.gate == nil {
		w.gate = l.tasks.NewGate()
	}
	l.Leave(bytes)
	return Ticket{waiters: w}
}

// callTask gives the turn to the committing task if it is nobody's. The mutex is held.
func (l *Line[P]) callTask() {
	if l.turn == nobodys {
		l.turn = tasks
		l.work.Signal()
	}
}

// lead commits the open group in the task of its only appender, and passes the turn on. The mutex is held, and is let go.
func (l *Line[P]) lead() error {
	invariant.Check(len(l.spares) > 0, "a payload is empty when no group is under way")
	l.turn = appenders
	payload, _ := l.takeOpen(l.waiters)
	l.mutex.Unlock()
	err := l.commit(payload)
	if err != nil {
		l.Fail(err)
	}
	err = l.settle(payload, err)
	l.mutex.Lock()
	if l.bytes == 0 { // the same one next: the processor has it at hand
		payload, l.open = l.open, payload
	}
	l.spares = append(l.spares, payload)
	l.turn = nobodys
	if l.bytes > 0 || l.ending {
		l.callTask()
	}
	l.mutex.Unlock()
	return err
}

// takeOpen takes the open group, and opens an empty one with these waiters. The mutex is held, and there is a spare payload.
func (l *Line[P]) takeOpen(next *waiters) (P, *waiters) {
	payload, waiting := l.open, l.waiters
	last := len(l.spares) - 1
	l.open, l.spares = l.spares[last], l.spares[:last]
	l.waiters, l.bytes = next, 0
	l.passRoom()
	return payload, waiting
}

// run commits until the line ends. After a failure it goes on failing what comes, so that nobody waits.
func (l *Line[P]) run() {
	for held := false; ; held = true {
		payload, waiting, ok := l.next(held)
		if !ok {
			return
		}
		err := l.failure()
		if err == nil {
			err = l.commit(payload)
		}
		l.finish(outcome[P]{payload, waiting, err})
	}
}

// next gives the turn back if the task held it and nobody is in line, waits until it has it, takes the open group, and opens
// an empty one.
func (l *Line[P]) next(held bool) (payload P, waiting *waiters, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if held && l.bytes == 0 {
		l.turn = nobodys
	}
	for l.bytes == 0 || l.turn == appenders {
		if l.ending && l.turn != appenders {
			l.ended = true
			l.told.Signal()
			if l.failed == nil {
				l.failed = host.ErrStopping // who still comes is refused: nobody would commit it
				l.place.Broadcast()
			}
			return payload, nil, false
		}
		if !l.work.Wait() {
			l.ending = true // what is still appended is committed before the task ends
		}
	}
	l.awaitCompany()
	for len(l.spares) == 0 {
		l.free.Wait()
	}
	payload, waiting = l.takeOpen(&waiters{})
	l.room.Broadcast()
	return payload, waiting, true
}

// awaitCompany waits until the open group, which holds something, has waited long enough for more. The mutex is held.
func (l *Line[P]) awaitCompany() {
	for l.wait > 0 && l.bytes < l.limit && !l.hurried && !l.ending && l.failed == nil {
		left := l.wait - (l.h.Elapsed() - l.begun)
		if left <= 0 {
			break
		}
		l.company = true
		if l.work.WaitFor(left) == host.Stopping {
			break
		}
	}
	l.company = false
}

// Hurry has no group wait for more from now on. It is for whoever ends the line, but first waits for those who append.
func (l *Line[P]) Hurry() {
	if l.wait == 0 {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.hurried = true
	if l.company {
		l.work.Signal()
	}
}

func (l *Line[P]) failure() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.failed
}

// finish settles a group, or has it settled if there is more to commit or an earlier one is not settled yet.
func (l *Line[P]) finish(o outcome[P]) {
	if o.err != nil {
		l.Fail(o.err)
	}
	l.mutex.Lock()
	if l.bytes > 0 || l.busy || len(l.outcomes) > 0 {
		l.outcomes = append(l.outcomes, o)
		l.told.Signal()
		l.mutex.Unlock()
		return
	}
	l.mutex.Unlock()
	l.tell(o)
}

// tell settles one group.
func (l *Line[P]) tell(o outcome[P]) {
	err := l.settle(o.payload, o.err)
	l.mutex.Lock()
	l.spares = append(l.spares, o.payload)
	l.free.Signal()
	l.mutex.Unlock()
	if o.waiters.gate != nil {
		o.waiters.err = err
		o.waiters.gate.Open()
	}
}

// settleAll settles what the committing task hands over, until that has ended.
func (l *Line[P]) settleAll() {
	for {
		l.mutex.Lock()
		l.busy = false
		for len(l.outcomes) == 0 {
			if l.ended {
				l.mutex.Unlock()
				return
			}
			l.told.Wait()
		}
		l.busy = true
		l.outcomes, l.taken = l.taken[:0], l.outcomes
		l.mutex.Unlock()
		for _, o := range l.taken {
			l.tell(o)
		}
		clear(l.taken)
	}
}

// End commits and settles what was appended and ends the tasks, when an appender that commits has done so. Nothing may be
// appended afterwards.
func (l *Line[P]) End() {
	l.mutex.Lock()
	l.ending = true
	l.work.Signal()
	l.mutex.Unlock()
	l.tasks.Wait()
	l.tasks.Stop()
	invariant.Check(l.bytes == 0, "an ended line has nothing left to commit")
}
