package ledgers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/reports"
)

// roundBytesMax bounds the payload bytes that a round of adds writes, so that long rounds of long entries do not fill the
// disk: nothing gives the space of a bench's entries back before the cluster ends.
const roundBytesMax = 64 << 20

// addResult is a cell with its rounds, and the rounds of the raw lines beside them.
type addResult struct {
	cell     WriteCell
	rate     float64 // of an open loop: what was asked for
	rounds   []round
	disk     []round // of the raw lines in the same turns; nil: there is none
	loopback []round
}

// goalStretch is how much longer the rounds of the cell with a goal are: the checkpoints that its entries set going should
// fall into them.
const goalStretch = 4

// groupWrites splits cells into those that take turns. The cell with a goal is alone, so that no work in the background
// but its own is counted. The others share it: a checkpoint that one cell has set going may fall into the round of the next.
// So they are of one payload, and synced or not; and of one shape where rounds are long, since all of a group's entries lie
// on the disk at once.
func groupWrites(cells []WriteCell, apart bool) [][]WriteCell {
	type key struct {
		goal     bool
		payload  int
		unsynced bool
		shape    ledger.Quorum
	}
	var order []key
	groups := map[key][]WriteCell{}
	for _, c := range cells {
		k := key{goal: c == goalAdd, payload: c.PayloadBytes, unsynced: c.Unsynced}
		if apart {
			k.shape = c.Quorum
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(a.payload, b.payload) })
	var all [][]WriteCell
	for _, k := range order {
		all = append(all, groups[k])
	}
	return all
}

// addArm is one cell of adds on its ledger.
type addArm struct {
	cell   WriteCell
	served *served
	writer *client.Writer
	closed *closedLoop
	open   *openLoop
	rate   float64 // asked for; of a closed loop that of the last round
	random *rand.Rand
}

func (a *addArm) name() string { return a.cell.Name() }

func (a *addArm) round(_ int, length time.Duration) (round, error) {
	length = shorter(length, a.rate, a.cell.PayloadBytes)
	if a.open == nil {
		done, err := a.closed.round(length, a.served.cpu)
		a.rate = done.perSecond()
		return done, err
	}
	arrivals := schedule(a.rate, length, a.random)
	if len(arrivals) == 0 {
		return round{}, fmt.Errorf("at %.1f entries a second none comes within %v", a.rate, length)
	}
	return a.open.round(arrivals, length, a.served.cpu)
}

// writeGroup measures cells of one payload: the closed loops and the raw lines in turns, then the open loops, whose rates
// come from the closed ones.
func (l *lab) writeGroup(ctx context.Context, cells []WriteCell) (err error) {
	g := &addGroup{lab: l, clusters: make(map[clusterKind]*served)}
	defer func() { err = errors.Join(err, g.end()) }()
	var closed, open []WriteCell
	for _, c := range cells {
		if c.Load.Open() {
			open = append(open, c)
		} else {
			closed = append(closed, c)
		}
	}
	closedResults, err := g.measureClosed(ctx, withReferences(closed, open, l.adds))
	if err != nil {
		return err
	}
	l.adds = append(l.adds, closedResults...)
	if len(open) == 0 {
		return nil
	}
	openResults, err := g.measureOpen(ctx, open, l.adds)
	l.adds = append(l.adds, openResults...)
	return err
}

// withReferences adds the closed loops from which open ones take their rates, unless they were measured before.
func withReferences(closed, open []WriteCell, before []addResult) []WriteCell {
	for _, c := range open {
		reference := c.reference()
		known := slices.Contains(closed, reference) || medianRate(before, reference) > 0
		if c.Load.Percent > 0 && !known {
			closed = append(closed, reference)
		}
	}
	return closed
}

// reference is the closed loop whose rate an open loop takes a part of.
func (c WriteCell) reference() WriteCell {
	c.Load = Load{InFlight: inFlightMost}
	return c
}

// addGroup is the clusters that a group of cells needs.
type addGroup struct {
	lab      *lab
	clusters map[clusterKind]*served
	writers  []*client.Writer
}

// end closes ledgers and clusters.
func (g *addGroup) end() (err error) {
	for _, w := range g.writers {
		w.Abandon() // a close would be as good, and takes a write of metadata
	}
	for _, kind := range slices.SortedFunc(maps.Keys(g.clusters), clusterKind.compare) {
		err = errors.Join(err, g.clusters[kind].end())
	}
	return err
}

func (k clusterKind) compare(other clusterKind) int {
	return cmp.Or(cmp.Compare(k.bookies, other.bookies), cmp.Compare(fmt.Sprint(k.unsynced), fmt.Sprint(other.unsynced)))
}

