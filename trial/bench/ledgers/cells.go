package ledgers

import (
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
)

// Prefix starts the name of every cell of this package.
const Prefix = "ledger/"

// The shapes that are measured: striped over five bookies, three copies on three with two waiting quorums, and one copy.
var (
	striped    = ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}
	threeOfAll = ledger.Quorum{Ensemble: 3, Write: 3, Ack: 3}
	threeOfTwo = ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}
	single     = ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1}
)

// What the cells of adds vary.
const (
	inFlightMost = 1000
	smallPayload = 100
	pagePayload  = 1 << 10
	largePayload = 16 << 10
)

var (
	shapes    = []ledger.Quorum{threeOfTwo, striped, threeOfAll, single}
	payloads  = []int{smallPayload, pagePayload, largePayload}
	inFlights = []int{inFlightMost, 64, 1}
	percents  = []int{25, 50, 75}
)

// Load is how entries come: so many under way at any time, or at a rate, which is stated or a part of what the closed
// loop of the same shape reached. One field is set.
type Load struct {
	InFlight  int
	Percent   int     // of the closed loop's rate
	PerSecond float64 // entries
}

// Open says that entries come whether earlier ones are acknowledged or not.
func (l Load) Open() bool { return l.InFlight == 0 }

func (l Load) String() string {
	switch {
	case l.InFlight > 0:
		return fmt.Sprint(l.InFlight)
	case l.Percent > 0:
		return fmt.Sprintf("open-%d", l.Percent)
	default:
		return fmt.Sprintf("open-%.0fps", l.PerSecond)
	}
}

// words is the load as a table says it.
func (l Load) words() string {
	switch {
	case l.InFlight > 0:
		return fmt.Sprintf("%d in flight", l.InFlight)
	case l.Percent > 0:
		return fmt.Sprintf("%d %% of closed", l.Percent)
	default:
		return fmt.Sprintf("%.0f/s", l.PerSecond)
	}
}

// WriteCell is adds of one kind.
type WriteCell struct {
	Quorum       ledger.Quorum
	PayloadBytes int
	Unsynced     bool
	Load         Load
}

func shapeName(q ledger.Quorum) string { return fmt.Sprintf("%d-%d-%d", q.Ensemble, q.Write, q.Ack) }

// Name is the cell's name on the command line and in files.
func (c WriteCell) Name() string {
	name := fmt.Sprintf("%swrite/%s/%s/%v", Prefix, shapeName(c.Quorum), sizeName(c.PayloadBytes), c.Load)
	if c.Unsynced {
		name += "/unsynced"
	}
	return name
}

// sizeName writes a size as names do.
func sizeName(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%dKiB", bytes>>10)
	}
	return fmt.Sprintf("%dB", bytes)
}

// bookies is how many the cell's cluster has.
func (c WriteCell) bookies() int { return max(threeOfTwo.Ensemble, c.Quorum.Ensemble) }

// usual reports whether a default run has the cell: the shape 3/3/2 with everything varied, and the others where they
// differ most.
func (c WriteCell) usual() bool {
	switch {
	case c.Quorum != threeOfTwo:
		return !c.Unsynced && c.Load.InFlight == inFlightMost
	case c.Load.Open():
		return !c.Unsynced && c.PayloadBytes != largePayload
	case c.Unsynced:
		return c.Load.InFlight == inFlightMost
	}
	return true
}

// writeCells lists every cell of adds.
func writeCells() []WriteCell {
	var all []WriteCell
	for _, shape := range shapes {
		for _, payload := range payloads {
			for _, unsynced := range []bool{false, true} {
				for _, n := range inFlights {
					all = append(all, WriteCell{shape, payload, unsynced, Load{InFlight: n}})
				}
				for _, percent := range percents {
					all = append(all, WriteCell{shape, payload, unsynced, Load{Percent: percent}})
				}
			}
		}
	}
	return all
}

// Warmth is where entries that are read lie.
type Warmth string

// The places.
const (
	Cached    Warmth = "cached"
	ReadAhead Warmth = "read-ahead"
	Cold      Warmth = "cold"
)

