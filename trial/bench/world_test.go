package bench

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEachKindOfWorldIsMeasured; only those with the engine in them have operations.
func TestEachKindOfWorldIsMeasured(t *testing.T) {
	for _, kind := range []WorldKind{BareWorld, EngineWorld, PacedWorld} {
		f, err := MeasureWorld(kind, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if f.Worlds < 1 || f.Events < 1000 || f.CPUSeconds < 0.001 || f.SimulatedSeconds <= 0 {
			t.Errorf("%s: %+v", kind, f)
		}
		if (f.Operations > 0) != (kind != BareWorld) {
			t.Errorf("%s: %d operations", kind, f.Operations)
		}
	}
	if _, err := MeasureWorld("flat", time.Millisecond); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestAPacedWorldHasAboutAsManyOperationsAsItsNameSays.
func TestAPacedWorldHasAboutAsManyOperationsAsItsNameSays(t *testing.T) {
	f, err := MeasureWorld(PacedWorld, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if rate := float64(f.Operations) / f.SimulatedSeconds; rate < pacedPerSecond/2 || rate > pacedPerSecond*2 {
		t.Errorf("%.0f operations a simulated second, want about %d", rate, pacedPerSecond)
	}
}

// TestFiguresOfProcessesArePutTogether: each prints the same, so two together are twice as fast as one.
func TestFiguresOfProcessesArePutTogether(t *testing.T) {
	const printed = `{"kind":"engine","worlds":3,"failed":1,"events":4000,"operations":50,` +
		`"simulated_seconds":2,"cpu_seconds":0.002,"wall_seconds":0.004}`
	echo := func(WorldKind, time.Duration) []string { return []string{"echo", printed} }
	r, err := MeasureWorlds(t.Context(), echo, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if r.Scaling != 2 || r.Engine.EventsPerCPUSecond() != 2e6 || math.Abs(r.CPUMillisPerSimulatedSecond()-4) > 1e-9 {
		t.Errorf("scaling %v, %v events a CPU second, %v ms", r.Scaling, r.Engine.EventsPerCPUSecond(), r.CPUMillisPerSimulatedSecond())
	}
	result := r.Result("simrun bench world")
	if err := result.Check(); err != nil || !strings.Contains(strings.Join(result.Notes, "\n"), "2 TRIALS") {
		t.Errorf("error %v, notes %v", err, result.Notes)
	}
	var met []bool
	for _, g := range result.Goals {
		met = append(met, g.Met)
	}
	if want := []bool{true, true, true, true}; !slices.Equal(met, want) {
		t.Errorf("goals met: %v, want %v", met, want)
	}
	for _, bad := range [][]string{{"false"}, {"echo", "no figures"}, {"/no/such/program"}} {
		command := func(WorldKind, time.Duration) []string { return bad }
		if _, err := MeasureWorlds(t.Context(), command, time.Second); !errors.Is(err, ErrEnvironment) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
