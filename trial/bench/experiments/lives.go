package experiments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
)

// loneNode is the name of the node that a store has for itself.
const loneNode = "store"

// lone is a world with one node, on which a single-node store lives through one process after the other.
type lone struct {
	world  *sim.World
	node   *sim.Node
	random *rand.Rand // of the course
}

// life is one process of a lone node.
type life func(l *lone, h host.Host) error

// inLives runs lives one after the other, in a world of its own. A life may end in a crash; an error that one returns, and a
// world that ends in another way, are errors.
func inLives(seed uint64, prepare func(l *lone), lives ...life) error {
	l := &lone{world: sim.New(sim.Config{Seed: seed}), random: sim.Stream(seed, "experiment/course")}
	defer l.world.Release()
	l.node = l.world.NewNode(loneNode)
	if prepare != nil {
		prepare(l)
	}
	begun, failed := 0, error(nil)
	start := func() {
		one := lives[begun]
		begun++
		l.node.Start(func(h host.Host) error { return one(l, h) })
	}
	l.node.OnExit(func(err error, crashed bool) {
		if err != nil && !crashed {
			failed = fmt.Errorf("life %d: %w", begun, err)
		}
		if failed != nil || begun == len(lives) {
			l.world.Stop()
			return
		}
		l.world.At(time.Millisecond, start)
	})
	start()
	if verdict := l.world.Run(loneLimit); verdict.Failed() {
		failed = errors.Join(failed, errors.New(verdict.Summary()))
	}
	if failed != nil {
		return fmt.Errorf("world of seed %d: %w", seed, failed)
	}
	return nil
}

// loneLimit is of virtual time: retention is tried over weeks.
const loneLimit = 60 * 24 * time.Hour

// between has f run when no task does, and waits until it has.
func (l *lone) between(h host.Host, f func()) error {
	done := h.Root().NewGate()
	l.world.At(0, func() {
		f()
		done.Open()
	})
	if !done.Wait() {
		return host.ErrStopping
	}
	return nil
}
