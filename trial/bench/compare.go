package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// ReadReport reads a report that was written as JSON.
func ReadReport(path string) (Report, error) {
	var r Report
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("%w: read the report to compare with: %w", ErrUsage, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%w: %s is not a report of bench --json: %w", ErrUsage, path, err)
	}
	if len(r.Appends)+len(r.Reads) == 0 {
		return r, fmt.Errorf("%w: %s holds no figures to compare with", ErrUsage, path)
	}
	return r, nil
}

// apart says which of two intervals lies higher, or that they overlap, in which case nothing has been shown.
func apart(before, after Interval) string {
	switch {
	case after.Low > before.High:
		return "higher"
	case after.High < before.Low:
		return "LOWER"
	default:
		return "no difference shown"
	}
}

// PrintComparison writes what changed since an earlier report. Appends are compared by their ratio to the raw line of
// their own run, since the disk may have been faster or slower on another day; reads by their rate.
func (r *Report) PrintComparison(w io.Writer, before *Report) error {
	p := &printer{w: w}
	p.line("against the run of %s in %s", before.Started.Format("2006-01-02 15:04"), before.Place)
	rows := [][]string{{"arm", "before", "95 % interval", "now", "95 % interval", "change", ""}}
	for _, old := range before.Appends {
		for _, a := range r.Appends {
			if a.Name == old.Name {
				rows = append(rows, comparison(a.Name, "%.3f", old.Ratio, a.Ratio))
			}
		}
	}
	for _, old := range before.Reads {
		for _, a := range r.Reads {
			if a.Name == old.Name {
				rows = append(rows, comparison(a.Name, "%.0f", old.EntriesPerSecond, a.EntriesPerSecond))
			}
		}
	}
	if len(rows) == 1 {
		p.line("the two runs have no arm in common")
		return p.err
	}
	p.table(rows)
	return p.err
}

func comparison(name, format string, before, after Interval) []string {
	span := func(i Interval) string { return fmt.Sprintf(format+" to "+format, i.Low, i.High) }
	return []string{
		name, fmt.Sprintf(format, before.Median), span(before), fmt.Sprintf(format, after.Median), span(after),
		fmt.Sprintf("%+.1f %%", 100*(after.Median/before.Median-1)), apart(before, after),
	}
}
