package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// table is a table before it has a look: what text, Markdown and pages have in common.
type table struct {
	name    string
	note    string
	common  []Setting // labels that all rows share; they stand above the table instead of in it
	columns []column
	rows    [][]entry
}

// column is the head of one column.
type column struct {
	name     string
	unit     string
	clock    string // in words; empty for labels
	figure   bool   // its entries are numbers, aligned to the right
	interval bool   // some of its entries have an interval
	head     bool   // its entries say what their rows are about
	words    bool   // its entries may be sentences
}

// entry is one field. An interval is given twice: in full, and as the share that its farther end is away from the value.
type entry struct {
	text     string
	interval string // "low to high"; empty if there is none
	spread   string // "±2 %"
	tone     string // "good" or "bad", where the text is a verdict
}

// clockWords says by which clock a column was measured, as a reader reads it.
func clockWords(c Clock) string {
	switch c {
	case ClockWall:
		return "wall clock"
	case ClockVirtual:
		return "virtual clock"
	case ClockCPU:
		return "CPU time"
	default:
		return "no clock"
	}
}

// detail is a column's unit and clock in one line.
func (c column) detail() string {
	switch {
	case c.unit == "":
		return c.clock
	case c.clock == "":
		return c.unit
	default:
		return c.unit + ", " + c.clock
	}
}

// columnKey is what makes figures of different cells one column.
type columnKey struct {
	name, unit string
	clock      Clock
}

// tableOf lays a group out: a column a label, a column a figure.
func tableOf(g *Group) table {
	t := table{name: g.Name, note: g.Note}
	shown := t.labelColumns(g)
	var keys []columnKey
	values := map[columnKey][]float64{}
	for _, c := range g.Cells {
		for _, f := range c.Figures {
			k := columnKey{f.Name, f.Unit, f.Clock}
			if _, ok := values[k]; !ok {
				keys = append(keys, k)
			}
			values[k] = append(values[k], f.Value)
		}
	}
	scales := make([]scale, len(keys))
	for i, k := range keys {
		scales[i] = scaleOf(k.unit, values[k])
		t.columns = append(t.columns, column{name: k.name, unit: scales[i].unit, clock: clockWords(k.clock), figure: true})
	}
	for _, c := range g.Cells {
		row := labelEntries(c, shown)
		for i, k := range keys {
			e := entry{}
			if f, ok := c.Figure(k.name); ok && f.Unit == k.unit && f.Clock == k.clock {
				e = figureEntry(f, scales[i])
			}
			t.columns[len(row)].interval = t.columns[len(row)].interval || e.interval != ""
			row = append(row, e)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// labelColumns makes the columns of the labels that tell the rows apart, or of the cells' names if no label does.
func (t *table) labelColumns(g *Group) (shown []int) {
	if len(g.Cells) == 0 {
		return nil
	}
	for i, label := range g.Cells[0].Labels {
		same := !slices.ContainsFunc(g.Cells, func(c Cell) bool { return c.Labels[i].Value != label.Value })
		if same && len(g.Cells) > 1 {
			t.common = append(t.common, label)
			continue
		}
		shown = append(shown, i)
		t.columns = append(t.columns, column{name: label.Name, head: true})
	}
	if len(shown) == 0 {
		t.columns = append(t.columns, column{name: "cell", head: true})
	}
	return shown
}

func labelEntries(c Cell, shown []int) (row []entry) {
	for _, i := range shown {
		row = append(row, entry{text: c.Labels[i].Value})
	}
	if len(shown) == 0 {
		row = append(row, entry{text: c.Name})
	}
	return row
}

func figureEntry(f Figure, s scale) entry {
	e := entry{text: s.text(f.Value)}
	if f.Low != f.Value || f.High != f.Value {
		e.interval = s.text(f.Low) + " to " + s.text(f.High)
		e.spread = spreadText(f.Value, f.Low, f.High)
	}
	return e
}

// spreadText is the farther end of an interval as a share of the value.
func spreadText(value, low, high float64) string {
	if value == 0 {
		return ""
	}
	percent := 100 * max(high-value, value-low) / math.Abs(value)
	if percent >= 10 || percent == 0 {
		return fmt.Sprintf("±%.0f %%", percent)
	}
	return fmt.Sprintf("±%.1f %%", percent)
}

// commonText is what all rows of a table share.
func (t *table) commonText() string { return settingsText(t.common) }

func settingsText(settings []Setting) string {
	var parts []string
	for _, s := range settings {
		parts = append(parts, s.Name+" "+s.Value)
	}
	return strings.Join(parts, ", ")
}

// caption says how to read the figures of a table.
func (t *table) caption() string {
	for _, c := range t.columns {
		if c.interval {
			return "Medians, with their 95 % intervals"
		}
	}
	return "Measured once"
}

// goalTable lays the goals out, in their order.
func (r *Result) goalTable() table {
	t := table{name: "Goals", columns: []column{
		{name: "outcome"}, {name: "goal", head: true, words: true}, {name: "wanted"}, {name: "value", figure: true, interval: true}, {name: "unit"}, {name: "clock"},
	}}
	for _, g := range r.Goals {
		figure := r.figureOf(g)
		s := scaleOf(figure.Unit, []float64{g.Value})
		value := figureEntry(Figure{Value: g.Value, Low: g.Low, High: g.High}, s)
		clock := ""
		if figure.Clock != "" {
			clock = clockWords(figure.Clock)
		}
		t.rows = append(t.rows, []entry{
			goalEntry(g), {text: g.Name}, {text: g.Wanted}, value, {text: s.unit}, {text: clock},
		})
	}
	return t
}

func goalEntry(g Goal) entry {
	if g.Met {
		return entry{text: "met", tone: "good"}
	}
	return entry{text: "MISSED", tone: "bad"}
}

// figureOf finds what a goal is about; nothing for a goal that was judged from several cells.
func (r *Result) figureOf(g Goal) Figure {
	if cell, ok := r.Cell(g.Cell); ok {
		f, _ := cell.Figure(g.Figure)
		return f
	}
	return Figure{}
}

// plotTable lists the points that a plot shows, a column a line, in the unit of its axis.
func plotTable(p *Plot) table {
	t := table{name: p.Title, columns: []column{{name: p.X.Label, unit: plainUnit(p.X.Unit), head: true}}}
	var xs []float64
	points := make([]map[float64]Point, len(p.Lines))
	y := yScale(p)
	for i, l := range p.Lines {
		t.columns = append(t.columns, column{name: cmp.Or(l.Name, p.Y.Label), unit: y.unit, figure: true})
		points[i] = map[float64]Point{}
		for _, at := range l.Points {
			xs, points[i][at.X] = append(xs, at.X), at
		}
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		row := []entry{{text: positionText(x)}}
		if len(p.X.Names) > 0 {
			row[0].text = p.X.Names[int(x)]
		}
		for i := range p.Lines {
			e := entry{}
			if at, ok := points[i][x]; ok {
				e = figureEntry(Figure{Value: at.Y, Low: at.Low, High: at.High}, y)
			}
			t.columns[i+1].interval = t.columns[i+1].interval || e.interval != ""
			row = append(row, e)
		}
		t.rows = append(t.rows, row)
	}
	return t
}
