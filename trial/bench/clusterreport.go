package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
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
	CPUMillisPerWorld     float64 `json:"cpu_millis_per_world"`
	CPUMicrosPerAck       float64 `json:"cpu_micros_per_acked_append"`
	CPUMicrosPerOperation float64 `json:"cpu_micros_per_operation"`
	EventsPerAck          float64 `json:"events_per_acked_append"`
	SimulatedPerCPU       float64 `json:"simulated_seconds_per_cpu_second"`
	SimulatedPerWall      float64 `json:"simulated_seconds_per_wall_second"`
	VirtualMicrosPerAck   float64 `json:"virtual_micros_per_acked_append"`
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
	Clock  string           `json:"clock"`
	CPUs   int              `json:"cpus"`
	Others float64          `json:"others_cpu_share"` // of all processors meanwhile
	Shape  string           `json:"shape"`            // of the steady and the sequential world
	Worlds []ClusterFigures `json:"worlds"`
}

// MeasureClusters measures each kind with a function: in another process, or in this one for a profiler.
func MeasureClusters(kinds []WorldKind, measure func(WorldKind) (WorldFigures, error)) (ClusterReport, error) {
	q := steadyQuorum
	r := ClusterReport{
		Clock: "CPU time of the whole process, starts and collections included", CPUs: runtime.NumCPU(),
		Shape: fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack), Worlds: []ClusterFigures{},
	}
	machine := machineUsageNow()
	for _, kind := range kinds {
		f, err := measure(kind)
		if err != nil {
			return r, err
		}
		r.Worlds = append(r.Worlds, clusterFigures(f))
	}
	r.Others = othersShare(machine, machineUsageNow(), r.CPUs)
	return r, nil
}

// InAnotherProcess measures with a command line that prints MeasureWorld's figures as JSON.
func InAnotherProcess(ctx context.Context, command WorldCommand, length time.Duration) func(WorldKind) (WorldFigures, error) {
	return func(kind WorldKind) (WorldFigures, error) { return measureElsewhere(ctx, command(kind, length)) }
}

// about says what a kind of world does.
func (k WorldKind) about() string {
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
func (k WorldKind) goals() (ack, ratio string) {
	ack, ratio = "-", "-"
	if k != ClusterWorld {
		ack = fmt.Sprint(clusterAckGoalMicros)
	}
	if k != SteadyWorld {
		ratio = fmt.Sprint(clusterSimulatedRatio)
	}
	return ack, ratio
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Print writes the report for a reader.
func (r *ClusterReport) Print(w io.Writer) error {
	p := &printer{w: w}
	p.line("speed of simulated clusters; %s; others used %.0f %% of the CPUs", r.Clock, 100*r.Others)
	rows := [][]string{{
		"world", "ms/world", "µs/ack", "goal", "µs/op", "events/ack", "sim/wall", "goal", "sim/CPU", "virtual µs/ack",
	}}
	for _, f := range r.Worlds {
		ackGoal, ratioGoal := f.Kind.goals()
		rows = append(rows, []string{
			string(f.Kind), fmt.Sprintf("%.1f", f.CPUMillisPerWorld), fmt.Sprintf("%.1f", f.CPUMicrosPerAck), ackGoal,
			fmt.Sprintf("%.1f", f.CPUMicrosPerOperation), fmt.Sprintf("%.1f", f.EventsPerAck),
			fmt.Sprintf("%.1f", f.SimulatedPerWall), ratioGoal, fmt.Sprintf("%.1f", f.SimulatedPerCPU),
			fmt.Sprintf("%.0f", f.VirtualMicrosPerAck),
		})
	}
	p.table(rows)
	p.line("ms and µs: CPU; ack: an acknowledged append; op: a client operation; sim: simulated seconds")
	failed := 0
	for _, f := range r.Worlds {
		p.line("  %s: %s", f.Kind, f.Kind.about())
		p.line("    %s, %d operations, of which %d acknowledged appends, in %.1f simulated seconds",
			counted(f.Worlds, "world"), f.Operations, f.Acked, f.SimulatedSeconds)
		failed += f.Failed
	}
	p.line("steady and sequential: %s on %d bookies, SSDs and a local network;", r.Shape, steadyBookies)
	p.line("  their simulated time is that of the appends alone")
	if failed > 0 {
		p.line("WARNING: %d worlds failed; run simrun campaign %s", failed, clusterScenario)
	}
	return p.err
}
