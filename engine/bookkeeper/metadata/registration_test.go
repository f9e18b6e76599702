package metadata_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
)

func registrationOf(b ledger.BookieID) metadata.RegistrationConfig {
	c := metadata.DefaultRegistrationConfig()
	c.Bookie = b
	c.Info, _ = metadata.LegacyInfo(b)
	return c
}

// memberOf is a registration of a bookie that belongs to the store's cluster, which is made if need be.
func memberOf(h host.Host, store metadata.Store, b ledger.BookieID) (metadata.RegistrationConfig, error) {
	c := registrationOf(b)
	var err error
	c.InstanceID, err = metadata.NewCookies(h, h.Root(), store, c.Layout, metadata.DefaultRetry()).Initialize(nil)
	return c, err
}

// sees waits until a view shows what it should.
func sees(h host.Host, view *metadata.Bookies, writable, readOnly []ledger.BookieID) error {
	var w, r []ledger.BookieID
	for range 3000 {
		w, r = view.Writable(), view.ReadOnly()
		if slices.Equal(w, writable) && slices.Equal(r, readOnly) {
			return nil
		}
		h.Root().Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the view is %v and %v, want %v and %v", w, r, writable, readOnly)
}

// aRegistrationsLife: it comes, becomes read-only and writable again, and goes, and a view follows.
func aRegistrationsLife(h host.Host, store metadata.Store) error {
	view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
	defer view.Close()
	config, err := memberOf(h, store, "a:1")
	if err != nil {
		return err
	}
	r := metadata.Register(h, h.Root(), store, config)
	if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
		return err
	}
	only := []ledger.BookieID{"a:1"}
	if err := errors.Join(view.Await(1, host.Within(h, nil, time.Minute)), sees(h, view, only, nil)); err != nil {
		return err
	}
	if err := is("two bookies", view.Await(2, host.Within(h, nil, 50*time.Millisecond)), metadata.ErrNotEnoughBookies); err != nil {
		return err
	}
	value, err := store.Get("/ledgers/available/a:1", nil)
	if err != nil {
		return err
	}
	if info, err := metadata.DecodeBookieInfo("a:1", value.Data); err != nil || info.Endpoints[0].Port != 1 {
		return fmt.Errorf("bookie info %+v, %w", info, err)
	}
	for range 3 {
		r.SetMode(metadata.ReadOnly)
		if err := errors.Join(r.Await(host.Within(h, nil, time.Minute)), sees(h, view, nil, only)); err != nil {
			return err
		}
		r.SetMode(metadata.Writable)
		if err := errors.Join(r.Await(host.Within(h, nil, time.Minute)), sees(h, view, only, nil)); err != nil {
			return err
		}
	}
	if _, err := view.Placement().Choose(1, nil, h.Rand("placement")); err != nil {
		return err
	}
	r.Close(host.Within(h, nil, time.Minute))
	return errors.Join(sees(h, view, nil, nil),
		is("await what has ended", r.Await(host.Within(h, nil, time.Minute)), host.ErrStopping))
}

// TestARegistrationsLife in both worlds.
func TestARegistrationsLife(t *testing.T) {
	for seed := range seeds(20) {
		inWorld(t, seed, aRegistrationsLife)
	}
	onThisMachine(t, aRegistrationsLife)
}

// ordered notes deletions of one of a bookie's keys while the other was not there.
type ordered struct {
	metadata.Store
	deletions int
	problem   error
}

func (o *ordered) Delete(key string, expected metadata.Version, s *host.Scope) error {
	other := map[string]string{
		"/ledgers/available/a:1": "/ledgers/available/readonly/a:1", "/ledgers/available/readonly/a:1": "/ledgers/available/a:1",
	}[key]
	o.deletions++
	if _, err := o.Get(other, s); err != nil {
		o.problem = fmt.Errorf("delete %s: %w", key, err)
	}
	return o.Store.Delete(key, expected, s)
}

// TestTheNewKeyIsThereBeforeTheOldOneGoes: a bookie that changes its mode is never gone.
func TestTheNewKeyIsThereBeforeTheOldOneGoes(t *testing.T) {
	for seed := range seeds(20) {
		inWorld(t, seed, func(h host.Host, store metadata.Store) error {
			o := &ordered{Store: store}
			r := metadata.Register(h, h.Root(), o, registrationOf("a:1"))
			defer r.Close(nil)
			mode := metadata.Writable
			for range 20 {
				if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
					return err
				}
				mode = metadata.Writable + metadata.ReadOnly - mode
				r.SetMode(mode)
			}
			err := r.Await(host.Within(h, nil, time.Minute))
			if o.deletions != 20 {
				err = fmt.Errorf("%d keys were deleted, want 20: %w", o.deletions, err)
			}
			return errors.Join(err, o.problem)
		})
	}
}

