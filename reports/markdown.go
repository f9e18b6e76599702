package reports

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes a result as a section of the second level: verdict or goals, command, figures, where they come from.
func (r *Result) Markdown(w io.Writer) error {
	m := &markdown{w: w}
	m.line("## %s\n", plain(r.heading()))
	m.body(r)
	return m.err
}

// body is a result without its heading.
func (m *markdown) body(r *Result) {
	if r.Verdict != nil {
		m.line("**%s**: %s\n", capital(string(r.Verdict.Word)), plain(r.Verdict.Reason))
	} else {
		m.line("**%s**\n", plain(capital(r.headline())))
	}
	for _, warning := range r.warnings() {
		m.line("> **Warning:** %s.\n", plain(warning))
	}
	m.line("Command: %s\n", code(r.Command))
	if len(r.Goals) > 0 {
		m.line("### Goals\n")
		m.table(r.goalTable())
		m.missed(r)
	}
	for i := range r.Groups {
		t := tableOf(&r.Groups[i])
		m.line("### %s\n", plain(t.name))
		if len(t.common) > 0 {
			m.line("All of: %s.\n", plain(t.commonText()))
		}
		m.table(t)
		if t.note != "" {
			m.line("%s\n", plain(t.note))
		}
	}
	m.line("### Where this comes from\n")
	for _, f := range r.facts() {
		m.line("- %s: %s", capital(f.name), plain(f.value))
	}
	for _, note := range r.Notes {
		m.line("- Note: %s", plain(note))
	}
}

// MarkdownAll writes several results as one document. The title of one alone is the document's.
func MarkdownAll(w io.Writer, results []Result) error {
	if _, err := fmt.Fprintf(w, "# %s\n", plain(pageTitle(results))); err != nil {
		return err
	}
	if len(results) == 1 {
		m := &markdown{w: w}
		m.line("")
		m.body(&results[0])
		return m.err
	}
	for i := range results {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := results[i].Markdown(w); err != nil {
			return err
		}
	}
	return nil
}

// pageTitle names a document of several results, or of one.
func pageTitle(results []Result) string {
	if len(results) == 1 {
		return results[0].heading()
	}
	return fmt.Sprintf("%d results", len(results))
}

// markdown keeps the first error.
type markdown struct {
	w   io.Writer
	err error
}

func (m *markdown) line(format string, values ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", values...)
	}
}

func (m *markdown) missed(r *Result) {
	any := false
	for _, g := range r.Goals {
		if !g.Met && g.Why != "" {
			m.line("- Missed, %s: %s", plain(g.Name), plain(g.Why))
			any = true
		}
	}
	if any {
		m.line("")
	}
}

// table writes heads with unit and clock in them: a figure must keep both when its table is quoted elsewhere.
func (m *markdown) table(t table) {
	heads, rules := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i], rules[i] = plain(c.name), ":--"
		if c.figure {
			rules[i] = "--:"
		}
		if detail := c.detail(); c.clock != "" && detail != "" {
			heads[i] += " (" + plain(detail) + ")"
		}
	}
	m.line("| %s |", strings.Join(heads, " | "))
	m.line("| %s |", strings.Join(rules, " | "))
	for _, row := range t.rows {
		fields := make([]string, len(row))
		for i, e := range row {
			fields[i] = plain(e.text)
			if e.interval != "" {
				fields[i] += " (" + plain(e.interval) + ")"
			}
		}
		m.line("| %s |", strings.Join(fields, " | "))
	}
	m.line("")
}

// plain writes text so that Markdown takes nothing in it for its own.
func plain(s string) string {
	return markdownEscapes.Replace(printable(s))
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "<", `&lt;`, ">", `&gt;`, "&", `&amp;`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`,
)

// code writes a span of code, with more backticks around it than there are in it.
func code(s string) string {
	s = printable(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
