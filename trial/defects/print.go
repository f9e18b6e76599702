package defects

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// ExitCode is what a command that made the table should exit with: one if a defect has survived.
func (t *Table) ExitCode() int {
	if t.Survived > 0 {
		return 1
	}
	return 0
}

// WriteText writes the table for a reader: a headline, the survivors with what to do, and all rows.
func (t *Table) WriteText(w io.Writer) error {
	var b strings.Builder
	if t.Survived == 0 {
		fmt.Fprintf(&b, "CAUGHT: all %d defects, median of %d hunts each or more\n", t.Caught, t.Campaigns)
	} else {
		fmt.Fprintf(&b, "SURVIVED: %d of %d defects were not caught within %.0f s of processor time\n",
			t.Survived, t.Caught+t.Survived, t.Budget)
	}
	for i := range t.Defects {
		if row := &t.Defects[i]; !row.Caught {
			row.writeSurvivor(&b)
		}
	}
	b.WriteByte('\n')
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "defect\tcaught\tchecker\tseeds\tCPU s\tscenario\torigin")
	for i := range t.Defects {
		row := &t.Defects[i]
		caught := "no"
		if row.Caught {
			caught = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%.2f\t%s\t%s\n",
			row.ID, caught, cmp.Or(row.Checker, "-"), row.Seeds, row.CPUSeconds, row.Scenario, row.Origin)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSurvivor says what is known of a defect that was not caught. Who mends the laboratory starts here.
func (r *Row) writeSurvivor(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n", r.ID, r.Title)
	others := map[string]int64{}
	for i := range r.Hunts {
		h := &r.Hunts[i]
		if h.Failure != "" {
			fmt.Fprintf(b, "  a hunt came to no end: %s\n", h.Failure)
		}
		for signature, count := range h.Others {
			others[signature] += count
		}
	}
	var lines []string
	for signature, count := range others {
		lines = append(lines, fmt.Sprintf("  not by the checkers that its entry names: %s (%d times)\n", signature, count))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
	fmt.Fprintf(b, "  next: find out whether a fault, a point, an operation or a checker is missing in scenario %s,\n"+
		"  or whether the engine bears it, and then the entry is none\n", r.Scenario)
}

// WriteList writes the catalogue for a reader, an entry after the other: sentences do not fit into columns.
func WriteList(w io.Writer, all []Defect) error {
	var b strings.Builder
	for i := range all {
		d := &all[i]
		fmt.Fprintf(&b, "%s: %s\n", d.ID, d.Title)
		for _, line := range [...]struct{ name, text string }{
			{"origin", d.Origin}, {"mechanism", d.Mechanism}, {"unit test", d.UnitTest}, {"scenario", d.Scenario},
			{"checkers", strings.Join(d.Checkers, ", ")}, {"place", d.places()},
		} {
			fmt.Fprintf(&b, "  %-10s %s\n", line.name, line.text)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d defects; \"simrun defects ID\" tells how fast one is caught\n", len(all))
	_, err := io.WriteString(w, b.String())
	return err
}

// places lists the functions that an entry edits.
func (d *Defect) places() string {
	var all []string
	for i := range d.Edits {
		if at := d.Edits[i].Function + " in " + d.Edits[i].File; !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return strings.Join(all, ", ")
}

// String is a hunt in one line, for who watches.
func (p Progress) String() string {
	c := &p.Catch
	switch {
	case c.Failure != "":
		return fmt.Sprintf("%d/%d  %s: %s", p.Hunts, p.Most, p.Defect, c.Failure)
	case !c.Caught:
		return fmt.Sprintf("%d/%d  %s: not caught in %d seeds, %.1f s", p.Hunts, p.Most, p.Defect, c.Seeds, c.CPUSeconds)
	default:
		return fmt.Sprintf("%d/%d  %s: caught by %s at seed %d, %d seeds, %.2f s",
			p.Hunts, p.Most, p.Defect, c.Checker, c.Seed, c.Seeds, c.CPUSeconds)
	}
}
