package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/reports"
)

// read reads a sample of package reports.
func read(t *testing.T, name string) reports.Result {
	t.Helper()
	r, err := reports.ReadResult(filepath.Join("..", "..", "reports", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hostile is a result whose every text tries to be markup, or to push the page apart.
func hostile(t *testing.T) reports.Result {
	t.Helper()
	const script = `<script>document.title="broken"</script><img src="http://example.org/a" onerror="alert(1)">`
	const quote = `"><svg onload=alert(1)> ' onfocus='alert(1)`
	long := strings.Repeat("unbreakable", 20)
	r := read(t, "bench.json")
	r.Title, r.Command, r.Notes = script, script+long, []string{quote, long}
	r.Settings = []reports.Setting{{Name: script, Value: long}}
	r.Disk.Dir, r.Machine.Model = script, quote
	r.Goals[1].Why, r.Goals[1].Name = script+long, quote
	r.Groups[0].Name, r.Groups[0].Note = quote, script+long
	for i := range r.Groups[0].Cells {
		r.Groups[0].Cells[i].Labels[0].Value = script
	}
	for i := range r.Plots {
		p := &r.Plots[i]
		p.Title, p.Legend, p.X.Label, p.Y.Label = script, quote, quote+long, script+long
		for l := range p.Lines {
			p.Lines[l].Name = script
		}
		for n := range p.X.Names {
			p.X.Names[n] = quote + long
		}
	}
	return r
}

// large is a result with more than a screen holds: many lines, many bars, a table of hundreds of rows and many columns.
func large(t *testing.T) reports.Result {
	t.Helper()
	r := read(t, "bench.json")
	r.Goals, r.Plots = nil, nil
	table := reports.Group{Name: "Everything"}
	for row := range 300 {
		c := reports.Cell{Name: fmt.Sprint("cell ", row), Labels: []reports.Setting{{Name: "row", Value: fmt.Sprint(row)}}}
		for column := range 20 {
			c.Figures = append(c.Figures, reports.NewFigure(fmt.Sprint("figure ", column), "s", reports.ClockVirtual, reports.LowerBetter,
				[]float64{float64(row+1) * 1e-5, float64(row+2) * 1e-5, float64(row+3) * 1e-5}, 1))
		}
		table.Cells = append(table.Cells, c)
	}
	r.Groups = []reports.Group{table}
	for _, log := range []bool{false, true} {
		lines := reports.Plot{
			Name: fmt.Sprint("lines-", log), Title: fmt.Sprint("Twelve lines, logarithmic: ", log),
			X: reports.Axis{Label: "size", Unit: "B", Log: log}, Y: reports.Axis{Label: "time", Unit: "s", Log: log},
		}
		bars := reports.Plot{
			Name: fmt.Sprint("bars-", log), Title: fmt.Sprint("Twenty bars of four colours, logarithmic: ", log), Bars: true,
			X: reports.Axis{Label: "arm"}, Y: reports.Axis{Label: "rate", Unit: "1/s", Log: log},
		}
		for line := range 12 {
			l := reports.Line{Name: fmt.Sprint("line ", line)}
			for x := 1.0; x < 1e6; x *= 8 {
				y := x * float64(line+1) * 1e-6
				l.Points = append(l.Points, reports.Point{X: x, Y: y, Low: y * 0.8, High: y * 1.3})
			}
			lines.Lines = append(lines.Lines, l)
		}
		for name := range 20 {
			bars.X.Names = append(bars.X.Names, fmt.Sprintf("write/3-3-2/%d00B/1000 in flight", name))
		}
		for colour := range 4 {
			l := reports.Line{Name: fmt.Sprint("colour ", colour)}
			for x := range 20 {
				y := float64((x + 1) * (colour + 1) * 1000)
				l.Points = append(l.Points, reports.Point{X: float64(x), Y: y, Low: y, High: y * 1.1})
			}
			bars.Lines = append(bars.Lines, l)
		}
		r.Plots = append(r.Plots, lines, bars)
	}
	return r
}
