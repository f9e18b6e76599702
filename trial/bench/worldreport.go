package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"lakebed/reports"
)

// What the simulated world should reach.
const (
	bareEventsGoal   = 2e6
	engineEventsGoal = 1e6
	pacedMillisGoal  = 10
	scalingGoal      = 1.8
)

// WorldReport is the speed of the simulated world, each figure from processes of one thread, as campaigns run them.
type WorldReport struct {
	Started time.Time
	Seconds float64
	Others  float64 // of all processors meanwhile
	Bare    WorldFigures
	Engine  WorldFigures
	Paced   WorldFigures
	Pair    [2]float64 // events a second of two processes at once, by the wall clock, engine
	Scaling float64    // both together by one alone, by the wall clock
}

// CPUMillisPerSimulatedSecond is what a simulated second costs, scaled to 100 operations in it.
func (r *WorldReport) CPUMillisPerSimulatedSecond() float64 {
	return r.Paced.CPUSeconds * 1e3 / float64(r.Paced.Operations) * pacedPerSecond
}

// WorldCommand is the command line of a process that prints MeasureWorld's figures as JSON.
type WorldCommand func(kind WorldKind, length time.Duration) []string

// MeasureWorlds starts the processes that measure, each for so much time of its processor.
func MeasureWorlds(ctx context.Context, command WorldCommand, length time.Duration) (WorldReport, error) {
	r := WorldReport{Started: time.Now()}
	others := reports.WatchOthers()
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
	r.Others, r.Seconds = others.Share(), time.Since(r.Started).Seconds()
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

// about says what a kind of world of one bookie does.
func (k WorldKind) about() string {
	switch k {
	case BareWorld:
		return fmt.Sprintf("%d tasks that only sleep", bareTasks)
	case EngineWorld:
		return "trials of scenario " + worldScenario + ", with faults and the checkers"
	case PacedWorld:
		return fmt.Sprintf("the same clients, no fault, about %d operations a simulated second", pacedPerSecond)
	}
	return k.aboutCluster()
}

// worldGoal judges a figure of one measurement.
func worldGoal(name string, c reports.Cell, f reports.Figure, wanted float64) reports.Goal {
	bound := strconv.FormatFloat(wanted, 'f', -1, 64)
	if f.Unit != unitRatio {
		bound += " " + f.Unit
	}
	g := reports.Goal{
		Name: name, Cell: c.Name, Figure: f.Name, Value: f.Value, Low: f.Low, High: f.High,
		Wanted: "at least " + bound, Met: f.Value >= wanted,
	}
	if f.Better == reports.LowerBetter {
		g.Wanted, g.Met = "at most "+bound, f.Value <= wanted
	}
	return g
}

// once is a figure that was measured once.
func once(name, unit string, clock reports.Clock, better reports.Better, value float64) reports.Figure {
	return reports.SingleFigure(name, unit, clock, better, value)
}

// worldResult is what all results of worlds have.
func worldResult(id, title, command string, started time.Time, seconds, others float64) reports.Result {
	machine := reports.ThisMachine()
	machine.OthersShare = others
	return reports.Result{
		Schema: reports.Schema, Kind: reports.KindBench, ID: id, Title: title, Command: command, Started: started, Seconds: seconds,
		Build: reports.ThisBuild(), Machine: machine,
		Settings: []reports.Setting{{Name: "processes", Value: "one thread each, GOMAXPROCS=1 GOGC=400, as campaigns start them"}},
	}
}

// Result is the report for whoever shows or keeps it.
func (r *WorldReport) Result(command string) reports.Result {
	out := worldResult("bench-world", "Speed of the simulated world", command, r.Started, r.Seconds, r.Others)
	events := func(f WorldFigures) reports.Figure {
		return once(figureEvents, unitPerSecond, reports.ClockCPU, reports.HigherBetter, f.EventsPerCPUSecond())
	}
	cell := func(kind WorldKind, figures ...reports.Figure) reports.Cell {
		return reports.Cell{Name: "world/" + string(kind), Labels: []reports.Setting{{Name: "world", Value: string(kind)}}, Figures: figures}
	}
	bare := cell(BareWorld, events(r.Bare), count("worlds", int64(r.Bare.Worlds)))
	engine := cell(EngineWorld, events(r.Engine), count("worlds", int64(r.Engine.Worlds)),
		once("simulated", "s", reports.ClockVirtual, reports.NeitherBetter, r.Engine.SimulatedSeconds),
		once("CPU an operation", unitMicros, reports.ClockCPU, reports.LowerBetter, r.Engine.CPUSeconds*1e6/float64(max(1, r.Engine.Operations))),
		once("two processes by one", unitRatio, reports.ClockWall, reports.HigherBetter, r.Scaling))
	paced := cell(PacedWorld, events(r.Paced), count("worlds", int64(r.Paced.Worlds)),
		once("simulated", "s", reports.ClockVirtual, reports.NeitherBetter, r.Paced.SimulatedSeconds),
		once("operations", unitPerSecond, reports.ClockVirtual, reports.NeitherBetter, float64(r.Paced.Operations)/r.Paced.SimulatedSeconds),
		once("CPU a simulated second", "ms", reports.ClockCPU, reports.LowerBetter, r.CPUMillisPerSimulatedSecond()))
	out.Groups = []reports.Group{{
		Name: "Worlds with one bookie", Cells: []reports.Cell{bare, engine, paced},
		Note: fmt.Sprintf("CPU a simulated second is scaled to %d operations in it.", pacedPerSecond),
	}}
	last := func(c reports.Cell) reports.Figure { return c.Figures[len(c.Figures)-1] }
	out.Goals = []reports.Goal{
		worldGoal("events a CPU second with nothing in the world", bare, bare.Figures[0], bareEventsGoal),
		worldGoal("events a CPU second with the engine in it", engine, engine.Figures[0], engineEventsGoal),
		worldGoal(fmt.Sprintf("CPU a simulated second at %d operations in it", pacedPerSecond), paced, last(paced), pacedMillisGoal),
		worldGoal("two processes by one", engine, last(engine), scalingGoal),
	}
	for _, kind := range []WorldKind{BareWorld, EngineWorld, PacedWorld} {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s", kind, kind.about()))
	}
	if failed := r.Engine.Failed + r.Paced.Failed; failed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d TRIALS had a verdict other than ok; run simrun campaign %s", failed, worldScenario))
	}
	return out
}
