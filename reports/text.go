package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Print writes a result for a terminal: the headline, warnings, goals, every figure, and where it all comes from.
func (r *Result) Print(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", r.heading())
	p.line("%s\n", r.headline())
	for _, warning := range r.warnings() {
		p.line("WARNING: %s\n", warning)
	}
	if len(r.Goals) > 0 {
		p.goals(r)
	}
	for i := range r.Groups {
		t := tableOf(&r.Groups[i])
		p.line("%s", t.name)
		if len(t.common) > 0 {
			p.line("%s", t.commonText())
		}
		p.table(t)
		if t.note != "" {
			p.line("%s", t.note)
		}
		p.line("")
	}
	for _, f := range append([]fact{{"command", r.Command}}, r.facts()...) {
		p.line("%-9s %s", f.name, f.value)
	}
	if len(r.Notes) > 0 {
		p.line("")
	}
	for _, note := range r.Notes {
		p.line("note: %s", note)
	}
	return p.err
}

// goals prints the goals, and below them why some were missed.
func (p *printer) goals(r *Result) {
	p.table(r.goalTable())
	for _, g := range r.Goals {
		if !g.Met && g.Why != "" {
			p.line("missed, %s: %s", g.Name, g.Why)
		}
	}
	p.line("")
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

// line prints a line. Whatever would move the cursor in a value read from a file, or turn the direction in which it is read,
// is shown as a question mark.
func (p *printer) line(format string, values ...any) {
	if p.err != nil {
		return
	}
	for i, v := range values {
		if s, ok := v.(string); ok {
			values[i] = printable(s)
		}
	}
	_, p.err = fmt.Fprintf(p.w, format+"\n", values...)
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return '?'
		}
		return r
	}, s)
}

// isHidden says whether a reader sees only what a character does to others: control, format, and breaks of lines.
func isHidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// table prints rows in aligned columns: labels to the left, figures to the right, each with its spread beside it.
func (p *printer) table(t table) {
	var rows [][]string
	var right []bool
	for _, head := range []func(column) string{
		func(c column) string { return c.name },
		func(c column) string { return c.unit },
		func(c column) string { return c.clock },
	} {
		var row []string
		empty := true
		for _, c := range t.columns {
			row = append(row, head(c))
			empty = empty && head(c) == ""
			if c.interval {
				row = append(row, "")
			}
		}
		if !empty {
			rows = append(rows, row)
		}
	}
	for _, c := range t.columns {
		right = append(right, c.figure)
		if c.interval {
			right = append(right, true)
		}
	}
	for _, entries := range t.rows {
		var row []string
		for i, e := range entries {
			row = append(row, e.text)
			if t.columns[i].interval {
				row = append(row, e.spread)
			}
		}
		rows = append(rows, row)
	}
	p.aligned(rows, right)
}

// aligned prints columns, each to its own side.
func (p *printer) aligned(rows [][]string, right []bool) {
	widths := make([]int, len(right))
	for _, row := range rows {
		for i, text := range row {
			row[i] = printable(text)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		line := ""
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if right[i] {
				text = pad + text
			} else {
				text += pad
			}
			line += text + "  "
		}
		p.line("%s", strings.TrimRight(line, " "))
	}
}
