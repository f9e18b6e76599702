package metadata

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

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

	mutex  host.Mutex
	random *rand.Rand
	next   ledger.ID // [next, end) are ours
	end    ledger.ID
	asking bool      // one task asks the store for a block
	asked  host.Cond // it has been answered, or has given up
}

func newIDs(h host.Host, g host.Group, store Store, c LedgersConfig) ids {
	mutex := h.NewMutex("ledger-ids")
	return ids{
		h: h, g: g, store: store, layout: c.Layout, retry: c.Retry, blockSize: int64(c.IDBlock),
		mutex: mutex, random: h.Rand("ledger-ids/" + c.Name), asked: g.NewCond(mutex),
	}
}

// take returns an id that nobody else is given. One task at a time asks for a block, and the others wait for what is left
// of it: asking besides it they would only lose races for the counter to each other, and the block of each winner but one.
// Each of them waits as long as its own scope lasts. If the one that asks gives up, the next one asks.
func (i *ids) take(s *host.Scope) (ledger.ID, error) {
	if id, had, err := i.reserve(s); had || err != nil {
		return id, err
	}
	first, err := i.grant(s)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.asking = false
	i.asked.Broadcast()
	if err != nil {
		return 0, fmt.Errorf("take ledger ids at %s: %w", i.layout.NextIDKey(), err)
	}
	if i.next >= i.end {
		i.next, i.end = first+1, first+ledger.ID(i.blockSize)
	}
	return first, nil
}

// reserve takes one of the ids that are left, waiting while another task asks for more. Without one it is the caller's to
// ask, and to say when that is over.
func (i *ids) reserve(s *host.Scope) (id ledger.ID, had bool, err error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for {
		if i.next < i.end && !i.h.Probe().Perhaps(PointBlockNow) {
			i.next++
			return i.next - 1, true, nil
		}
		if !i.asking {
			i.asking = true
			return 0, false, nil
		}
		ended := s.Err(i.h.Elapsed())
		if ended == nil && i.asked.WaitFor(untilLook(i.h, s)) == host.Stopping {
			ended = host.ErrStopping
		}
		if ended != nil {
			return 0, false, fmt.Errorf("wait for ledger ids of %s: %w: %w", i.layout.NextIDKey(), ErrUnavailable, ended)
		}
	}
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
		if failures++; failures >= i.retry.AttemptsMax || !rest(i.h, i.g, s, i.pause(failures)) {
			// Whether a block was burnt makes no difference to the caller: no id is his.
			return 0, fmt.Errorf("given up after %d attempts: %w: %w", failures, ErrUnavailable, err)
		}
		// A lost race shows in this session's reads by itself, a lost answer does not.
		if err := i.store.Sync(s); err != nil {
			return 0, err
		}
	}
}

// pause is the wait after so many failures, less up to half of it at random: processes that lost the same race must not
// meet again each time, with one winner a round.
func (i *ids) pause(failures int) time.Duration {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	pause := i.retry.pause(failures)
	return pause - time.Duration(i.random.Int64N(int64(pause/2)+1))
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
