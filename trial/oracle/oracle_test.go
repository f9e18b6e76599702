package oracle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/metatest"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial/oracle"
)

// world is an oracle and a node of clients.
type world struct {
	*sim.World
	oracle *oracle.Oracle
	node   *sim.Node
}

// run runs clients in a world with an oracle, and returns their error or the world's.
func run(seed uint64, config oracle.Config, clients func(w *world, h host.Host) error) (*world, error) {
	w := &world{World: sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed%3) * 50})}
	w.oracle = oracle.New(w.Stream("oracle"), config)
	w.node = w.NewNode("metadata")
	w.node.SetDaemon(true)
	w.node.Start(w.oracle.Boot)
	var protocol error
	w.OnLog(func(n *sim.Node, line sim.LogLine) {
		if line.Level >= host.Error {
			protocol = fmt.Errorf("%s: %s %v", n.Name(), line.Message, line.Fields)
		}
	})
	n := w.NewNode("client")
	n.Start(func(h host.Host) error { return clients(w, h) })
	n.OnExit(func(error, bool) { w.node.Stop() })
	v := w.Run(48 * time.Hour)
	err := errors.Join(n.BootErr(), w.node.BootErr(), protocol)
	if v.Failed() {
		err = errors.Join(err, errors.New(v.String()))
	}
	if err != nil {
		err = fmt.Errorf("seed %d: %w", seed, err)
	}
	return w, err
}

func connect(h host.Host) (*service.Client, error) {
	return service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
}

// hostile uses all freedom at once.
func hostile() oracle.Config {
	c := oracle.Tame()
	c.StalePermille, c.NoticePermille, c.LostAnswerPermille, c.LostRequestPermille = 400, 300, 20, 10
	c.LateWritePermille, c.ExpirePermille, c.SlowPermille, c.OutagePermille = 15, 3, 30, 1
	return c
}

func env(h host.Host) *metatest.Env {
	return &metatest.Env{
		Host:        h,
		Open:        func() (metadata.Store, error) { return connect(h) },
		Crash:       func(s metadata.Store) { s.(*service.Client).Abandon() },
		Patience:    2 * time.Minute,
		AttemptsMax: 60,
	}
}

// restless has connections come and go between stale states.
func restless() oracle.Config {
	c := oracle.Tame()
	c.StalePermille, c.OutagePermille, c.OutageMax = 800, 40, 300*time.Millisecond
	return c
}

// TestAHostileOracleKeepsTheContract, with all its freedoms, with those that meet in connecting again, and in
// configurations as trials draw them. Clients find nothing wrong with it.
func TestAHostileOracleKeepsTheContract(t *testing.T) {
	for seed := range uint64(24) {
		config := hostile()
		switch seed % 3 {
		case 1:
			config = restless()
		case 2:
			config = oracle.Draw(rand.New(rand.NewPCG(seed, 1)))
			config.ExpirePermille = min(config.ExpirePermille, 4) // else hardly any attempt proves anything
		}
		metatest.Run(t, func(*testing.T) metatest.Harness {
			return func(check func(*metatest.Env) error) error {
				_, err := run(seed, config, func(_ *world, h host.Host) error { return check(env(h)) })
				return err
			}
		})
	}
}

// TestATameOracleUsesNoFreedom: each contract holds at the first attempt, and nothing is counted.
func TestATameOracleUsesNoFreedom(t *testing.T) {
	metatest.Run(t, func(*testing.T) metatest.Harness {
		return func(check func(*metatest.Env) error) error {
			w, err := run(1, oracle.Tame(), func(_ *world, h host.Host) error {
				e := env(h)
				e.AttemptsMax = 1
				return check(e)
			})
			counts := w.oracle.Counts()
			delete(counts, oracle.Coalesced) // notices meet in the writer of any server
			if len(counts) > 0 {
				err = errors.Join(err, fmt.Errorf("freedoms: %v", counts))
			}
			return err
		}
	})
}
