package lakebed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// awaitPause is between two looks of AwaitBookies.
const awaitPause = 100 * time.Millisecond

// Bookies lists the bookies that take writes, sorted. One that has just died is among them until its session ends.
func (s *Store) Bookies(ctx context.Context) ([]BookieID, error) {
	const doing = "list bookies"
	if err := s.enter(ctx, s.calls); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer s.leave(s.calls)
	scope, release := s.scope(ctx)
	defer release()
	layout := s.ledgers.Layout()
	var names, readOnly []string
	err := metadata.Latest(s.metadata, scope, func() (err error) {
		if names, err = s.metadata.List(layout.WritableRoot(), scope); err != nil {
			return err
		}
		readOnly, err = s.metadata.List(layout.ReadOnlyRoot(), scope)
		return err
	})
	if err != nil {
		return nil, s.storeError(ctx, doing, err)
	}
	var bookies []BookieID
	for _, name := range names {
		// The parent of the read-only ones is a name among them. A bookie that changes its mode is in both lists for a while.
		if b := ledger.BookieID(name); b.Validate() == nil && !slices.Contains(readOnly, name) {
			bookies = append(bookies, b)
		}
	}
	return bookies, nil
}

// AwaitBookies returns once n bookies take writes. Who starts together with the cluster calls it before Create, which does
// not wait. When the context ends first the error is also ErrNotEnoughBookies if the last look found too few, and
// ErrUnavailable if it failed.
func (s *Store) AwaitBookies(ctx context.Context, n int) error {
	pause := time.NewTicker(awaitPause)
	defer pause.Stop()
	for {
		bookies, problem := s.Bookies(ctx)
		switch {
		case problem == nil && len(bookies) >= n:
			return nil
		case errors.Is(problem, ErrStoreClosed):
			return fmt.Errorf("wait for %d bookies: %w", n, problem)
		case problem == nil:
			problem = fmt.Errorf("%d are there: %w", len(bookies), ErrNotEnoughBookies)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d bookies: %w: %w", n, ended(ctx), problem)
		case <-s.closing:
			return fmt.Errorf("wait for %d bookies: %w", n, ErrStoreClosed)
		}
	}
}
