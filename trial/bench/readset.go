package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/trial/bench/ledgers"
)

// What the reads are of. The logged entries take twice the bookie's read-ahead cache, so that whoever walks
// through all of them finds none that an earlier turn left there; the cached ones stay below what starts a checkpoint.
const (
	readPayloadBytes  = 1 << 10
	readLedgers       = 16
	readOutstanding   = 4 << 10
	readJournalBytes  = 64 << 20
	coldStride        = 300 // entries: more than one read fetches ahead
	checkpointOnFlush = time.Hour
)

// readSizes says how many entries each ledger has.
type readSizes struct{ logged, cached int }

func defaultReadSizes() readSizes { return readSizes{logged: 8 << 10, cached: 2 << 10} }

// readSet is a bookie full of entries to read.
type readSet struct {
	dir    string
	seed   uint64
	sizes  readSizes
	opened *bookieSubject
	logged []ledger.ID
	cached []ledger.ID
}

func newReadSet(dir string, seed uint64, from *source, sizes readSizes) (*readSet, error) {
	s := &readSet{dir: filepath.Join(dir, "reads"), seed: seed, sizes: sizes}
	if err := s.open(); err != nil {
		return nil, err
	}
	var err error
	if s.logged, err = s.write(from, sizes.logged); err == nil {
		if err = s.opened.store.Flush(); err == nil {
			s.cached, err = s.write(from, sizes.cached)
		}
	}
	if err == nil {
		err = ledgers.WarmCached(s.dir)
	}
	if err != nil {
		_ = s.opened.close()
		return nil, fmt.Errorf("fill the bookie to read from: %w", err)
	}
	return s, nil
}

// open opens the bookie with default settings, except that nothing but Flush starts a checkpoint.
func (s *readSet) open() (err error) {
	config := bookie.DefaultConfig()
	config.CheckpointInterval = checkpointOnFlush
	config.Journal.FileBytes = readJournalBytes
	s.opened, err = openBookieWith(s.dir, s.seed, config)
	return err
}

// write fills new ledgers, in turns, so that their entries come mixed as those of many writers do.
func (s *readSet) write(from *source, entries int) ([]ledger.ID, error) {
	arm := Arm{Subject: Bookie, Submission: Batches, Outstanding: readOutstanding, PayloadBytes: readPayloadBytes}
	tasks, batch := arm.split()
	var writers []worker
	for len(writers) < readLedgers {
		more, err := s.opened.workers(arm, from)
		if err != nil {
			return nil, err
		}
		writers = append(writers, more[:min(tasks, readLedgers-len(writers))]...)
	}
	for range entries / batch {
		for _, w := range writers {
			if err := w.step(); err != nil {
				return nil, err
			}
		}
	}
	ids := s.opened.ledgers
	s.opened.ledgers = nil
	return ids, nil
}

// chill reopens the bookie, so that it has nothing in memory, and drops its files from the page cache.
func (s *readSet) chill() error {
	if err := s.opened.close(); err != nil {
		return err
	}
	if err := ledgers.DropCached(s.dir); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	return ledgers.DropCached(s.dir) // what the start has read
}

func (s *readSet) close() error { return s.opened.close() }

// place is one entry to read.
type place struct {
	ledger ledger.ID
	entry  ledger.EntryID
}

// coldPlaces are entries so far apart that no read fetches another one ahead, in random order.
func (s *readSet) coldPlaces(random *rand.Rand) []place {
	var all []place
	for _, id := range s.logged {
		for e := ledger.EntryID(0); e < ledger.EntryID(s.sizes.logged); e += coldStride {
			all = append(all, place{id, e})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// reader reads one entry a step, wherever next says.
type reader struct {
	store *bookie.Store
	next  func() place
}

func (r *reader) step() error {
	p := r.next()
	e, err := r.store.Read(p.ledger, p.entry)
	if err != nil {
		return err
	}
	defer e.Release()
	if id, entry, err := ledger.Key(e.Body); err != nil || id != p.ledger || entry != p.entry {
		return fmt.Errorf("asked for entry %d of ledger %d, got %d of %d (%w)", p.entry, p.ledger, entry, id, err)
	}
	return nil
}

// walks are the ways of the readers through warm entries. A walk goes on from round to round: one that began anew
// would find what the round before left in the read-ahead cache.
func (s *readSet) walks(plan readPlan) []func() place {
	all := make([]func() place, plan.readers)
	for i := range all {
		if plan.kind == Cached {
			all[i] = s.randomWalk(i)
		} else {
			all[i] = s.sequentialWalk(i)
		}
	}
	return all
}

// randomWalk draws from the cached ledgers.
func (s *readSet) randomWalk(number int) func() place {
	random := rand.New(rand.NewPCG(s.seed, uint64(number)))
	return func() place {
		return place{s.cached[random.IntN(len(s.cached))], ledger.EntryID(random.IntN(s.sizes.cached))}
	}
}

// sequentialWalk goes through the logged ledgers, starting with one of its own.
func (s *readSet) sequentialWalk(number int) func() place {
	at, next := number%len(s.logged), ledger.EntryID(0)
	return func() place {
		p := place{s.logged[at], next}
		if next++; next == ledger.EntryID(s.sizes.logged) {
			at, next = (at+1)%len(s.logged), 0
		}
		return p
	}
}

// handOut gives every place to one of several readers. Over says when so few are left that each reader may take one
// more and no place is taken twice.
func handOut(places []place, readers int) (next func() place, over func(time.Time) bool) {
	var taken atomic.Int64
	next = func() place { return places[taken.Add(1)-1] }
	over = func(time.Time) bool { return taken.Load()+int64(readers) > int64(len(places)) }
	return next, over
}
