package reports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// samplesMax bounds the samples of one figure: resampling and comparing take time for each. Distributions of single
// operations belong into a histogram, and into the figures as quantiles of a round.
const samplesMax = 10_000

// unitRunesMax bounds units. What is longer is a sentence, and has no place beside a number.
const unitRunesMax = 24

// What one plot can show.
const (
	linesMax  = 30
	pointsMax = 2_000 // of a line
)

// Check says why a result must not be trusted: what a reader could not understand, or could not have been measured.
func (r *Result) Check() error {
	switch {
	case r.Schema < 1 || r.Schema > Schema:
		return fmt.Errorf("its schema is %d, and there are 1 to %d", r.Schema, Schema)
	case r.Kind != KindBench && r.Kind != KindExperiment:
		return fmt.Errorf("its kind is %q, and there are %q and %q", r.Kind, KindBench, KindExperiment)
	case r.ID == "":
		return errors.New("it has no id")
	case r.Title == "":
		return errors.New("it has no title")
	case r.Command == "":
		return errors.New("it does not say by which command it can be repeated")
	case r.Started.IsZero():
		return errors.New("it does not say when it was started")
	case !finite(r.Seconds) || r.Seconds < 0:
		return fmt.Errorf("it took %v seconds", r.Seconds)
	case r.Build.Commit == "" || r.Build.Go == "":
		return errors.New("it does not say which commit was built by which Go")
	case r.Machine.CPUs < 1:
		return fmt.Errorf("its machine has %d processors", r.Machine.CPUs)
	case !finite(r.Machine.OthersShare) || r.Machine.OthersShare > 1 || r.Machine.OthersShare < 0 && r.Machine.OthersShare != OthersUnknown:
		return fmt.Errorf("others used the share %v of its machine", r.Machine.OthersShare)
	}
	if err := checkSettings(r.Settings); err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	return errors.Join(r.checkGroups(), r.checkGoals(), r.checkPlots(), r.checkVerdict())
}

