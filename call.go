package lakebed

import (
	"context"
	"fmt"
	"sync/atomic"
)

// job is one call of the engine that nothing can interrupt.
type job[T any] struct {
	slots   chan struct{} // bounds the jobs of its kind
	doing   func() string // for errors
	changes bool          // it may take effect after its caller has left
	run     func() (T, error)
	discard func(T) // gets what a job brings whose caller has left
}

// running is a job in a goroutine of its own, and what it brought.
type running[T any] struct {
	settled atomic.Bool // by whoever comes first: the job that is over, or the caller who leaves
	over    chan struct{}
	value   T
	err     error
}

// do runs a job, and returns when it is over or ctx is. In the latter case the job goes on in a goroutine of the store, which
// Store.Close waits for; it holds its slot until then, so that callers without patience cannot pile jobs up.
func do[T any](ctx context.Context, s *Store, j job[T]) (T, error) {
	var none T
	if err := s.enter(ctx, j.slots); err != nil {
		return none, fmt.Errorf("%s: %w", j.doing(), err)
	}
	if ctx.Done() == nil {
		defer s.leave(j.slots)
		return j.run()
	}
	r := &running[T]{over: make(chan struct{})}
	go func() {
		defer s.leave(j.slots)
		value, err := j.run()
		if r.settled.CompareAndSwap(false, true) {
			r.value, r.err = value, err
			close(r.over)
		} else if err == nil && j.discard != nil {
			j.discard(value)
		}
	}()
	select {
	case <-r.over:
		return r.value, r.err
	case <-ctx.Done():
	}
	if !r.settled.CompareAndSwap(false, true) { // over in the same moment: what it brought is worth more than the context's end
		<-r.over
		return r.value, r.err
	}
	if j.changes {
		return none, fmt.Errorf("%s: %w: %w", j.doing(), ErrOutcomeUnknown, ended(ctx))
	}
	return none, fmt.Errorf("%s: %w", j.doing(), ended(ctx))
}

// enter waits for a slot. Who has entered leaves.
func (s *Store) enter(ctx context.Context, slots chan struct{}) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if !s.begin() {
		return ErrStoreClosed
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		s.underWay.Done()
		return ended(ctx)
	case <-s.closing:
		s.underWay.Done()
		return ErrStoreClosed
	}
}

func (s *Store) leave(slots chan struct{}) {
	<-slots
	s.underWay.Done()
}
