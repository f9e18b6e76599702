package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lakebed/reports"
)

// Hand-written parts of the page, below a shelf.
const (
	introFile   = "intro.md" // stands in front of everything
	sectionsDir = "sections" // *.md stand behind the numbered experiments, in the order of their names
)

// WritePage writes EXPERIMENTS.md: the introduction, a table of the numbered experiments, each of them with its hypothesis,
// its rule and its last result, and the hand-written sections. Equal shelves give equal bytes. There must be a shelf: the page
// of none would take the place of one with text in it.
func (s Shelf) WritePage(w io.Writer) error {
	if _, err := os.ReadDir(string(s)); err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	entries, err := s.Entries()
	if err != nil {
		return err
	}
	return s.writePage(w, entries)
}

func (s Shelf) writePage(w io.Writer, entries []Entry) error {
	p := &page{}
	if err := p.handWritten(filepath.Join(string(s), introFile)); err != nil {
		return err
	}
	p.overview(entries)
	for i := range entries {
		if err := p.experiment(&entries[i]); err != nil {
			return err
		}
	}
	sections, err := filepath.Glob(filepath.Join(string(s), sectionsDir, "*.md")) // sorted
	if err != nil {
		return fmt.Errorf("look for hand-written sections: %w", err)
	}
	for _, path := range sections {
		if err := p.handWritten(path); err != nil {
			return err
		}
	}
	_, err = w.Write(p.text.Bytes())
	return err
}

// WriteOne writes the section of one experiment.
func (s Shelf) WriteOne(w io.Writer, id ID) error {
	h, err := Find(id)
	if err != nil {
		return err
	}
	entries, err := s.Entries()
	if err != nil {
		return err
	}
	p := &page{}
	for i := range entries {
		if entries[i].ID == h.ID {
			err = p.experiment(&entries[i])
		}
	}
	if err != nil {
		return err
	}
	_, text, _ := strings.Cut(p.text.String(), "\n## ") // behind the anchor of the page
	_, err = io.WriteString(w, "# "+text)
	return err
}

// page is Markdown under way.
type page struct{ text bytes.Buffer }

func (p *page) line(format string, values ...any) { fmt.Fprintf(&p.text, format+"\n", values...) }

// handWritten takes a file over. There need be none.
func (p *page) handWritten(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a hand-written section: %w", err)
	}
	if p.text.Len() > 0 {
		p.line("")
	}
	p.line("%s", strings.TrimSpace(string(text)))
	return nil
}

// overview is the table of all numbered experiments.
func (p *page) overview(entries []Entry) {
	p.line("\n## The numbered experiments\n")
	p.line("Modes: S simulator, D real disk and sockets, B both. Verdicts are computed from figures by a rule that is stated before")
	p.line("the run; this part of the page is made by `simrun experiment report`. All of them: `go run ./cmd/simrun experiment run --all`.\n")
	p.line("| | claim | mode | verdict | measured | minutes |")
	p.line("|---|---|---|---|---|--:|")
	for i := range entries {
		e := &entries[i]
		p.line("| [%s](#%s) | %s | %s | %s | %s | %g |", e.ID, strings.ToLower(string(e.ID)), cellText(e.Title), e.Mode, e.State(), e.When(), e.Minutes)
	}
}

func minutesText(minutes float64) string {
	if minutes == 1 {
		return "a minute"
	}
	return fmt.Sprintf("%g minutes", minutes)
}

// cellText keeps a text in its cell.
func cellText(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// experiment is the section of one.
func (p *page) experiment(e *Entry) error {
	p.line("\n<a id=\"%s\"></a>\n\n## %s: %s\n", strings.ToLower(string(e.ID)), e.ID, e.Title)
	p.line("*Hypothesis.* %s\n", e.Hypothesis.Hypothesis)
	p.line("*Source.* %s\n", e.Source)
	p.line("*Arms.* %s.\n", strings.Join(e.Arms, "; "))
	p.line("*Measured.* %s\n", e.Measured)
	p.line("*Refuted if.* %s\n", e.Refuted)
	p.line("*Confirmed if.* %s *Undecided:* %s\n", e.Confirmed, e.Undecided)
	p.line("*Not decided here.* %s\n", e.CannotBe)
	if e.Result == nil {
		p.line("*Command.* `%s`, about %s. It was not run yet.", e.Command(), minutesText(e.Minutes))
		return nil
	}
	if IsQuick(e.Result) {
		p.line("The result is that of a quick run, which tries the machinery.\n")
	}
	if now, err := Rejudge(e.Result); err == nil && e.Result.Verdict != nil && now.Word != e.Result.Verdict.Word {
		p.line("By the rule as it stands now the verdict on these figures would be **%s**: %s\n", now.Word, now.Reason)
	}
	return p.result(e.Result)
}

// result takes over what reports writes of a result, one level deeper and without its own heading.
func (p *page) result(r *reports.Result) error {
	var text bytes.Buffer
	if err := r.Markdown(&text); err != nil {
		return err
	}
	_, body, _ := strings.Cut(strings.TrimSpace(text.String()), "\n") // behind its heading
	p.line("%s", strings.TrimSpace(body))
	return nil
}
