package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lakebed/reports"
)

// What simulated clusters should reach.
const (
	clusterAckGoalMicros  = 40  // CPU of an acknowledged append, in steady and in sequential worlds
	clusterSimulatedRatio = 100 // simulated over wall time, with an operation always under way
)

// ClusterKinds lists the worlds of clusters, in the order in which they are measured.
func ClusterKinds() []WorldKind { return []WorldKind{ClusterWorld, SteadyWorld, SequentialWorld} }

// ParseClusterKinds checks names given by a user. None at all means all.
func ParseClusterKinds(names []string) ([]WorldKind, error) {
	var kinds []WorldKind
	for _, name := range names {
		if !slices.Contains(ClusterKinds(), WorldKind(name)) {
			return nil, fmt.Errorf("%w: no world of a cluster is called %q; there are: cluster, steady, sequential", ErrUsage, name)
		}
		kinds = append(kinds, WorldKind(name))
	}
	if len(kinds) == 0 {
		return ClusterKinds(), nil
	}
	return kinds, nil
}

// ClusterFigures is what one kind of world showed. Simulated time is virtual; all else says which clock it is of.
type ClusterFigures struct {
	WorldFigures
	CPUMillisPerWorld     float64
	CPUMicrosPerAck       float64
	CPUMicrosPerOperation float64
	EventsPerAck          float64
	SimulatedPerCPU       float64
	SimulatedPerWall      float64
	VirtualMicrosPerAck   float64
}

func clusterFigures(f WorldFigures) ClusterFigures {
	return ClusterFigures{
		WorldFigures:          f,
		CPUMillisPerWorld:     f.CPUSeconds * 1e3 / float64(f.Worlds),
		CPUMicrosPerAck:       f.CPUSeconds * 1e6 / float64(max(f.Acked, 1)),
		CPUMicrosPerOperation: f.CPUSeconds * 1e6 / float64(max(f.Operations, 1)),
		EventsPerAck:          float64(f.Events) / float64(max(f.Acked, 1)),
		SimulatedPerCPU:       f.SimulatedSeconds / f.CPUSeconds,
		SimulatedPerWall:      f.SimulatedSeconds / f.WallSeconds,
		VirtualMicrosPerAck:   f.SimulatedSeconds * 1e6 / float64(max(f.Acked, 1)),
	}
}

// ClusterReport is the speed of simulated clusters, each kind of world in one process of one thread, as campaigns run
// them.
type ClusterReport struct {
	Started time.Time
	Seconds float64
	Others  float64 // of all processors meanwhile
	Worlds  []ClusterFigures
}

// MeasureClusters measures each kind with a function: in another process, or in this one for a profiler.
func MeasureClusters(kinds []WorldKind, measure func(WorldKind) (WorldFigures, error)) (ClusterReport, error) {
	r := ClusterReport{Started: time.Now()}
	others := reports.WatchOthers()
	for _, kind := range kinds {
		f, err := measure(kind)
		if err != nil {
			return r, err
		}
		r.Worlds = append(r.Worlds, clusterFigures(f))
	}
	r.Others, r.Seconds = others.Share(), time.Since(r.Started).Seconds()
	return r, nil
}

// InAnotherProcess measures with a command line that prints MeasureWorld's figures as JSON.
func InAnotherProcess(ctx context.Context, command WorldCommand, length time.Duration) func(WorldKind) (WorldFigures, error) {
	return func(kind WorldKind) (WorldFigures, error) { return measureElsewhere(ctx, command(kind, length)) }
}

// aboutCluster says what a kind of world with a cluster does.
func (k WorldKind) aboutCluster() string {
	switch k {
	case ClusterWorld:
		return "trials of scenario " + clusterScenario + ", with faults, the last look and the checkers"
	case SteadyWorld:
		return fmt.Sprintf("one writer, %d appends of %d B under way, no fault", steadyWindow, steadyPayloadBytes)
	case SequentialWorld:
		return fmt.Sprintf("one writer, one append of %d B under way at any time, no fault", steadyPayloadBytes)
	}
	return ""
}

// goals are those of an acknowledged append and of simulated by wall time, where they mean something: a trial does much
// besides appending, and a writer of many appends compresses no time.
func (f ClusterFigures) goals(c reports.Cell) (goals []reports.Goal) {
	if f.Kind != ClusterWorld {
		figure, _ := c.Figure(figureCPUAnAck)
		goals = append(goals, worldGoal("CPU of an acknowledged append, world "+string(f.Kind), c, figure, clusterAckGoalMicros))
	}
	if f.Kind != SteadyWorld {
		figure, _ := c.Figure(figureSimulatedByWall)
		goals = append(goals, worldGoal("simulated by wall time, world "+string(f.Kind), c, figure, clusterSimulatedRatio))
	}
	return goals
}

// Names of figures with a goal.
const (
	figureCPUAnAck        = "CPU an append"
	figureSimulatedByWall = "simulated by wall"
)

func (f ClusterFigures) cell() reports.Cell {
	return reports.Cell{Name: "cluster-world/" + string(f.Kind), Labels: []reports.Setting{{Name: "world", Value: string(f.Kind)}}, Figures: []reports.Figure{
		once("CPU a world", "ms", reports.ClockCPU, reports.LowerBetter, f.CPUMillisPerWorld),
		once(figureCPUAnAck, unitMicros, reports.ClockCPU, reports.LowerBetter, f.CPUMicrosPerAck),
		once("CPU an operation", unitMicros, reports.ClockCPU, reports.LowerBetter, f.CPUMicrosPerOperation),
		reports.SingleFigure("events an append", unitRatio, reports.ClockNone, reports.LowerBetter, f.EventsPerAck),
		once(figureSimulatedByWall, unitRatio, reports.ClockWall, reports.HigherBetter, f.SimulatedPerWall),
		once("simulated by CPU", unitRatio, reports.ClockCPU, reports.HigherBetter, f.SimulatedPerCPU),
		once("time an append", unitMicros, reports.ClockVirtual, reports.NeitherBetter, f.VirtualMicrosPerAck),
		count("worlds", int64(f.Worlds)), count("operations", f.Operations), count("acknowledged appends", f.Acked),
		once("simulated", "s", reports.ClockVirtual, reports.NeitherBetter, f.SimulatedSeconds),
	}}
}

// Result is the report for whoever shows or keeps it.
func (r *ClusterReport) Result(command string) reports.Result {
	out := worldResult("bench-cluster-world", "Speed of simulated clusters", command, r.Started, r.Seconds, r.Others)
	g := reports.Group{Name: "Worlds with a cluster", Note: "An append is an acknowledged one. CPU is that of the whole process, its start and collections included. " +
		"Simulated time of steady and sequential worlds is that of the appends alone."}
	failed := 0
	for _, f := range r.Worlds {
		cell := f.cell()
		g.Cells = append(g.Cells, cell)
		out.Goals = append(out.Goals, f.goals(cell)...)
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s", f.Kind, f.Kind.about()))
		failed += f.Failed
	}
	out.Groups = []reports.Group{g}
	q := steadyQuorum
	out.Settings = append(out.Settings, reports.Setting{
		Name: "steady and sequential", Value: fmt.Sprintf("%d/%d/%d on %d bookies, SSDs and a local network", q.Ensemble, q.Write, q.Ack, steadyBookies),
	})
	if failed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d WORLDS failed; run simrun campaign %s", failed, clusterScenario))
	}
	return out
}
