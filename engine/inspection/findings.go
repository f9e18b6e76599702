package inspection

import (
	"fmt"
	"io"
)

// Severity says how much a problem matters.
type Severity string

// The severities, from the worst on.
const (
	Damage Severity = "damage" // something is lost or wrong
	Doubt  Severity = "doubt"  // it may be
	Note   Severity = "note"   // a crash leaves it, and a start mends it
)

// Class names a kind of problem, for programs. Each inspector has its own.
type Class string

// Problem is one thing that is not as it should be.
type Problem struct {
	Severity Severity `json:"severity"`
	Class    Class    `json:"class"`
	File     string   `json:"file,omitempty"`
	Offset   int64    `json:"offset,omitempty"` // in bytes
	Message  string   `json:"message"`
}

// ListedMax bounds the problems that Findings lists.
const ListedMax = 1000

// Findings are the problems of one inspection. Reports embed them.
type Findings struct {
	Problems []Problem `json:"problems"` // the first ListedMax of them
	Counts   Counts    `json:"counts"`
}

// Counts says how many problems there are.
type Counts struct {
	Damage   int `json:"damage"`
	Doubt    int `json:"doubt"`
	Note     int `json:"note"`
	Unlisted int `json:"unlisted"` // of all, how many are not listed
}

// NoFindings has an empty list, which JSON shows as one.
func NoFindings() Findings { return Findings{Problems: []Problem{}} }

// Found adds a problem.
func (f *Findings) Found(s Severity, c Class, file string, offset int64, format string, arguments ...any) {
	switch s {
	case Damage:
		f.Counts.Damage++
	case Doubt:
		f.Counts.Doubt++
	case Note:
		f.Counts.Note++
	}
	if len(f.Problems) >= ListedMax {
		f.Counts.Unlisted++
		return
	}
	f.Problems = append(f.Problems, Problem{Severity: s, Class: c, File: file, Offset: offset, Message: fmt.Sprintf(format, arguments...)})
}

// Broken says whether something is damaged.
func (f *Findings) Broken() bool { return f.Counts.Damage > 0 }

// Verdict says in a few words how things stand.
func (f *Findings) Verdict() string {
	if f.Counts == (Counts{}) {
		return "sound"
	}
	return fmt.Sprintf("%d damaged, %d in doubt, %d notes", f.Counts.Damage, f.Counts.Doubt, f.Counts.Note)
}

// WriteLines writes a line for each problem that is listed, and one for those that are not.
func (f *Findings) WriteLines(w io.Writer) {
	for _, p := range f.Problems {
		fmt.Fprintf(w, "%s: %s: %s at %d: %s\n", p.Severity, p.Class, p.File, p.Offset, p.Message)
	}
	if n := f.Counts.Unlisted; n > 0 {
		fmt.Fprintf(w, "and %d problems more, which are not listed\n", n)
	}
}
