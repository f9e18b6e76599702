package hosttest

import (
	"errors"

	"lakebed/engine/host"
)

func groups() []Contract {
	return []Contract{
		alone("WaitJoinsEveryTask", waitJoins),
		alone("WaitJoinsTasksThatTasksStarted", waitJoinsNested),
		alone("WaitOfAnEmptyGroupReturns", func(h host.Host) error {
			h.Root().New("empty").Wait()
			h.Root().Wait() // boot is no task of the root
			return nil
		}),
		alone("WaitDoesNotWaitForChildren", waitSparesChildren),
		alone("StopDoesNotReachChildren", stopSparesChildren),
		alone("StopOfAChildDoesNotReachItsParent", func(h host.Host) error {
			parent := h.Root().New("parent")
			child := parent.New("child")
			child.Stop()
			child.Stop() // may be called again
			return errors.Join(equal("child stopping", child.Stopping(), true),
				equal("parent stopping", parent.Stopping(), false),
				equal("root stopping", h.Root().Stopping(), false))
		}),
		alone("GoInAStoppingGroupStillRuns", goAfterStop),
		alone("StopDoesNotWait", stopDoesNotWait),
		between("TheOperatorStopsTheRootGroup", func(h host.Host, address string) error {
			host.AwaitStop(h.Root())
			return equal("root stopping", h.Root().Stopping(), true)
		}, func(h host.Host, address string) error {
			return equal("root of the other node stopping", h.Root().Stopping(), false)
		}),
	}
}

func waitJoins(h host.Host) error {
	g := h.Root().New("group")
	ended := newShared[int](h, "ended")
	for i := range 10 {
		g.Go("task", func() {
			for range i {
				g.Sleep(moment / 10)
			}
			ended.change(func(n *int) { *n++ })
		})
	}
	g.Wait()
	return equal("tasks that ended before Wait returned", ended.get(), 10)
}

func waitJoinsNested(h host.Host) error {
	g := h.Root().New("group")
	ended := newShared[int](h, "ended")
	g.Go("outer", func() {
		g.Go("inner", func() {
			g.Sleep(moment)
			ended.change(func(n *int) { *n++ })
		})
	})
	g.Wait()
	return equal("inner tasks that ended before Wait returned", ended.get(), 1)
}

func waitSparesChildren(h host.Host) error {
	parent := h.Root().New("parent")
	child := parent.New("child")
	child.Go("task", func() { host.AwaitStop(child) })
	waited := took(h, parent.Wait)
	child.Stop()
	child.Wait()
	return that(waited < patience, "waited %v for the task of a child", waited)
}

func stopSparesChildren(h host.Host) error {
	parent := h.Root().New("parent")
	child := parent.New("child")
	slept := newShared[bool](h, "slept")
	child.Go("task", func() {
		full := child.Sleep(moment)
		slept.change(func(value *bool) { *value = full })
	})
	parent.Stop()
	child.Wait()
	return errors.Join(equal("Sleep in the child", slept.get(), true),
		equal("child stopping", child.Stopping(), false),
		equal("a child made after the stop is stopping", parent.New("late").Stopping(), false))
}

func goAfterStop(h host.Host) error {
	g := h.Root().New("group")
	g.Stop()
	saw := newShared[[]bool](h, "saw")
	g.Go("late", func() {
		stopping, slept := g.Stopping(), g.Sleep(forever)
		saw.change(func(value *[]bool) { *value = []bool{stopping, slept} })
	})
	g.Wait()
	got := saw.get()
	return that(len(got) == 2 && got[0] && !got[1], "the late task saw %v, want it to run and see the stop", got)
}

func stopDoesNotWait(h host.Host) error {
	g := h.Root().New("group")
	gate := h.Root().NewGate() // of another group: the stop does not open it
	g.Go("deaf", func() { gate.Wait() })
	waited := took(h, g.Stop)
	gate.Open()
	g.Wait()
	return that(waited < patience, "Stop took %v", waited)
}
