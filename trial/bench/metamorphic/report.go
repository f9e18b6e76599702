package metamorphic

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lakebed/trial/bench/sameness"
)

// Report is what came of a run.
type Report struct {
	Seed      uint64     `json:"seed"`
	Seeds     int        `json:"seeds"`
	RealSeeds int        `json:"real_seeds"`
	Defect    string     `json:"defect,omitempty"`
	Relations []Tally    `json:"relations"`
	Broken    []Breakage `json:"broken"`

	options *Options
}

// Tally counts what was seen of one relation.
type Tally struct {
	Name      Name   `json:"name"`
	Change    string `json:"change"`
	Why       string `json:"why"`
	Simulated int    `json:"simulated"` // comparisons
	Real      int    `json:"real"`
	Broken    int    `json:"broken"`
}

// Breakage is a script that ended elsewhere under a relation.
type Breakage struct {
	Relation Name   `json:"relation"`
	World    World  `json:"world"`
	Seed     uint64 `json:"seed"`
	Kills    bool   `json:"kills"` // the script kills bookies
	Text     string `json:"text"`
	Command  string `json:"command"` // shows it again
}

func newReport(o *Options) *Report {
	r := &Report{Seed: o.Seed, Seeds: o.Seeds, RealSeeds: o.RealSeeds, Defect: o.Defect, Broken: []Breakage{}, options: o}
	r.Relations = append(r.Relations, Tally{
		Name: Unchanged, Change: "nothing", Why: "the state follows from the script alone",
	})
	for _, relation := range o.Relations {
		r.Relations = append(r.Relations, Tally{Name: relation.Name, Change: relation.Change, Why: relation.Why})
	}
	return r
}

// OK reports whether no relation was broken.
func (r *Report) OK() bool { return len(r.Broken) == 0 }

func (r *Report) tally(name Name) *Tally {
	for i := range r.Relations {
		if r.Relations[i].Name == name {
			return &r.Relations[i]
		}
	}
	panic("a relation that is none of the run's")
}

// compare holds a state against another one, and counts.
func (r *Report) compare(w World, seed uint64, relation *Relation, got, want sameness.State, other string) {
	t := r.tally(relation.Name)
	if w == Simulated {
		t.Simulated++
	} else {
		t.Real++
	}
	if relation.Shape {
		got, want = got.Logical(), want.Logical()
	}
	if d := sameness.Difference("this run", got, other, want); d != "" {
		r.broken(w, seed, relation, d)
	}
}

func (r *Report) broken(w World, seed uint64, relation *Relation, text string) {
	r.tally(relation.Name).Broken++
	r.Broken = append(r.Broken, Breakage{
		Relation: relation.Name, World: w, Seed: seed, Kills: seed%2 == 1, Text: text, Command: r.command(w, seed, relation.Name),
	})
}

func (r *Report) command(w World, seed uint64, name Name) string {
	command := "simrun metamorphic"
	if name != Unchanged {
		command += " " + string(name)
	}
	counts := "--seeds 1 --real 0"
	if w == Real {
		counts = "--seeds 0 --real 1"
	}
	command += fmt.Sprintf(" --seed %d %s", seed, counts)
	if r.Defect != "" {
		command += " --defect " + r.Defect
	}
	return command
}

// brokenTold is how many broken comparisons are printed.
const brokenTold = 10

// Print writes a report for readers.
func (r *Report) Print(out io.Writer) error {
	var b strings.Builder
	comparisons := 0
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "relation\tsimulated\treal\tbroken\twhat is changed")
	for _, t := range r.Relations {
		comparisons += t.Simulated + t.Real
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", t.Name, t.Simulated, t.Real, t.Broken, t.Change)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	b.WriteByte('\n')
	for i, broken := range r.Broken {
		if i == brokenTold {
			fmt.Fprintf(&b, "and %d more; --json has all\n", len(r.Broken)-i)
			break
		}
		kills := "no bookie was killed"
		if broken.Kills {
			kills = "bookies were killed"
		}
		fmt.Fprintf(&b, "BROKEN  %s, %s world, seed %d, %s\n  %s\n  why it must hold: %s\n  again: %s\n\n",
			broken.Relation, broken.World, broken.Seed, kills, broken.Text, r.tally(broken.Relation).Why, broken.Command)
	}
	if r.OK() {
		fmt.Fprintf(&b, "%d comparisons: every script ended in one state\n", comparisons)
	} else {
		fmt.Fprintf(&b, "%d of %d comparisons found another state, or none\n", len(r.Broken), comparisons)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
