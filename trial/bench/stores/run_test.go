package stores

import (
	"strings"
	"testing"
	"time"
)

// TestAShortRunHasEveryFigure: each store, a mode that syncs and one that does not, few and many partitions, and every way of
// reading, in rounds that say nothing; the figures are there, groups and open files were counted, and the goals are judged.
func TestAShortRunHasEveryFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("the engine's own tests have these stores under the race detector")
	}
	appends := 0
	for _, only := range []string{"group/1/1KiB/64", "never/10/1KiB/64", "read/"} {
		f, err := Run(t.Context(), Options{Dir: t.TempDir(), Only: only, Seed: 1, Length: 5 * time.Millisecond, tiny: true})
		if err != nil {
			t.Fatal(err)
		}
		if only == "group/1/1KiB/64" && len(f.Goals) != 2 {
			t.Errorf("%d goals", len(f.Goals))
		}
		for _, g := range f.Groups {
			for _, c := range g.Cells {
				for _, name := range []string{"messages", "p50", "CPU", figureFiles} {
					if fig, ok := c.Figure(name); !ok || fig.Value <= 0 && name != "CPU" {
						t.Errorf("%s: %s is %v", c.Name, name, fig.Value)
					}
				}
				if strings.Contains(c.Name, "append") {
					appends++
					if fig, ok := c.Figure(figureByRaw); !ok || fig.Value <= 0 {
						t.Errorf("%s: by raw is %v", c.Name, fig.Value)
					}
				}
			}
		}
	}
	if appends != 6 {
		t.Errorf("%d cells of appends", appends)
	}
}

// TestEveryCellHasAName of its own, by which it can be asked for.
func TestEveryCellHasAName(t *testing.T) {
	seen := map[string]bool{}
	plan := Options{Thorough: true}.Plan()
	for _, c := range plan.Appends {
		if seen[c.Name()] {
			t.Errorf("%s twice", c.Name())
		}
		seen[c.Name()] = true
	}
	for _, c := range plan.Reads {
		seen[c.Name()] = true
	}
	if len(seen) != plan.Steps() || len(seen) < 300 {
		t.Errorf("%d names of %d cells", len(seen), plan.Steps())
	}
}
