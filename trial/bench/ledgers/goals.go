package ledgers

import (
	"fmt"

	"lakebed/reports"
)

// What is to be reached.
const (
	addCPUGoalMicros   = 4.0 // of an acknowledged add, three bookies and the client together
	batchCPUGoalMicros = 0.5 // of an entry read in batches
	goalBatch          = 100 // entries a batch
)

// batchGoals are by how much batches should be faster than single reads with so many under way.
var batchGoals = []struct {
	underWay int
	wanted   float64
}{{10, 8}, {100, 1.5}}

// goalAdd is the cell of adds with a goal.
var goalAdd = WriteCell{Quorum: threeOfTwo, PayloadBytes: smallPayload, Load: Load{InFlight: inFlightMost}}

// goalBatchCell is the cell of reads with goals.
var goalBatchCell = ReadCell{Warmth: Cached, Way: Batches, Count: goalBatch, PayloadBytes: smallPayload}

// busyBatchCell is the cell whose CPU has a goal: the same batches, as many at a time as keep the machine at work.
var busyBatchCell = ReadCell{Warmth: Cached, Way: Batches, Count: goalBatch, PayloadBytes: smallPayload, Readers: batchReaders}

// atMost judges a figure that must be low, atLeast one that must be high. The median decides.
func atMost(name, cell string, f reports.Figure, wanted float64) reports.Goal {
	return reports.Goal{
		Name: name, Cell: cell, Figure: f.Name, Wanted: fmt.Sprintf("at most %g %s", wanted, f.Unit),
		Value: f.Value, Low: f.Low, High: f.High, Met: f.Value <= wanted,
	}
}

func atLeast(name, cell string, f reports.Figure, wanted float64) reports.Goal {
	return reports.Goal{
		Name: name, Cell: cell, Figure: f.Name, Wanted: fmt.Sprintf("at least %g", wanted),
		Value: f.Value, Low: f.Low, High: f.High, Met: f.Value >= wanted,
	}
}

// judge compares with the goals what was measured of them, and returns the ratios that were made for it.
func (l *lab) judge(f figures) (ratios []reports.Cell, goals []reports.Goal) {
	for _, r := range l.adds {
		if r.cell == goalAdd {
			goals = append(goals, judgeAdds(f, r))
		}
	}
	batches := l.readRounds(goalBatchCell)
	for _, g := range batchGoals {
		others := l.fasterSingles(g.underWay)
		samples := pairedRatios(rates(batches), others)
		if len(samples) == 0 {
			continue
		}
		cell := reports.Cell{
			Name:    fmt.Sprintf("%sratio/batch-%d/single-%d", Prefix, goalBatch, g.underWay),
			Labels:  []reports.Setting{{Name: "batch", Value: fmt.Sprint(goalBatch)}, {Name: "single reads under way", Value: fmt.Sprint(g.underWay)}},
			Figures: []reports.Figure{f.of(figureRatio, unitRatio, reports.ClockWall, reports.HigherBetter, samples)},
		}
		ratios = append(ratios, cell)
		goals = append(goals, atLeast(fmt.Sprintf("batch reads of 100 B from cache, %d a batch, by single reads with %d under way", goalBatch, g.underWay),
			cell.Name, cell.Figures[0], g.wanted))
	}
	if busy := l.readRounds(busyBatchCell); len(busy) > 0 {
		name := fmt.Sprintf("CPU of an entry read from cache, 100 B, %d a batch, %d batches under way, bookies and client together",
			goalBatch, batchReaders)
		goals = append(goals, atMost(name, busyBatchCell.Name(), f.cpu(busy), batchCPUGoalMicros))
	}
	return ratios, goals
}

// judgeAdds wants the usual round below the bound, and all rounds together with their checkpoints.
func judgeAdds(f figures, r addResult) reports.Goal {
	g := atMost("CPU of an acknowledged add: 3/3/2, 100 B, synced, 1,000 in flight, three bookies and the client",
		r.cell.Name(), f.cpu(r.rounds), addCPUGoalMicros)
	if all := cpuOfTotals(r.rounds).Value; all > addCPUGoalMicros {
		g.Met, g.Why = false, fmt.Sprintf("with the checkpoints that fell into its rounds it is %.2f µs", all)
	}
	return g
}

func (l *lab) readRounds(cell ReadCell) []round {
	for _, r := range l.reads {
		if r.cell == cell {
			return r.rounds
		}
	}
	return nil
}

// fasterSingles are the rates of single reads with so many under way, in each round of the faster way: batches must beat
// the best that can be done without them.
func (l *lab) fasterSingles(underWay int) (faster []float64) {
	for _, way := range []Way{Singles, Ranges} {
		c := goalBatchCell
		c.Way, c.Count = way, underWay
		for i, rate := range rates(l.readRounds(c)) {
			if i == len(faster) {
				faster = append(faster, rate)
			}
			faster[i] = max(faster[i], rate)
		}
	}
	return faster
}
