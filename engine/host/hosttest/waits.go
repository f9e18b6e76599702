package hosttest

import (
	"errors"
	"time"

	"lakebed/engine/host"
)

// moment is a time that passes in any world soon; forever is one that no contract waits out.
const (
	moment  = 20 * time.Millisecond
	forever = time.Hour
)

// took runs f and returns how long that took.
func took(h host.Host, f func()) time.Duration {
	start := h.Elapsed()
	f()
	return h.Elapsed() - start
}

// stopsSoon stops g a moment after f has begun, runs f, and says how long it may take at most.
func stopsSoon(h host.Host, g host.Group, f func()) error {
	stopper := h.Root().New("stopper")
	stopper.Go("stop", func() {
		h.Root().Sleep(moment)
		g.Stop()
	})
	waited := took(h, f)
	stopper.Wait()
	return that(waited < patience, "waited %v for a stop", waited)
}

func waits() []Contract {
	return []Contract{
		alone("ElapsedNeverGoesBack", elapsedMonotone),
		alone("TheWallClockMovesOn", wallMoves),
		alone("SleepLastsAtLeastAsLongAsAsked", sleepLasts),
		alone("SleepOfNothingReturns", func(h host.Host) error {
			return errors.Join(
				that(h.Root().Sleep(0), "Sleep(0) was false in a running group"),
				that(h.Root().Sleep(-time.Second), "Sleep of a negative time was false in a running group"),
			)
		}),
		alone("SleepEndsWhenItsGroupStops", sleepStops),
		alone("SleepInAStoppedGroupReturnsAtOnce", func(h host.Host) error {
			g := h.Root().New("group")
			g.Stop()
			var slept, yielded bool
			waited := took(h, func() { slept, yielded = g.Sleep(forever), g.Sleep(0) })
			return errors.Join(
				equal("Sleep", slept, false), equal("Sleep(0)", yielded, false),
				that(waited < patience, "took %v", waited))
		}),
		alone("AwaitStopReturnsWhenTheGroupStops", func(h host.Host) error {
			g := h.Root().New("group")
			return stopsSoon(h, g, func() { host.AwaitStop(g) })
		}),
	}
}

func elapsedMonotone(h host.Host) error {
	last := h.Elapsed()
	for i := range 1000 {
		now := h.Elapsed()
		if now < last {
			return that(false, "went from %v to %v", last, now)
		}
		last = now
		if i%100 == 0 {
			h.Root().Sleep(time.Millisecond)
		}
	}
	return nil
}

func wallMoves(h host.Host) error {
	before := h.Now()
	h.Root().Sleep(moment)
	return that(h.Now() > before, "went from %d to %d", before, h.Now())
}

func sleepLasts(h host.Host) error {
	for _, d := range []time.Duration{1, time.Microsecond, time.Millisecond, moment} {
		slept := true
		if waited := took(h, func() { slept = h.Root().Sleep(d) }); waited < d || !slept {
			return that(false, "Sleep(%v) returned %v after %v", d, slept, waited)
		}
	}
	return nil
}

func sleepStops(h host.Host) error {
	g := h.Root().New("group")
	slept := true
	err := stopsSoon(h, g, func() { slept = g.Sleep(forever) })
	return errors.Join(err, equal("Sleep", slept, false))
}
