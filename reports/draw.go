package reports

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a plot, in units of its own. A page scales it and does not let it get so small that its text cannot be read.
const (
	plotWidth   = 640
	plotHeight  = 380
	tickSize    = 12
	labelSize   = 13
	labelRoom   = 24
	edge        = 6
	labelRunes  = 120 // more do not fit, whatever they are
	signRadius  = 3.6
	lineWidth   = 2
	whiskerHalf = 3.5
)

// drawing is a plot with what its drawing has to know: the range of its axes, and how its values are scaled.
type drawing struct {
	plot      *Plot
	y         scale
	lines     []Line // scaled, without points that a logarithmic axis cannot show
	leftOut   int
	low, high struct{ x, y float64 }
}

// newDrawing scales the values. There is nothing to draw if no point is left.
func newDrawing(p *Plot) *drawing {
	d := &drawing{plot: p, y: yScale(p)}
	for _, l := range p.Lines {
		kept := Line{Name: l.Name}
		for _, at := range l.Points {
			at.Y, at.Low, at.High = at.Y*d.y.factor, at.Low*d.y.factor, at.High*d.y.factor
			if !d.showable(at) {
				d.leftOut++
				continue
			}
			kept.Points = append(kept.Points, at)
		}
		d.lines = append(d.lines, kept)
	}
	return d
}

// showable says whether the axes can show a point.
func (d *drawing) showable(at Point) bool {
	return !(d.plot.X.Log && at.X <= 0 && len(d.plot.X.Names) == 0) && !(d.plot.Y.Log && at.Y <= 0)
}

// yScale is the unit of the values of a plot, which its table shares.
func yScale(p *Plot) scale {
	var values []float64
	for _, l := range p.Lines {
		for _, at := range l.Points {
			values = append(values, at.Y)
		}
	}
	return scaleOf(p.Y.Unit, values)
}

func (d *drawing) empty() bool {
	for _, l := range d.lines {
		if len(l.Points) > 0 {
			return false
		}
	}
	return true
}

// svg draws the plot as the inside of an svg element with the size above.
func (d *drawing) svg() []byte {
	d.ranges()
	p := plot.New()
	p.BackgroundColor = nil
	d.axis(&p.X, d.plot.X.Log && len(d.plot.X.Names) == 0)
	d.axis(&p.Y, d.plot.Y.Log)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = d.low.x, d.high.x, d.low.y, d.high.y
	if names := d.plot.X.Names; len(names) > 0 {
		p.X.Tick.Marker = nameTicks(names, p.X.Tick.Label)
		if namesStand(names) {
			p.X.Tick.Label.Rotation = math.Pi / 2
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XRight, text.YCenter
		}
	}
	p.Add(grid{})
	for i, l := range d.lines {
		if d.plot.Bars {
			p.Add(bars{line: l, index: i, of: len(d.lines)})
		} else {
			p.Add(curve{line: l, index: i})
		}
	}
	if ideal := d.plot.Ideal * d.y.factor; d.idealShown() {
		p.Add(level(ideal))
	}
	return render(plotWidth, plotHeight, func(c draw.Canvas) { d.paint(c, p) })
}

// paint draws the plot and then the labels of its axes. gonum would place that of a logarithmic axis where it has no room
// and leave a gap at the edge.
func (d *drawing) paint(c draw.Canvas, p *plot.Plot) {
	style := p.X.Label.TextStyle
	styleText(&style, labelSize)
	style.XAlign, style.YAlign = text.XCenter, text.YBottom
	inner := draw.Crop(c, labelRoom, -edge, labelRoom, -edge) // half a letter of a tick at the end of an axis
	p.Draw(inner)
	data := p.DataCanvas(inner)
	c.FillText(style, vg.Point{X: data.Center().X, Y: c.Min.Y + labelRoom/4}, axisLabel(d.plot.X.Label, plainUnit(d.plot.X.Unit), within(style, data.Size().X)))
	y := axisLabel(d.plot.Y.Label, d.y.unit, within(style, data.Size().Y))
	style.Rotation = math.Pi / 2
	style.YAlign = text.YTop
	c.FillText(style, vg.Point{X: c.Min.X + edge/2, Y: data.Center().Y}, y)
}

