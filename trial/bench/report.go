package bench

import (
	"fmt"

	"lakebed/reports"
)

// Names of figures, by which goals and plots find them.
const (
	figureRatio    = "by raw"
	figureEntries  = "entries"
	figureEvents   = "events"
	unitPerSecond  = "1/s"
	unitBytesRate  = "B/s"
	unitMicros     = "µs"
	unitBytes      = "B"
	unitRatio      = "1"
	groupAppends   = "Appends to the journal and to a whole bookie, synced"
	groupCosts     = "CPU by the size of entries"
	noteCosts      = "A straight line through all rounds of all sizes, by least squares: what an entry costs, and what each KiB of its payload adds. Explained: the share of the spread of the rounds that the line accounts for; where it is low, the line says little."
	groupFio       = "fio beside the raw line"
	groupReads     = "Reads of a bookie in this process"
	noteAppends    = "Closed loop; latency per entry. By raw: bytes of groups a second, by those of the raw line, which writes the same groups with one pwritev and one fdatasync each, in paired rounds. Above 1 the arm was faster than its own writes done bare: the two rounds of a pair lie apart in time, and a disk that sped up or stalled in between shows in either, which is what the interval is for. Filled, checkpoints, slowed: work in the background that fell into the rounds."
	noteFio        = "The same blocks of the same file, one pwritev and one fdatasync a group, in turns. fio writes one buffer again and again; so does the raw line of one buffer."
	syncWords      = "journal sync mode group: an entry is acknowledged after the fdatasync of its group, unless a cell says unsynced; reads need no sync"
	warmWords      = "one uncounted round of each cell before the first that counts; what was warm for reads stands in the notes"
	quickNote      = "short rounds: quote figures of --thorough only, measured on a machine that does nothing else"
	percentMedian  = 50
	percentHigh    = 99
	percentHighest = 99.9
)

// maker makes figures of samples. The seed fixes the resampling.
type maker struct{ seed uint64 }

func (m maker) wall(name, unit string, better reports.Better, samples []float64) reports.Figure {
	return reports.NewFigure(name, unit, reports.ClockWall, better, samples, m.seed)
}

func (m maker) cpu(name string, samples []float64) reports.Figure {
	return reports.NewFigure(name, unitMicros, reports.ClockCPU, reports.LowerBetter, samples, m.seed)
}

// count is a number of things that happened.
func count(name string, n int64) reports.Figure {
	return reports.SingleFigure(name, unitRatio, reports.ClockNone, reports.NeitherBetter, float64(n))
}

// latency are percentiles: of each round where it has enough of them, and of all rounds together.
func (m maker) latency(rounds []latencies) []reports.Figure {
	all := newLatencies()
	var p50, p99 []float64
	for _, l := range rounds {
		p50, p99 = append(p50, l.at(percentMedian)), append(p99, l.at(percentHigh))
		all.histogram.Merge(l.histogram)
	}
	return []reports.Figure{
		m.wall("p50", unitMicros, reports.LowerBetter, p50), m.wall("p99", unitMicros, reports.LowerBetter, p99),
		reports.SingleFigure("p99.9", unitMicros, reports.ClockWall, reports.LowerBetter, all.at(percentHighest)),
		reports.SingleFigure("max", unitMicros, reports.ClockWall, reports.LowerBetter, float64(all.histogram.Max())/1e3),
	}
}

// appendResult is what one arm of appends did.
type appendResult struct {
	arm        Arm
	pairs      []pair
	background background
	others     float64 // of all processors while it was measured
}

func (a *appendResult) each(of func(pair) float64) (samples []float64) {
	for _, p := range a.pairs {
		samples = append(samples, of(p))
	}
	return samples
}

// ratio is the arm by the raw line beside it.
func (a *appendResult) ratio(m maker) reports.Figure {
	return m.wall(figureRatio, unitRatio, reports.HigherBetter, a.each(pair.ratio))
}

// cell puts an arm's pairs together. A raw entry is a share of raw bytes as large as an entry with its share of framing.
func (a *appendResult) cell(m maker) reports.Cell {
	var sum totals
	var histograms []latencies
	for _, p := range a.pairs {
		sum.add(p)
		histograms = append(histograms, p.arm.latencies)
	}
	bytesPerEntry := sum.groupBytes / sum.entries
	entries := a.each(func(p pair) float64 { return perSecond(p.arm.entries, p.arm.elapsed) })
	rawEntries := a.each(func(p pair) float64 { return perSecond(p.raw.bytes, p.raw.elapsed) / bytesPerEntry })
	payload := a.each(func(p pair) float64 { return perSecond(p.arm.entries, p.arm.elapsed) * float64(a.arm.PayloadBytes) })
	c := reports.Cell{Name: a.arm.Name(), Labels: a.arm.labels(), Figures: []reports.Figure{
		m.wall(figureEntries, unitPerSecond, reports.HigherBetter, entries),
		m.wall("payload", unitBytesRate, reports.HigherBetter, payload),
		m.wall("raw entries", unitPerSecond, reports.NeitherBetter, rawEntries),
		a.ratio(m),
		reports.SingleFigure("of totals", unitRatio, reports.ClockWall, reports.HigherBetter, sum.ratio()),
	}}
	c.Figures = append(c.Figures, m.latency(histograms)...)
	c.Figures = append(c.Figures,
		m.cpu("CPU", a.each(func(p pair) float64 { return micros(p.arm.usage.cpu, float64(p.arm.entries)) })),
		m.cpu("raw CPU", a.each(func(p pair) float64 { return micros(p.raw.cpu, float64(p.raw.bytes)/bytesPerEntry) })),
		reports.NewFigure("group", unitBytes, reports.ClockNone, reports.NeitherBetter, a.each(pair.groupMean), m.seed),
		m.wall("syncs", unitPerSecond, reports.NeitherBetter, a.each(func(p pair) float64 { return perSecond(int64(len(p.arm.groups)), p.arm.elapsed) })),
		reports.SingleFigure("round", "s", reports.ClockWall, reports.NeitherBetter, sum.armSeconds/float64(len(a.pairs))),
		count("filled", a.background.Prepared), count("checkpoints", a.background.Checkpoints), count("slowed", a.background.Slowed))
	if a.others >= 0 {
		c.Figures = append(c.Figures, reports.SingleFigure("others", unitRatio, reports.ClockNone, reports.NeitherBetter, a.others))
	}
	return c
}

