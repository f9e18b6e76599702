package reports

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Goal: what an entry costs and what its bytes cost come out of rounds of different sizes, inside their intervals.
func TestCostsAreSplitByEntryAndByKiB(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	g := Group{Name: "g"}
	for _, way := range []string{"batches", "blocked"} {
		for _, size := range []struct {
			text string
			kib  float64
		}{{"100 B", 100.0 / 1024}, {"1 KiB", 1}, {"16 KiB", 16}} {
			var samples []float64
			for range 8 {
				samples = append(samples, (4+0.5*size.kib)*(1+0.05*random.NormFloat64()))
			}
			g.Cells = append(g.Cells, Cell{
				Name: way + size.text, Labels: []Setting{{"way", way}, {"payload", size.text}},
				Figures: []Figure{NewFigure("CPU", "µs", ClockCPU, LowerBetter, samples, 1)},
			})
		}
	}
	g.Cells = append(g.Cells, Cell{Name: "lonely", Labels: []Setting{{"way", "other"}, {"payload", "1 KiB"}}, Figures: g.Cells[0].Figures})
	g.Cells = append(g.Cells, Cell{Name: "sizeless", Labels: []Setting{{"way", "other"}, {"payload", "much"}}, Figures: g.Cells[0].Figures})
	costs := Costs([]Group{g}, "payload", "CPU", 1)
	if len(costs) != 2 || costs[0].Labels[0].Value != "way batches" {
		t.Fatalf("%d lines: %+v", len(costs), costs)
	}
	for _, c := range costs {
		entry, _ := c.Figure(FigurePerEntry)
		kib, _ := c.Figure(FigurePerKiB)
		if entry.Low > 4 || entry.High < 4 || entry.High-entry.Low > 1 || kib.Low > 0.5 || kib.High < 0.5 || kib.High-kib.Low > 0.2 {
			t.Errorf("per entry %+v, per KiB %+v", entry, kib)
		}
	}
	r := sampleBench()
	r.Groups = append(r.Groups, Group{Name: "costs", Cells: costs})
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}

// Goal: a cell that gets slower round by round is named, steady ones are not, however they scatter.
func TestDriftIsWarnedOf(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	r := sampleBench()
	r.Groups = nil
	g := Group{Name: "g"}
	cell := func(name string, of func(i int) float64) {
		var samples []float64
		for i := range 8 {
			samples = append(samples, of(i))
		}
		g.Cells = append(g.Cells, Cell{Name: name, Figures: []Figure{NewFigure("adds", "1/s", ClockWall, HigherBetter, samples, 1)}})
	}
	for i := range 50 {
		cell(fmt.Sprint("steady", i), func(int) float64 { return 1000 * (1 + 0.05*random.NormFloat64()) })
	}
	r.Groups = []Group{g}
	if drifts, checked := r.Drifts(); checked != 50 || len(drifts) > 1 {
		t.Errorf("of %d steady cells drift %+v", checked, drifts)
	}
	g.Cells = nil
	cell("cooling", func(i int) float64 { return 1000 - 60*float64(i) + 5*random.NormFloat64() })
	r.Groups = []Group{g}
	drifts, _ := r.Drifts()
	if len(drifts) != 1 || math.Abs(drifts[0].Change.Value+0.53) > 0.05 {
		t.Fatalf("%+v", drifts)
	}
	if said := strings.Join(r.warnings(), ""); !strings.Contains(said, "1 of 1 cells drifted") || !strings.Contains(said, "adds of cooling by −5") {
		t.Errorf("said: %q", said)
	}
}