// axisLabel names an axis. If that is too long the unit stays: without it the numbers mean nothing.
func axisLabel(label, unit string, fits func(string) bool) string {
	if unit != "" {
		unit = " (" + printable(unit) + ")"
	}
	return shortened(printable(label), func(s string) bool { return fits(s + unit) }) + unit
}

// idealShown says whether there is an ideal, and whether the axis can show it.
func (d *drawing) idealShown() bool {
	return d.plot.Ideal != 0 && (!d.plot.Y.Log || d.plot.Ideal > 0)
}

// render draws on a canvas and returns what is between the tags of its svg element.
func render(width, height vg.Length, paint func(draw.Canvas)) []byte {
	canvas := vgsvg.NewWith(vgsvg.UseWH(width, height))
	paint(draw.New(canvas))
	var buffer bytes.Buffer
	_, _ = canvas.WriteTo(&buffer) // into memory
	inside := buffer.Bytes()
	if at := bytes.Index(inside, []byte("<svg")); at >= 0 {
		inside = inside[at:]
	}
	if at := bytes.IndexByte(inside, '>'); at >= 0 {
		inside = inside[at+1:]
	}
	inside, _, _ = bytes.Cut(inside, []byte("</svg>"))
	return themed(bytes.ReplaceAll(bytes.TrimSpace(inside), []byte("\n\t"), []byte(" "))) // attributes stand on lines of their own
}

// ranges finds where the axes begin and end: values start at zero on a linear axis, for a cut axis makes small
// differences look large; a logarithmic one goes from a 1, 2 or 5 to another.
func (d *drawing) ranges() {
	d.low.x, d.low.y = math.Inf(1), math.Inf(1)
	d.high.x, d.high.y = math.Inf(-1), math.Inf(-1)
	see := func(y float64) {
		if !d.plot.Y.Log || y > 0 {
			d.low.y, d.high.y = min(d.low.y, y), max(d.high.y, y)
		}
	}
	for _, l := range d.lines {
		for _, at := range l.Points {
			d.low.x, d.high.x = min(d.low.x, at.X), max(d.high.x, at.X)
			see(at.Low)
			see(at.Y)
			see(at.High)
		}
	}
	if d.idealShown() {
		see(d.plot.Ideal * d.y.factor)
	}
	d.rangeX()
	if d.plot.Y.Log {
		low, high := d.low.y, d.high.y
		d.low.y, d.high.y = logBelow(low), logAbove(high)
		if d.plot.Bars && d.low.y >= low { // the lowest bar must have a height
			d.low.y = logBelow(low / 2)
		}
		if d.high.y <= d.low.y {
			d.high.y = logAbove(2 * d.low.y)
		}
		return
	}
	d.low.y, d.high.y = min(0, d.low.y), max(0, d.high.y)
	if d.low.y == d.high.y {
		d.high.y = 1
	}
	step := niceStep(d.high.y - d.low.y)
	d.low.y, d.high.y = math.Floor(d.low.y/step)*step, math.Ceil(d.high.y/step)*step
}

func (d *drawing) rangeX() {
	switch {
	case len(d.plot.X.Names) > 0:
		d.low.x, d.high.x = -0.5, float64(len(d.plot.X.Names))-0.5
	case d.plot.X.Log:
		const margin = 1.15
		d.low.x, d.high.x = d.low.x/margin, d.high.x*margin
	default:
		margin := (d.high.x - d.low.x) / 30
		if margin == 0 {
			margin = max(0.5, math.Abs(d.low.x)/2)
		}
		d.low.x, d.high.x = d.low.x-margin, d.high.x+margin
	}
}

