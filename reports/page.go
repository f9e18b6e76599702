package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

//go:embed page.css
var pageStyle string

// Style is the style of the pages, for other pages that should look like them.
func Style() string { return pageStyle }

//go:embed page.html
var pageText string

// pageTemplate is the page; what it is given is in pageData.
var pageTemplate = template.Must(template.New("").Funcs(template.FuncMap{"heading": heading}).Parse(pageText))

// heading writes a heading of a level below the page's own, pushed down by shift where the page has several results.
func heading(level, shift int, id, text string) template.HTML {
	attribute := ""
	if id != "" {
		attribute = ` id="` + template.HTMLEscapeString(id) + `"`
	}
	return template.HTML(fmt.Sprintf("<h%d%s>%s</h%d>", level+shift, attribute, template.HTMLEscapeString(text), level+shift))
}

type pageData struct {
	Title   string
	Style   template.CSS
	Many    bool
	Results []pageResult
}

type pageResult struct {
	ID, Heading        string
	Shift              int // 1 if the result has a heading of its own below that of the page
	Word, Tone, Reason string
	Warnings           []string
	Command            string
	Goals              *pageTable
	Missed             []Goal
	Plots              []pagePlot
	Tables             []pageTable
	Facts              []pageFact
	Notes              []string
}

type pageFact struct{ Name, Value string }

type pagePlot struct {
	ID, Title string
	Shift     int
	Picture   template.HTML
	Legend    []pageSwatch
	LegendOf  string
	Table     pageTable
	LeftOut   string
}

type pageSwatch struct {
	Name   string
	Swatch template.HTML
}

type pageTable struct {
	ID, Name, Caption string
	Heading           string // the id of the heading above
	Common, Note      string
	Shift             int
	Beside            bool // a plot
	Columns           []pageColumn
	Rows              [][]pageEntry
}

type pageColumn struct {
	Name, Detail string
	Figure       bool
}

type pageEntry struct {
	Text, Interval, Class string
	Head                  bool
}

// Page writes one or several results as one HTML document that needs nothing but itself: no script, no other file, no
// network. The same results give the same bytes.
func Page(w io.Writer, results []Result) error {
	data := pageData{Title: pageTitle(results), Style: template.CSS(pageStyle), Many: len(results) > 1}
	for i := range results {
		data.Results = append(data.Results, pageOf(&results[i], i, data.Many))
	}
	var page bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&page, "page", data); err != nil {
		return fmt.Errorf("write the page of %d results: %w", len(results), err)
	}
	_, err := w.Write(bytes.Map(visible, page.Bytes()))
	return err
}

// visible replaces what no text of a page may hold, line breaks apart.
func visible(r rune) rune {
	if r != '\n' && isHidden(r) {
		return '?'
	}
	return r
}

func pageOf(r *Result, index int, many bool) pageResult {
	p := pageResult{
		ID: fmt.Sprintf("r%d", index+1), Heading: r.heading(), Warnings: r.warnings(), Command: r.Command, Notes: r.Notes,
	}
	if many {
		p.Shift = 1
	}
	p.Word, p.Tone, p.Reason = pageVerdict(r)
	if len(r.Goals) > 0 {
		goals := pageTableOf(r.goalTable(), p.ID+"-goals", p.ID+"-goals-h", p.Shift)
		p.Goals = &goals
	}
	for _, g := range r.Goals {
		if !g.Met && g.Why != "" {
			p.Missed = append(p.Missed, g)
		}
	}
	for i := range r.Plots {
		p.Plots = append(p.Plots, pagePlotOf(&r.Plots[i], fmt.Sprintf("%s-p%d", p.ID, i+1), p.Shift))
	}
	for i := range r.Groups {
		id := fmt.Sprintf("%s-t%d", p.ID, i+1)
		p.Tables = append(p.Tables, pageTableOf(tableOf(&r.Groups[i]), id, id+"-h", p.Shift))
	}
	for _, f := range r.facts() {
		p.Facts = append(p.Facts, pageFact{Name: f.name, Value: f.value})
	}
	return p
}

