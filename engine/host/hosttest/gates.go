package hosttest

import (
	"errors"

	"lakebed/engine/host"
)

func gates() []Contract {
	return []Contract{
		alone("AnOpenGateDoesNotHold", func(h host.Host) error {
			gate := h.Root().NewGate()
			gate.Open()
			gate.Open() // opening twice is opening
			return errors.Join(equal("Wait", gate.Wait(), true), equal("Wait again", gate.Wait(), true))
		}),
		alone("OpeningAGateReleasesAllWhoWait", gateReleases),
		alone("AClosedGateEndsWithItsGroup", gateStops),
		alone("AnOpenGateWinsOverAStop", func(h host.Host) error {
			for range 100 { // a choice between two that are ready must never fall on the stop
				g := h.Root().New("group")
				gate := g.NewGate()
				g.Stop()
				gate.Open()
				if !gate.Wait() {
					return that(false, "Wait was false at an open gate")
				}
			}
			return nil
		}),
		alone("AClosedGateOfAStoppedGroupReturnsAtOnce", func(h host.Host) error {
			g := h.Root().New("group")
			gate := g.NewGate()
			g.Stop()
			return equal("Wait", gate.Wait(), false)
		}),
	}
}

func gateReleases(h host.Host) error {
	g := h.Root().New("group")
	gate := g.NewGate()
	passed := newShared[int](h, "passed")
	for range 5 {
		g.Go("waiter", func() {
			if gate.Wait() {
				passed.change(func(n *int) { *n++ })
			}
		})
	}
	h.Root().Sleep(moment)
	early := passed.get()
	gate.Open()
	g.Wait()
	return errors.Join(equal("tasks that passed a closed gate", early, 0),
		equal("tasks that passed the open gate", passed.get(), 5))
}

func gateStops(h host.Host) error {
	g := h.Root().New("group")
	gate := g.NewGate()
	passed := newShared[int](h, "passed")
	for range 3 {
		g.Go("waiter", func() {
			if gate.Wait() {
				passed.change(func(n *int) { *n++ })
			}
		})
	}
	return errors.Join(stopsSoon(h, g, g.Wait), equal("tasks that passed", passed.get(), 0))
}
