package metadata

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// PointCreateSettled is marked when a ledger was found to be one's own although no answer to its creation came. A is the
// ledger.
const PointCreateSettled host.Point = "metadata.create-settled"

// PointCreateGivenUp is marked when the outcome of a creation stayed unknown, so that its id is not used. A is the ledger.
const PointCreateGivenUp host.Point = "metadata.create-given-up"

// PointDeleteSettled is the same of a deletion.
const PointDeleteSettled host.Point = "metadata.delete-settled"

// LedgersConfig sets up Ledgers.
type LedgersConfig struct {
	// Name tells the users of Ledgers on one host apart: it names their random stream.
	Name   string
	Layout Layout
	Retry  RetryConfig
	// IDBlock is how many ledger ids are taken from the store at a time. What is left when the process ends is lost.
	IDBlock int
}

// DefaultLedgersConfig returns the settings for a real cluster.
func DefaultLedgersConfig() LedgersConfig {
	return LedgersConfig{Name: "ledgers", Layout: Layout{DefaultRoot}, Retry: DefaultRetry(), IDBlock: 16}
}

// Validate reports the first setting that cannot work.
func (c LedgersConfig) Validate() error {
	if c.Name == "" || c.IDBlock < 1 {
		return fmt.Errorf("name %q and %d ids at a time: must not be empty", c.Name, c.IDBlock)
	}
	if err := c.Layout.Validate(); err != nil {
		return err
	}
	return c.Retry.Validate()
}

// Stored is a ledger's metadata as the store has them.
type Stored struct {
	ID       ledger.ID
	Metadata ledger.Metadata
	Version  Version
}

// Ledgers reads and changes the metadata of ledgers. Any number of tasks may call it. It owns none, and nothing of it
// needs to be closed. Metadata that are not valid are refused with ledger.ErrMetadata before they reach the store.
type Ledgers struct {
	h      host.Host
	g      host.Group
	store  Store
	config LedgersConfig
	ids    ids

	mutex  host.Mutex
	tokens *rand.Rand
}

// NewLedgers makes Ledgers on a store. Waits between attempts end when g stops.
func NewLedgers(h host.Host, g host.Group, store Store, config LedgersConfig) *Ledgers {
	err := config.Validate()
	invariant.Checkf(err == nil, "ledgers are given a valid configuration: %v", err)
	return &Ledgers{
		h: h, g: g, store: store, config: config,
		ids:   newIDs(h, g, store, config),
		mutex: h.NewMutex("ledger-tokens"), tokens: h.Rand("ledger-tokens/" + config.Name),
	}
}

// Layout is where the keys are.
func (l *Ledgers) Layout() Layout { return l.config.Layout }

// idsTriedMax bounds how many ids Create tries: they may be in use, by a foreign client with another generator, or the
// outcome of their creation may stay unknown.
const idsTriedMax = 100

// Create makes a ledger under a new id. If the outcome of a creation stays unknown it goes on with the next id and never
// comes back to that one: the lost request may still be done, when a ledger of that id would long have been used and
// deleted.
func (l *Ledgers) Create(m ledger.Metadata, s *host.Scope) (Stored, error) {
	for tried := 1; ; tried++ {
		id, err := l.ids.take(s)
		if err != nil {
			return Stored{}, err
		}
		created, err := l.CreateAt(id, m, s)
		taken, unknown := errors.Is(err, ErrExist), errors.Is(err, ErrOutcomeUnknown)
		if !taken && !unknown || tried == idsTriedMax || s.Err(l.h.Elapsed()) != nil {
			return created, err
		}
		if unknown {
			l.h.Probe().Mark(host.Event{Name: PointCreateGivenUp, A: int64(id)})
			if !rest(l.h, l.g, s, l.config.Retry.PauseMin) {
				return created, err
			}
		}
	}
}