// pageVerdict is the headline in parts, with the tone of its first words.
func pageVerdict(r *Result) (word, tone, reason string) {
	switch {
	case r.Verdict != nil && r.Verdict.Word == Confirmed:
		return capital(string(r.Verdict.Word)), "good", r.Verdict.Reason
	case r.Verdict != nil && r.Verdict.Word == Refuted:
		return capital(string(r.Verdict.Word)), "bad", r.Verdict.Reason
	case r.Verdict != nil:
		return capital(string(r.Verdict.Word)), "open", r.Verdict.Reason
	case len(r.Goals) == 0:
		return capital(r.headline()), "", ""
	case r.GoalsMet() == len(r.Goals):
		return capital(r.headline()), "good", ""
	default:
		return capital(r.headline()), "open", ""
	}
}

// pageTableOf gives every row its labels as heads. A column of words, not of a figure or of a name, may wrap.
func pageTableOf(t table, id, heading string, shift int) pageTable {
	p := pageTable{
		ID: id, Heading: heading, Name: t.name, Caption: t.caption(), Common: t.commonText(), Note: t.note, Shift: shift,
	}
	for _, c := range t.columns {
		p.Columns = append(p.Columns, pageColumn{Name: c.name, Detail: c.detail(), Figure: c.figure})
	}
	for _, row := range t.rows {
		entries := make([]pageEntry, len(row))
		for i, e := range row {
			entries[i] = pageEntry{Text: e.text, Interval: e.interval, Head: t.columns[i].head}
			switch {
			case e.tone != "":
				entries[i].Class = "word " + e.tone
			case t.columns[i].figure:
				entries[i].Class = "n"
			case t.columns[i].words:
				entries[i].Class = "words"
			}
		}
		p.Rows = append(p.Rows, entries)
	}
	return p
}

// besideColumnsMax is how many columns of a table have room beside a plot. A wider one stands below it, where a page has
// room for all of it and a phone scrolls it in its own box.
const besideColumnsMax = 3

// Swatches of a legend have the height of a line of text.
const (
	swatchWidth  = 40
	swatchHeight = 14
)

func pagePlotOf(p *Plot, id string, shift int) pagePlot {
	d := newDrawing(p)
	page := pagePlot{ID: id, Title: p.Title, Shift: shift, LegendOf: p.Legend, Table: pageTableOf(plotTable(p), id+"-t", id, shift)}
	page.Table.Beside = len(page.Table.Columns) <= besideColumnsMax
	if d.leftOut > 0 {
		page.LeftOut = fmt.Sprintf("Points that the axes cannot show: %d. A logarithmic one shows nothing at zero and below.", d.leftOut)
	}
	if d.empty() {
		return page
	}
	page.Picture = svgElement(plotWidth, plotHeight, `role="img" aria-label="`+template.HTMLEscapeString(printable(d.describe()))+`"`, d.svg())
	if len(d.lines) > 1 || d.lines[0].Name != "" {
		for i, l := range d.lines {
			page.Legend = append(page.Legend, pageSwatch{Name: l.Name, Swatch: swatch(func(c draw.Canvas) { d.swatch(c, i) })})
		}
	}
	if d.idealShown() {
		page.Legend = append(page.Legend, pageSwatch{
			Name:   strings.TrimSpace("ideal: " + d.y.text(d.plot.Ideal) + " " + d.y.unit),
			Swatch: swatch(func(c draw.Canvas) { c.StrokeLine2(levelStyle(), 0, swatchHeight/2, swatchWidth, swatchHeight/2) }),
		})
	}
	return page
}

// swatch paints the sample of a line in a legend with what paints the line.
func (d *drawing) swatch(c draw.Canvas, i int) {
	if d.plot.Bars {
		c.FillPolygon(seriesMark(i), rectangle(8, swatchWidth-8, 0, swatchHeight))
		stripe(c, i, 8, swatchWidth-8, 0, swatchHeight)
		return
	}
	c.StrokeLine2(curve{index: i}.style(), 0, swatchHeight/2, swatchWidth, swatchHeight/2)
	c.DrawGlyphNoClip(sign(i), vg.Point{X: swatchWidth / 2, Y: swatchHeight / 2})
}

func swatch(paint func(draw.Canvas)) template.HTML {
	return svgElement(swatchWidth, swatchHeight, `aria-hidden="true"`, render(swatchWidth, swatchHeight, paint))
}

// svgElement wraps what render drew. The drawing is ours and escaped all text in it.
func svgElement(width, height int, attributes string, inside []byte) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" %s focusable="false">`, width, height, attributes) + "\n" + string(inside) + "\n</svg>")
}
