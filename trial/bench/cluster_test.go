package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"lakebed/reports"
)

// TestEachWorldOfAClusterIsMeasured: every append of the worlds without faults is acknowledged, and those of the
// sequential one take as long as a write to the bookies does.
func TestEachWorldOfAClusterIsMeasured(t *testing.T) {
	for _, kind := range ClusterKinds() {
		f, err := MeasureWorld(kind, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind != kind || f.Worlds < 1 || f.Failed > 0 || f.Events < 1000 || f.Acked == 0 || f.SimulatedSeconds <= 0 {
			t.Errorf("%+v", f)
		}
		switch kind {
		case SteadyWorld, SequentialWorld:
			if f.Acked != f.Operations {
				t.Errorf("%s: %d of %d appends were acknowledged", kind, f.Acked, f.Operations)
			}
		case ClusterWorld:
			if f.Acked >= f.Operations {
				t.Errorf("%d appends were acknowledged in %d operations", f.Acked, f.Operations)
			}
		}
		if micros := clusterFigures(f).VirtualMicrosPerAck; kind == SequentialWorld && (micros < 600 || micros > 5000) {
			t.Errorf("an append takes %.0f virtual microseconds; a sync alone takes 600", micros)
		}
	}
}

// TestASteadyWorldRepeats: the same seed gives the same events.
func TestASteadyWorldRepeats(t *testing.T) {
	var a, b WorldFigures
	runSteady(7, steadyWindow, 500, &a)
	runSteady(7, steadyWindow, 500, &b)
	if a != b || a.Failed > 0 || a.Acked != 500 {
		t.Errorf("%+v, then %+v", a, b)
	}
}

// TestFiguresOfClustersFollowFromWhatWasMeasured, and are printed with their goals and their clocks.
func TestFiguresOfClustersFollowFromWhatWasMeasured(t *testing.T) {
	measured := WorldFigures{
		Worlds: 4, Failed: 1, Events: 8000, Operations: 400, Acked: 100, SimulatedSeconds: 3, CPUSeconds: 0.02, WallSeconds: 0.04,
	}
	r, err := MeasureClusters(ClusterKinds(), func(k WorldKind) (WorldFigures, error) {
		f := measured
		f.Kind = k
		return f, nil
	})
	if err != nil || len(r.Worlds) != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	f := r.Worlds[0]
	for what, pair := range map[string][2]float64{
		"CPU ms a world": {f.CPUMillisPerWorld, 5}, "CPU µs an append": {f.CPUMicrosPerAck, 200},
		"CPU µs an operation": {f.CPUMicrosPerOperation, 50}, "events an append": {f.EventsPerAck, 80},
		"simulated by CPU": {f.SimulatedPerCPU, 150}, "simulated by wall": {f.SimulatedPerWall, 75},
		"virtual µs an append": {f.VirtualMicrosPerAck, 30_000},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	result := r.Result("simrun bench cluster-world")
	if err := result.Check(); err != nil || len(result.Goals) != 4 || result.GoalsMet() != 0 {
		t.Errorf("%v, goals %+v", err, result.Goals)
	}
	steady, ok := result.Cell("cluster-world/steady")
	if !ok {
		t.Fatalf("no steady world in %+v", result.Groups)
	}
	for name, clock := range map[string]reports.Clock{
		figureCPUAnAck: reports.ClockCPU, figureSimulatedByWall: reports.ClockWall, "time an append": reports.ClockVirtual,
	} {
		if figure, ok := steady.Figure(name); !ok || figure.Clock != clock {
			t.Errorf("%s: %+v", name, figure)
		}
	}
	if said := strings.Join(result.Notes, "\n"); !strings.Contains(said, "3 WORLDS failed") || !strings.Contains(said, "sequential: one writer") {
		t.Errorf("the notes say:\n%s", said)
	}
}

// TestWorldsOfClustersAreChosenByName.
func TestWorldsOfClustersAreChosenByName(t *testing.T) {
	if kinds, err := ParseClusterKinds(nil); err != nil || len(kinds) != 3 {
		t.Errorf("%v, %v", kinds, err)
	}
	if kinds, err := ParseClusterKinds([]string{"steady"}); err != nil || len(kinds) != 1 || kinds[0] != SteadyWorld {
		t.Errorf("%v, %v", kinds, err)
	}
	if _, err := ParseClusterKinds([]string{"engine"}); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "sequential") {
		t.Error(err)
	}
	broken := errors.New("no processor")
	_, err := MeasureClusters(ClusterKinds(), func(WorldKind) (WorldFigures, error) { return WorldFigures{}, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
