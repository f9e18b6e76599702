package reports

import (
	"fmt"
	"slices"
	"strings"
)

// Figures of the cells that Costs makes.
const (
	FigurePerEntry = "per entry"
	FigurePerKiB   = "per KiB"
	FigureExplains = "explained"
)

// Costs splits a figure of cells that differ in the size of their entries alone into a part for each entry and a part for each
// KiB of it: a straight line through every round of every size, by least squares, with bootstrap intervals. The label holds
// the size, such as "16 KiB". Cells without rounds of the figure are left out, and so is what has a single size.
func Costs(groups []Group, label, figure string, seed uint64) (costs []Cell) {
	type points struct {
		name string
		x, y []float64
		unit string
		kind Clock
	}
	var order []string
	found := map[string]*points{}
	for _, g := range groups {
		for i := range g.Cells {
			c := &g.Cells[i]
			f, ok := c.Figure(figure)
			size, rest, sized := sizeOf(c, label)
			if !ok || !sized || len(f.Samples) == 0 {
				continue
			}
			key := g.Name + "\x00" + rest
			if found[key] == nil {
				found[key] = &points{name: rest, unit: f.Unit, kind: f.Clock}
				order = append(order, key)
			}
			for _, sample := range f.Samples {
				found[key].x, found[key].y = append(found[key].x, size/bytesPerKiB), append(found[key].y, sample)
			}
		}
	}
	for _, key := range order {
		p := found[key]
		line, ok := FitLine(p.x, p.y, seed)
		if !ok {
			continue
		}
		of := func(name string, i Interval) Figure {
			return Figure{Name: name, Unit: p.unit, Clock: p.kind, Better: LowerBetter, Value: i.Value, Low: i.Low, High: i.High}
		}
		costs = append(costs, Cell{
			Name: fmt.Sprintf("cost/%s/%d", strings.ToLower(figure), len(costs)+1), Labels: []Setting{{Name: "cells", Value: p.name}},
			Figures: []Figure{
				of(FigurePerEntry, line.Intercept), of(FigurePerKiB, line.Slope),
				SingleFigure(FigureExplains, "1", ClockNone, NeitherBetter, line.R2),
			},
		})
	}
	return costs
}

const bytesPerKiB = 1 << 10

// sizeOf reads a label that is a size, and puts the others together: cells that share them differ in the size alone.
func sizeOf(c *Cell, label string) (bytes float64, rest string, ok bool) {
	at := slices.IndexFunc(c.Labels, func(s Setting) bool { return s.Name == label })
	if at < 0 {
		return 0, "", false
	}
	var unit string
	if _, err := fmt.Sscan(c.Labels[at].Value, &bytes, &unit); err != nil {
		return 0, "", false
	}
	switch unit {
	case "KiB":
		bytes *= bytesPerKiB
	case "B":
	default:
		return 0, "", false
	}
	return bytes, settingsText(slices.Delete(slices.Clone(c.Labels), at, at+1)), true
}
