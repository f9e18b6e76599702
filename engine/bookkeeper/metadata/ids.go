package metadata

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// PointIDsLost is marked when a block of ledger ids is given up since the answer was lost that would have granted it. A
// is its first id if it was known.
const PointIDsLost host.Point = "metadata.ids-lost"

// ids hands out ledger ids. They come in blocks from one counter in the store: its key is raised by a compare-and-swap,
// and only whoever got the answer "done" uses the block. A block whose answer was lost is given up, so that no id is
// ever used twice whatever happens to answers. The key is never deleted, so that its versions never come back.
type ids struct {
	h         host.Host
	g         host.Group
	store     Store
	layout    Layout
	retry     RetryConfig
	blockSize int64

	mutex host.Mutex
	next  ledger.ID // [next, end) are ours
	end   ledger.ID
}

// take returns an id that nobody else is given. Two tasks that both find the block empty take a block each, and the ids
// of one of them are lost: waiting for each other would cost a caller its deadline.
func (i *ids) take(s *host.Scope) (ledger.ID, error) {
	i.mutex.Lock()
	if i.next < i.end && !i.h.Probe().Perhaps(PointBlockNow) {
		i.next++
		defer i.mutex.Unlock()
		return i.next - 1, nil
	}
	i.mutex.Unlock()
	first, err := i.grant(s)
	if err != nil {
		return 0, fmt.Errorf("take ledger ids at %s: %w", i.layout.NextIDKey(), err)
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.next >= i.end {
		i.next, i.end = first+1, first+ledger.ID(i.blockSize)
	}
	return first, nil
}

// grant takes one block and returns its first id.
func (i *ids) grant(s *host.Scope) (ledger.ID, error) {
	failures := 0
	for {
		first, err := i.raise(s)
		if err == nil {
			return ledger.ID(first), nil
		}
		race := errors.Is(err, ErrVersion) || errors.Is(err, ErrExist) || errors.Is(err, ErrNotExist)
		if errors.Is(err, ErrOutcomeUnknown) {
			i.h.Probe().Mark(host.Event{Name: PointIDsLost, A: first})
		}
		if !race && !again(err) {
			return 0, err
		}
		if failures++; failures >= i.retry.AttemptsMax || !rest(i.h, i.g, s, i.retry.pause(failures)) {
			// Whether a block was burnt makes no difference to the caller: no id is his.
			return 0, fmt.Errorf("given up after %d attempts: %w: %w", failures, ErrUnavailable, err)
		}
		// A lost race shows in this session's reads by itself, a lost answer does not.
		if err := i.store.Sync(s); err != nil {
			return 0, err
		}
	}
}

// raise tries once to move the counter by one block.
func (i *ids) raise(s *host.Scope) (int64, error) {
	key := i.layout.NextIDKey()
	v, err := i.store.Get(key, s)
	if errors.Is(err, ErrNotExist) {
		_, err = i.store.Create(key, strconv.AppendInt(nil, i.blockSize, 10), Persistent, s)
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	first, err := strconv.ParseInt(string(v.Data), 10, 64)
	if err != nil || first < 0 {
		return 0, fmt.Errorf("%.40q, want a number: %w", v.Data, ErrContent)
	}
	if first > math.MaxInt64-i.blockSize {
		return 0, fmt.Errorf("%d is the last id: %w", first, ErrLimit)
	}
	invariant.Check(v.Version != AnyVersion, "a key that exists has a version of its own")
	_, err = i.store.Put(key, strconv.AppendInt(nil, first+i.blockSize, 10), v.Version, s)
	return first, err
}
