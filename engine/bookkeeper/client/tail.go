package client

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// follow keeps the metadata of an open ledger fresh, until it is closed. It is a task of its own for each such reader.
func (r *Reader) follow(w metadata.Watch) {
	defer w.Close()
	for {
		err := r.refresh()
		switch {
		case r.Closed():
			return
		case errors.Is(err, ErrNoSuchLedger):
			r.deleted()
			return
		case err != nil: // a change may have been missed by it
			if w.WaitFor(r.client.config.RetryPauseMax) == host.Stopping {
				return
			}
		case !w.Wait():
			return
		}
	}
}

// deleted tells whoever waits that nothing more will come.
func (r *Reader) deleted() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.gone = true
	r.changed.Broadcast()
}

// refresh reads the metadata again.
func (r *Reader) refresh() error {
	got, err := r.client.readMetadata(r.id, "read")
	if err != nil {
		return err
	}
	r.install(got)
	return nil
}

// install takes newer metadata over. A store's sessions end, and the next one may see an older state: a ledger never
// goes back to one.
func (r *Reader) install(got versioned) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	have := &r.current
	if have.version == got.version || got.State < have.State || got.Last().First < have.Last().First && got.State != ledger.Closed {
		return
	}
	r.current = got
	if got.State == ledger.Closed {
		if got.LastEntry < r.confirmed { // somebody broke the protocol, and hiding it would be worse
			r.client.h.Log(host.Error, "ledger was closed before its LAC", host.F("ledger", int64(r.id)),
				host.F("closed", int64(got.LastEntry)), host.F("confirmed", int64(r.confirmed)))
		}
		r.confirmed = got.LastEntry
	} else {
		r.confirmed = max(r.confirmed, confirmedBy(&got.Metadata))
	}
	r.changed.Broadcast()
}

// confirmedBy is what metadata say about the LAC: a fragment begins behind the LAC of its time (bookkeeper#2615).
func confirmedBy(m *ledger.Metadata) ledger.EntryID {
	if m.State == ledger.Closed {
		return m.LastEntry
	}
	return m.Last().First - 1
}

// firstConfirmed asks the bookies for the LAC, by metadata that were just read.
func (r *Reader) firstConfirmed(m *ledger.Metadata) error {
	d, err := r.takeDigester()
	if err != nil {
		return err
	}
	defer r.giveDigester(d)
	return r.askLastConfirmed(m, d, math.MaxInt64, never)
}

// ReadLastConfirmed asks the bookies of the last fragment for their last entries, and returns the LAC. That of a closed
// ledger is its last entry. The LAC travels inside entries: it lags behind the writer's by at least one entry, and while
// the writer idles nothing makes up for that until it closes. It is never above the writer's, and never goes back.
func (r *Reader) ReadLastConfirmed() (ledger.EntryID, error) {
	if err := r.client.begin(); err != nil {
		return ledger.NoEntry, fmt.Errorf("read the LAC of ledger %d: %w", r.id, err)
	}
	defer r.client.end()
	r.mutex.Lock()
	closed, gone := r.closed, r.gone
	r.mutex.Unlock()
	switch {
	case closed:
		return ledger.NoEntry, fmt.Errorf("read the LAC of ledger %d: reader: %w", r.id, ErrClosed)
	case gone:
		return ledger.NoEntry, fmt.Errorf("read the LAC of ledger %d: %w", r.id, ErrNoSuchLedger)
	}
	return r.readLastConfirmed(math.MaxInt64, never) // nothing less than the whole answer is wanted
}

// readLastConfirmed asks the bookies, and is content once the LAC has come to want. It ends by a time, or when the ledger
// is closed.
func (r *Reader) readLastConfirmed(want ledger.EntryID, until time.Duration) (ledger.EntryID, error) {
	d, err := r.takeDigester()
	if err != nil {
		return ledger.NoEntry, err
	}
	defer r.giveDigester(d)
	m := r.Metadata()
	if m.State == ledger.Closed {
		return m.LastEntry, nil
	}
	err = r.askLastConfirmed(&m, d, want, until)
	if err != nil && r.client.h.Elapsed() < until && r.refresh() == nil {
		// The ensemble may be one that the ledger has left.
		if after := r.Metadata(); after.State == ledger.Closed {
			err = nil
		} else if !after.Equal(m) {
			err = r.askLastConfirmed(&after, d, want, until)
		}
	}
	return r.LastAddConfirmed(), err
}

// WaitFor waits until an entry is known to be confirmed, and returns the LAC. It asks the bookies at intervals that grow
// while nothing comes (Config.PollMin, PollMax), and notices at once when the ledger is closed: if the entry is behind its
// end, ErrBeyondLAC. ErrNoSuchLedger if it is deleted, host.ErrTimeout when d has passed; zero: no bound.
func (r *Reader) WaitFor(entry ledger.EntryID, d time.Duration) (ledger.EntryID, error) {
	if err := r.client.begin(); err != nil {
		return ledger.NoEntry, fmt.Errorf("wait for entry %d of ledger %d: %w", entry, r.id, err)
	}
	defer r.client.end()
	deadline := never
	if d > 0 {
		deadline = r.client.h.Elapsed() + d
	}
	pause := r.client.config.PollMin
	for {
		before := r.LastAddConfirmed()
		if !r.isSettled(entry) {
			_, _ = r.readLastConfirmed(entry, deadline) // bookies that do not answer now may do so at the next poll
		}
		done, err := r.await(entry, min(pause, deadline-r.client.h.Elapsed()))
		if done {
			return r.LastAddConfirmed(), err
		}
		if r.client.h.Elapsed() >= deadline {
			return r.LastAddConfirmed(), fmt.Errorf("wait for entry %d of ledger %d: %w", entry, r.id, host.ErrTimeout)
		}
		pause = min(2*pause, r.client.config.PollMax)
		if r.LastAddConfirmed() > before {
			pause = r.client.config.PollMin
		}
	}
}

// await waits for a while, or until the waiting for an entry has an end.
func (r *Reader) await(entry ledger.EntryID, d time.Duration) (done bool, err error) {
	until := r.client.h.Elapsed() + d
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		switch {
		case r.confirmed >= entry:
			return true, nil
		case r.closed:
			return true, fmt.Errorf("wait for entry %d of ledger %d: reader: %w", entry, r.id, ErrClosed)
		case r.gone:
			return true, fmt.Errorf("wait for entry %d of ledger %d: %w", entry, r.id, ErrNoSuchLedger)
		case r.current.State == ledger.Closed:
			return true, fmt.Errorf("wait for entry %d of ledger %d, which ends at %d: %w", entry, r.id, r.confirmed, ErrBeyondLAC)
		}
		left := until - r.client.h.Elapsed()
		if left <= 0 {
			return false, nil
		}
		if r.changed.WaitFor(left) == host.Stopping {
			return true, fmt.Errorf("wait for entry %d of ledger %d: %w", entry, r.id, ErrClientClosed)
		}
	}
}