// CreateAt makes a ledger under a given id, which must never have been used before; ErrExist if it is in use. A token is
// drawn if there is none. It asks once: if the answer is lost it looks, and knows the ledger for its own by the token.
// What it then returns is what is stored, which may have been changed by whoever found the ledger before its creator knew
// of it.
//
// With ErrOutcomeUnknown the ledger does not exist, or exists, or may come into being later: open and empty, and known to
// nobody. Asking again under the same id would let it come back to life after it was deleted.
func (l *Ledgers) CreateAt(id ledger.ID, m ledger.Metadata, s *host.Scope) (Stored, error) {
	key := l.config.Layout.LedgerKey(id)
	if m.Token == 0 {
		m.Token = l.drawToken()
	}
	data, err := encode(m)
	if err != nil {
		return Stored{}, fmt.Errorf("create ledger %d at %s: %w", id, key, err)
	}
	stored := Stored{ID: id, Metadata: m}
	err = l.config.Retry.attempts(l.h, l.g, s, notDone, func(bool) error {
		var err error
		stored.Version, err = l.store.Create(key, data, Persistent, s)
		return err
	})
	if errors.Is(err, ErrOutcomeUnknown) {
		stored, err = l.recognise(id, m.Token, s)
	}
	if err != nil {
		return Stored{}, fmt.Errorf("create ledger %d at %s: %w", id, key, err)
	}
	return stored, nil
}

// recognise looks whether a creation whose answer was lost was done. A ledger of another's is ErrExist. None at all is no
// answer: the request may still be under way.
func (l *Ledgers) recognise(id ledger.ID, token int64, s *host.Scope) (Stored, error) {
	found, err := l.ReadLatest(id, s)
	switch {
	case err == nil && found.Metadata.Token == token:
		l.h.Probe().Mark(host.Event{Name: PointCreateSettled, A: int64(id)})
		return found, nil
	case err == nil:
		return Stored{}, ErrExist
	case errors.Is(err, ledger.ErrMetadata): // it was somebody's, and is no creation of ours
		return Stored{}, fmt.Errorf("%w: %v", ErrExist, err)
	case errors.Is(err, ErrNotExist):
		return Stored{}, fmt.Errorf("%w: no answer came, and it is not there yet", ErrOutcomeUnknown)
	}
	return Stored{}, fmt.Errorf("%w: no answer came, and then: %w", ErrOutcomeUnknown, err)
}

// drawToken draws a number that tells this creation from all others. The clock is mixed in for hosts that start again
// with the same seed.
func (l *Ledgers) drawToken() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for {
		if token := int64(l.tokens.Uint64() + uint64(l.h.Now())); token != 0 {
			return token
		}
	}
}

// encode returns the bytes to store.
func encode(m ledger.Metadata) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	data := m.Append(nil)
	if len(data) > ledger.MetadataBytesMax {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ledger.ErrMetadata, len(data), ledger.MetadataBytesMax)
	}
	return data, nil
}

// Read returns a ledger's metadata, which may be stale; ErrNotExist, ledger.ErrMetadata.
func (l *Ledgers) Read(id ledger.ID, s *host.Scope) (Stored, error) {
	key := l.config.Layout.LedgerKey(id)
	v, err := l.store.Get(key, s)
	if err != nil {
		return Stored{}, fmt.Errorf("read ledger %d at %s: %w", id, key, err)
	}
	m, err := ledger.DecodeMetadata(v.Data)
	if err != nil {
		return Stored{}, fmt.Errorf("read ledger %d at %s: %w", id, key, err)
	}
	return Stored{ID: id, Metadata: m, Version: v.Version}, nil
}

// ReadLatest returns metadata no older than the call.
func (l *Ledgers) ReadLatest(id ledger.ID, s *host.Scope) (Stored, error) {
	var found Stored
	read := func() (err error) {
		found, err = l.Read(id, s)
		return err
	}
	if err := Latest(l.store, s, read); err != nil {
		return Stored{}, fmt.Errorf("read the latest of ledger %d: %w", id, err)
	}
	return found, nil
}

