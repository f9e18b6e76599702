package metadata_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const memberKey = "/ledgers/available/a:1"

// empty restarts the metadata node of a world, which keeps everything in memory.
func empty(w *sim.World) {
	server := w.Nodes()[0]
	server.Crash(sim.PowerCut(disk.Keep))
	server.Start(func(h host.Host) error { return serveStore(h, storeAddr) })
}

// refill makes another cluster in an emptied store: none, a new one, or one with another layout.
func refill(h host.Host, store metadata.Store, seed uint64) error {
	layout := metadata.Layout{Root: metadata.DefaultRoot}
	switch seed % 3 {
	case 0:
		return nil
	case 1:
		_, err := metadata.NewCookies(h, h.Root(), store, layout, metadata.DefaultRetry()).Initialize(nil)
		return err
	}
	_, err := store.Create(layout.LayoutKey(), []byte("3"), metadata.Persistent, nil)
	return err
}

// restore puts the identity of a cluster into a store, whatever that holds.
func restore(store metadata.Store, from map[string]metadata.Value) error {
	for _, key := range host.SortedKeys(from) {
		if err := store.Delete(key, metadata.AnyVersion, nil); err != nil && !errors.Is(err, metadata.ErrNotExist) {
			return err
		}
		if _, err := store.Create(key, from[key].Data, metadata.Persistent, nil); err != nil {
			return err
		}
	}
	return nil
}

// identityOf reads the keys that restore puts back.
func identityOf(store metadata.Store) (map[string]metadata.Value, error) {
	layout := metadata.Layout{Root: metadata.DefaultRoot}
	found := map[string]metadata.Value{}
	for _, key := range []string{layout.LayoutKey(), layout.InstanceIDKey()} {
		v, err := store.Get(key, nil)
		if err != nil {
			return nil, err
		}
		found[key] = v
	}
	return found, nil
}

// staysAway checks for a minute that a key is not there.
func staysAway(h host.Host, store metadata.Store, key string) error {
	for range 600 {
		h.Root().Sleep(100 * time.Millisecond)
		if _, err := store.Get(key, nil); !errors.Is(err, metadata.ErrNotExist) {
			return fmt.Errorf("%s in a store of another cluster: %w", key, err)
		}
	}
	return nil
}

// TestABookieKeepsAwayFromAStoreThatWasEmptied under it, whatever is made there, and comes back when the store does.
// Otherwise the new cluster grants the old ledger ids on bookies that hold the old entries.
func TestABookieKeepsAwayFromAStoreThatWasEmptied(t *testing.T) {
	for seed := range seeds(30) {
		foreign, again := 0, 0
		var w *sim.World
		w = worldOf(seed, func(h host.Host, store metadata.Store) error {
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			was, err := identityOf(store)
			if err != nil {
				return err
			}
			r := metadata.Register(h, h.Root(), store, config)
			defer r.Close(nil)
			if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
				return err
			}
			session := store.Session()
			if seed%2 == 1 { // it is out of reach first, as it usually is
				w.Net().Partition("client-0", "metadata", false)
				h.Root().Sleep(time.Minute)
				w.Net().Heal("client-0", "metadata")
			}
			empty(w)
			for store.Session() == session {
				h.Root().Sleep(time.Millisecond)
			}
			if err := errors.Join(refill(h, store, seed), staysAway(h, store, memberKey)); err != nil {
				return err
			}
			r.SetMode(metadata.ReadOnly) // the other key does not come either
			if err := staysAway(h, store, "/ledgers/available/readonly/a:1"); err != nil {
				return err
			}
			if err := is("registered", r.Await(host.Within(h, nil, time.Second)), metadata.ErrForeignStore); err != nil {
				return err
			}
			r.SetMode(metadata.Writable)
			if err := restore(store, was); err != nil {
				return err
			}
			return errors.Join(r.Await(host.Within(h, nil, time.Minute)), hasKey(h, store))
		})
		w.OnMark(func(n *sim.Node, e host.Event) {
			countMark(metadata.PointForeignStore, &foreign)(n, e)
			countMark(metadata.PointReregistered, &again)(n, e)
		})
		failWith(t, seed, w)
		if foreign != 1 || again != 1 {
			t.Errorf("seed %d: found foreign %d times, registered again %d times", seed, foreign, again)
		}
	}
}

// emptying is a store that is emptied just before its first ephemeral key is made.
type emptying struct {
	metadata.Store
	empty func()
	done  bool
	made  int
}

func (e *emptying) Create(key string, data []byte, kind metadata.Kind, s *host.Scope) (metadata.Version, error) {
	if !e.done {
		e.done = true
		e.empty()
	}
	v, err := e.Store.Create(key, data, kind, s)
	if err == nil {
		e.made++
	}
	return v, err
}

// TestAKeyThatGotIntoAForeignStoreIsTakenAway: the store may be emptied between the look at it and the making of the key.
func TestAKeyThatGotIntoAForeignStoreIsTakenAway(t *testing.T) {
	made := 0
	for seed := range seeds(30) {
		var w *sim.World
		w = worldOf(seed, func(h host.Host, store metadata.Store) error {
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			session := store.Session()
			e := &emptying{Store: store, empty: func() {
				empty(w)
				for store.Session() == session { // so that the key goes to the emptied one
					h.Root().Sleep(time.Millisecond)
				}
			}}
			r := metadata.Register(h, h.Root(), e, config)
			defer r.Close(nil)
			if err := is("registered", r.Await(host.Within(h, nil, 15*time.Second)), metadata.ErrForeignStore); err != nil {
				return err
			}
			made += e.made
			return errors.Join(refill(h, store, seed), staysAway(h, store, memberKey))
		})
		failWith(t, seed, w)
	}
	if made == 0 {
		t.Error("weak: no key was ever made in an emptied store")
	}
	t.Logf("%d keys were made and taken away", made)
}

// TestABookieWaitsForAStoreThatDoesNotAnswer: to be silent is not to be foreign.
func TestABookieWaitsForAStoreThatDoesNotAnswer(t *testing.T) {
	for seed := range seeds(10) {
		foreign := 0
		var w *sim.World
		w = worldOf(seed, func(h host.Host, store metadata.Store) error {
			config, err := memberOf(h, store, "a:1")
			if err != nil {
				return err
			}
			w.Net().Partition("client-0", "metadata", false)
			r := metadata.Register(h, h.Root(), store, config)
			defer r.Close(nil)
			h.Root().Sleep(time.Duration(seed) * 7 * time.Second)
			w.Net().Heal("client-0", "metadata")
			return errors.Join(r.Await(host.Within(h, nil, time.Minute)), hasKey(h, store))
		})
		w.OnMark(countMark(metadata.PointForeignStore, &foreign))
		failWith(t, seed, w)
		if foreign != 0 {
			t.Errorf("seed %d: a silent store was taken for a foreign one", seed)
		}
	}
}
