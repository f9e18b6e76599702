package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the report for a reader: where it was measured, goals first, then every figure.
func (r *Report) Print(w io.Writer) error {
	p := &printer{w: w}
	r.printHead(p)
	r.printAppends(p)
	r.printFio(p)
	r.printReads(p)
	r.printSkipped(p)
	return p.err
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, values ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", values...)
	}
}

// table prints rows of cells in columns aligned to the right.
func (p *printer) table(rows [][]string) {
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if p.err == nil {
			_, p.err = fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
	}
	if p.err == nil {
		p.err = t.Flush()
	}
}

func (r *Report) printHead(p *printer) {
	if r.Place.InMemory {
		p.line("WARNING: %s is %s, which is memory: no figure below says anything about a disk. Use --dir.\n", r.Place.Dir, r.Place.FileSystem)
	}
	if r.Others > noisyShare {
		p.line("WARNING: others used %.0f %% of this machine's CPUs meanwhile: the ratios show the machine as much as the engine. "+
			"Measure again when it is quiet.\n", 100*r.Others)
	}
	if len(r.Goals) > 0 {
		p.line("%d of %d goals met against the raw line of the same run", r.GoalsMet(), len(r.Goals))
		rows := [][]string{{"", "arm", "ratio", "95 % interval", "goal"}}
		for _, g := range r.Goals {
			rows = append(rows, []string{
				map[bool]string{true: "met", false: "MISSED"}[g.Met], g.Arm,
				fmt.Sprintf("%.3f", g.Ratio.Median), intervalText(g.Ratio), g.Goal.String(),
			})
		}
		p.table(rows)
		p.line("")
	}
	p.line("measured in %s", r.Place)
	p.line("%s; %s", r.Clock, r.Sync)
	p.line("the run took %.0f s; others used %.0f %% of the CPUs%s\n", r.Seconds, 100*r.Others, map[bool]string{
		true: "", false: "; short rounds: quote figures of --thorough only"}[r.Thorough])
}

func intervalText(i Interval) string { return fmt.Sprintf("%.3f to %.3f", i.Low, i.High) }

func (r *Report) printAppends(p *printer) {
	if len(r.Appends) == 0 {
		return
	}
	p.line("appends, synced; median of the rounds after a warm-up; latency in a closed loop, per entry")
	p.line("raw: the same groups, one pwritev and fdatasync each; ratio: bytes of groups per second, arm by raw")
	rows := [][]string{{
		"arm", "entries/s", "MB/s", "raw entries/s", "ratio", "95 % interval", "of totals",
		"p50 µs", "p99 µs", "p99.9 µs", "CPU µs", "raw CPU µs", "group KiB", "syncs/s", "pairs × s", "filled/ckpt/slowed", "others CPU",
	}}
	for _, a := range r.Appends {
		rows = append(rows, []string{
			a.Name, fmt.Sprintf("%.0f", a.EntriesPerSecond), fmt.Sprintf("%.1f", a.PayloadBytesPerSecond/1e6),
			fmt.Sprintf("%.0f", a.RawEntriesPerSecond), fmt.Sprintf("%.3f", a.Ratio.Median), intervalText(a.Ratio),
			fmt.Sprintf("%.3f", a.RatioOfTotals), fmt.Sprintf("%.0f", a.Latency.P50), fmt.Sprintf("%.0f", a.Latency.P99),
			fmt.Sprintf("%.0f", a.Latency.P999), fmt.Sprintf("%.2f", a.CPUMicrosPerEntry),
			fmt.Sprintf("%.2f", a.RawCPUMicrosPerEntry), fmt.Sprintf("%.0f", a.GroupBytesMean/1024),
			fmt.Sprintf("%.0f", a.SyncsPerSecond), fmt.Sprintf("%d × %.2f", a.Pairs, a.RoundSeconds),
			fmt.Sprintf("%d/%d/%d", a.Background.Prepared, a.Background.Checkpoints, a.Background.Slowed),
			fmt.Sprintf("%.0f %%", 100*a.OthersCPUShare),
		})
	}
	p.table(rows)
	p.line("")
}

func (r *Report) printFio(p *printer) {
	switch f := r.Fio; {
	case f == nil:
	case f.Missing != "":
		p.line("WARNING: NO FIO FIGURE: %s\n", f.Missing)
	default:
		verdict := "overlaps"
		if !f.Agrees {
			verdict = "DOES NOT OVERLAP"
		}
		p.line("%s beside the raw line, groups of %d bytes, %d interleaved pairs: %.0f MB/s against %.0f MB/s",
			f.Version, f.GroupBytes, f.Pairs, f.FioBytesPerSecond/1e6, f.RawBytesPerSecond/1e6)
		p.line("fio by raw %.3f (%s), which %s %.1f to %.1f", f.Ratio.Median, intervalText(f.Ratio), verdict, fioRatioLow, fioRatioHigh)
		p.line("fio writes one buffer again and again; by a raw line that does so too: %.3f (%s)\n",
			f.RatioOneBuffer.Median, intervalText(f.RatioOneBuffer))
	}
}

func (r *Report) printReads(p *printer) {
	if len(r.Reads) == 0 {
		return
	}
	p.line("reads of %s entries, one at a time by each reader", sizeName(readPayloadBytes))
	rows := [][]string{{
		"arm", "entries/s", "95 % interval", "p50 µs", "p99 µs", "p99.9 µs", "CPU µs", "disk bytes/entry", "rounds",
	}}
	for _, a := range r.Reads {
		rows = append(rows, []string{
			a.Name, fmt.Sprintf("%.0f", a.EntriesPerSecond.Median),
			fmt.Sprintf("%.0f to %.0f", a.EntriesPerSecond.Low, a.EntriesPerSecond.High),
			fmt.Sprintf("%.1f", a.Latency.P50), fmt.Sprintf("%.1f", a.Latency.P99), fmt.Sprintf("%.1f", a.Latency.P999),
			fmt.Sprintf("%.2f", a.CPUMicrosPerEntry), fmt.Sprintf("%.0f", a.DiskBytesPerEntry), fmt.Sprintf("%d", a.Rounds),
		})
	}
	p.table(rows)
	for _, kind := range []ReadKind{Cached, ReadAhead, Cold} {
		p.line("  %s: %s", kind, kind.warmth())
	}
	p.line("")
}

func (r *Report) printSkipped(p *printer) {
	if len(r.Skipped) > 0 {
		p.line("WARNING: %d arms were skipped because the time was up: %s", len(r.Skipped), strings.Join(r.Skipped, ", "))
	}
}