// Write replaces the metadata of a ledger that has the expected version. ErrVersion: another change came first, and Read
// sees it or a later one. ErrOutcomeUnknown: this one may have been made, or may be made as long as the expected version
// is the ledger's; the caller reads the latest and judges anew.
func (l *Ledgers) Write(id ledger.ID, m ledger.Metadata, expected Version, s *host.Scope) (Version, error) {
	invariant.Check(expected != AnyVersion, "ledgers are changed only from a known version")
	key := l.config.Layout.LedgerKey(id)
	data, err := encode(m)
	if err != nil {
		return 0, fmt.Errorf("write ledger %d at %s: %w", id, key, err)
	}
	var version Version
	// What a lost answer means is the caller's to judge.
	err = l.config.Retry.attempts(l.h, l.g, s, notDone, func(bool) error {
		var err error
		version, err = l.store.Put(key, data, expected, s)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write ledger %d at %s: %w", id, key, err)
	}
	return version, nil
}

// Delete deletes a ledger that has the expected version; ErrNotExist, ErrVersion. If the answer is lost it asks again: a
// ledger that is gone then was deleted as wanted, by whomever.
func (l *Ledgers) Delete(id ledger.ID, expected Version, s *host.Scope) error {
	key := l.config.Layout.LedgerKey(id)
	err := l.config.Retry.attempts(l.h, l.g, s, again, func(maybeDone bool) error {
		err := l.store.Delete(key, expected, s)
		if maybeDone && errors.Is(err, ErrNotExist) {
			l.h.Probe().Mark(host.Event{Name: PointDeleteSettled, A: int64(id)})
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete ledger %d at %s: %w", id, key, err)
	}
	return nil
}

// Watch says when to read a ledger's metadata again.
func (l *Ledgers) Watch(id ledger.ID, g host.Group) (Watch, error) {
	key := l.config.Layout.LedgerKey(id)
	w, err := l.store.Watch(key, g)
	if err != nil {
		return nil, fmt.Errorf("watch ledger %d at %s: %w", id, key, err)
	}
	return w, nil
}

// Walk visits the ids of all ledgers, ascending, until visit returns an error, which it returns. Ledgers that come or go
// meanwhile may or may not be visited; all others are. Somebody who acts on absence reads the ledger itself first.
func (l *Ledgers) Walk(s *host.Scope, visit func(ledger.ID) error) error {
	w := walk{latest: latest{store: l.store}, layout: l.config.Layout, scope: s, visit: visit}
	// All short ids are below all long ones.
	if err := w.below(l.config.Layout.Root, shortBranches()); err != nil {
		return err
	}
	return w.below(l.config.Layout.Root, longBranches())
}

// walk is one Walk. It sees what was there when it began through all sessions that it lasts.
type walk struct {
	latest
	layout Layout
	scope  *host.Scope
	visit  func(ledger.ID) error
}

func (w *walk) below(key string, levels []branch) error {
	var names []string
	err := w.read(w.scope, func() (err error) {
		names, err = w.store.List(key, w.scope)
		return err
	})
	if err != nil {
		return fmt.Errorf("list ledgers below %s: %w", key, err)
	}
	for _, name := range names {
		if !levels[0].holds(name) {
			continue
		}
		child := key + "/" + name
		if len(levels) > 1 {
			err = w.below(child, levels[1:])
		} else if id, ok := w.layout.ParseLedgerKey(child); ok {
			err = w.visit(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// List returns the ids of all ledgers, ascending: Walk's, in memory.
func (l *Ledgers) List(s *host.Scope) ([]ledger.ID, error) {
	var all []ledger.ID
	err := l.Walk(s, func(id ledger.ID) error {
		all = append(all, id)
		return nil
	})
	return all, err
}
