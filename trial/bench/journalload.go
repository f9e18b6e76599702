package bench

import (
	"sync"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

const (
	kindMeasured record.Kind = 1
	trimInterval             = 20 * time.Millisecond
)

// journalSubject is a journal without a bookie around it. As a bookie's checkpoints do, a task of its own trims the
// files that are behind.
type journalSubject struct {
	node    node
	journal *journal.Journal
	ending  chan struct{}
	trimmer sync.WaitGroup
	trimmed error
}

func openJournal(dir string, seed uint64) (*journalSubject, error) {
	n, err := newNode(dir, seed, bookie.JournalVolume)
	if err != nil {
		return nil, err
	}
	s := &journalSubject{node: n, ending: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, n.end(err)
	}
	s.trimmer.Go(s.trim)
	return s, nil
}

func (s *journalSubject) start() error {
	volume, err := s.node.Disk(bookie.JournalVolume)
	if err != nil {
		return err
	}
	if s.journal, err = journal.Open(s.node, volume, journal.DefaultConfig()); err != nil {
		return err
	}
	return s.journal.Start(s.node.Root(), 0, 0)
}

// trim removes files that are behind, soon after each roll.
func (s *journalSubject) trim() {
	ticks := time.NewTicker(trimInterval)
	defer ticks.Stop()
	for seen := int64(0); s.trimmed == nil; {
		select {
		case <-s.ending:
			return
		case <-ticks.C:
		}
		if rolled := s.node.rolled.Load(); rolled > seen {
			seen = rolled
			s.trimmed = s.journal.Trim(s.journal.MarkAt(s.journal.Sealed()))
		}
	}
}

func (s *journalSubject) observer() *observer { return s.node.observer }
func (s *journalSubject) forget() error       { return nil }

func (s *journalSubject) close() error {
	close(s.ending)
	s.trimmer.Wait()
	err := s.journal.Close()
	if s.trimmed != nil {
		err = s.trimmed
	}
	return s.node.end(err)
}

func (s *journalSubject) workers(arm Arm, from *source) ([]worker, error) {
	tasks, batch := arm.split()
	stored := storedBytes(arm.PayloadBytes)
	var all []worker
	for _, share := range from.share(tasks, 2*batch*stored) {
		w := &journalWorker{journal: s.journal, source: share, stored: stored, bodies: make([][]byte, batch)}
		w.headers = make([]record.Header, batch)
		if arm.Submission == Batches {
			w.done = ownQueue[error](s.node)
		}
		all = append(all, w)
	}
	return all, nil
}

// journalWorker appends batches: checksummed before the group is entered, referenced or copied as the journal decides.
type journalWorker struct {
	journal *journal.Journal
	source  *source
	stored  int
	bodies  [][]byte
	headers []record.Header
	done    *host.Queue[error] // nil: wait for the ticket instead
	taken   []error
}

// Committed is called by the committing task.
func (w *journalWorker) Committed(err error) { w.done.Offer(err) }

func (w *journalWorker) step() error {
	for i := range w.bodies {
		w.bodies[i] = w.source.take(w.stored)
		w.headers[i] = record.MakeHeader(kindMeasured, w.bodies[i])
	}
	appender, ok := w.journal.Begin()
	for !ok {
		if err := w.journal.AwaitRoom(); err != nil {
			return err
		}
		appender, ok = w.journal.Begin()
	}
	for i := range w.bodies {
		appender.Record(&w.headers[i], w.bodies[i])
	}
	if w.done == nil {
		return appender.End(nil).Wait()
	}
	appender.End(w)
	return w.outcome()
}

func (w *journalWorker) outcome() error {
	taken, ok := w.done.Take(w.taken)
	w.taken = taken
	if !ok {
		return host.ErrStopping
	}
	return taken[0]
}
