package ledgers

import (
	"fmt"
	"slices"

	"lakebed/reports"
)

// Names of figures, by which goals and plots find them.
const (
	figureAdds        = "adds"
	figureReads       = "entries"
	figureCPU         = "CPU"
	figureCPUOfTotals = "CPU of totals"
	figureP99         = "p99"
	figureByDisk      = "by raw disk"
	figureByLoopback  = "by raw loopback"
	figureRatio       = "ratio"
	unitPerSecond     = "1/s"
	unitMicros        = "µs"
	unitRatio         = "1"
	unitBytesASecond  = "B/s"
	groupAdds         = "Adds of whole ledgers, closed loop"
	groupOpenAdds     = "Adds of whole ledgers, open loop"
	groupReads        = "Reads of whole ledgers"
	groupRaw          = "Raw lines beside the ledgers"
	groupRatios       = "Reads of whole ledgers, batches by singles"
	noteAdds          = "Latency from the append to its acknowledgement, while so many are in flight. By raw: entries a second of the cell by those of the raw line beside it, in paired rounds; not for cells without one. By raw above 1 is possible: the raw disk waits for the slowest of three files and for one group before it begins the next, while an ack quorum of two waits for the second fastest and groups grow as they queue; or the disk changed between the two rounds, which the interval shows. CPU: bookies and client together, per acknowledged add; of totals: over all rounds, with the checkpoints that fell into any."
	noteOpenAdds      = "Poisson arrivals, decided ahead; latency from when an entry was due. Saturated: rounds in which the schedule was not kept; latencies then grow with the round's length. Sent late: the generator's own delay, in it."
	noteReads         = "3/3/2. single: so many readers, one read of one entry each; range: one call with so many single reads under way; batch: one batch read of so many entries under way. Latency of one call. CPU: bookies and client together, per entry."
	noteRaw           = "disk: three files at a time, one write and one fdatasync for all entries in flight; loopback: three connections, the frames of all entries in flight and back those of their answers. The slowest of three counts."
	noteRatios        = "Batches of 100 B from the write caches, in paired rounds, by the faster way of single reads with as many under way."
	microsASecond     = 1e6
	percentileMedian  = 50
	percentileHigh    = 99
	percentileHighest = 99.9
)

// figures makes reports of rounds.
type figures struct{ seed uint64 }

func (f figures) of(name, unit string, clock reports.Clock, better reports.Better, samples []float64) reports.Figure {
	return reports.NewFigure(name, unit, clock, better, samples, f.seed)
}

// rate is entries a second, with payload bytes.
func (f figures) rate(name string, payload int, rounds []round) []reports.Figure {
	bytes := each(rounds, func(r round) float64 { return r.perSecond() * float64(payload) })
	return []reports.Figure{
		f.of(name, unitPerSecond, reports.ClockWall, reports.HigherBetter, rates(rounds)),
		f.of("payload", unitBytesASecond, reports.ClockWall, reports.HigherBetter, bytes),
	}
}

// latencies are percentiles of each round, and of all rounds together where a round has too few for one. Rounds without
// any have no figures.
func (f figures) latencies(rounds []round) []reports.Figure {
	if rounds[0].latencies == nil {
		return nil
	}
	all := newHistogram()
	for _, r := range rounds {
		all.take(r.latencies)
	}
	at := func(percent float64) []float64 {
		return each(rounds, func(r round) float64 { return r.latencies.at(percent) })
	}
	return []reports.Figure{
		f.of("p50", unitMicros, reports.ClockWall, reports.LowerBetter, at(percentileMedian)),
		f.of(figureP99, unitMicros, reports.ClockWall, reports.LowerBetter, at(percentileHigh)),
		reports.SingleFigure("p99.9", unitMicros, reports.ClockWall, reports.LowerBetter, all.at(percentileHighest)),
		reports.SingleFigure("max", unitMicros, reports.ClockWall, reports.LowerBetter, float64(all.Max())/1e3),
	}
}

func (f figures) cpu(rounds []round) reports.Figure {
	return f.of(figureCPU, unitMicros, reports.ClockCPU, reports.LowerBetter, each(rounds, round.cpuMicros))
}

// cpuOfTotals never misses a round with a checkpoint in it, as a median may.
func cpuOfTotals(rounds []round) reports.Figure {
	var sum round
	for _, r := range rounds {
		sum.cpu += r.cpu
		sum.entries += r.entries
	}
	return reports.SingleFigure(figureCPUOfTotals, unitMicros, reports.ClockCPU, reports.LowerBetter, sum.cpuMicros())
}

// by are ratios of rates in paired rounds.
func (f figures) by(name string, rounds, beside []round) []reports.Figure {
	samples := pairedRatios(rates(rounds), rates(beside))
	if len(samples) == 0 {
		return nil
	}
	return []reports.Figure{f.of(name, unitRatio, reports.ClockWall, reports.HigherBetter, samples)}
}

// pairedRatios divides round by round. Where the whole is nothing there is no ratio, and both rounds are left out.
func pairedRatios(parts, wholes []float64) (ratios []float64) {
	for i := range min(len(parts), len(wholes)) {
		if wholes[i] > 0 {
			ratios = append(ratios, parts[i]/wholes[i])
		}
	}
	return ratios
}

func (c WriteCell) labels() []reports.Setting {
	q := c.Quorum
	return []reports.Setting{
		{Name: "E/Qw/Qa", Value: fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack)},
		{Name: "payload", Value: sizeWords(c.PayloadBytes)},
		{Name: "sync", Value: map[bool]string{false: "yes", true: "no"}[c.Unsynced]},
		{Name: "load", Value: c.Load.words()},
	}
}

// sizeWords is a size as tables say it.
func sizeWords(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}