func (a Arm) labels() []reports.Setting {
	return []reports.Setting{
		{Name: "subject", Value: string(a.Subject)}, {Name: "submission", Value: string(a.Submission)},
		{Name: "outstanding", Value: fmt.Sprint(a.Outstanding)}, {Name: "payload", Value: sizeWords(a.PayloadBytes)},
	}
}

// totals adds pairs up.
type totals struct {
	entries, groupBytes, rawBytes float64
	armSeconds, rawSeconds        float64
}

func (t *totals) add(p pair) {
	t.entries += float64(p.arm.entries)
	t.groupBytes += float64(p.arm.groupBytes())
	t.rawBytes += float64(p.raw.bytes)
	t.armSeconds += p.arm.elapsed.Seconds()
	t.rawSeconds += p.raw.elapsed.Seconds()
}

// ratio never misses a round that was slow, as a median may.
func (t *totals) ratio() float64 {
	return (t.groupBytes / t.armSeconds) / (t.rawBytes / t.rawSeconds)
}

// goals compares the arms that have a goal with it.
func (r *run) goals(m maker) (goals []reports.Goal) {
	for i := range r.appends {
		a := &r.appends[i]
		goal, ok := a.arm.Goal()
		if !ok {
			continue
		}
		ratio := a.ratio(m)
		goals = append(goals, reports.Goal{
			Name: a.arm.Name() + " by the raw line of the same run", Cell: a.arm.Name(), Figure: figureRatio,
			Wanted: "at least " + goal.String(), Value: ratio.Value, Low: ratio.Low, High: ratio.High, Met: goal.Met(ratio),
		})
	}
	return goals
}

// plots draws the appends: how near they come to the raw line, and what they wait for it.
func (r *run) plots(m maker) (plots []reports.Plot) {
	ratio := reports.Plot{
		Name: "append-by-raw", Title: "Appends by the raw line, batches (wall clock)", Ideal: 1, Legend: "subject and payload",
		X: reports.Axis{Label: "entries outstanding", Unit: unitRatio, Log: true}, Y: reports.Axis{Label: "bytes of groups by raw", Unit: unitRatio},
	}
	latency := reports.Plot{
		Name: "append-latency", Title: "Median latency of appends, batches, closed loop (wall clock)", Legend: "subject and payload",
		X: ratio.X, Y: reports.Axis{Label: "latency", Unit: unitMicros, Log: true},
	}
	for _, subject := range []Subject{Journal, Bookie} {
		for _, payload := range armPayloads {
			name := fmt.Sprintf("%s, %s", subject, sizeWords(payload))
			ratio.Lines = append(ratio.Lines, r.line(name, subject, payload, func(a *appendResult) reports.Figure { return a.ratio(m) }))
			latency.Lines = append(latency.Lines, r.line(name, subject, payload, func(a *appendResult) reports.Figure {
				cell := a.cell(m)
				f, _ := cell.Figure("p50")
				return f
			}))
		}
	}
	for _, p := range []reports.Plot{ratio, latency} {
		if p = withoutEmpty(p); len(p.Lines) > 0 {
			plots = append(plots, p)
		}
	}
	return plots
}

// line is a figure of batches by how many are outstanding, if there is more than one point.
func (r *run) line(name string, subject Subject, payload int, of func(*appendResult) reports.Figure) reports.Line {
	line := reports.Line{Name: name}
	for _, outstanding := range []int{1, 16, 64, outstandingMost} {
		for i := range r.appends {
			if a := &r.appends[i]; a.arm == (Arm{subject, outstanding, Batches, payload}) {
				f := of(a)
				line.Points = append(line.Points, reports.Point{X: float64(outstanding), Y: f.Value, Low: f.Low, High: f.High})
			}
		}
	}
	return line
}

func withoutEmpty(p reports.Plot) reports.Plot {
	var lines []reports.Line
	for _, l := range p.Lines {
		if len(l.Points) > 1 {
			lines = append(lines, l)
		}
	}
	p.Lines = lines
	return p
}
