package reports

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// grid draws faint lines at the labelled ticks of the values.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && t.Value > p.Y.Min {
			c.StrokeLine2(draw.LineStyle{Color: mark(markGrid), Width: 0.8}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
}

// level is a line across at one value.
type level float64

// Plot implements plot.Plotter.
func (l level) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(levelStyle(), c.Min.X, y(float64(l)), c.Max.X, y(float64(l)))
}

func levelStyle() draw.LineStyle {
	return draw.LineStyle{Color: mark(markInk), Width: 1.2, Dashes: []vg.Length{1, 4}}
}

// curve is one line with its signs and the bars of its intervals.
type curve struct {
	line  Line
	index int
}

func (s curve) style() draw.LineStyle {
	return draw.LineStyle{Color: seriesMark(s.index), Width: lineWidth, Dashes: dashes(s.index)}
}

// Plot implements plot.Plotter.
func (s curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var path []vg.Point
	for _, at := range s.line.Points {
		path = append(path, vg.Point{X: x(at.X), Y: y(at.Y)})
	}
	c.StrokeLines(s.style(), path)
	for i, at := range s.line.Points {
		interval(c, p, seriesMark(s.index), path[i].X, at)
		c.DrawGlyphNoClip(sign(s.index), path[i])
	}
}

// interval draws the interval of a point. An end at zero or below has no place on a logarithmic axis, and is cut there.
func interval(c draw.Canvas, p *plot.Plot, colour color.Color, at vg.Length, point Point) {
	if point.Low == point.High {
		return
	}
	_, y := p.Transforms(&c)
	line := draw.LineStyle{Color: colour, Width: 1.2}
	low, high := max(point.Low, p.Y.Min), point.High
	c.StrokeLine2(line, at, y(low), at, y(high))
	c.StrokeLine2(line, at-whiskerHalf, y(high), at+whiskerHalf, y(high))
	if low == point.Low {
		c.StrokeLine2(line, at-whiskerHalf, y(low), at+whiskerHalf, y(low))
	}
}

// sign is the shape that marks the points of a line.
func sign(i int) draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{},
		hollow{draw.CircleGlyph{}, draw.RingGlyph{}}, hollow{draw.BoxGlyph{}, draw.SquareGlyph{}}, hollow{draw.PyramidGlyph{}, draw.TriangleGlyph{}},
		draw.CrossGlyph{},
	}
	return draw.GlyphStyle{Color: seriesMark(i), Radius: signRadius, Shape: shapes[i%len(shapes)]}
}

// hollow is a shape that hides the line behind it.
type hollow struct{ ground, outline draw.GlyphDrawer }

// DrawGlyph implements draw.GlyphDrawer.
func (h hollow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	ground := style
	ground.Color = mark(markPaper)
	h.ground.DrawGlyph(c, ground, at)
	h.outline.DrawGlyph(c, style, at)
}

// bars are the bars of one colour: at each name, side by side with those of the other lines.
type bars struct {
	line      Line
	index, of int
}

const barsShare = 0.8 // of the room between two names

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := barsShare / float64(b.of)
	foot := y(max(0, p.Y.Min))
	for _, at := range b.line.Points {
		left := at.X - barsShare/2 + float64(b.index)*width
		from, to := x(left)+0.5, x(left+width)-0.5
		top := y(at.Y)
		c.FillPolygon(seriesMark(b.index), rectangle(from, to, foot, top))
		stripe(c, b.index, from, to, foot, top)
		interval(c, p, mark(markInk), (from+to)/2, at)
	}
}

func rectangle(left, right, bottom, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}}
}

// stripe tells bars apart without colour: each second has stripes across, each third along. Narrow bars stay plain.
func stripe(c draw.Canvas, index int, left, right, bottom, top vg.Length) {
	const step, narrow = 5, 8
	line := draw.LineStyle{Color: mark(markPaper), Width: 1}
	low, high := min(bottom, top), max(bottom, top)
	if right-left < narrow {
		return
	}
	switch index % 3 {
	case 1:
		for at := low + step; at < high; at += step {
			c.StrokeLine2(line, left, at, right, at)
		}
	case 2:
		for at := left + step; at < right-1; at += step {
			c.StrokeLine2(line, at, low, at, high)
		}
	}
}