func (f figures) closedCell(r addResult) reports.Cell {
	c := reports.Cell{Name: r.cell.Name(), Labels: r.cell.labels()}
	c.Figures = append(c.Figures, f.rate(figureAdds, r.cell.PayloadBytes, r.rounds)...)
	c.Figures = append(c.Figures, f.latencies(r.rounds)...)
	c.Figures = append(c.Figures, f.cpu(r.rounds), cpuOfTotals(r.rounds))
	c.Figures = append(c.Figures, f.by(figureByDisk, r.rounds, r.disk)...)
	c.Figures = append(c.Figures, f.by(figureByLoopback, r.rounds, r.loopback)...)
	return c
}

func (f figures) openCell(r addResult) reports.Cell {
	c := reports.Cell{Name: r.cell.Name(), Labels: r.cell.labels()}
	saturated := 0
	for _, one := range r.rounds {
		if one.saturated {
			saturated++
		}
	}
	c.Figures = append(c.Figures,
		reports.SingleFigure("asked for", unitPerSecond, reports.ClockWall, reports.NeitherBetter, r.rate),
		f.of(figureAdds, unitPerSecond, reports.ClockWall, reports.NeitherBetter, rates(r.rounds)))
	c.Figures = append(c.Figures, f.latencies(r.rounds)...)
	late := each(r.rounds, func(r round) float64 { return float64(r.lateness.Nanoseconds()) / 1e3 })
	c.Figures = append(c.Figures, f.cpu(r.rounds),
		f.of("sent late", unitMicros, reports.ClockWall, reports.NeitherBetter, late),
		reports.SingleFigure("saturated", unitRatio, reports.ClockNone, reports.LowerBetter, float64(saturated)/float64(len(r.rounds))))
	return c
}

func (f figures) readCell(r readResult) reports.Cell {
	c := reports.Cell{Name: r.cell.Name(), Labels: []reports.Setting{
		{Name: "payload", Value: sizeWords(r.cell.PayloadBytes)}, {Name: "from", Value: string(r.cell.Warmth)},
		{Name: "way", Value: string(r.cell.Way)}, {Name: "count", Value: fmt.Sprint(r.cell.Count)}, {Name: "readers", Value: fmt.Sprint(r.cell.readers())},
	}}
	c.Figures = append(c.Figures, f.rate(figureReads, r.cell.PayloadBytes, r.rounds)...)
	c.Figures = append(c.Figures, f.latencies(r.rounds)...)
	c.Figures = append(c.Figures, f.cpu(r.rounds))
	return c
}

func (f figures) rawCell(r rawResult) reports.Cell {
	c := reports.Cell{Name: r.name(), Labels: []reports.Setting{
		{Name: "line", Value: string(r.kind)}, {Name: "payload", Value: sizeWords(r.payload)},
		{Name: "in flight", Value: fmt.Sprint(r.inFlight)},
	}}
	c.Figures = append(c.Figures, f.rate(figureReads, r.payload, r.rounds)...)
	c.Figures = append(c.Figures, f.cpu(r.rounds))
	return c
}

// findings puts a run together.
func (l *lab) findings() Findings {
	// Of what was cut off before its first round there is nothing to say.
	l.adds = slices.DeleteFunc(l.adds, func(r addResult) bool { return len(r.rounds) == 0 })
	l.raws = slices.DeleteFunc(l.raws, func(r rawResult) bool { return len(r.rounds) == 0 })
	l.reads = slices.DeleteFunc(l.reads, func(r readResult) bool { return len(r.rounds) == 0 })
	f := figures{seed: l.options.Seed}
	var out Findings
	group := func(name, note string, cells []reports.Cell) {
		if len(cells) > 0 {
			out.Groups = append(out.Groups, reports.Group{Name: name, Note: note, Cells: cells})
		}
	}
	var closed, open, reads, raws []reports.Cell
	for _, r := range l.adds {
		if r.cell.Load.Open() {
			open = append(open, f.openCell(r))
		} else {
			closed = append(closed, f.closedCell(r))
		}
	}
	for _, r := range l.reads {
		reads = append(reads, f.readCell(r))
	}
	for _, r := range l.raws {
		raws = append(raws, f.rawCell(r))
	}
	group(groupAdds, noteAdds, closed)
	group(groupOpenAdds, noteOpenAdds, open)
	group(groupRaw, noteRaw, raws)
	group(groupReads, noteReads, reads)
	ratios, goals := l.judge(f)
	group(groupRatios, noteRatios, ratios)
	out.Goals = goals
	out.Plots = l.plots(f)
	out.Settings = l.settings()
	out.Notes = append(l.notes, l.warmths()...)
	return out
}

// settings are what the figures of a run depend on.
func (l *lab) settings() []reports.Setting {
	where := "in this process, with the client, each on a host of its own"
	if l.options.Processes {
		where = "processes of their own, and the metadata store; the client in this one"
	}
	return []reports.Setting{
		{Name: "ledgers: bookies", Value: where},
		{Name: "ledgers: journal files", Value: fmt.Sprintf("%d MiB", journalFileBytes>>20)},
		{Name: "ledgers: write cache", Value: fmt.Sprintf("%d MiB a bookie", writeCacheBytes>>20)},
		{Name: "ledgers: digest", Value: "CRC32C"},
	}
}

// warmths say what was warm where reads were measured.
func (l *lab) warmths() (notes []string) {
	for _, w := range []Warmth{Cached, ReadAhead, Cold} {
		for _, r := range l.reads {
			if r.cell.Warmth == w {
				notes = append(notes, fmt.Sprintf("reads of whole ledgers, %s: %s", w, w.words()))
				break
			}
		}
	}
	return notes
}
