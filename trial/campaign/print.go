package campaign

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lakebed/trial"
)

// WriteText writes the summary for a reader: a headline, what was broken, the figures, what to do next.
func (s *Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.headline())
	for i := range s.Failures {
		b.WriteByte('\n')
		s.Failures[i].write(&b)
	}
	b.WriteByte('\n')
	writeTable(&b, "", s.figures())
	writeTable(&b, "effective faults", counted(s.Faults))
	if len(s.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	fmt.Fprintf(&b, "\nnext: %s\n", s.next())
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Summary) headline() string {
	found := "no violation"
	if s.Violations > 0 {
		found = plural(s.Violations, "violation") + " of " + plural(int64(len(s.Failures)), "kind")
	}
	line := fmt.Sprintf("%s: %s, %s in %s", strings.ToUpper(string(s.Outcome)), plural(s.Seeds, "seed"), found, duration(s.WallSeconds))
	if s.Shard != "" {
		line += ", shard " + s.Shard
	}
	if s.Defect != "" {
		line += ", with defect " + s.Defect
	}
	return line
}

func (g *Group) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s (%s", strings.ToUpper(string(g.Kind)), g.Signature, plural(g.Count, "seed"))
	if g.Checker != "" {
		fmt.Fprintf(b, ", checker %s", g.Checker)
	}
	b.WriteString(")\n")
	writeIndented(b, g.Text, textLinesMax)
	writeIndented(b, g.Divergence, divergenceLinesMax)
	fmt.Fprintf(b, "  shortest  seed %d of %s", g.Seed, g.Scenario)
	if g.Events > 0 {
		fmt.Fprintf(b, ", %s events", thousands(g.Events))
	}
	fmt.Fprintf(b, "\n  again     %s\n", g.Replay)
	if g.Replays > 0 {
		fmt.Fprintf(b, "  replayed  %s\n", g.replayed())
	}
	if g.File != "" {
		fmt.Fprintf(b, "  case      %s\n", g.File)
	}
	if g.Page != "" {
		fmt.Fprintf(b, "  page      %s\n", g.Page)
	}
	if g.Smaller != "" {
		fmt.Fprintf(b, "  smaller   %s\n", g.Smaller)
	}
}

// replayed says what became of the first failures when they ran again.
func (g *Group) replayed() string {
	times := "once more"
	if g.Replays > 1 {
		times = thousands(g.Replays) + " more times"
	}
	if g.Flaky > 0 {
		return fmt.Sprintf("%s, and %s gave something else: FLAKY, which is a failure of determinism", times, thousands(g.Flaky))
	}
	return times + ", alike"
}

const (
	textLinesMax       = 12 // the file of the case has all of it
	divergenceLinesMax = 100
)

