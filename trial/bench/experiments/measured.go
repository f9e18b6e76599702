package experiments

import (
	"fmt"
	"time"

	"lakebed/reports"
)

// measured gathers samples and makes a result's groups of them, in the order in which they were named first.
type measured struct {
	groups []*group
	ready  []reports.Group // made by others
	plots  []reports.Plot
}

// group is a table under way.
type group struct {
	name, note string
	cells      []*cell
}

// cell is one arm under way.
type cell struct {
	name    string
	labels  []reports.Setting
	figures []*figure
}

// quantity says what a figure is of.
type quantity struct {
	name   string
	unit   string
	clock  reports.Clock
	better reports.Better
}

type figure struct {
	quantity
	samples []float64
}

// group returns the table of this name, which has a sentence under it.
func (m *measured) group(name, note string) *group {
	for _, g := range m.groups {
		if g.name == name {
			return g
		}
	}
	g := &group{name: name, note: note}
	m.groups = append(m.groups, g)
	return g
}

// cell returns the arm of this name. Labels are names and values in turn, the same names for all cells of a group.
func (g *group) cell(name string, labels ...string) *cell {
	for _, c := range g.cells {
		if c.name == name {
			return c
		}
	}
	c := &cell{name: name}
	for i := 0; i+1 < len(labels); i += 2 {
		c.labels = append(c.labels, reports.Setting{Name: labels[i], Value: labels[i+1]})
	}
	g.cells = append(g.cells, c)
	return c
}

// sample adds one value.
func (c *cell) sample(q quantity, value float64) {
	for _, f := range c.figures {
		if f.name == q.name {
			f.samples = append(f.samples, value)
			return
		}
	}
	c.figures = append(c.figures, &figure{quantity: q, samples: []float64{value}})
}

// add counts: one value that rises, instead of a sample each time.
func (c *cell) add(q quantity, yes bool) {
	n := 0.0
	if yes {
		n = 1
	}
	for _, f := range c.figures {
		if f.name == q.name {
			f.samples[0] += n
			return
		}
	}
	c.sample(q, n)
}

// result turns what was gathered into groups.
func (m *measured) result(seed uint64) []reports.Group {
	var all []reports.Group
	for _, g := range m.groups {
		out := reports.Group{Name: g.name, Note: g.note}
		for _, c := range g.cells {
			made := reports.Cell{Name: c.name, Labels: c.labels}
			for _, f := range c.figures {
				made.Figures = append(made.Figures, reports.NewFigure(f.name, f.unit, f.clock, f.better, f.samples, seed))
			}
			out.Cells = append(out.Cells, made)
		}
		all = append(all, out)
	}
	return append(all, m.ready...)
}

// lines draws one figure of many cells over a number of theirs: a line for each value of the label line, at the points
// that x gives.
func (m *measured) lines(seed uint64, plot reports.Plot, groupName string, q quantity, line string, x func(labels map[string]string) float64) {
	byName := map[string]int{}
	for _, g := range m.result(seed) {
		if g.Name != groupName {
			continue
		}
		for _, c := range g.Cells {
			labels := map[string]string{}
			for _, l := range c.Labels {
				labels[l.Name] = l.Value
			}
			f, found := c.Figure(q.name)
			if !found {
				continue
			}
			at, known := byName[labels[line]]
			if !known {
				at = len(plot.Lines)
				byName[labels[line]] = at
				plot.Lines = append(plot.Lines, reports.Line{Name: labels[line]})
			}
			plot.Lines[at].Points = append(plot.Lines[at].Points,
				reports.Point{X: x(labels), Y: f.Value, Low: f.Low, High: f.High})
		}
	}
	plot.Legend = line
	m.plots = append(m.plots, plot)
}

// millis is a duration as figures have it.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// count is a quantity of no clock.
func count(name string, better reports.Better) quantity {
	return quantity{name: name, unit: "1", clock: reports.ClockNone, better: better}
}

func times(factor int) string { return fmt.Sprintf("%d×", factor) }
