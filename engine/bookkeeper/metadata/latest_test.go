package metadata_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// expiring is a store whose session ends after so many requests of some kind.
type expiring struct {
	metadata.Store
	session  metadata.SessionID
	syncs    int
	ends     int // sessions end with each of so many Syncs
	problems error
}

func (e *expiring) Session() metadata.SessionID { return e.session }

func (e *expiring) Sync(*host.Scope) error {
	e.syncs++
	if e.problems != nil {
		return e.problems
	}
	if e.ends > 0 {
		e.ends--
		e.session++
	}
	return nil
}

// TestLatestIsOfOneSession: a read counts only if its session is that of a Sync before it, and it is not made for ever.
func TestLatestIsOfOneSession(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		store        expiring
		moves        int // reads during which the session changes
		syncs, reads int
		err          error
	}{
		"the session stays":                {store: expiring{session: 1}, syncs: 1, reads: 1},
		"there is no session at first":     {store: expiring{ends: 1}, syncs: 2, reads: 1},
		"it ends during Syncs":             {store: expiring{session: 1, ends: 3}, syncs: 4, reads: 1},
		"it ends during reads":             {store: expiring{session: 1}, moves: 2, syncs: 3, reads: 3},
		"it ends at each read, for ever":   {store: expiring{session: 1}, moves: 1 << 20, syncs: 100, reads: 100, err: metadata.ErrUnavailable},
		"it ends at each Sync, for ever":   {store: expiring{session: 1, ends: 1 << 20}, syncs: 100, err: metadata.ErrUnavailable},
		"the store cannot be reached":      {store: expiring{session: 1, problems: gone}, syncs: 1, err: gone},
		"the read itself has a bad answer": {store: expiring{session: 1}, syncs: 1, reads: 1, err: metadata.ErrNotExist},
	} {
		reads := 0
		err := metadata.Latest(&c.store, nil, func() error {
			if reads++; reads <= c.moves {
				c.store.session++
			}
			if errors.Is(c.err, metadata.ErrNotExist) {
				return c.err
			}
			return nil
		})
		if !errors.Is(err, c.err) || c.store.syncs != c.syncs || reads != c.reads {
			t.Errorf("%s: %v after %d Syncs and %d reads, want %v, %d and %d", name, err, c.store.syncs, reads, c.err, c.syncs, c.reads)
		}
	}
}

// oneSided is a store in which the list of read-only bookies cannot be had.
type oneSided struct{ metadata.Store }

func (o oneSided) List(key string, s *host.Scope) ([]string, error) {
	if key == "/ledgers/available/readonly" {
		return nil, metadata.ErrUnavailable
	}
	return o.Store.List(key, s)
}

// TestNobodyIsWritableBeforeTheReadOnlyOnesAreKnown: a bookie that moves to read-only has both keys for a while, and who
// has seen one list only would take it for writable.
func TestNobodyIsWritableBeforeTheReadOnlyOnesAreKnown(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		for _, key := range []string{"/ledgers/available/a:1", "/ledgers/available/readonly/a:1", "/ledgers/available/b:1"} {
			if _, err := store.Create(key, nil, metadata.Persistent, nil); err != nil {
				return err
			}
		}
		blind := metadata.WatchBookies(h, h.Root(), oneSided{store}, metadata.DefaultBookiesConfig())
		defer blind.Close()
		view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
		defer view.Close()
		h.Root().Sleep(time.Minute)
		if found := blind.Writable(); len(found) > 0 {
			t.Errorf("%v are seen as writable", found)
		}
		return sees(h, view, []ledger.BookieID{"b:1"}, []ledger.BookieID{"a:1"})
	})
}

// TestARootThatHoldsNoKeysIsRefused by every configuration, before the first request.
func TestARootThatHoldsNoKeysIsRefused(t *testing.T) {
	long := metadata.Layout{Root: "/" + longName(metadata.KeyBytesMax-1)}
	for _, root := range []metadata.Layout{{Root: "/"}, {Root: ""}, {Root: "ledgers"}, {Root: "/ledgers/"}, long} {
		l, r, b := metadata.DefaultLedgersConfig(), registrationOf("a:1"), metadata.DefaultBookiesConfig()
		l.Layout, r.Layout, b.Layout = root, root, root
		if l.Validate() == nil || r.Validate() == nil || b.Validate() == nil {
			t.Errorf("root %.20q: %v, %v, %v", root.Root, l.Validate(), r.Validate(), b.Validate())
		}
	}
	fits := metadata.Layout{Root: "/" + longName(metadata.KeyBytesMax-1-len("/available/readonly/")-ledger.BookieIDBytesMax)}
	l := metadata.DefaultLedgersConfig()
	if l.Layout = fits; l.Validate() != nil {
		t.Error(l.Validate())
	}
	if err := metadata.ValidateKey(fits.ReadOnlyKey(ledger.BookieID(longName(ledger.BookieIDBytesMax)))); err != nil {
		t.Error(err)
	}
}

func longName(n int) string {
	name := make([]byte, n)
	for i := range name {
		name[i] = 'n'
	}
	return string(name)
}

// never is a store whose writes always meet an expired session.
type never struct{ metadata.Store }

func (never) Create(string, []byte, metadata.Kind, *host.Scope) (metadata.Version, error) {
	return 0, metadata.ErrSessionExpired
}

func (never) Put(string, []byte, metadata.Version, *host.Scope) (metadata.Version, error) {
	return 0, metadata.ErrSessionExpired
}

// TestAPauseEndsWithTheScope: a call that waits before it tries again comes back when its caller's time is up.
func TestAPauseEndsWithTheScope(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		config := metadata.DefaultLedgersConfig()
		config.Retry.PauseMin, config.Retry.PauseMax = time.Minute, time.Minute
		l := metadata.NewLedgers(h, h.Root(), never{store}, config)
		c := metadata.NewCookies(h, h.Root(), never{store}, config.Layout, config.Retry)
		for name, call := range map[string]func(s *host.Scope) error{
			"take an id": func(s *host.Scope) error { _, err := l.TakeID(s); return err },
			"create":     func(s *host.Scope) error { _, err := l.CreateAt(1, fresh(), s); return err },
			"cookie":     func(s *host.Scope) error { return c.Create(aCookie(), s) },
		} {
			begun := h.Elapsed()
			err := call(host.Within(h, nil, time.Second))
			if took := h.Elapsed() - begun; err == nil || took > 1100*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		}
		return nil
	})
}