func writeIndented(b *strings.Builder, text string, linesMax int) {
	if text == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == linesMax {
			fmt.Fprintf(b, "  … %d more lines\n", len(lines)-i)
			return
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// figure is a line of a table: what, how many, and what that means.
type figure struct{ name, value, more string }

func (s *Summary) figures() []figure {
	perCPU := func(value string) string { return value + " a CPU second" }
	figures := []figure{
		{"client operations", thousands(s.ClientOperations), fmt.Sprintf("%.1f in the mean seed", s.OperationsMean)},
		{"effective faults", thousands(total(s.Faults)), fmt.Sprintf("%.1f in the mean seed, %s without split reads", s.FaultsMean, perCPU(thousands(int64(s.FaultsPerCPU))))},
		{"crash points", thousands(crashes(s.Faults)), fmt.Sprintf("%.1f a CPU second", s.CrashesPerCPU)},
		{"events", thousands(s.Events), fmt.Sprintf("%s, %s a second", perCPU(thousands(int64(s.EventsPerCPU))), thousands(int64(s.EventsPerWall)))},
		{"simulated time", duration(s.SimulatedSeconds), fmt.Sprintf("%s, %.0f times as fast as the clock", perCPU(duration(s.SimulatedPerCPU)), s.SimulatedRatio)},
		{"CPU time", duration(s.CPUSeconds), fmt.Sprintf("%s, %.1f seeds a second", workers(s.Workers), s.SeedsPerSecond)},
		{"distinct traces", thousands(s.DistinctHashes), "of " + thousands(s.Seeds)},
		{"ran twice", thousands(s.DeterminismChecked), s.equality()},
	}
	if s.Merged > 0 {
		figures = append(figures, figure{"merged", thousands(int64(s.Merged)), "shards, whose wall time is added up"})
	}
	if s.Resumed > 0 {
		figures = append(figures, figure{"resumed", thousands(s.Resumed), "seeds were run before and taken from the log"})
	}
	for _, c := range s.Canaries {
		if c.Seeds > 0 {
			figures = append(figures, figure{"canary caught", thousands(c.Caught), fmt.Sprintf("of %d trials of %s; one is enough", c.Seeds, c.Scenario)})
		}
	}
	if s.MarksRequired > 0 {
		reached := s.MarksRequired - len(s.MarksMissing)
		figures = append(figures, figure{"rare states", thousands(int64(reached)), fmt.Sprintf("of %d that must be reached", s.MarksRequired)})
	}
	for _, f := range counted(s.Scenarios) {
		figures = append(figures, figure{"scenario " + f.name, f.value, "seeds"})
	}
	for _, f := range counted(s.Schedulers) {
		figures = append(figures, figure{"scheduler " + f.name, f.value, "seeds"})
	}
	return figures
}

func workers(n int) string {
	if n == 0 {
		return "in this process"
	}
	return plural(int64(n), "worker")
}

func (s *Summary) equality() string {
	switch {
	case s.DeterminismChecked == 0:
		return "nothing is known of determinism"
	case s.Nondeterministic > 0:
		return thousands(s.Nondeterministic) + " gave something else the second time"
	default:
		return "with equal traces, disks and verdicts"
	}
}

func (s *Summary) next() string {
	switch s.Outcome {
	case Passed:
		if s.Shard != "" {
			return "go run ./cmd/simrun campaign merge FILE…   # the logs of all shards"
		}
		return fmt.Sprintf("go run ./cmd/simrun campaign --seed %d   # the seeds after these", s.FirstSeed+uint64(s.Seeds))
	case Broken:
		first := s.Failures[0]
		if first.Kind == Nondeterminism {
			return "mend the nondeterminism first: no other verdict can be trusted until two runs agree"
		}
		return first.Replay + " --trace"
	case Blind:
		return "find out why checkers or faults do not show what the canary breaks; no other result counts until then"
	case Weak:
		return "run more seeds, or find out why the missing states are out of reach"
	default:
		return s.goOn()
	}
}

// goOn is what to do about a campaign that was interrupted.
func (s *Summary) goOn() string {
	switch {
	case s.Log != "":
		return fmt.Sprintf("go run ./cmd/simrun campaign --resume %s   # go on where this one ended", s.Log)
	case s.Merged > 0:
		return "run what is missing, and merge again"
	default:
		return fmt.Sprintf("go run ./cmd/simrun campaign --seed %d   # go on where this one ended", s.FirstSeed+uint64(s.Seeds))
	}
}

// WriteText writes a replayed trial for a reader.
func (r *Replayed) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: seed %d of %s, %s events in %s of simulated time\n", strings.ToUpper(string(r.Verdict)), r.Seed, r.Scenario,
		thousands(r.Events), duration(r.SimulatedSeconds))
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s (checker %s)\n", f.Signature, f.Checker)
		writeIndented(&b, f.Text, replayTextLinesMax)
	}
	for _, f := range r.Excused {
		fmt.Fprintf(&b, "\nlost, and the plan is the reason: %s (checker %s)\n", f.Signature, f.Checker)
		writeIndented(&b, f.Text, textLinesMax)
	}
	writeDamage(&b, r.Damage)
	b.WriteByte('\n')
	writeTable(&b, "", []figure{
		{"trace hash", r.TraceHash, r.compared()},
		{"scheduler", r.Scheduler, ""},
		{"disk image", r.Image, ""},
		{"client operations", thousands(r.ClientOperations), ""},
		{"effective faults", thousands(total(r.Faults)), ""},
		{"wall time", duration(r.WallSeconds), ""},
	})
	writeTable(&b, "effective faults", counted(r.Faults))
	writeTable(&b, "answers", counted(r.Answers))
	writeTable(&b, "states reached", counted(r.Marks))
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	replayTextLinesMax = 400
	woundsShown        = 40 // --json has all
)

// writeDamage lists what the plan destroyed, which explains what is missing.
func writeDamage(b *strings.Builder, wounds []trial.Wound) {
	if len(wounds) == 0 {
		return
	}
	b.WriteString("\nsynced bytes that the plan destroyed\n")
	for i := range wounds {
		if i == woundsShown {
			fmt.Fprintf(b, "  … %d more\n", len(wounds)-i)
			return
		}
		fmt.Fprintf(b, "  %s\n", wounds[i].String())
	}
}

func (r *Replayed) compared() string {
	switch {
	case r.Recorded == "" || r.partial:
		return ""
	case r.Recorded == r.TraceHash:
		return "as recorded"
	default:
		return "recorded was " + r.Recorded + ": the program has changed since, or the trial is not deterministic"
	}
}

func counted(counts map[string]int64) []figure {
	var figures []figure
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		figures = append(figures, figure{name, thousands(counts[name]), ""})
	}
	return figures
}

func writeTable(b *strings.Builder, title string, figures []figure) {
	if len(figures) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "\n%s\n", title)
	}
	var names, values int
	for _, f := range figures {
		names, values = max(names, len(f.name)), max(values, len(f.value))
	}
	for _, f := range figures {
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("  %-*s  %*s  %s", names, f.name, values, f.value, f.more), " "))
	}
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands groups the digits of n by three.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// duration shows three digits or so: what is measured here is not known better.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}