// words say what was warm.
func (w Warmth) words() string {
	switch w {
	case Cached:
		return "in order from the bookies' write caches"
	case ReadAhead:
		return "in order from the entry logs, which the bookies read ahead; page cache warm"
	default:
		return "in order from the entry logs, each part once; bookies restarted, page cache dropped"
	}
}

// Way is how entries are asked for.
type Way string

// The ways.
const (
	Singles Way = "single" // so many readers, each with one read of one entry under way
	Ranges  Way = "range"  // one call for many entries, which keeps so many single reads under way
	Batches Way = "batch"  // a batch read of so many entries under way, or one of each of several readers
)

// ReadCell is reads of one kind. Count is the number under way, or of entries in a batch.
type ReadCell struct {
	Warmth       Warmth
	Way          Way
	Count        int
	PayloadBytes int
	// Readers of batches, each with a part of the ledger and one batch under way; zero: one.
	Readers int
}

// batchReaders is how many readers of batches keep two cores at work. One alone does not: each of its steps wakes a core
// that has gone to sleep, which costs as much as the step (docs/decisions/0016).
const batchReaders = 4

// Name is the cell's name on the command line and in files.
func (c ReadCell) Name() string {
	name := fmt.Sprintf("%sread/%s/%s/%s/%d", Prefix, sizeName(c.PayloadBytes), c.Warmth, c.Way, c.Count)
	if c.Readers > 1 {
		name += fmt.Sprintf("x%d", c.Readers)
	}
	return name
}

// walks is how many ways through the ledger there are.
func (c ReadCell) walks() int { return max(c.Readers, 1) }

// readers is how many tasks read.
func (c ReadCell) readers() int {
	if c.Way == Singles {
		return c.Count
	}
	return c.walks()
}

// usual reports whether a default run has the cell.
func (c ReadCell) usual() bool { return c.PayloadBytes == smallPayload }

// readCells lists every cell of reads.
func readCells() []ReadCell {
	var all []ReadCell
	for _, payload := range payloads {
		for _, warmth := range []Warmth{Cached, ReadAhead, Cold} {
			for _, n := range []int{1, 10, 100} {
				all = append(all, ReadCell{Warmth: warmth, Way: Singles, Count: n, PayloadBytes: payload})
			}
			for _, n := range []int{10, 100} { // one under way is the same in both ways
				all = append(all, ReadCell{Warmth: warmth, Way: Ranges, Count: n, PayloadBytes: payload})
			}
			for _, n := range []int{10, 100, 500} {
				all = append(all, ReadCell{Warmth: warmth, Way: Batches, Count: n, PayloadBytes: payload})
			}
			all = append(all, ReadCell{Warmth: warmth, Way: Batches, Count: goalBatch, PayloadBytes: payload, Readers: batchReaders})
		}
	}
	return all
}

// Plan is what a run measures.
type Plan struct {
	Writes []WriteCell
	Reads  []ReadCell
}

// Empty says that there is nothing to measure.
func (p Plan) Empty() bool { return len(p.Writes)+len(p.Reads) == 0 }

// Plan chooses the cells that the options ask for. Of an open loop at parts of the closed loop's rate the closed loop is
// measured as well.
func (o Options) Plan() Plan {
	var p Plan
	for _, c := range o.writes() {
		if o.takes(c.Name(), c.usual()) {
			p.Writes = append(p.Writes, c)
		}
	}
	for _, c := range readCells() {
		if o.takes(c.Name(), c.usual()) {
			p.Reads = append(p.Reads, c)
		}
	}
	return p
}

// takes: who names cells gets them all, whether a default run has them or not.
func (o Options) takes(name string, usual bool) bool {
	if o.Only != "" {
		return strings.Contains(name, o.Only)
	}
	return usual || o.Thorough
}

// writes are the cells of adds with the loads that the options state.
func (o Options) writes() []WriteCell {
	var all []WriteCell
	seen := map[WriteCell]bool{}
	for _, c := range writeCells() {
		switch {
		case c.Load.Open() && o.Rate > 0:
			c.Load = Load{PerSecond: o.Rate}
		case !c.Load.Open() && o.InFlight > 0:
			c.Load = Load{InFlight: o.InFlight}
		}
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	return all
}