// TestARegistrationIsMadeAgain after its session expired, and after somebody deleted it; and a client that was cut off
// sees it when it is back.
func TestARegistrationIsMadeAgain(t *testing.T) {
	again := 0
	for seed := range seeds(20) {
		var w *sim.World
		w = worldOf(seed, func(h host.Host, store metadata.Store) error {
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			r := metadata.Register(h, h.Root(), store, config)
			defer r.Close(nil)
			for round := range 3 {
				if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
					return err
				}
				before := store.Session()
				w.Net().Partition("client-0", "metadata", false)
				h.Root().Sleep(30 * time.Second) // many timeouts of the session
				w.Net().Heal("client-0", "metadata")
				for store.Session() == before {
					h.Root().Sleep(100 * time.Millisecond)
				}
				if err := hasKey(h, store); err != nil {
					return fmt.Errorf("after expiry %d: %w", round, err)
				}
			}
			if err := store.Delete("/ledgers/available/a:1", metadata.AnyVersion, nil); err != nil {
				return err
			}
			return hasKey(h, store)
		})
		w.OnMark(countMark(metadata.PointReregistered, &again))
		failWith(t, seed, w)
	}
	if !testing.Short() && again < 50 {
		t.Errorf("weak: registered again %d times", again)
	}
}

// hasKey waits for the bookie's key.
func hasKey(h host.Host, store metadata.Store) (err error) {
	for range 1000 {
		if err = store.Sync(nil); err == nil {
			if _, err = store.Get("/ledgers/available/a:1", nil); err == nil {
				return nil
			}
		}
		h.Root().Sleep(10 * time.Millisecond)
	}
	return err
}

// valueOf is what a registration puts into its key in a session.
func valueOf(h host.Host, store metadata.Store) ([]byte, error) {
	r := metadata.Register(h, h.Root(), store, registrationOf("a:1"))
	defer r.Close(nil)
	if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
		return nil, err
	}
	value, err := store.Get("/ledgers/available/a:1", nil)
	return value.Data, err
}

// TestTheKeyOfAnEarlierProcessIsReplaced: it would vanish with a session that nobody keeps.
func TestTheKeyOfAnEarlierProcessIsReplaced(t *testing.T) {
	replaced := 0
	for seed := range uint64(10) {
		w := worldOf(seed, func(h host.Host, store metadata.Store) error {
			// Another session, which lives on, plays the process that has ended.
			return withStore(h, storeAddr, func(h host.Host, old metadata.Store) error {
				value, err := valueOf(h, old)
				if err != nil {
					return err
				}
				if _, err := old.Create("/ledgers/available/a:1", value, metadata.Ephemeral, nil); err != nil {
					return err
				}
				r := metadata.Register(h, h.Root(), store, registrationOf("a:1"))
				defer r.Close(nil)
				if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
					return err
				}
				if err := old.Close(); err != nil {
					return err
				}
				h.Root().Sleep(time.Minute)
				return hasKey(h, store)
			})
		})
		w.OnMark(countMark(metadata.PointOldRegistered, &replaced))
		failWith(t, seed, w)
	}
	if replaced != 10 {
		t.Errorf("%d keys were replaced", replaced)
	}
}

// TestARegistrationGetsThrough a store that loses and delays its writes, and is right in the end.
func TestARegistrationGetsThrough(t *testing.T) {
	late := 0
	for seed := range seeds(40) {
		w := worldOf(seed, func(h host.Host, store metadata.Store) error {
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 500}
			r := metadata.Register(h, h.Root(), f, config)
			view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
			defer view.Close()
			only := []ledger.BookieID{"a:1"}
			for range 5 {
				r.SetMode(metadata.ReadOnly)
				if err := errors.Join(r.Await(host.Within(h, nil, 10*time.Minute)), sees(h, view, nil, only)); err != nil {
					return err
				}
				r.SetMode(metadata.Writable)
				if err := r.Await(host.Within(h, nil, 10*time.Minute)); err != nil {
					return err
				}
				// A deletion of the read-only key may still be late, and then do no harm.
				if err := sees(h, view, only, nil); err != nil {
					return err
				}
			}
			r.Close(nil)
			return nil
		})
		w.OnMark(countMark(metadata.PointRegisteredLate, &late))
		failWith(t, seed, w)
	}
	if !testing.Short() && late < 40 {
		t.Errorf("weak: %d registrations needed a second attempt", late)
	}
}
