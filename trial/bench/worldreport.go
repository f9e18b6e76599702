package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// What the simulated world should reach.
const (
	bareEventsGoal   = 2e6
	engineEventsGoal = 1e6
	pacedMillisGoal  = 10
)

// WorldReport is the speed of the simulated world, each figure from processes of one thread, as campaigns run them.
type WorldReport struct {
	Clock   string       `json:"clock"`
	CPUs    int          `json:"cpus"`
	Others  float64      `json:"others_cpu_share"` // of all processors meanwhile
	Bare    WorldFigures `json:"bare"`
	Engine  WorldFigures `json:"engine"`
	Paced   WorldFigures `json:"paced"`
	Pair    [2]float64   `json:"events_per_second_of_two"` // wall clock, two processes at once, engine
	Scaling float64      `json:"scaling"`                  // both together by one alone, wall clock
}

// CPUMillisPerSimulatedSecond is what a simulated second costs, scaled to 100 operations in it.
func (r *WorldReport) CPUMillisPerSimulatedSecond() float64 {
	return r.Paced.CPUSeconds * 1e3 / float64(r.Paced.Operations) * pacedPerSecond
}

// WorldCommand is the command line of a process that prints MeasureWorld's figures as JSON.
type WorldCommand func(kind WorldKind, length time.Duration) []string

// MeasureWorlds starts the processes that measure, each for so much time of its processor.
func MeasureWorlds(ctx context.Context, command WorldCommand, length time.Duration) (WorldReport, error) {
	r := WorldReport{Clock: "CPU time of the process; scaling by the wall clock", CPUs: runtime.NumCPU()}
	machine := machineUsageNow()
	var err error
	for _, one := range []struct {
		kind    WorldKind
		figures *WorldFigures
	}{{BareWorld, &r.Bare}, {EngineWorld, &r.Engine}, {PacedWorld, &r.Paced}} {
		if *one.figures, err = measureElsewhere(ctx, command(one.kind, length)); err != nil {
			return r, err
		}
	}
	err = r.measureTwo(ctx, command(EngineWorld, length))
	r.Others = othersShare(machine, machineUsageNow(), r.CPUs)
	return r, err
}

// measureTwo runs two processes at once.
func (r *WorldReport) measureTwo(ctx context.Context, command []string) error {
	type outcome struct {
		figures WorldFigures
		err     error
	}
	outcomes := make(chan outcome, len(r.Pair))
	for range r.Pair {
		go func() {
			f, err := measureElsewhere(ctx, command)
			outcomes <- outcome{f, err}
		}()
	}
	var failed error
	for i := range r.Pair {
		o := <-outcomes
		if o.err != nil {
			failed = o.err
			continue
		}
		r.Pair[i] = float64(o.figures.Events) / o.figures.WallSeconds
	}
	r.Scaling = (r.Pair[0] + r.Pair[1]) / (float64(r.Engine.Events) / r.Engine.WallSeconds)
	return failed
}

// measureElsewhere runs one process with the settings that campaigns give their workers.
func measureElsewhere(ctx context.Context, command []string) (f WorldFigures, err error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400")
	var failure bytes.Buffer
	c.Stderr = &failure
	out, err := c.Output()
	if err != nil {
		return f, fmt.Errorf("%w: measure a world in another process: %w: %s", ErrEnvironment, err, bytes.TrimSpace(failure.Bytes()))
	}
	if err := json.Unmarshal(out, &f); err != nil {
		return f, fmt.Errorf("%w: figures of another process: %w", ErrEnvironment, err)
	}
	return f, nil
}

// Print writes the report for a reader.
func (r *WorldReport) Print(w io.Writer) error {
	p := &printer{w: w}
	p.line("speed of the simulated world; %s; others used %.0f %% of the CPUs", r.Clock, 100*r.Others)
	p.table([][]string{
		{"", "measured", "goal", ""},
		{"events a CPU second, 200 sleeping tasks", millions(r.Bare.EventsPerCPUSecond()), millions(bareEventsGoal), "million"},
		{"events a CPU second, scenario " + worldScenario, millions(r.Engine.EventsPerCPUSecond()), millions(engineEventsGoal), "million"},
		{
			"CPU a simulated second at 100 operations in it", fmt.Sprintf("%.2f", r.CPUMillisPerSimulatedSecond()),
			fmt.Sprintf("%.0f at most", float64(pacedMillisGoal)), "ms",
		},
		{"two processes by one", fmt.Sprintf("%.2f", r.Scaling), "1.8", "times"},
	})
	p.line("scenario %s: %d trials, %.1f simulated seconds, %.0f CPU µs an operation; paced: %.0f operations a simulated second",
		worldScenario, r.Engine.Worlds, r.Engine.SimulatedSeconds,
		r.Engine.CPUSeconds*1e6/float64(r.Engine.Operations), float64(r.Paced.Operations)/r.Paced.SimulatedSeconds)
	if failed := r.Engine.Failed + r.Paced.Failed; failed > 0 {
		p.line("WARNING: %d trials had a verdict other than ok; run simrun campaign %s", failed, worldScenario)
	}
	return p.err
}

func millions(v float64) string { return fmt.Sprintf("%.2f", v/1e6) }
