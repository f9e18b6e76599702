package ledgers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
)

// rangeEntries is how many entries one call of a range asks for.
const rangeEntries = 2000

// readSizes says how many entries the ledgers have that are read. The logged ones take several times what the bookies'
// read-ahead caches hold; the cached ones stay below what starts a checkpoint.
type readSizes struct{ logged, cached ledger.EntryID }

func readSizesOf(payload int) readSizes {
	switch payload {
	case smallPayload:
		return readSizes{logged: 400_000, cached: 100_000}
	case pagePayload:
		return readSizes{logged: 100_000, cached: 20_000}
	default:
		return readSizes{logged: 8_000, cached: 1_500}
	}
}

// readResult is a cell with its rounds.
type readResult struct {
	cell   ReadCell
	rounds []round
}

// readSet is a cluster with ledgers to read from.
type readSet struct {
	*served
	payload        int
	logged, cached ledger.ID
	sizes          readSizes
}

// readGroup measures reads of entries of one size: what is warm in turns, then what is cold, for which the bookies are
// restarted before each round.
func (l *lab) readGroup(ctx context.Context, payload int, cells []ReadCell) (err error) {
	sizes := readSizesOf(payload)
	if l.options.sizes != nil {
		sizes = *l.options.sizes
	}
	served, err := l.serve(ctx, clusterKind{bookies: threeOfTwo.Ensemble, forReads: true})
	if err != nil {
		return err
	}
	set := &readSet{served: served, payload: payload, sizes: sizes}
	defer func() { err = errors.Join(err, set.end()) }()
	if err := set.fill(ctx, l.options.Seed); err != nil {
		return fmt.Errorf("fill the ledgers to read: %w", err)
	}
	var warm, cold []ReadCell
	for _, c := range cells {
		if c.Warmth == Cold {
			cold = append(cold, c)
		} else {
			warm = append(warm, c)
		}
	}
	if err := l.warmReads(ctx, set, warm); err != nil {
		return err
	}
	return l.coldReads(ctx, set, cold)
}

// fill writes both ledgers. Between them the bookies are restarted, which takes the first one to their entry logs.
func (s *readSet) fill(ctx context.Context, seed uint64) (err error) {
	if s.logged, err = s.write(s.sizes.logged, seed); err != nil {
		return err
	}
	if err := s.restartAll(ctx, false); err != nil {
		return err
	}
	if s.cached, err = s.write(s.sizes.cached, seed); err != nil {
		return err
	}
	return WarmCached(s.dir)
}

// fillLength is after how long the number of entries is looked at while a ledger is filled.
const fillLength = 50 * time.Millisecond

// write fills a ledger with at least so many entries.
func (s *readSet) write(entries ledger.EntryID, seed uint64) (ledger.ID, error) {
	c, err := s.newClient(client.DefaultConfig())
	if err != nil {
		return 0, err
	}
	o := client.DefaultCreateOptions()
	o.Quorum = threeOfTwo
	w, err := c.Create(o)
	if err != nil {
		return 0, err
	}
	loop := newClosedLoop(c.Host, w, newContent(s.payload, seed), inFlightMost)
	for w.LastAddConfirmed()+1 < entries {
		if _, err := loop.round(fillLength, ownCPU); err != nil {
			return 0, err
		}
	}
	return w.ID(), w.Close()
}

// restartAll restarts the bookies without any client: one that has just lost a bookie pauses before it dials it again.
func (s *readSet) restartAll(ctx context.Context, chill bool) error {
	if err := s.dropClients(); err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	if !chill {
		return nil
	}
	return DropCached(s.dir) // clean pages only: the bookies have synced all before they ended
}

func (l *lab) warmReads(ctx context.Context, set *readSet, cells []ReadCell) error {
	var arms []arm
	for i, c := range cells {
		id, entries := set.cached, set.sizes.cached
		if c.Warmth == ReadAhead {
			id, entries = set.logged, set.sizes.logged
		}
		all := &walk{end: entries, at: entries * ledger.EntryID(i) / ledger.EntryID(len(cells))}
		a := &readArm{cell: c, set: set, walks: all.parts(c.walks())}
		if err := a.open(id); err != nil {
			return err
		}
		arms = append(arms, a)
	}
	if len(arms) == 0 {
		return nil
	}
	rounds, err := l.roundRobin(ctx, arms, turns{length: l.pace.readRound, rounds: l.pace.readRounds})
	if err != nil {
		return err
	}
	for i, c := range cells {
		l.reads = append(l.reads, readResult{c, rounds[i]})
	}
	return nil
}

// coldReads gives each cell a part of the logged ledger of its own, another one each round. The bookies are restarted and
// the page cache is dropped before each round, so all of it comes from the disk, and most of it is read once.
func (l *lab) coldReads(ctx context.Context, set *readSet, cells []ReadCell) error {
	if len(cells) == 0 {
		return nil
	}
	var arms []arm
	for _, c := range cells {
		arms = append(arms, &readArm{cell: c, set: set})
	}
	parts := ledger.EntryID(len(arms) * (l.pace.coldRounds + 1))
	chill := func(ctx context.Context, number int) error {
		if err := set.restartAll(ctx, true); err != nil {
			return err
		}
		for i := range arms {
			a, part := arms[i].(*readArm), ledger.EntryID(number*len(arms)+i)
			all := &walk{at: set.sizes.logged * part / parts, end: set.sizes.logged * (part + 1) / parts, once: true}
			a.walks = all.parts(a.cell.walks())
			if err := a.open(set.logged); err != nil {
				return err
			}
		}
		return nil
	}
	rounds, err := l.roundRobin(ctx, arms, turns{length: l.pace.readRound, rounds: l.pace.coldRounds, before: chill})
	if err != nil {
		return err
	}
	for i, c := range cells {
		l.reads = append(l.reads, readResult{c, rounds[i]})
	}
	return nil
}

