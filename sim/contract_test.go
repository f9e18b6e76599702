package sim_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/hosttest"
	"lakebed/sim"
)

// harness makes worlds of one configuration for the contracts of the seam.
type harness struct{ config sim.Config }

func (a harness) hosttest() hosttest.Harness {
	return hosttest.Harness{Lives: a.lives, Meet: a.meet, Break: a.broken}
}

// outcome is the error of a run: the node's own, or the world's verdict.
func outcome(w *sim.World, err error) error {
	if v := w.Run(time.Hour); v.Failed() {
		return errors.Join(errors.New(v.String()), err)
	}
	return err
}

func (a harness) lives(boots ...hosttest.Boot) error {
	w := sim.New(a.config)
	n := w.NewNode("node")
	n.OnExit(func(err error, _ bool) {
		if err == nil && n.Epoch() < len(boots) {
			n.Start(boots[n.Epoch()])
		}
	})
	n.Start(boots[0])
	return errors.Join(outcome(w, nil), n.BootErr())
}

func (a harness) meet(server, client hosttest.Talk) error {
	const address = "server:7"
	w := sim.New(a.config)
	s, c := w.NewNode("server"), w.NewNode("client")
	c.OnExit(func(error, bool) { s.Stop() })
	s.Start(func(h host.Host) error { return server(h, address) })
	c.Start(func(h host.Host) error { return client(h, address) })
	return errors.Join(outcome(w, nil), s.BootErr(), c.BootErr())
}

func (a harness) broken(boot func(h host.Host, arm func(hosttest.Fault)) error) error {
	w := sim.New(a.config)
	n := w.NewNode("node")
	var armed []hosttest.Fault
	n.Disk(hosttest.Volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if len(armed) == 0 || !strikes(armed[0], op.Kind) {
			return sim.DiskEffect{}
		}
		fault := armed[0]
		armed = armed[1:]
		return effectOf(fault, op)
	})
	n.Start(func(h host.Host) error {
		return boot(h, func(f hosttest.Fault) { armed = append(armed, f) })
	})
	return errors.Join(outcome(w, nil), n.BootErr())
}

func strikes(f hosttest.Fault, kind sim.DiskKind) bool {
	switch f {
	case hosttest.ReadFails, hosttest.ShortRead:
		return kind == sim.DiskRead
	case hosttest.SyncFails:
		return kind == sim.DiskSync
	default:
		return kind == sim.DiskWrite
	}
}

func effectOf(f hosttest.Fault, op *sim.DiskOp) sim.DiskEffect {
	switch f {
	case hosttest.ShortRead, hosttest.ShortWrite:
		return sim.DiskEffect{Short: int(max(op.Length/3, 1))}
	case hosttest.NoSpace:
		return sim.DiskEffect{Err: host.ErrNoSpace, Short: int(op.Length / 2)}
	default:
		return sim.DiskEffect{Err: host.ErrIO}
	}
}

// TestSimulatedWorldKeepsTheContractOfTheSeam runs the suite that both worlds pass, in worlds that differ in everything
// that a seed may choose.
func TestSimulatedWorldKeepsTheContractOfTheSeam(t *testing.T) {
	configs := map[string]sim.Config{
		"Plain":   {Seed: 1},
		"FIFO":    {Seed: 2, Policy: sim.FIFO},
		"PCT":     {Seed: 3, Policy: sim.PCT, PCTDepth: 5, PCTSteps: 1000},
		"Yields":  {Seed: 4, LockYieldPermille: 300},
		"Delays":  {Seed: 5, DelayPermille: 200, DelayMax: time.Millisecond},
		"Yields2": {Seed: 6, LockYieldPermille: 100, DelayPermille: 50, DelayMax: 100 * time.Microsecond},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			hosttest.Run(t, func(*testing.T) hosttest.Harness { return harness{config}.hosttest() })
		})
	}
}
