package metadata_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// takers has count tasks take an id each at the same time, and returns the ids in the order in which they were had.
func takers(h host.Host, l *metadata.Ledgers, count int) ([]ledger.ID, error) {
	type taken struct {
		id  ledger.ID
		err error
	}
	g := h.Root().New("takers")
	all := host.NewQueue[taken](h, g, "taken", count)
	for range count {
		g.Go("take", func() {
			id, err := l.TakeID(host.Within(h, h.Root(), time.Minute))
			all.Offer(taken{id, err})
		})
	}
	g.Wait()
	all.End()
	each, _ := all.Take(nil)
	var ids []ledger.ID
	var failures error
	for _, one := range each {
		ids, failures = append(ids, one.id), errors.Join(failures, one.err)
	}
	return ids, failures
}

// TestTasksShareABlockOfIds: many tasks of one process take an id at once. They do not race each other for the counter, so
// that none has to wait for long and no id is lost.
func TestTasksShareABlockOfIds(t *testing.T) {
	const tasks = 20 // in blocks of three
	limit := 50 * time.Millisecond
	work := func(h host.Host, store metadata.Store) error {
		began := h.Elapsed()
		ids, err := takers(h, ledgersOn(h, store), tasks)
		if err != nil {
			return err
		}
		seen := map[ledger.ID]bool{}
		for _, id := range ids {
			if seen[id] || id >= tasks+1 { // the last block has three
				return fmt.Errorf("ids %v: one comes twice, or some are lost", ids)
			}
			seen[id] = true
		}
		if d := h.Elapsed() - began; d > limit {
			return fmt.Errorf("%d ids took %s", tasks, d)
		}
		return nil
	}
	for seed := range seeds(20) {
		inWorld(t, seed, work)
	}
	limit = time.Minute // what a machine takes is no matter here
	onThisMachine(t, work)
}

// TestProcessesDoNotMeetInLockstep: processes that start together lose the race for the counter together. They ask again
// at different times, instead of meeting again and again, ever more rarely, until the last one has won.
func TestProcessesDoNotMeetInLockstep(t *testing.T) {
	const processes = 8
	for seed := range seeds(20) {
		var longest time.Duration
		work := func(h host.Host, store metadata.Store) error {
			if !h.Root().Sleep(time.Second - h.Elapsed()) { // sessions are there
				return host.ErrStopping
			}
			began := h.Elapsed()
			_, err := ledgersOn(h, store).TakeID(nil)
			longest = max(longest, h.Elapsed()-began)
			return err
		}
		inWorld(t, seed, work, work, work, work, work, work, work, work)
		if longest > 250*time.Millisecond { // in lockstep, where each pause has one winner, it is up to 750
			t.Errorf("seed %d: one of %d processes waited %s for an id", seed, processes, longest)
		}
	}
}

// heldStore answers nothing about the counter of ids until the caller's scope ends, as long as it is held.
type heldStore struct {
	metadata.Store
	h    host.Host
	held bool
}

func (s *heldStore) Get(key string, scope *host.Scope) (metadata.Value, error) {
	if s.held && key == (metadata.Layout{Root: metadata.DefaultRoot}).NextIDKey() {
		s.h.Root().Sleep(scope.Deadline - s.h.Elapsed())
		return metadata.Value{}, fmt.Errorf("planted: %w: %w", metadata.ErrUnavailable, host.ErrTimeout)
	}
	return s.Store.Get(key, scope)
}

// TestWhoWaitsForAnothersBlockKeepsItsDeadline: the task that asks is patient, and the store is away. One that waits for it
// gives up in time; one that waits for longer asks itself when the first one has given up.
func TestWhoWaitsForAnothersBlockKeepsItsDeadline(t *testing.T) {
	for seed := range seeds(20) {
		inWorld(t, seed, func(h host.Host, store metadata.Store) error {
			held := &heldStore{Store: store, h: h, held: true}
			l := ledgersOn(h, held)
			g := h.Root().New("takers")
			var failure, last error
			g.Go("asks", func() { _, failure = l.TakeID(host.Within(h, h.Root(), 5*time.Second)) })
			h.Root().Sleep(time.Millisecond)
			g.Go("outlasts", func() { _, last = l.TakeID(host.Within(h, h.Root(), 10*time.Second)) })
			began := h.Elapsed()
			_, err := l.TakeID(host.Within(h, h.Root(), time.Second))
			if d := h.Elapsed() - began; !errors.Is(err, metadata.ErrUnavailable) || d > 1100*time.Millisecond {
				return fmt.Errorf("a wait of a second ended after %s: %w", d, err)
			}
			held.held = false
			g.Wait()
			if d := h.Elapsed() - began; last != nil || d > 6100*time.Millisecond {
				return fmt.Errorf("the one that outlasts was done after %s: %w", d, last)
			}
			return is("the one that asked", failure, metadata.ErrUnavailable)
		})
	}
}

// TestWaitingForIdsEndsWithTheGroup, and its error says so.
func TestWaitingForIdsEndsWithTheGroup(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		g := h.Root().New("ledgers")
		l := metadata.NewLedgers(h, g, &heldStore{Store: store, h: h, held: true}, metadata.DefaultLedgersConfig())
		tasks := h.Root().New("takers")
		var err error
		tasks.Go("asks", func() { _, _ = l.TakeID(host.Within(h, h.Root(), 5*time.Second)) })
		h.Root().Sleep(time.Millisecond)
		tasks.Go("waits", func() { _, err = l.TakeID(host.Within(h, h.Root(), 5*time.Second)) })
		h.Root().Sleep(time.Millisecond)
		g.Stop()
		tasks.Wait()
		return is("a wait whose group stops", err, host.ErrStopping)
	})
}
