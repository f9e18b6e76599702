package measure

import (
	"fmt"
	"time"

	"lakebed/peers/stores"
	"lakebed/reports"
)

// Names of figures, by which goals find them.
const (
	figureAppends = "appends"
	figureReads   = "reads"
	figurePerCPU  = "per CPU second"
	figureByRaw   = "by raw"
	figureByPeer  = "by best peer"
	skippedWord   = "SKIPPED: "
	byRawWanted   = 0.85
	rawAppenders  = 64 // at which that is asked for
)

const (
	syncWords = "synced: an append is answered after a sync of its own or its group's bytes; unsynced: when the kernel has them. The file system is synced between two rounds"
	warmWords = "one uncounted round of each store at each point; reads: all of it was just written, and read once"
	quickNote = "short rounds of a few points: quote figures of the default run only"
)

func (r *run) result() reports.Result {
	result := reports.Result{
		Schema: reports.Schema, Kind: reports.KindBench, ID: "peers", Title: "Single-node stores and their peers, by the wall clock",
		Command: r.options.Command, Started: r.begun, Build: reports.ThisBuild(), Machine: reports.ThisMachine(), Disk: &r.disk,
		Settings: []reports.Setting{
			{Name: "seed", Value: fmt.Sprint(r.options.Seed)}, {Name: "rounds", Value: fmt.Sprint(r.options.rounds())},
			{Name: "round", Value: r.options.length().String()}, {Name: "payload of a round at most", Value: fmt.Sprintf("%d MiB", roundBytesMax>>20)},
		},
	}
	for _, synced := range []bool{true, false} {
		g := reports.Group{Name: "Appends, synced", Note: noteAppends}
		if !synced {
			g.Name = "Appends, unsynced"
		}
		for i := range r.appends {
			if p := &r.appends[i]; p.point.Synced == synced {
				g.Cells = append(g.Cells, p.appendCells(r.options.Seed)...)
				result.Goals = append(result.Goals, p.goals(r.options.Seed)...)
			}
		}
		if len(g.Cells) > 0 {
			result.Groups = append(result.Groups, g)
		}
	}
	g := reports.Group{Name: "Reads, sequential, warm", Note: noteReads}
	for i := range r.reads {
		g.Cells = append(g.Cells, r.reads[i].readCells(r.options.Seed)...)
	}
	if len(g.Cells) > 0 {
		result.Groups = append(result.Groups, g)
	}
	for _, s := range r.plan.stores {
		result.Notes = append(result.Notes, s.Name+": "+s.How)
	}
	result.Notes = append(result.Notes, serverNote)
	if r.options.Quick {
		result.Notes = append(result.Notes, quickNote)
	}
	result.Notes = append(result.Notes, r.skipped...)
	return result
}

const (
	noteAppends = "Closed loop: each appender waits for its append. CPU: user and system time of all processes involved, for each append; of a broker, that of its client and its own are told apart. " +
		"Per CPU second: appends by that time. By raw: appends by those of the raw line in the same rounds. By best peer: appends per CPU second of ours by those of the peer that has most of them here; a broker's client is not counted against it there."
	noteReads  = "One reader, everything that was stored, from the first payload to the last, again and again. CPU as for appends."
	serverNote = "Our stores are measured inside their client's process, as the libraries and the NATS server are; Kafka and RocketMQ are reached over loopback TCP, which costs them CPU on both sides"
)

func (p *pointResult) find(name string) *storeRounds {
	for i := range p.by {
		if p.by[i].store.Name == name {
			return &p.by[i]
		}
	}
	return nil
}

func (s *storeRounds) each(of func(Round) float64) (samples []float64) {
	for _, r := range s.rounds {
		samples = append(samples, of(r))
	}
	return samples
}

func rate(r Round) float64 { return float64(r.Done) / r.Elapsed.Seconds() }

// perCPU guards against a broker's time in steps of a tick: no time at all is taken for one.
func perCPU(r Round) float64 { return float64(r.Done) / max(r.CPU(), tick).Seconds() }

// perBrokerCPU leaves a broker's client out.
func perBrokerCPU(r Round) float64 {
	if r.BrokerCPU == 0 {
		return perCPU(r)
	}
	return float64(r.Done) / r.BrokerCPU.Seconds()
}

func micros(d time.Duration, by int64) float64 {
	return float64(d) / float64(time.Microsecond) / float64(max(by, 1))
}

// figures are those that appends and reads have in common.
func (s *storeRounds) figures(name string, payload int, seed uint64) []reports.Figure {
	figures := []reports.Figure{
		reports.NewFigure(name, "1/s", reports.ClockWall, reports.HigherBetter, s.each(rate), seed),
		reports.NewFigure("payload", "B/s", reports.ClockWall, reports.HigherBetter,
			s.each(func(r Round) float64 { return rate(r) * float64(payload) }), seed),
		reports.NewFigure(figurePerCPU, "1/s", reports.ClockCPU, reports.HigherBetter, s.each(perCPU), seed),
		s.cpu("CPU", func(r Round) time.Duration { return r.CPU() }, seed),
	}
	if s.store.Broker != stores.NoBroker {
		figures = append(figures,
			s.cpu("CPU of client", func(r Round) time.Duration { return r.ClientCPU }, seed),
			s.cpu("CPU of broker", func(r Round) time.Duration { return r.BrokerCPU }, seed))
	}
	return figures
}

func (s *storeRounds) cpu(name string, of func(Round) time.Duration, seed uint64) reports.Figure {
	return reports.NewFigure(name, "µs", reports.ClockCPU, reports.LowerBetter,
		s.each(func(r Round) float64 { return micros(of(r), r.Done) }), seed)
}

func (s *storeRounds) labels(p stores.Point) []reports.Setting {
	return []reports.Setting{
		{Name: "payload", Value: stores.SizeWords(p.PayloadBytes)}, {Name: "partitions", Value: fmt.Sprint(p.Partitions)},
		{Name: "store", Value: s.store.Name},
	}
}

func (p *pointResult) readCells(seed uint64) (cells []reports.Cell) {
	for i := range p.by {
		s := &p.by[i]
		cells = append(cells, reports.Cell{
			Name: readName(p.point) + "/" + s.store.Name, Labels: s.labels(p.point), Figures: s.figures(figureReads, p.point.PayloadBytes, seed),
		})
	}
	return cells
}

func (p *pointResult) appendCells(seed uint64) (cells []reports.Cell) {
	for i := range p.by {
		s := &p.by[i]
		c := reports.Cell{
			Name:   appendName(p.point) + "/" + s.store.Name,
			Labels: append(s.labels(p.point), reports.Setting{Name: "appenders", Value: fmt.Sprint(p.point.Appenders)}),
		}
		c.Figures = append(s.figures(figureAppends, p.point.PayloadBytes, seed),
			reports.NewFigure("p50", "µs", reports.ClockWall, reports.LowerBetter, s.each(func(r Round) float64 { return micros(r.P50, 1) }), seed),
			reports.NewFigure("p99", "µs", reports.ClockWall, reports.LowerBetter, s.each(func(r Round) float64 { return micros(r.P99, 1) }), seed))
		if f, ok := p.byRaw(s, seed); ok {
			c.Figures = append(c.Figures, f)
		}
		if f, _, ok := p.byPeer(s, seed); ok {
			c.Figures = append(c.Figures, f)
		}
		cells = append(cells, c)
	}
	return cells
}
