package reports

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is rendered now into testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is rendered differently: if that is intended, run this test with -update, and look at the result", name)
	}
}

func rendered(t *testing.T, render func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Goal: the same results give the same bytes in every form, today and on another machine.
func TestEqualResultsGiveEqualBytes(t *testing.T) {
	both := []Result{sampleBench(), sampleExperiment()}
	before, after := sampleBench(), slower(sampleBench())
	for name, render := range map[string]func(io.Writer) error{
		"page.html":       func(w io.Writer) error { return Page(w, both) },
		"report.md":       func(w io.Writer) error { return MarkdownAll(w, both) },
		"bench.txt":       before.Print,
		"bench.json":      func(w io.Writer) error { return WriteJSON(w, &before) },
		"comparison.txt":  func(w io.Writer) error { return PrintComparison(w, &before, &after) },
		"experiment.json": func(w io.Writer) error { return WriteJSON(w, &both[1]) },
	} {
		first := rendered(t, render)
		if !bytes.Equal(first, rendered(t, render)) {
			t.Errorf("%s is rendered differently the second time", name)
		}
		golden(t, name, first)
	}
}

// slower is a result of the same bench after a change for the worse, on another kernel, with a cell less.
func slower(r Result) Result {
	cells := r.Groups[0].Cells
	for c := range cells {
		for f := range cells[c].Figures {
			figure := &cells[c].Figures[f]
			factor := map[string]float64{"p99": 1.2, "appends": 1 / 1.2}[figure.Name]
			if factor == 0 || len(figure.Samples) == 0 {
				continue
			}
			samples := append([]float64(nil), figure.Samples...)
			for i := range samples {
				samples[i] *= factor
			}
			*figure = NewFigure(figure.Name, figure.Unit, figure.Clock, figure.Better, samples, 1)
		}
	}
	r.Groups[0].Cells = cells[:len(cells)-1]
	r.Machine.Kernel = "6.19.1"
	r.Settings = []Setting{{"journalMaxGroupWaitMSec", "1"}}
	r.Goals, r.Plots = nil, nil
	return r
}

// Goal: a page needs nothing but itself, and nothing in a result can make it do otherwise.
func TestPageHasNoScriptAndNoReference(t *testing.T) {
	hostile := sampleBench()
	const name = `<script>alert("1")</script><img src=http://example.org/x onerror=alert(1)>` + "\x00\x1b[2J\u202egnp.\u200b\u2028"
	hostile.Title, hostile.Command = name, name
	hostile.Groups[0].Name, hostile.Groups[0].Note = name, name
	hostile.Groups[0].Cells[0].Name = name
	hostile.Plots[0].Title, hostile.Plots[0].Legend, hostile.Plots[0].X.Label, hostile.Plots[0].Lines[0].Name = name, name, name, name
	hostile.Plots[2].X.Names[0] = name
	hostile.Notes = []string{name}
	page := string(rendered(t, func(w io.Writer) error { return Page(w, []Result{hostile}) }))
	lower := strings.ToLower(page)
	for _, forbidden := range []string{"<script", "<img", "<iframe", "<link rel=\"stylesheet", "@import", "javascript:", "\x1b", "\u202e", "\u200b", "\u2028"} {
		if strings.Contains(lower, forbidden) {
			t.Errorf("the page holds %q", forbidden)
		}
	}
	for part := range strings.SplitSeq(page, ` href="`) {
		if part != page && !strings.HasPrefix(part, "#") && !strings.HasPrefix(part, "data:,") && !strings.HasPrefix(part, "<!doctype") {
			t.Errorf("the page refers to %.40q", part)
		}
	}
	if strings.Contains(pageStyle, "url(") {
		t.Error("the style of the page refers to a file")
	}
}

// Goal: where there is nothing to draw the page says so instead of drawing nonsense.
func TestPlotsWithoutPointsAndOddRangesAreDrawn(t *testing.T) {
	axis := Axis{Label: "a", Unit: "1"}
	logAxis := Axis{Label: "a", Unit: "1", Log: true}
	named := Axis{Label: "a", Names: []string{"one"}}
	for name, p := range map[string]Plot{
		"no lines":           {X: axis, Y: axis},
		"a line of nothing":  {X: axis, Y: axis, Lines: []Line{{Name: "l"}}},
		"one point":          {X: axis, Y: axis, Lines: []Line{line("l", 5, 5)}},
		"all zero":           {X: axis, Y: axis, Lines: []Line{line("l", 0, 0, 1, 0)}},
		"below zero":         {X: axis, Y: axis, Lines: []Line{line("l", -4, -3, -2, -1)}},
		"equal, logarithmic": {X: logAxis, Y: logAxis, Lines: []Line{line("l", 10, 10, 10, 10)}},
		"zero, logarithmic":  {X: logAxis, Y: logAxis, Lines: []Line{line("l", 0, 0, 10, 10)}},
		"huge and tiny":      {X: logAxis, Y: logAxis, Lines: []Line{line("l", 1e-140, 1e-140, 1e140, 1e140)}},
		"huge, linear":       {X: axis, Y: axis, Lines: []Line{line("l", -1e140, -1e140, 1e140, 1e140)}},
		"near, linear":       {X: axis, Y: axis, Lines: []Line{line("l", 1e15, 1e15, 1e15+1, 1e15+1)}},
		"one bar":            {X: named, Y: logAxis, Bars: true, Lines: []Line{line("l", 0, 10)}, Ideal: -3},
		"a bar below zero":   {X: named, Y: axis, Bars: true, Lines: []Line{line("l", 0, -10)}, Ideal: 3},
		"thirty names":       {X: Axis{Label: "a", Names: manyNames(30)}, Y: axis, Bars: true, Lines: []Line{line("l", 0, 1, 29, 3)}},
	} {
		p.Name, p.Title = "p", name
		r := sampleBench()
		r.Plots = []Plot{p}
		if err := r.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		page := string(rendered(t, func(w io.Writer) error { return Page(w, []Result{r}) }))
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: the picture holds what is not a number", name)
		}
	}
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strings.Repeat("name ", i+1)
	}
	return names
}

// line makes a line of pairs of x and y.
func line(name string, values ...float64) Line {
	l := Line{Name: name}
	for i := 0; i < len(values); i += 2 {
		l.Points = append(l.Points, Point{X: values[i], Y: values[i+1], Low: values[i+1], High: values[i+1]})
	}
	return l
}