// arm makes the ledger of a cell, on a cluster that the group has or gets.
func (g *addGroup) arm(ctx context.Context, cell WriteCell) (*addArm, error) {
	kind := clusterKind{bookies: cell.bookies(), unsynced: cell.Unsynced}
	s := g.clusters[kind]
	if s == nil {
		var err error
		if s, err = g.lab.serve(ctx, kind); err != nil {
			return nil, err
		}
		g.clusters[kind] = s
	}
	config := client.DefaultConfig()
	config.WindowEntries = max(config.WindowEntries, cell.Load.InFlight)
	if len(s.clients) == 0 || cell.Load.InFlight > client.DefaultConfig().WindowEntries {
		if _, err := s.newClient(config); err != nil {
			return nil, err
		}
	}
	c := s.clients[len(s.clients)-1]
	o := client.DefaultCreateOptions()
	o.Quorum = cell.Quorum
	w, err := c.Create(o)
	if err != nil {
		return nil, fmt.Errorf("create the ledger of %s: %w", cell.Name(), err)
	}
	g.writers = append(g.writers, w)
	a := &addArm{cell: cell, served: s, writer: w}
	payloads := newContent(cell.PayloadBytes, g.lab.options.Seed)
	if cell.Load.Open() {
		a.open = &openLoop{writer: w, content: payloads}
		a.random = rand.New(rand.NewPCG(g.lab.options.Seed, uint64(w.ID())))
	} else {
		a.closed = newClosedLoop(c.Host, w, payloads, cell.Load.InFlight)
	}
	return a, nil
}

// measureClosed lets closed loops and raw lines take turns.
func (g *addGroup) measureClosed(ctx context.Context, cells []WriteCell) (results []addResult, err error) {
	if len(cells) == 0 {
		return nil, nil
	}
	var arms []arm
	for _, c := range cells {
		a, err := g.arm(ctx, c)
		if err != nil {
			return nil, err
		}
		arms = append(arms, a)
	}
	lines, err := g.lab.rawLines(cells)
	defer func() { err = errors.Join(err, lines.close()) }()
	if err != nil {
		return nil, err
	}
	length := g.lab.pace.closedRound
	if cells[0] == goalAdd && len(cells) == 1 && !g.lab.options.Thorough {
		length *= goalStretch
	}
	rounds, err := g.lab.roundRobin(ctx, append(arms, lines.arms()...), turns{length: length, rounds: g.lab.pace.closedRounds})
	if err != nil {
		return nil, err
	}
	of := lines.results(rounds[len(arms):])
	g.lab.keepRaw(of)
	for i, c := range cells {
		results = append(results, addResult{
			cell: c, rounds: rounds[i], disk: roundsOf(of, rawDisk, c), loopback: roundsOf(of, rawLoopback, c),
		})
	}
	return results, nil
}

// keepRaw adds the rounds of raw lines to those of the same lines beside other groups.
func (l *lab) keepRaw(lines []rawResult) {
	for _, line := range lines {
		i := slices.IndexFunc(l.raws, func(r rawResult) bool { return r.name() == line.name() })
		if i < 0 {
			l.raws = append(l.raws, line)
			continue
		}
		l.raws[i].rounds = append(slices.Clip(l.raws[i].rounds), line.rounds...)
	}
}

// measureOpen lets open loops take turns, at rates that the closed ones gave.
func (g *addGroup) measureOpen(ctx context.Context, cells []WriteCell, closed []addResult) (results []addResult, err error) {
	var arms []arm
	for _, c := range cells {
		a, err := g.arm(ctx, c)
		if err != nil {
			return nil, err
		}
		a.rate = c.Load.PerSecond
		if c.Load.Percent > 0 {
			a.rate = float64(c.Load.Percent) / 100 * medianRate(closed, c.reference())
		}
		if a.rate <= 0 {
			return nil, fmt.Errorf("%s: no rate is known", c.Name())
		}
		arms = append(arms, a)
		results = append(results, addResult{cell: c, rate: a.rate})
	}
	rounds, err := g.lab.roundRobin(ctx, arms, turns{length: g.lab.pace.openRound, rounds: g.lab.pace.openRounds})
	if err != nil {
		return nil, err
	}
	for i := range results {
		results[i].rounds = rounds[i]
	}
	return results, nil
}

// medianRate is what the closed loop of a cell reached.
func medianRate(closed []addResult, cell WriteCell) float64 {
	for _, r := range closed {
		if r.cell == cell {
			return reports.Median(rates(r.rounds))
		}
	}
	return 0
}

func rates(rounds []round) []float64 { return each(rounds, round.perSecond) }

func each(rounds []round, of func(round) float64) []float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	return all
}

// shorter keeps a round below the bound on bytes, at a rate of entries.
func shorter(length time.Duration, perSecond float64, payload int) time.Duration {
	bytes := perSecond * length.Seconds() * float64(payload)
	if bytes <= roundBytesMax {
		return length
	}
	return time.Duration(float64(length) * roundBytesMax / bytes)
}
