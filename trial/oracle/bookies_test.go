package oracle_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/trial/oracle"
)

func registrationOf(b ledger.BookieID) metadata.RegistrationConfig {
	c := metadata.DefaultRegistrationConfig()
	c.Bookie = b
	c.Info, _ = metadata.LegacyInfo(b)
	return c
}

// memberOf is a registration of a bookie that belongs to the oracle's cluster, which is made by asking until it answers.
func memberOf(h host.Host, store metadata.Store, b ledger.BookieID) (metadata.RegistrationConfig, error) {
	c := registrationOf(b)
	cookies := metadata.NewCookies(h, h.Root(), store, c.Layout, metadata.DefaultRetry())
	var err error
	for range 100 {
		if c.InstanceID, err = cookies.Initialize(nil); err == nil {
			break
		}
	}
	return c, err
}

// keysOf says which of a bookie's keys are there.
func keysOf(o *oracle.Oracle, b ledger.BookieID) string {
	text := ""
	if o.Get(layout().WritableKey(b)) != nil {
		text += "writable "
	}
	if o.Get(layout().ReadOnlyKey(b)) != nil {
		text += "read-only "
	}
	return text
}

// comes waits until something holds, for as long as no watch, no late write and no look may need.
func comes(h host.Host, what string, holds func() bool) error {
	for range 1200 {
		if holds() {
			return nil
		}
		h.Root().Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s: not within two minutes", what)
}

// TestARegistrationFindsItsWayOnAHostileOracle: whatever becomes of reads, writes, watches and sessions, the bookie's one
// key is there in the end, in its last mode, and a view of another client shows it. When it is closed and its session has
// ended, nothing is left, whatever comes late.
func TestARegistrationFindsItsWayOnAHostileOracle(t *testing.T) {
	for seed := range uint64(45) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			store, err := connect(h)
			if err != nil {
				return err
			}
			other, err := connect(h)
			if err != nil {
				return err
			}
			view := metadata.WatchBookies(h, h.Root(), other, metadata.DefaultBookiesConfig())
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			r := metadata.Register(h, h.Root(), store, config)
			random := h.Rand("modes")
			for range 15 {
				mode := metadata.Mode(random.IntN(2))
				r.SetMode(mode)
				h.Root().Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
			}
			w.oracle.Heal(h.Elapsed())
			for _, mode := range []metadata.Mode{metadata.ReadOnly, metadata.Writable} {
				r.SetMode(mode)
				err := errors.Join(
					r.Await(host.Within(h, h.Root(), 2*time.Minute)),
					comes(h, "the key of "+mode.String(), func() bool { return keysOf(w.oracle, "a:1") == mode.String()+" " }),
					comes(h, "the view of "+mode.String(), func() bool {
						return (len(view.Writable()) == 1) == (mode == metadata.Writable) && len(view.Writable())+len(view.ReadOnly()) == 1
					}))
				if err != nil {
					return err
				}
			}
			r.Close(host.Within(h, nil, time.Minute))
			err = errors.Join(store.Close(), comes(h, "the end of the key", func() bool { return keysOf(w.oracle, "a:1") == "" }),
				comes(h, "an empty view", func() bool { return len(view.Writable())+len(view.ReadOnly()) == 0 }))
			view.Close()
			return errors.Join(err, other.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestABookieIsNeverGoneForLong while its process lives and the store is hostile: its key comes back after each expiry
// within the time that a look takes.
func TestABookieIsNeverGoneForLong(t *testing.T) {
	expired := int64(0)
	for seed := range uint64(30) {
		w, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			store, err := connect(h)
			if err != nil {
				return err
			}
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			r := metadata.Register(h, h.Root(), store, config)
			for range 20 {
				if err := comes(h, "the key", func() bool { return keysOf(w.oracle, "a:1") == "writable " }); err != nil {
					return err
				}
				h.Root().Sleep(5 * time.Second)
			}
			r.Close(host.Within(h, nil, time.Minute))
			return store.Close()
		})
		if err != nil {
			t.Error(err)
		}
		expired += w.oracle.Counts()[oracle.Expired]
	}
	if expired < 30 {
		t.Errorf("weak: %d sessions expired", expired)
	}
}

// TestAProcessThatEndsLeavesTheKeyOfTheNextOne: a bookie's process that closes late, with the next one of its name already
// registered, takes away what is its own and nothing else.
func TestAProcessThatEndsLeavesTheKeyOfTheNextOne(t *testing.T) {
	for seed := range uint64(10) {
		_, err := run(seed, oracle.Tame(), func(w *world, h host.Host) error {
			old, err := connect(h)
			if err != nil {
				return err
			}
			next, err := connect(h)
			if err != nil {
				return err
			}
			first := metadata.Register(h, h.Root(), old, registrationOf("a:1"))
			if err := first.Await(nil); err != nil {
				return err
			}
			// The next process's key takes the place of the first one's, just before that closes.
			key := layout().WritableKey("a:1")
			value := w.oracle.Get(key)
			if err := next.Delete(key, value.Version, nil); err != nil {
				return err
			}
			if _, err := next.Create(key, []byte("the next one's"), metadata.Ephemeral, nil); err != nil {
				return err
			}
			first.Close(host.Within(h, nil, time.Minute))
			if keysOf(w.oracle, "a:1") != "writable " {
				err = errors.New("the key of the next process is gone")
			}
			return errors.Join(err, old.Close(), next.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestTwoLivesOfABookie: a process crashes, its session lives on, and the next one registers while the oracle does what it
// likes. The key that stays is the next one's.
func TestTwoLivesOfABookie(t *testing.T) {
	for seed := range uint64(30) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			random := h.Rand("lives")
			var r *metadata.Registration
			var store *service.Client
			for range 6 {
				var err error
				if store, err = connect(h); err != nil {
					return err
				}
				config := registrationOf("a:1")
				config.Mode = metadata.Mode(random.IntN(2))
				r = metadata.Register(h, h.Root(), store, config)
				h.Root().Sleep(time.Duration(random.IntN(12000)) * time.Millisecond)
				store.Abandon()
				r.Close(host.Within(h, nil, time.Minute)) // reaches nothing
			}
			last, err := connect(h)
			if err != nil {
				return err
			}
			w.oracle.Heal(h.Elapsed())
			r = metadata.Register(h, h.Root(), last, registrationOf("a:1"))
			if err := r.Await(host.Within(h, nil, 2*time.Minute)); err != nil {
				return err
			}
			h.Root().Sleep(2 * time.Minute) // all that was before has ended
			node := w.oracle.Get(layout().WritableKey("a:1"))
			if node == nil || node.Owner != last.Session() || keysOf(w.oracle, "a:1") != "writable " {
				return fmt.Errorf("in the end: %+v of %q", node, keysOf(w.oracle, "a:1"))
			}
			r.Close(nil)
			return last.Close()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAViewShowsWhatIsThere: many bookies come, change and go; when the oracle is tame again, the view is the list. It never
// shows a bookie as writable before it has looked at the read-only ones.
func TestAViewShowsWhatIsThere(t *testing.T) {
	for seed := range uint64(30) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			store, err := connect(h)
			if err != nil {
				return err
			}
			var bookies []*metadata.Registration
			var stores []*service.Client
			for i := range 4 {
				each, err := connect(h)
				if err != nil {
					return err
				}
				config := registrationOf(ledger.BookieID(fmt.Sprintf("b%d:1", i)))
				config.Mode = metadata.Mode(i % 2)
				stores, bookies = append(stores, each), append(bookies, metadata.Register(h, h.Root(), each, config))
			}
			random := h.Rand("view")
			for range 5 {
				view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
				for range 20 {
					h.Root().Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
					for _, b := range view.Writable() {
						if b == "b1:1" || b == "b3:1" {
							return fmt.Errorf("%s has only been read-only, and is seen as writable", b)
						}
					}
				}
				view.Close()
			}
			view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
			w.oracle.Heal(h.Elapsed())
			bookies[0].SetMode(metadata.ReadOnly)
			bookies[1].SetMode(metadata.Writable)
			bookies[2].Close(host.Within(h, nil, time.Minute))
			err = comes(h, "the view", func() bool {
				return slices.Equal(view.Writable(), []ledger.BookieID{"b1:1"}) && slices.Equal(view.ReadOnly(), []ledger.BookieID{"b0:1", "b3:1"})
			})
			if err == nil {
				err = view.Await(1, host.Within(h, nil, time.Minute))
			}
			view.Close()
			for i := range bookies {
				bookies[i].Close(nil)
				err = errors.Join(err, stores[i].Close())
			}
			return errors.Join(err, store.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}
