package metadata

import (
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// BookiesConfig sets up Bookies.
type BookiesConfig struct {
	Layout   Layout
	PauseMin time.Duration // after a look that failed; doubles
	PauseMax time.Duration
	Look     time.Duration // between looks, for what no watch tells
	Timeout  time.Duration // of one look
}

// DefaultBookiesConfig returns the settings for a real cluster.
func DefaultBookiesConfig() BookiesConfig {
	return BookiesConfig{
		Layout: Layout{DefaultRoot}, PauseMin: 50 * time.Millisecond, PauseMax: 5 * time.Second,
		Look: 30 * time.Second, Timeout: 10 * time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c BookiesConfig) Validate() error {
	if c.PauseMin <= 0 || c.PauseMax < c.PauseMin || c.Look <= 0 || c.Timeout <= 0 {
		return fmt.Errorf("pauses %v to %v, look %v, timeout %v: must be positive and not fall", c.PauseMin, c.PauseMax, c.Look, c.Timeout)
	}
	return c.Layout.Validate()
}

// Bookies is a client's view of the bookies that are there. It is stale: who is in it may be gone, and who is not may be
// there. While the store cannot be reached, the last view stays. Its tasks are "writable-bookies" and "readonly-bookies".
type Bookies struct {
	h      host.Host
	g      host.Group
	store  Store
	config BookiesConfig

	mutex   host.Mutex
	changed host.Cond
	seen    [2][]ledger.BookieID // by Mode, sorted; replaced as a whole
	looked  [2]bool
	errors  [2]error
	closing bool
}

// WatchBookies starts to keep a view. The owner calls Close before it closes the store.
func WatchBookies(h host.Host, g host.Group, store Store, config BookiesConfig) *Bookies {
	err := config.Validate()
	invariant.Checkf(err == nil, "a view of bookies is given a valid configuration: %v", err)
	b := &Bookies{h: h, g: g.New("bookies"), store: store, config: config, mutex: h.NewMutex("bookies")}
	b.changed = b.g.NewCond(b.mutex)
	b.g.Go("writable-bookies", func() { b.keep(Writable, config.Layout.WritableRoot()) })
	b.g.Go("readonly-bookies", func() { b.keep(ReadOnly, config.Layout.ReadOnlyRoot()) })
	return b
}

// keep is the task of one parent key.
func (b *Bookies) keep(mode Mode, key string) {
	pauses := RetryConfig{PauseMin: b.config.PauseMin, PauseMax: b.config.PauseMax}
	failures := 0
	for !b.g.Stopping() {
		looked, err := b.follow(mode, key)
		if looked {
			failures = 0
		}
		failures++
		b.failed(mode, err)
		b.g.Sleep(pauses.pause(failures))
	}
}

// follow looks whenever the watch says so, until something fails. The watch comes first: what happens after a look is
// told by it. Two looks are at least PauseMin apart.
func (b *Bookies) follow(mode Mode, key string) (looked bool, err error) {
	w, err := b.store.Watch(key, b.g)
	if err != nil {
		return false, fmt.Errorf("watch bookies at %s: %w", key, err)
	}
	defer w.Close()
	for {
		if err := b.look(mode, key); err != nil {
			return looked, err
		}
		looked = true
		if !b.g.Sleep(b.config.PauseMin) || w.WaitFor(b.config.Look) == host.Stopping {
			return looked, host.ErrStopping
		}
	}
}

func (b *Bookies) look(mode Mode, key string) error {
	names, err := b.store.List(key, host.Within(b.h, b.g, b.config.Timeout))
	if err != nil {
		return fmt.Errorf("list bookies at %s: %w", key, err)
	}
	found := make([]ledger.BookieID, 0, len(names))
	for _, name := range names {
		if id := ledger.BookieID(name); id.Validate() == nil { // "readonly" is a parent, and no bookie
			found = append(found, id)
		}
	}
	slices.Sort(found)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.seen[mode], b.looked[mode], b.errors[mode] = found, true, nil
	b.changed.Broadcast()
	return nil
}

func (b *Bookies) failed(mode Mode, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.errors[mode] = err
}

// Writable returns the bookies that take writes, sorted. One that moves between the modes has both keys for a while, and
// counts as read-only; so there are none before both lists have been seen.
func (b *Bookies) Writable() []ledger.BookieID {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.writable()
}

func (b *Bookies) writable() []ledger.BookieID {
	if !b.looked[Writable] || !b.looked[ReadOnly] {
		return nil
	}
	found := make([]ledger.BookieID, 0, len(b.seen[Writable]))
	for _, id := range b.seen[Writable] {
		if _, is := slices.BinarySearch(b.seen[ReadOnly], id); !is {
			found = append(found, id)
		}
	}
	return found
}

// ReadOnly returns the bookies that only serve reads, sorted.
func (b *Bookies) ReadOnly() []ledger.BookieID {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.Clone(b.seen[ReadOnly])
}

// Placement chooses among the bookies that take writes now.
func (b *Bookies) Placement() Placement { return Placement{Writable: b.Writable()} }

// Await returns when n bookies take writes, or ErrNotEnoughBookies when the scope or the view ends first.
func (b *Bookies) Await(n int, s *host.Scope) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for {
		found := len(b.writable())
		if found >= n && b.looked[Writable] && b.looked[ReadOnly] { // also where n is zero
			return nil
		}
		err := s.Err(b.h.Elapsed())
		if err == nil && b.closing {
			err = host.ErrStopping
		}
		if err != nil {
			for _, each := range b.errors {
				if each != nil {
					err = fmt.Errorf("%w, since: %w", err, each)
				}
			}
			return fmt.Errorf("wait for %d writable bookies, %d are there: %w: %w", n, found, ErrNotEnoughBookies, err)
		}
		b.changed.WaitFor(untilLook(b.h, s))
	}
}

// Close ends the view and returns when no task is left.
func (b *Bookies) Close() {
	b.mutex.Lock()
	b.closing = true
	b.changed.Broadcast()
	b.mutex.Unlock()
	b.g.Stop()
	b.g.Wait()
}
