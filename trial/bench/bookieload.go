package bench

import (
	"fmt"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// bookieSubject is a whole bookie with its default settings.
type bookieSubject struct {
	node       node
	store      *bookie.Store
	nextLedger ledger.ID
	ledgers    []ledger.ID // of the present arm
}

func openBookie(dir string, seed uint64) (*bookieSubject, error) {
	return openBookieWith(dir, seed, bookie.DefaultConfig())
}

func openBookieWith(dir string, seed uint64, config bookie.Config) (*bookieSubject, error) {
	n, err := newNode(dir, seed, bookie.JournalVolume, bookie.LedgerVolume)
	if err != nil {
		return nil, err
	}
	store, err := bookie.Open(n, n.Root(), config)
	if err != nil {
		return nil, n.end(err)
	}
	return &bookieSubject{node: n, store: store}, nil
}

func (s *bookieSubject) observer() *observer { return s.node.observer }
func (s *bookieSubject) close() error        { return s.node.end(s.store.Close()) }

// forget deletes the ledgers that were written, and checkpoints, so that their entry logs go.
func (s *bookieSubject) forget() error {
	for _, id := range s.ledgers {
		if err := s.store.Delete(id); err != nil {
			return err
		}
	}
	s.ledgers = nil
	return s.store.Flush()
}

func (s *bookieSubject) newLedger() ledger.ID {
	s.nextLedger++
	s.ledgers = append(s.ledgers, s.nextLedger)
	return s.nextLedger
}

// workers makes clients that write one ledger each, as one connection mostly does.
func (s *bookieSubject) workers(arm Arm, from *source) ([]worker, error) {
	tasks, batch := arm.split()
	stored := storedBytes(arm.PayloadBytes)
	var all []worker
	for _, share := range from.share(tasks, 2*batch*stored) {
		w := bookieWriter{store: s.store, source: share, stored: stored, ledger: s.newLedger()}
		if arm.Submission == Blocked {
			all = append(all, &blockedWorker{bookieWriter: w})
			continue
		}
		done := ownQueue[*bookie.Batch](s.node)
		all = append(all, &batchWorker{
			bookieWriter: w, batch: &bookie.Batch{Adds: make([]bookie.Add, batch), Done: done},
		})
	}
	return all, nil
}

// bookieWriter makes the entries of one ledger.
type bookieWriter struct {
	store  *bookie.Store
	source *source
	stored int
	ledger ledger.ID
	next   ledger.EntryID
}

// entry returns the next stored entry. Its payload is whatever the source holds there.
func (w *bookieWriter) entry() []byte {
	body := w.source.take(w.stored)
	ledger.PutHeader(body, w.ledger, w.next, w.next-1, int64(w.next+1)*int64(w.stored-ledger.HeaderBytes))
	w.next++
	return body
}

// blockedWorker adds one entry and waits for it.
type blockedWorker struct {
	bookieWriter
	add bookie.Add
}

func (w *blockedWorker) step() error {
	w.add.Body = w.entry()
	return w.store.AddOne(&w.add)
}

// batchWorker submits a batch and waits until it comes back.
type batchWorker struct {
	bookieWriter
	batch *bookie.Batch
	taken []*bookie.Batch
}

func (w *batchWorker) step() error {
	for i := range w.batch.Adds {
		w.batch.Adds[i].Body = w.entry()
	}
	w.store.Submit(w.batch)
	taken, ok := w.batch.Done.Take(w.taken)
	w.taken = taken
	if !ok {
		return host.ErrStopping
	}
	for i := range w.batch.Adds {
		if err := w.batch.Adds[i].Err; err != nil {
			return fmt.Errorf("add entry %d of a batch to ledger %d: %w", i, w.ledger, err)
		}
	}
	return nil
}
