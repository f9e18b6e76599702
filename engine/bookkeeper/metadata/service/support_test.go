package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/metatest"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

const addr = "metadata:2181"

// small is a server whose bounds are near.
func small() service.ServerConfig {
	c := service.DefaultServerConfig()
	c.InputBufferBytes, c.OutputBytesMax, c.ConnectionsMax = 128, 512, 32
	return c
}

// serve is the boot of a metadata node.
func serve(h host.Host, address string, config service.ServerConfig, ready func(*service.Server)) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return err
	}
	s, err := service.Serve(h, h.Root(), listener, config)
	if err != nil {
		return err
	}
	if ready != nil {
		ready(s)
	}
	host.AwaitStop(h.Root())
	s.Close()
	if used := h.Memory().InUse(); used != 0 {
		return fmt.Errorf("%d bytes are left in use", used)
	}
	return nil
}

// clientConfig has a bound of few requests on the wire.
func clientConfig(address string, timeout time.Duration) service.ClientConfig {
	c := service.DefaultClientConfig(address)
	c.RequestsMax, c.OutputBytesMax, c.InputBufferBytes, c.SessionTimeout = 3, 256, 128, timeout
	return c
}

// env is the environment of contracts for our client.
func env(h host.Host, config service.ClientConfig, patience time.Duration) *metatest.Env {
	return &metatest.Env{
		Host:        h,
		Open:        func() (metadata.Store, error) { return service.Connect(h, h.Root(), config) },
		Crash:       func(s metadata.Store) { s.(*service.Client).Abandon() },
		Patience:    patience,
		AttemptsMax: 1, // no freedom is used without faults
	}
}

// simulated runs a check between two nodes of a world.
func simulated(seed uint64, check func(*metatest.Env) error) error {
	return inWorld(seed, func(_ *sim.World, h host.Host) error {
		return check(env(h, clientConfig(addr, 10*time.Second), time.Minute))
	})
}

// inWorld runs a client in a world with a metadata server, and hands out the client's error or the world's.
func inWorld(seed uint64, client func(w *sim.World, h host.Host) error) error {
	return inNet(seed, sim.LAN(), client)
}

func inNet(seed uint64, profile sim.NetProfile, client func(w *sim.World, h host.Host) error) error {
	return inServer(seed, profile, small(), client)
}

func inServer(seed uint64, profile sim.NetProfile, bounds service.ServerConfig, client func(w *sim.World, h host.Host) error) error {
	profile.SplitPermille = int(seed%4) * 100
	config := sim.Config{Seed: seed, Net: profile, LockYieldPermille: int(seed%3) * 100, Policy: sim.Policy(seed % 3)}
	config.PCTDepth, config.PCTSteps = 3, 3000
	w := sim.New(config)
	server := w.NewNode("metadata")
	server.SetDaemon(true)
	server.Start(func(h host.Host) error { return serve(h, addr, bounds, nil) })
	n := w.NewNode("client")
	n.Start(func(h host.Host) error {
		err := client(w, h)
		if used := h.Memory().InUse(); used != 0 {
			err = errors.Join(err, fmt.Errorf("%d bytes are left in use", used))
		}
		return err
	})
	n.OnExit(func(error, bool) { server.Stop() })
	v := w.Run(24 * time.Hour)
	err := errors.Join(n.BootErr(), server.BootErr())
	if v.Failed() {
		err = errors.Join(err, fmt.Errorf("seed %d: %s", seed, v.String()))
	}
	return err
}

// real runs a check against a server on this machine.
func real(check func(*metatest.Env) error) error {
	config := oshost.Config{Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	return oshost.Run(context.Background(), config, func(h host.Host) error {
		listener, err := h.Net().Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		s, err := service.Serve(h, h.Root(), listener, small())
		if err != nil {
			return err
		}
		defer s.Close()
		e := env(h, clientConfig(s.Addr(), time.Second), 10*time.Second)
		e.AttemptsMax = 5 // a busy machine may keep pings waiting for longer than a session lasts
		return check(e)
	})
}

// is checks the class of an error.
func is(what string, err, class error) error {
	if !errors.Is(err, class) {
		return fmt.Errorf("%s: got %v, want %v", what, err, class)
	}
	return nil
}

// TestContractInTheSimulator, with many seeds.
func TestContractInTheSimulator(t *testing.T) {
	for seed := range uint64(10) {
		metatest.Run(t, func(*testing.T) metatest.Harness {
			return func(check func(*metatest.Env) error) error { return simulated(seed, check) }
		})
	}
}

// TestContractWhileConnectionsBreak: resets, stalls, partitions and pauses at random, with all ways of scheduling.
func TestContractWhileConnectionsBreak(t *testing.T) {
	lost, unknown := 0, int64(0)
	for seed := range uint64(18) {
		metatest.Run(t, func(*testing.T) metatest.Harness {
			return func(check func(*metatest.Env) error) error {
				far := sim.LAN()
				far.LatencyMean = 4 * time.Millisecond // so that breaks meet requests under way
				return inNet(seed, far, func(w *sim.World, h host.Host) error {
					w.OnMark(func(_ *sim.Node, e host.Event) {
						if e.Name == service.PointLost {
							lost, unknown = lost+1, unknown+e.A
						}
					})
					every := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}[seed/3%3]
					breakThings(w, w.Stream("breaks"), every)
					e := env(h, clientConfig(addr, 10*time.Second), 2*time.Minute)
					e.AttemptsMax = 60
					return check(e)
				})
			}
		})
	}
	if lost < 100 || unknown < 10 {
		t.Errorf("only %d connections broke, and %d writes were under way", lost, unknown)
	}
	t.Logf("%d connections broke, and %d writes were under way", lost, unknown)
}

// breakThings does something to the network or the server, with up to every in between, as long as the client runs.
func breakThings(w *sim.World, r *rand.Rand, every time.Duration) {
	span := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most))) }
	w.At(span(every), func() {
		if !w.Node("client").Running() {
			return
		}
		switch server := w.Node("metadata"); r.IntN(5) {
		case 0:
			w.Net().Stall("client", "metadata", every) // what is sent now has no answer when the connection breaks
			w.At(span(every), func() { w.Net().Reset("client", "metadata") })
		case 1:
			w.Net().Partition("client", "metadata", r.IntN(2) == 0)
			w.At(span(every), w.Net().HealAll)
		case 2:
			server.Pause()
			w.At(span(every/2), server.Resume)
		default:
			w.Net().Reset("client", "metadata")
		}
		breakThings(w, r, every)
	})
}

// TestContractOnThisMachine, for the race detector too.
func TestContractOnThisMachine(t *testing.T) {
	metatest.Run(t, func(t *testing.T) metatest.Harness {
		t.Parallel()
		return real
	})
}
