package stuck

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"lakebed/trial/bench/bounds"
)

// pauseSlack is what may come on top of the timeouts before appends go on: a busy machine.
const pauseSlack = 2 * time.Second

// pausesMax: the adds that a bookie owes time out, and those that waited behind them for its connection may do so again.
const pausesMax = 2

// Problems says what was not as it must be, a sentence each.
func (r *Report) Problems() []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if r.Held == 0 {
		add("no call of the disk hung: the run proves nothing")
	}
	for _, p := range []struct {
		name string
		Phase
	}{{"before", r.Before}, {"while", r.During}, {"after", r.After}} {
		if p.Appended == 0 && p.Seconds > 0 {
			add("nothing was acknowledged %s the disk hung", p.name)
		}
		if p.Failed > 0 {
			add("%d appends failed %s the disk hung", p.Failed, p.name)
		}
	}
	if limit := pausesMax*r.AddTimeout + pauseSlack; r.During.LongestPauseSeconds > limit.Seconds() {
		add("appends stood still for %.1f s while the disk hung; AddTimeout allows %v", r.During.LongestPauseSeconds, limit)
	}
	if r.Spare && r.During.Changes == 0 {
		add("the bookie whose disk hung was never replaced, although there was a spare")
	}
	if r.Memory.ResidentBytes > r.AllowedBytes {
		add("the process took %s, which is more than its bounds of %s and %s",
			megabytes(r.Memory.ResidentBytes), megabytes(r.AllowedBytes-bounds.Slack), megabytes(bounds.Slack))
	}
	if r.Memory.HeapBytes > r.AllowedBytes {
		add("Go's heap took %s, which is more than the bounds of %s and %s",
			megabytes(r.Memory.HeapBytes), megabytes(r.AllowedBytes-bounds.Slack), megabytes(bounds.Slack))
	}
	return found
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// Print writes the report as tables.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tseconds\tacknowledged\tper second\tfailed\tchanges\tlongest pause s\t")
	for _, p := range []struct {
		name string
		Phase
	}{{"before", r.Before}, {"disk hangs", r.During}, {"after", r.After}} {
		fmt.Fprintf(w, "%s\t%.1f\t%d\t%.0f\t%d\t%d\t%.3f\t\n",
			p.name, p.Seconds, p.Appended, float64(p.Appended)/max(p.Seconds, 0.001), p.Failed, p.Changes, p.LongestPauseSeconds)
	}
	fmt.Fprintln(w, "\t\t\t\t\t\t\t")
	fmt.Fprintln(w, "bound\tof\ttimes\tMiB each\tMiB\t")
	for _, b := range r.Bounds {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t\n", b.Name, b.Where, b.Times, float64(b.Bytes)/(1<<20), float64(b.Total())/(1<<20))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d ledgers, %d ensemble changes, %d calls hung; resident %s, heap %s, live %s; allowed %s\n",
		r.Ledgers, r.Changes, r.Held, megabytes(r.Memory.ResidentBytes), megabytes(r.Memory.HeapBytes),
		megabytes(r.Memory.LiveBytes), megabytes(r.AllowedBytes))
	return err
}
