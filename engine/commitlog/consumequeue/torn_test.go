package consumequeue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/sim"
	"lakebed/sim/disk"
)

func unit(index int64) consumequeue.Unit {
	return consumequeue.Unit{Physical: 1000 + 100*index, Size: 100, Tag: index * 7919}
}

// fill opens a queue from its state, reads all of it, and appends and flushes until power goes.
func fill(h host.Host, state *consumequeue.State, fileUnits, first int64) error {
	dir, err := h.Disk("queue")
	if err != nil {
		return err
	}
	q := consumequeue.Open(h, consumequeue.Options{
		Dir: dir, Files: openfiles.New(h, h.Root(), 2), Owner: "queue", FileUnits: fileUnits, State: *state,
	})
	low, end := q.Bounds()
	if end != state.Next() {
		return fmt.Errorf("the queue ends at %d, stored was %d", end, state.Next())
	}
	for at := low; at < end; {
		units, err := q.Read(at, 50)
		if err != nil || len(units) == 0 {
			return errors.Join(err, fmt.Errorf("read at %d of %d: %d units", at, end, len(units)))
		}
		for _, u := range units {
			if u != unit(at) {
				return fmt.Errorf("unit %d is %+v", at, u)
			}
			at++
		}
	}
	for next := max(end, first); ; {
		for range 1 + h.Rand("sizes").IntN(90) {
			if err := q.Append(next, unit(next)); err != nil {
				return err
			}
			next++
		}
		if err := q.Append(next+1, unit(next+1)); !errors.Is(err, consumequeue.ErrOrder) {
			return fmt.Errorf("a unit out of order: %w", err)
		}
		if *state, err = q.Flush(); err != nil {
			return err
		}
	}
}

// TestUnitsThatCountSurviveATornWrite that adds others behind them, in files of any length, from any first unit on.
func TestUnitsThatCountSurviveATornWrite(t *testing.T) {
	for seed := range uint64(24) {
		w := sim.New(sim.Config{Seed: seed})
		node := w.NewNode("node")
		var state consumequeue.State
		fileUnits, first := []int64{7, 128, 300, 1000}[seed%4], int64(seed%3)*150
		syncs := 0
		node.Disk("queue").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskSync {
				if syncs++; syncs%(5+100/int(fileUnits)) == 0 {
					node.Crash(sim.PowerCut(disk.Torn))
				}
			}
			return sim.DiskEffect{}
		})
		boot := func(h host.Host) error { return fill(h, &state, fileUnits, first) }
		node.OnExit(func(err error, _ bool) {
			if err != nil {
				t.Errorf("seed %d, life %d: %v", seed, node.Epoch(), err)
			}
			if err == nil && node.Epoch() < 15 {
				w.At(0, func() { node.Start(boot) })
			}
		})
		node.Start(boot)
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatal(v.String())
		}
		if node.Epoch() < 15 || state.Next() < first+200 {
			t.Errorf("seed %d: %d lives, %d units", seed, node.Epoch(), state.Next()-first)
		}
	}
}

// TestFilesBelowTheFirstUnitGo, and never the last one, whatever is said to be gone.
func TestFilesBelowTheFirstUnitGo(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	node := w.NewNode("node")
	node.Start(func(h host.Host) error {
		dir, err := h.Disk("queue")
		if err != nil {
			return err
		}
		q := consumequeue.Open(h, consumequeue.Options{Dir: dir, Files: openfiles.New(h, h.Root(), 2), Owner: "queue", FileUnits: 10})
		for index := range int64(40) {
			if err := q.Append(index, unit(index)); err != nil {
				return err
			}
		}
		for _, step := range []struct {
			first int64
			files []int64
		}{{0, []int64{0, 10, 20, 30}}, {9, []int64{0, 10, 20, 30}}, {10, []int64{10, 20, 30}}, {35, []int64{30}}, {40, []int64{30}}} {
			q.MoveFirst(step.first)
			state, err := q.Flush()
			if err == nil {
				err = q.RemoveBelow(state)
			}
			if err != nil {
				return err
			}
			infos, err := dir.List()
			if err != nil {
				return err
			}
			var names, want []string
			for _, info := range infos {
				names = append(names, info.Name)
			}
			for _, base := range step.files {
				want = append(want, consumequeue.FileName(base))
			}
			if !slices.Equal(names, want) {
				t.Errorf("first %d: files %v, want %v", step.first, names, want)
			}
		}
		return nil
	})
	if v := w.Run(time.Hour); v.Failed() || node.BootErr() != nil {
		t.Fatal(v.String(), node.BootErr())
	}
}
