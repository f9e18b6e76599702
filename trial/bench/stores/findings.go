package stores

import (
	"fmt"

	"lakebed/reports"
)

// Names of figures, by which goals and plots find them.
const (
	figurePayload = "payload"
	figureByRaw   = "by raw"
	figureP99     = "p99"
	figureFiles   = "open files"

	groupAppends = "Appends to the stores of one node"
	noteAppends  = "Closed loop. By raw: bytes of the store's groups a second, by those of a line that writes the same groups with one write each and, in the modes always and group, one fdatasync, in the round that follows. A bookie's entries go to its entry log besides."
	groupReads   = "Reads of the stores of one node"
	noteReads    = "64 MiB in messages of 1 KiB in one partition, by one reader: in batches of at most 256 KiB from the first on; from random times, each with the batch that begins there. Latency is of a batch. Cold: opened anew, page cache dropped; then each batch is cold once only."

	byRawGoal = 0.85
	unitRatio = "1"
)

// findings turns rounds into figures.
func (l *lab) findings() (f Findings) {
	rounds, length := l.options.pace()
	f.Settings = []reports.Setting{
		{Name: "rounds of stores", Value: fmt.Sprintf("%d of %v, and one that does not count", rounds, length)},
		{Name: "log files of stores", Value: "seglog 128 MiB a segment, commitlog 256 MiB fallocated, journal 64 MiB zero-filled"},
	}
	m := maker{l.options.Seed}
	if len(l.appends) > 0 {
		g := reports.Group{Name: groupAppends, Note: noteAppends}
		for i := range l.appends {
			g.Cells = append(g.Cells, m.appendCell(&l.appends[i]))
		}
		f.Groups = append(f.Groups, g)
		f.Goals = goals(&g)
		f.Plots = l.plots(m)
	}
	if len(l.reads) > 0 {
		g := reports.Group{Name: groupReads, Note: noteReads}
		for i := range l.reads {
			g.Cells = append(g.Cells, m.readCell(&l.reads[i]))
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

// maker makes figures of samples. The seed fixes the resampling.
type maker struct{ seed uint64 }

func (m maker) of(name, unit string, clock reports.Clock, better reports.Better, rounds []Round, value func(*Round) float64) reports.Figure {
	var samples []float64
	for i := range rounds {
		samples = append(samples, value(&rounds[i]))
	}
	return reports.NewFigure(name, unit, clock, better, samples, m.seed)
}

func (m maker) common(rounds []Round) []reports.Figure {
	return []reports.Figure{
		m.of("messages", "1/s", reports.ClockWall, reports.HigherBetter, rounds, (*Round).PerSecond),
		m.of(figurePayload, "B/s", reports.ClockWall, reports.HigherBetter, rounds, (*Round).Rate),
		m.of("p50", "µs", reports.ClockWall, reports.LowerBetter, rounds, func(r *Round) float64 { return r.Micros(50) }),
		m.of(figureP99, "µs", reports.ClockWall, reports.LowerBetter, rounds, func(r *Round) float64 { return r.Micros(99) }),
		m.of("CPU", "µs", reports.ClockCPU, reports.LowerBetter, rounds, (*Round).CPUMicros),
		m.of(figureFiles, unitRatio, reports.ClockNone, reports.LowerBetter, rounds, func(r *Round) float64 { return float64(r.OpenFiles) }),
	}
}

func (m maker) appendCell(a *appendResult) reports.Cell {
	var rounds []Round
	var ratios []float64
	for i := range a.pairs {
		rounds = append(rounds, a.pairs[i].store)
		ratios = append(ratios, a.pairs[i].store.ByRaw(&a.pairs[i].raw))
	}
	figures := append(m.common(rounds),
		reports.NewFigure(figureByRaw, unitRatio, reports.ClockWall, reports.HigherBetter, ratios, m.seed),
		m.of("groups", "1/s", reports.ClockWall, reports.NeitherBetter, rounds, func(r *Round) float64 {
			return float64(len(r.Groups)) / r.Elapsed.Seconds()
		}),
		m.of("group", "B", reports.ClockNone, reports.NeitherBetter, rounds, func(r *Round) float64 {
			return float64(r.GroupBytes()) / float64(max(len(r.Groups), 1))
		}))
	return reports.Cell{Name: a.cell.Name(), Labels: a.cell.labels(), Figures: figures}
}

func (c Cell) labels() []reports.Setting {
	return []reports.Setting{
		{Name: "store", Value: string(c.Kind)}, {Name: "sync", Value: string(c.Mode)}, {Name: "partitions", Value: fmt.Sprint(c.Partitions)},
		{Name: "message", Value: sizeName(c.PayloadBytes)}, {Name: "appenders", Value: fmt.Sprint(c.Appenders)},
	}
}

func (m maker) readCell(r *readResult) reports.Cell {
	warmth := "warm"
	if r.cell.Cold {
		warmth = "cold"
	}
	return reports.Cell{Name: r.cell.Name(), Labels: []reports.Setting{
		{Name: "store", Value: string(r.cell.Kind)}, {Name: "way", Value: string(r.cell.Way)}, {Name: "cache", Value: warmth},
	}, Figures: m.common(r.rounds)}
}

// goals are those of many appenders to one partition, which share a sync.
func goals(g *reports.Group) (all []reports.Goal) {
	for _, kind := range []Kind{SegmentLog, CommitLog} {
		for _, payload := range []int{100, pagePayload, 16 << 10} {
			c := Cell{kind, Group, 1, payload, manyAppenders}
			for _, cell := range g.Cells {
				f, ok := cell.Figure(figureByRaw)
				if cell.Name != c.Name() || !ok {
					continue
				}
				all = append(all, reports.Goal{
					Name: c.Name() + " by the raw line of the same run", Cell: cell.Name, Figure: figureByRaw,
					Wanted: fmt.Sprintf("at least %g", byRawGoal), Value: f.Value, Low: f.Low, High: f.High, Met: f.Value >= byRawGoal,
				})
			}
		}
	}
	return all
}

// plots draw what many partitions cost, for each mode that has cells of several numbers of them.
func (l *lab) plots(m maker) (plots []reports.Plot) {
	for _, mode := range Modes() {
		p := reports.Plot{
			Name: "stores-partitions-" + string(mode), Title: fmt.Sprintf("Appends of 1 KiB by 64 appenders over partitions, mode %s (wall clock)", mode), Legend: "store",
			X: reports.Axis{Label: "partitions", Unit: unitRatio, Log: true}, Y: reports.Axis{Label: figurePayload, Unit: "B/s"},
		}
		for _, kind := range Kinds() {
			line := reports.Line{Name: string(kind)}
			for i := range l.appends {
				c := l.appends[i].cell
				if c.Kind == kind && c.Mode == mode && c.PayloadBytes == pagePayload && c.Appenders == manyAppenders {
					cell := m.appendCell(&l.appends[i])
					f, _ := cell.Figure(figurePayload)
					line.Points = append(line.Points, reports.Point{X: float64(c.Partitions), Y: f.Value, Low: f.Low, High: f.High})
				}
			}
			if len(line.Points) > 1 {
				p.Lines = append(p.Lines, line)
			}
		}
		if len(p.Lines) > 0 {
			plots = append(plots, p)
		}
	}
	return plots
}
