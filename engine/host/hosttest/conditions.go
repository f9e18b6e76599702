package hosttest

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
)

// room is a place where tasks wait on one condition, with a record of who came and who woke.
type room struct {
	mutex  host.Mutex
	cond   host.Cond
	waited int
	woken  []int
	tasks  host.Group
}

func newRoom(h host.Host) *room {
	m := h.NewMutex("hosttest.room")
	g := h.Root().New("room")
	return &room{mutex: m, cond: g.NewCond(m), tasks: g}
}

// enter starts a task that waits by wait, and returns once it does: the count is raised under the mutex that only
// waiting gives up again.
func (r *room) enter(h host.Host, number int, wait func() bool) error {
	before := r.count()
	r.tasks.Go(fmt.Sprint("waiter ", number), func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.waited++
		if wait() {
			r.woken = append(r.woken, number)
		}
	})
	return eventually(h, "a task waits", func() bool { return r.count() > before })
}

func (r *room) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.waited
}

func (r *room) order() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return fmt.Sprint(r.woken)
}

func (r *room) awake() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.woken)
}

// leave ends what may still wait, so that a failed contract leaves no task.
func (r *room) leave() {
	r.tasks.Stop()
	r.tasks.Wait()
}

func conditions() []Contract {
	return []Contract{
		alone("SignalWakesTheLongestWaiterFirst", signalOrder),
		alone("SignalWakesOnlyOne", signalOne),
		alone("BroadcastWakesAll", broadcast),
		alone("ASignalNobodyWaitsForIsGone", signalEarly),
		alone("WaitEndsWhenItsGroupStops", waitStops),
		alone("WaitInAStoppedGroupReturnsAtOnce", waitInStopped),
		alone("AWaitHoldsTheMutexAgainWhenItReturns", waitHoldsMutex),
		alone("WaitForIsSignalled", waitForSignalled),
		alone("WaitForTimesOutAndNotEarly", waitForTimesOut),
		alone("WaitForEndsWhenItsGroupStops", waitForStops),
		alone("AWaiterThatTimedOutTakesNoSignal", timedOutTakesNone),
		alone("ACondOfOneGroupIgnoresTheStopOfAnother", otherGroupStops),
	}
}

func signalOrder(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	for i := range 5 {
		wait := r.cond.Wait
		if i%2 == 1 { // both kinds of wait stand in one line
			wait = func() bool { return r.cond.WaitFor(forever) == host.Signalled }
		}
		if err := r.enter(h, i, wait); err != nil {
			return err
		}
	}
	for i := range 5 {
		r.cond.Signal()
		if err := eventually(h, "a waiter wakes", func() bool { return r.awake() == i+1 }); err != nil {
			return err
		}
	}
	return equal("order of waking", r.order(), "[0 1 2 3 4]")
}

func signalOne(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	for i := range 3 {
		if err := r.enter(h, i, r.cond.Wait); err != nil {
			return err
		}
	}
	r.cond.Signal()
	err := eventually(h, "a waiter wakes", func() bool { return r.awake() == 1 })
	h.Root().Sleep(moment)
	return errors.Join(err, equal("woken", r.order(), "[0]"))
}

func broadcast(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	for i := range 8 {
		if err := r.enter(h, i, r.cond.Wait); err != nil {
			return err
		}
	}
	r.cond.Broadcast()
	return eventually(h, "all wake", func() bool { return r.awake() == 8 })
}

func signalEarly(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	r.cond.Signal()
	r.cond.Broadcast()
	if err := r.enter(h, 0, r.cond.Wait); err != nil {
		return err
	}
	h.Root().Sleep(moment)
	return equal("woken", r.order(), "[]")
}

func waitStops(h host.Host) error {
	r := newRoom(h)
	for i := range 3 {
		if err := r.enter(h, i, r.cond.Wait); err != nil {
			return err
		}
	}
	return errors.Join(
		stopsSoon(h, r.tasks, r.tasks.Wait),
		equal("waiters that report a signal", r.order(), "[]"),
	)
}

func waitInStopped(h host.Host) error {
	g := h.Root().New("group")
	m := h.NewMutex("hosttest.stopped")
	c := g.NewCond(m)
	g.Stop()
	m.Lock()
	defer m.Unlock()
	var signalled bool
	var woke host.Woke
	waited := took(h, func() { signalled, woke = c.Wait(), c.WaitFor(forever) })
	return errors.Join(
		equal("Wait", signalled, false), equal("WaitFor", woke, host.Stopping),
		that(waited < patience, "took %v", waited),
	)
}

// waitHoldsMutex lets many waiters wake together and count without any lock of their own.
func waitHoldsMutex(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	inside, overlaps := 0, 0
	for i := range 6 {
		err := r.enter(h, i, func() bool {
			r.cond.Wait()
			if inside++; inside > 1 {
				overlaps++
			}
			h.Root().Sleep(0)
			inside--
			return true
		})
		if err != nil {
			return err
		}
	}
	r.cond.Broadcast()
	err := eventually(h, "all wake", func() bool { return r.awake() == 6 })
	r.leave()
	return errors.Join(err, equal("tasks that held the mutex together", overlaps, 0))
}

func waitForSignalled(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	woke := host.TimedOut
	if err := r.enter(h, 0, func() bool { woke = r.cond.WaitFor(forever); return true }); err != nil {
		return err
	}
	r.cond.Signal()
	r.tasks.Wait()
	return equal("WaitFor", woke, host.Signalled)
}

func waitForTimesOut(h host.Host) error {
	m := h.NewMutex("hosttest.timed")
	c := h.Root().NewCond(m)
	m.Lock()
	defer m.Unlock()
	var woke, again host.Woke
	waited := took(h, func() { woke = c.WaitFor(moment) })
	took(h, func() { again = c.WaitFor(0) })
	return errors.Join(
		equal("WaitFor", woke, host.TimedOut), that(waited >= moment, "timed out after %v of %v", waited, moment),
		equal("WaitFor of nothing", again, host.TimedOut),
	)
}

func waitForStops(h host.Host) error {
	r := newRoom(h)
	woke := host.Signalled
	if err := r.enter(h, 0, func() bool { woke = r.cond.WaitFor(forever); return true }); err != nil {
		return err
	}
	return errors.Join(stopsSoon(h, r.tasks, r.tasks.Wait), equal("WaitFor", woke, host.Stopping))
}

func timedOutTakesNone(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	timedOut := newShared[bool](h, "timedOut")
	err := r.enter(h, 0, func() bool {
		woke := r.cond.WaitFor(moment)
		timedOut.change(func(value *bool) { *value = woke == host.TimedOut })
		return false
	})
	if err == nil {
		err = r.enter(h, 1, r.cond.Wait)
	}
	if err == nil {
		err = eventually(h, "the first waiter times out", timedOut.get)
	}
	if err != nil {
		return err
	}
	r.cond.Signal()
	return eventually(h, "the second waiter gets the signal", func() bool { return r.awake() == 1 })
}

func otherGroupStops(h host.Host) error {
	r := newRoom(h)
	defer r.leave()
	other := h.Root().New("other")
	if err := r.enter(h, 0, r.cond.Wait); err != nil {
		return err
	}
	other.Stop()
	h.Root().Sleep(moment)
	early := r.awake()
	r.cond.Signal()
	return errors.Join(
		equal("tasks awake after the other group stopped", early, 0),
		eventually(h, "the waiter is signalled", func() bool { return r.awake() == 1 }),
	)
}
