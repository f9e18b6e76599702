package bench

import (
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial"
)

// WorldKind is what the simulated world does while its speed is measured.
type WorldKind string

// The kinds of worlds.
const (
	BareWorld   WorldKind = "bare"   // tasks that only sleep
	EngineWorld WorldKind = "engine" // trials of the scenario, faults and checkers included
	PacedWorld  WorldKind = "paced"  // the same clients without faults, at about 100 operations a simulated second
)

const (
	worldScenario      = "bookie"
	bareTasks          = 200
	bareEvents         = 500_000 // of one world
	pacedPerSecond     = 100     // operations; the figure is scaled to exactly as many
	pacedStepsAMinute  = 3300    // of all clients; some steps are several operations
	pacedWorkMillis    = 5000
	simulatedUnlimited = 1 << 62
)

// WorldFigures is what one process measured.
type WorldFigures struct {
	Kind             WorldKind `json:"kind"`
	Worlds           int       `json:"worlds"`
	Failed           int       `json:"failed"` // trials whose verdict was not ok; a campaign says why
	Events           int64     `json:"events"`
	Operations       int64     `json:"operations"`
	Acked            int64     `json:"acked_appends"` // of clusters
	SimulatedSeconds float64   `json:"simulated_seconds"`
	CPUSeconds       float64   `json:"cpu_seconds"` // of the whole process, collections included
	WallSeconds      float64   `json:"wall_seconds"`
}

// EventsPerCPUSecond is the scheduler's speed.
func (f WorldFigures) EventsPerCPUSecond() float64 { return float64(f.Events) / f.CPUSeconds }

// MeasureWorld runs worlds of a kind in this process until so much time of the processor is used.
func MeasureWorld(kind WorldKind, length time.Duration) (WorldFigures, error) {
	runWorld, err := worldOf(kind)
	if err != nil {
		return WorldFigures{}, err
	}
	f := WorldFigures{Kind: kind}
	before, begun := usageNow(), time.Now()
	for seed := uint64(1); ; seed++ {
		runWorld(seed, &f)
		f.Worlds++
		if used := usageNow().since(before); used.cpu >= length {
			f.CPUSeconds, f.WallSeconds = used.cpu.Seconds(), time.Since(begun).Seconds()
			return f, nil
		}
	}
}

// worldOf returns what runs one world and adds up its figures.
func worldOf(kind WorldKind) (func(seed uint64, f *WorldFigures), error) {
	if kind == BareWorld {
		return runBare, nil
	}
	if run := clusterWorldOf(kind); run != nil {
		return run, nil
	}
	scenario, err := trial.Find(scenarioOf(kind))
	if err != nil {
		return nil, err
	}
	switch kind {
	case EngineWorld, ClusterWorld:
	case PacedWorld:
		clients := scenario.Clients + scenario.Remote
		scenario.PaceMicros = clients * int(time.Minute.Microseconds()) / pacedStepsAMinute
		scenario.WorkMillis = pacedWorkMillis
		scenario.FaultsMin, scenario.FaultsMax, scenario.Faults = 0, 0, nil
	default:
		return nil, fmt.Errorf("%w: no world is called %q; there are: bare, engine, paced, cluster, steady, sequential", ErrUsage, kind)
	}
	return func(seed uint64, f *WorldFigures) { runTrial(scenario, seed, f) }, nil
}

func runTrial(scenario trial.Scenario, seed uint64, f *WorldFigures) {
	r := trial.Run(trial.Options{Scenario: scenario, Seed: seed})
	f.Events += r.Events
	f.Operations += r.Operations
	f.Acked += r.Answers[ackedAnswer]
	f.SimulatedSeconds += r.Simulated.Seconds()
	if r.Failed() {
		f.Failed++
	}
}

// runBare runs tasks that sleep, each for a time of its own, so that every event is one switch.
func runBare(seed uint64, f *WorldFigures) {
	w := sim.New(sim.Config{Seed: seed, MaxEvents: bareEvents})
	w.NewNode("sleepers").Start(func(h host.Host) error {
		for i := range bareTasks {
			h.Root().Go("sleeper", func() {
				for h.Root().Sleep(time.Microsecond + time.Duration(i)) {
				}
			})
		}
		h.Root().Wait()
		return nil
	})
	w.Run(simulatedUnlimited) // ends at the bound on events, which is what it is for here
	f.Events += w.Events()
	f.SimulatedSeconds += w.Elapsed().Seconds()
}