// axis styles an axis.
func (d *drawing) axis(a *plot.Axis, log bool) {
	a.Padding = 0
	styleText(&a.Tick.Label, tickSize)
	line := draw.LineStyle{Color: mark(markInk), Width: 0.8}
	a.LineStyle, a.Tick.LineStyle = line, line
	a.Tick.Length = 5
	a.Tick.Marker = ticker{log: log}
	if log {
		a.Scale = plot.LogScale{}
	}
}

func styleText(s *text.Style, size font.Length) {
	s.Color = mark(markInk)
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

const (
	namesWidth   = 540 // of the axis, at least
	namesGap     = 8   // between one name and the next
	nameLinesMax = 3
	nameRoomMin  = 52  // in less no name can be read
	nameStanding = 130 // of a name that stands upright
)

// nameRoom is how wide a name may be.
func nameRoom(names []string) vg.Length { return namesWidth/vg.Length(len(names)) - namesGap }

// namesStand says whether names must stand upright to have room.
func namesStand(names []string) bool { return nameRoom(names) < nameRoomMin }

// nameTicks puts names at 0, 1, 2, …; what does not fit is shortened, for the table beside has it in full.
func nameTicks(names []string, style text.Style) plot.ConstantTicks {
	style.Rotation = 0 // widths are asked for along the text
	var ticks plot.ConstantTicks
	for i, name := range names {
		name = printable(name)
		if namesStand(names) {
			name = shortened(name, within(style, nameStanding))
		} else {
			name = strings.Join(broken(name, within(style, nameRoom(names))), "\n")
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	return ticks
}

// within makes a test whether a text is narrow enough.
func within(style text.Style, width vg.Length) func(string) bool {
	return func(s string) bool { return style.Width(s) <= width }
}

// shortened cuts a text that does not fit. Past a bound it is not even measured.
func shortened(s string, fits func(string) bool) string {
	r := []rune(s)
	if len(r) <= labelRunes && fits(s) {
		return s
	}
	return string(r[:fitting(r, func(s string) bool { return fits(s + "…") })]) + "…"
}

// fitting is how many of some letters fit; one always does.
func fitting(r []rune, fits func(string) bool) int {
	return max(1, sort.Search(min(len(r), labelRunes), func(n int) bool { return !fits(string(r[:n+1])) }))
}

// broken breaks a name into lines, behind blanks, slashes, commas and dashes where it can.
func broken(name string, fits func(string) bool) (lines []string) {
	rest := []rune(name)
	for len(lines) < nameLinesMax-1 {
		at := fitting(rest, fits)
		if len(rest) == 0 || at == len(rest) {
			break
		}
		for i := at; i > at/2; i-- {
			if strings.ContainsRune(" /,-", rest[i-1]) {
				at = i
				break
			}
		}
		lines = append(lines, strings.TrimSpace(string(rest[:at])))
		rest = rest[at:]
	}
	return append(lines, shortened(strings.TrimSpace(string(rest)), fits))
}

// describe says in words what a picture shows, for those who do not see it.
func (d *drawing) describe() string {
	kind := "Lines"
	if d.plot.Bars {
		kind = "Bars"
	}
	text := fmt.Sprintf("%s. %s of %s by %s", d.plot.Title, kind, axisWords(d.plot.Y, d.y.unit), axisWords(d.plot.X, plainUnit(d.plot.X.Unit)))
	for _, l := range d.lines {
		if len(l.Points) == 0 {
			continue
		}
		first, last := l.Points[0], l.Points[len(l.Points)-1]
		text += fmt.Sprintf("; %s: %s at %s to %s at %s", l.Name,
			numberText(first.Y), d.position(first.X), numberText(last.Y), d.position(last.X))
	}
	return text + ". The table holds every value."
}

func (d *drawing) position(x float64) string {
	if len(d.plot.X.Names) > 0 {
		return d.plot.X.Names[int(x)]
	}
	return positionText(x)
}

func axisWords(a Axis, unit string) string {
	words := a.Label
	if unit != "" {
		words += " in " + unit
	}
	if a.Log {
		words += ", logarithmic"
	}
	return words
}
