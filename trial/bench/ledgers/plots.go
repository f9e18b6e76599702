package ledgers

import (
	"fmt"

	"lakebed/reports"
)

// plots draws what was measured, where there is more than one point to draw.
func (l *lab) plots(f figures) []reports.Plot {
	var all []reports.Plot
	for _, p := range []reports.Plot{l.plotOpen(f), l.plotInFlight(f), l.plotShapes(f), l.plotBatches(f)} {
		lines := p.Lines[:0]
		points := 0
		for _, line := range p.Lines {
			if len(line.Points) > 0 {
				lines = append(lines, line)
				points += len(line.Points)
			}
		}
		if p.Lines = lines; points > 1 {
			all = append(all, p)
		}
	}
	return all
}

func pointAt(x float64, f reports.Figure) reports.Point {
	return reports.Point{X: x, Y: f.Value, Low: f.Low, High: f.High}
}

// plotOpen is the latency of adds by their rate.
func (l *lab) plotOpen(f figures) reports.Plot {
	p := reports.Plot{
		Name: "ledger-open-latency", Title: "Latency of adds by rate, 3/3/2, synced, open loop (wall clock)", Legend: "payload and percentile",
		X: reports.Axis{Label: "arrivals", Unit: unitPerSecond}, Y: reports.Axis{Label: "latency from when an add was due", Unit: unitMicros, Log: true},
	}
	for _, payload := range payloads {
		for _, percent := range []float64{percentileMedian, percentileHigh} {
			line := reports.Line{Name: fmt.Sprintf("%s, p%g", sizeWords(payload), percent)}
			for _, r := range l.adds {
				if r.cell.Quorum == threeOfTwo && r.cell.PayloadBytes == payload && !r.cell.Unsynced && r.cell.Load.Open() {
					samples := each(r.rounds, func(r round) float64 { return r.latencies.at(percent) })
					line.Points = append(line.Points, pointAt(r.rate, f.of("latency", unitMicros, reports.ClockWall, reports.LowerBetter, samples)))
				}
			}
			p.Lines = append(p.Lines, line)
		}
	}
	return p
}

// plotInFlight is the rate of adds by how many are in flight.
func (l *lab) plotInFlight(f figures) reports.Plot {
	p := reports.Plot{
		Name: "ledger-adds-in-flight", Title: "Adds by how many are in flight, 3/3/2, closed loop (wall clock)", Legend: "payload",
		X: reports.Axis{Label: "adds in flight", Unit: "1", Log: true}, Y: reports.Axis{Label: "acknowledged adds", Unit: unitPerSecond, Log: true},
	}
	for _, payload := range payloads {
		line := reports.Line{Name: sizeWords(payload) + ", synced"}
		for i := len(l.adds) - 1; i >= 0; i-- { // the cells go down from the most in flight
			r := l.adds[i]
			if r.cell.Quorum == threeOfTwo && r.cell.PayloadBytes == payload && !r.cell.Unsynced && !r.cell.Load.Open() {
				line.Points = append(line.Points, pointAt(float64(r.cell.Load.InFlight), f.rate(figureAdds, payload, r.rounds)[0]))
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// plotShapes is the rate of adds by shape.
func (l *lab) plotShapes(f figures) reports.Plot {
	p := reports.Plot{
		Name: "ledger-adds-shapes", Title: fmt.Sprintf("Adds by ensemble, write and ack quorum, synced, %d in flight (wall clock)", inFlightMost),
		Legend: "payload", Bars: true, X: reports.Axis{Label: "E/Qw/Qa"}, Y: reports.Axis{Label: "acknowledged adds", Unit: unitPerSecond},
	}
	for _, s := range shapes {
		p.X.Names = append(p.X.Names, fmt.Sprintf("%d/%d/%d", s.Ensemble, s.Write, s.Ack))
	}
	for _, payload := range payloads {
		line := reports.Line{Name: sizeWords(payload)}
		for at, shape := range shapes {
			for _, r := range l.adds {
				if r.cell == (WriteCell{Quorum: shape, PayloadBytes: payload, Load: Load{InFlight: inFlightMost}}) {
					line.Points = append(line.Points, pointAt(float64(at), f.rate(figureAdds, payload, r.rounds)[0]))
				}
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// plotBatches is the rate of batch reads by the size of the batch.
func (l *lab) plotBatches(f figures) reports.Plot {
	p := reports.Plot{
		Name: "ledger-batch-reads", Title: "Batch reads by entries a batch, 3/3/2, one batch under way (wall clock)", Legend: "payload and where entries lie",
		X: reports.Axis{Label: "entries a batch", Unit: "1", Log: true}, Y: reports.Axis{Label: "entries read", Unit: unitPerSecond, Log: true},
	}
	for _, payload := range payloads {
		for _, warmth := range []Warmth{Cached, ReadAhead, Cold} {
			line := reports.Line{Name: fmt.Sprintf("%s, %s", sizeWords(payload), warmth)}
			for _, r := range l.reads {
				one := r.cell == ReadCell{Warmth: warmth, Way: Singles, Count: 1, PayloadBytes: payload} // a single read is a batch of one
				if one || r.cell.Way == Batches && r.cell.Readers == 0 && r.cell.Warmth == warmth && r.cell.PayloadBytes == payload {
					line.Points = append(line.Points, pointAt(float64(r.cell.Count), f.rate(figureReads, payload, r.rounds)[0]))
				}
			}
			p.Lines = append(p.Lines, line)
		}
	}
	return p
}