// walk hands out entries in order, to several readers.
type walk struct {
	mutex   sync.Mutex
	at, end ledger.EntryID
	start   ledger.EntryID // from where it goes on at the end
	once    bool           // it ends at the end instead
}

// take returns the next entries, at most n; none when the walk is over.
func (w *walk) take(n int) (first ledger.EntryID, count int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.at >= w.end {
		if w.once {
			return w.at, 0
		}
		w.at = w.start
	}
	first, count = w.at, int(min(ledger.EntryID(n), w.end-w.at))
	w.at += ledger.EntryID(count)
	return first, count
}

// parts divides what a walk has left to several readers, or all of it if it goes on from the start.
func (w *walk) parts(n int) []*walk {
	if n == 1 {
		return []*walk{w}
	}
	begin := w.start
	if w.once {
		begin = w.at
	}
	all := make([]*walk, n)
	for i := range all {
		from := begin + (w.end-begin)*ledger.EntryID(i)/ledger.EntryID(n)
		to := begin + (w.end-begin)*ledger.EntryID(i+1)/ledger.EntryID(n)
		all[i] = &walk{at: from, start: from, end: to, once: w.once}
	}
	return all
}

// back returns entries of the last take that were not read after all.
func (w *walk) back(to ledger.EntryID) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.at = to
}

// readArm is one cell of reads.
type readArm struct {
	cell   ReadCell
	set    *readSet
	reader *client.Reader
	walks  []*walk // one of each reader of batches; single reads share one
}

func (a *readArm) name() string { return a.cell.Name() }

// open opens the ledger with a client whose settings make it read in the cell's way.
func (a *readArm) open(id ledger.ID) error {
	config := client.DefaultConfig()
	config.BatchReads = a.cell.Way == Batches
	if a.cell.Way == Ranges {
		config.ReadsInFlight = a.cell.Count
	}
	c, err := a.set.newClient(config)
	if err != nil {
		return err
	}
	a.reader, err = c.Open(id, client.OpenOptions{})
	return err
}

func (a *readArm) round(_ int, length time.Duration) (round, error) {
	tasks := a.cell.readers()
	histograms, entries, failed := make([]*histogram, tasks), make([]int64, tasks), make([]error, tasks)
	measured, err := meter(a.set.cpu).begin()
	if err != nil {
		return round{}, err
	}
	over := func(now time.Time) bool { return now.Sub(measured.at) >= length }
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() { histograms[i], entries[i], failed[i] = a.read(a.walks[i%len(a.walks)], over) })
	}
	all.Wait()
	done := round{latencies: newHistogram()}
	if done.elapsed, done.cpu, err = measured.end(); err != nil {
		return done, err
	}
	for i, h := range histograms {
		done.entries += entries[i]
		done.latencies.take(h)
	}
	if a.cell.Way == Ranges {
		done.latencies = nil // those of thousands of entries say nothing
		return done, errors.Join(failed...)
	}
	return done, errors.Join(errors.Join(failed...), done.latencies.failed)
}

// read is one reader: it asks, checks and counts until the round or the walk is over.
func (a *readArm) read(walk *walk, over func(time.Time) bool) (h *histogram, entries int64, err error) {
	h = newHistogram()
	for begun := time.Now(); ; {
		first, count := walk.take(a.ask())
		if count == 0 {
			return h, entries, nil
		}
		got, err := a.get(first, count)
		if err != nil {
			return h, entries, err
		}
		entries += int64(got)
		if got < count {
			walk.back(first + ledger.EntryID(got)) // a batch may be shorter; its reader has the walk for itself
		}
		now := time.Now()
		h.add(now.Sub(begun), 1)
		if over(now) {
			return h, entries, nil
		}
		begun = now
	}
}

// ask is how many entries one call asks for.
func (a *readArm) ask() int {
	switch a.cell.Way {
	case Singles:
		return 1
	case Ranges:
		return rangeEntries
	default:
		return a.cell.Count
	}
}

// get makes one call, and checks that what came is what was asked for.
func (a *readArm) get(first ledger.EntryID, count int) (got int, err error) {
	var e *client.Entries
	if a.cell.Way == Batches {
		e, err = a.reader.BatchRead(first, count, 0)
	} else {
		e, err = a.reader.Read(first, first+ledger.EntryID(count)-1)
	}
	if err != nil {
		return 0, err
	}
	defer e.Release()
	got = len(e.List)
	if got == 0 || got > count || a.cell.Way != Batches && got < count {
		return 0, fmt.Errorf("asked for %d entries from %d on, got %d", count, first, got)
	}
	if last := e.List[got-1]; last.ID != first+ledger.EntryID(got)-1 || len(last.Payload) != a.set.payload {
		return 0, fmt.Errorf("asked for %d entries from %d on, the last of %d is %d with %d bytes", count, first, got, last.ID, len(last.Payload))
	}
	return got, nil
}
