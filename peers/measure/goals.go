package measure

import (
	"fmt"

	"lakebed/peers/stores"
	"lakebed/reports"
)

// ratio makes a figure of two stores whose i-th rounds ran side by side.
func ratio(name string, clock reports.Clock, parts, wholes []float64, seed uint64) (reports.Figure, bool) {
	i, ok := reports.PairedRatioInterval(parts, wholes, seed)
	return reports.Figure{
		Name: name, Unit: "1", Clock: clock, Better: reports.HigherBetter, Value: i.Value, Low: i.Low, High: i.High,
	}, ok
}

// byRaw is a store's appends by those of the raw line.
func (p *pointResult) byRaw(s *storeRounds, seed uint64) (reports.Figure, bool) {
	raw := p.line()
	if raw == nil || s.store.Kind == stores.Line {
		return reports.Figure{}, false
	}
	return ratio(figureByRaw, reports.ClockWall, s.each(rate), raw.each(rate), seed)
}

func (p *pointResult) line() *storeRounds {
	for i := range p.by {
		if p.by[i].store.Kind == stores.Line {
			return &p.by[i]
		}
	}
	return nil
}

// byPeer is what a store of ours gets out of a CPU second by what the best peer does.
func (p *pointResult) byPeer(s *storeRounds, seed uint64) (f reports.Figure, best *storeRounds, ok bool) {
	if s.store.Kind != stores.Ours {
		return f, nil, false
	}
	for i := range p.by {
		peer := &p.by[i]
		if peer.store.Kind != stores.Peer {
			continue
		}
		if best == nil || reports.Median(peer.each(perBrokerCPU)) > reports.Median(best.each(perBrokerCPU)) {
			best = peer
		}
	}
	if best == nil {
		return f, nil, false
	}
	f, ok = ratio(figureByPeer, reports.ClockCPU, s.each(perCPU), best.each(perBrokerCPU), seed)
	return f, best, ok
}

// goals of one point: each store of ours gets more out of a CPU second than every peer, and at rawAppenders into one partition comes
// near the raw line where both sync.
func (p *pointResult) goals(seed uint64) (goals []reports.Goal) {
	for i := range p.by {
		s := &p.by[i]
		cell := appendName(p.point) + "/" + s.store.Name
		if f, best, ok := p.byPeer(s, seed); ok {
			goals = append(goals, reports.Goal{
				Name: fmt.Sprintf("%s: appends per CPU second by those of %s, the best peer here", cell, best.store.Name), Cell: cell, Figure: f.Name,
				Wanted: "at least 1", Value: f.Value, Low: f.Low, High: f.High, Met: f.Value >= 1,
			})
		}
		if s.store.Kind != stores.Ours || !p.point.Synced || p.point.Appenders != rawAppenders || p.point.Partitions != 1 {
			continue
		}
		if f, ok := p.byRaw(s, seed); ok {
			goals = append(goals, reports.Goal{
				Name: cell + ": appends by those of the raw line", Cell: cell, Figure: f.Name,
				Wanted: fmt.Sprintf("at least %.2f", byRawWanted), Value: f.Value, Low: f.Low, High: f.High, Met: f.Value >= byRawWanted,
			})
		}
	}
	return goals
}
