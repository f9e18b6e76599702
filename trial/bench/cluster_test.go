package bench

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
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
	if err != nil || len(r.Worlds) != 3 || r.Shape != "5/3/2" {
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
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"µs/ack", "sim/wall", "ms and µs: CPU", "WARNING: 3 worlds failed", "sequential", "CPU time"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, text.String())
		}
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"kind", "acked_appends", "cpu_micros_per_acked_append", "simulated_seconds_per_wall_second", "cpu_millis_per_world"} {
		if !strings.Contains(string(encoded), `"`+key+`":`) {
			t.Errorf("%s is missing in %s", key, encoded)
		}
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