func checkSettings(settings []Setting) error {
	seen := map[string]bool{}
	for _, s := range settings {
		if s.Name == "" {
			return errors.New("one has no name")
		}
		if seen[s.Name] {
			return fmt.Errorf("there are two called %q", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func (r *Result) checkGroups() error {
	groups, cells := map[string]bool{}, map[string]bool{}
	for _, g := range r.Groups {
		if g.Name == "" {
			return errors.New("a group has no name")
		}
		if groups[g.Name] {
			return fmt.Errorf("there are two groups called %q", g.Name)
		}
		groups[g.Name] = true
		for _, c := range g.Cells {
			if c.Name == "" {
				return fmt.Errorf("a cell of group %q has no name", g.Name)
			}
			if cells[c.Name] {
				return fmt.Errorf("there are two cells called %q", c.Name)
			}
			cells[c.Name] = true
			if !slices.Equal(names(c.Labels), names(g.Cells[0].Labels)) {
				return fmt.Errorf("cell %q has other labels than %q, and both are in group %q", c.Name, g.Cells[0].Name, g.Name)
			}
			if err := checkSettings(c.Labels); err != nil {
				return fmt.Errorf("the labels of cell %q: %w", c.Name, err)
			}
			if err := c.checkFigures(); err != nil {
				return fmt.Errorf("cell %q: %w", c.Name, err)
			}
		}
	}
	return nil
}

func names(settings []Setting) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return names
}

func (c *Cell) checkFigures() error {
	seen := map[string]bool{}
	for _, f := range c.Figures {
		if f.Name == "" {
			return errors.New("a figure has no name")
		}
		if seen[f.Name] {
			return fmt.Errorf("there are two figures called %q", f.Name)
		}
		seen[f.Name] = true
		if err := f.check(); err != nil {
			return fmt.Errorf("figure %q: %w", f.Name, err)
		}
	}
	return nil
}

func (f *Figure) check() error {
	switch f.Clock {
	case ClockWall, ClockVirtual, ClockCPU, ClockNone:
	case "":
		return errors.New("it does not say by which clock it was measured")
	default:
		return fmt.Errorf("nothing is known of the clock %q", f.Clock)
	}
	switch f.Better {
	case HigherBetter, LowerBetter, NeitherBetter:
	default:
		return fmt.Errorf("better is %q, and can be %q, %q or nothing", f.Better, HigherBetter, LowerBetter)
	}
	if f.Unit == "" {
		return errors.New("it has no unit; that of counts and ratios is 1")
	}
	if utf8.RuneCountInString(f.Unit) > unitRunesMax {
		return fmt.Errorf("its unit has more than %d letters", unitRunesMax)
	}
	if len(f.Samples) > samplesMax {
		return fmt.Errorf("it has %d samples, more than one a round can be: at most %d", len(f.Samples), samplesMax)
	}
	for _, s := range f.Samples {
		if !finite(s) {
			return fmt.Errorf("one of its samples is %v", s)
		}
	}
	if n := len(f.Samples); n > 0 {
		if median := Median(f.Samples); math.Abs(median-f.Value) > medianError*math.Abs(median) {
			return fmt.Errorf("its value is %v, and the median of its %d samples is %v", f.Value, n, median)
		}
	}
	return checkInterval(f.Value, f.Low, f.High)
}

// medianError is how far, as a part of it, a value may be from the median of its samples: what writing numbers down costs.
const medianError = 1e-9

func checkInterval(value, low, high float64) error {
	if !finite(value) || !finite(low) || !finite(high) {
		return fmt.Errorf("its value is %v and its interval %v to %v", value, low, high)
	}
	if low > value || value > high {
		return fmt.Errorf("its value %v is outside of its interval %v to %v", value, low, high)
	}
	return nil
}

func (r *Result) checkGoals() error {
	for _, g := range r.Goals {
		if g.Name == "" || g.Wanted == "" {
			return errors.New("a goal does not say what is wanted")
		}
		if err := checkInterval(g.Value, g.Low, g.High); err != nil {
			return fmt.Errorf("goal %q: %w", g.Name, err)
		}
		if g.Cell == "" {
			continue // judged from several cells
		}
		cell, ok := r.Cell(g.Cell)
		if !ok {
			return fmt.Errorf("goal %q is about the cell %q, which is not there", g.Name, g.Cell)
		}
		if g.Figure == "" {
			continue
		}
		f, ok := cell.Figure(g.Figure)
		if !ok {
			return fmt.Errorf("goal %q is about the figure %q of cell %q, which is not there", g.Name, g.Figure, g.Cell)
		}
		for _, pair := range [][2]float64{{g.Value, f.Value}, {g.Low, f.Low}, {g.High, f.High}} {
			if math.Abs(pair[0]-pair[1]) > medianError*math.Abs(pair[1]) {
				return fmt.Errorf("goal %q was judged by %v (%v to %v), and the figure %q of cell %q is %v (%v to %v)",
					g.Name, g.Value, g.Low, g.High, g.Figure, g.Cell, f.Value, f.Low, f.High)
			}
		}
	}
	return nil
}

func (r *Result) checkPlots() error {
	seen := map[string]bool{}
	for _, p := range r.Plots {
		if !isPlotName(p.Name) {
			return fmt.Errorf("a plot is called %q; names of plots are lower case letters, digits and dashes", p.Name)
		}
		if seen[p.Name] {
			return fmt.Errorf("there are two plots called %q", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return fmt.Errorf("plot %q: %w", p.Name, err)
		}
	}
	return nil
}

func isPlotName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func (p *Plot) check() error {
	switch {
	case p.Title == "":
		return errors.New("it has no title")
	case p.X.Label == "" || p.Y.Label == "":
		return errors.New("an axis has no label")
	case p.Y.Unit == "" || p.X.Unit == "" && len(p.X.Names) == 0:
		return errors.New("an axis has no unit; that of counts and ratios is 1")
	case utf8.RuneCountInString(p.X.Unit) > unitRunesMax || utf8.RuneCountInString(p.Y.Unit) > unitRunesMax:
		return fmt.Errorf("the unit of an axis has more than %d letters", unitRunesMax)
	case p.Bars && len(p.X.Names) == 0:
		return errors.New("it has bars, and its axis does not name them")
	case len(p.Y.Names) > 0:
		return errors.New("names stand on the axis of values")
	case !finite(p.Ideal):
		return fmt.Errorf("its ideal is %v", p.Ideal)
	}
	if len(p.Lines) > linesMax {
		return fmt.Errorf("it has %d lines, more than can be told apart: at most %d", len(p.Lines), linesMax)
	}
	for _, l := range p.Lines {
		if len(l.Points) > pointsMax {
			return fmt.Errorf("line %q has %d points: at most %d", l.Name, len(l.Points), pointsMax)
		}
		for _, at := range l.Points {
			if err := at.check(p.X.Names); err != nil {
				return fmt.Errorf("line %q: a point: %w", l.Name, err)
			}
		}
	}
	return nil
}

func (at Point) check(names []string) error {
	if !finite(at.X) {
		return fmt.Errorf("it stands at %v", at.X)
	}
	if len(names) > 0 && (at.X != math.Trunc(at.X) || at.X < 0 || at.X >= float64(len(names))) {
		return fmt.Errorf("it stands at %v, and the axis has the %d names 0 to %d", at.X, len(names), len(names)-1)
	}
	return checkInterval(at.Y, at.Low, at.High)
}

func (r *Result) checkVerdict() error {
	if r.Verdict == nil {
		return nil
	}
	switch r.Verdict.Word {
	case Confirmed, Refuted, Undecided:
	default:
		return fmt.Errorf("its verdict is %q, and can be %q, %q or %q", r.Verdict.Word, Confirmed, Refuted, Undecided)
	}
	if r.Verdict.Reason == "" {
		return errors.New("its verdict has no reason")
	}
	return nil
}
