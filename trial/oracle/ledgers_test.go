package oracle_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/trial/oracle"
)

// forgetful has sessions end all the time, and new ones begin with a look at the past.
func forgetful() oracle.Config {
	c := oracle.Tame()
	c.StalePermille, c.StaleMax, c.ExpirePermille = 900, time.Minute, 60
	return c
}

// mixOf is one of the configurations that tests of this folder share.
func mixOf(seed uint64) oracle.Config {
	return []oracle.Config{hostile(), restless(), forgetful()}[seed%3]
}

func layout() metadata.Layout { return metadata.Layout{Root: metadata.DefaultRoot} }

// aLedger is a new ledger's metadata.
func aLedger() ledger.Metadata {
	return ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 2, Write: 2, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry,
		Digest: ledger.CRC32C, Fragments: []ledger.Fragment{{Ensemble: []ledger.BookieID{"a:1", "b:1"}}},
	}
}

func ledgersOn(h host.Host, store metadata.Store, name string) *metadata.Ledgers {
	c := metadata.DefaultLedgersConfig()
	c.Name, c.IDBlock = name, 3
	return metadata.NewLedgers(h, h.Root(), store, c)
}

// undecided says that a call ended without an answer, which the contract allows at any time.
func undecided(err error) bool {
	return errors.Is(err, metadata.ErrOutcomeUnknown) || errors.Is(err, metadata.ErrUnavailable) ||
		errors.Is(err, metadata.ErrSessionExpired)
}

// withClients runs some tasks with a client each, and returns what they found.
func withClients(h host.Host, n int, work func(i int, store metadata.Store) error) error {
	g := h.Root().New("clients")
	problems := make([]error, n)
	for i := range n {
		store, err := connect(h)
		if err != nil {
			return err
		}
		g.Go("client", func() { problems[i] = errors.Join(work(i, store), store.Close()) })
	}
	g.Wait()
	return errors.Join(problems...)
}

// TestTheLatestIsNoOlderThanTheCall: what ReadLatest answers was true when it was called or later, although sessions end
// between its two requests and the next ones begin in the past. Ledgers are never absent that were there before the call.
func TestTheLatestIsNoOlderThanTheCall(t *testing.T) {
	reads, changes := 0, 0
	for seed := range uint64(30) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			return withClients(h, 3, func(i int, store metadata.Store) error {
				l := ledgersOn(h, store, fmt.Sprint(i))
				for range 60 {
					h.Root().Sleep(200 * time.Millisecond)
					id := ledger.ID(h.Rand(fmt.Sprint("ids ", i)).IntN(6))
					before := w.oracle.Get(layout().LedgerKey(id))
					found, err := l.ReadLatest(id, nil)
					reads++
					switch {
					case errors.Is(err, metadata.ErrNotExist):
						if before != nil {
							return fmt.Errorf("ledger %d was there and is read as absent: %w", id, err)
						}
						_, err = l.CreateAt(id, aLedger(), nil)
					case err == nil:
						if before != nil && found.Version < before.Version {
							return fmt.Errorf("ledger %d was at version %d and is read at %d", id, before.Version, found.Version)
						}
						found.Metadata.Created++
						_, err = l.Write(id, found.Metadata, found.Version, nil)
					}
					if err == nil {
						changes++
					} else if !undecided(err) && !tolerable(err) {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
	if changes < reads/10 {
		t.Errorf("weak: %d changes in %d reads", changes, reads)
	}
}

// TestAWalkPassesOverNoLedger that was there before it began and is there when it ends.
func TestAWalkPassesOverNoLedger(t *testing.T) {
	for seed := range uint64(30) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			return withClients(h, 2, func(i int, store metadata.Store) error {
				l := ledgersOn(h, store, fmt.Sprint(i))
				for range 25 {
					h.Root().Sleep(100 * time.Millisecond)
					if i == 0 {
						// Far apart, so that a walk goes through many keys.
						id := ledger.ID(h.Rand("ids").IntN(40)) * 10007
						if _, err := l.CreateAt(id, aLedger(), nil); err != nil && !undecided(err) && !tolerable(err) {
							return err
						}
						continue
					}
					before := w.oracle.Ledgers(layout())
					found, err := l.List(nil)
					if err != nil {
						return err
					}
					for _, each := range before {
						if !slices.Contains(found, each.ID) && w.oracle.Get(layout().LedgerKey(each.ID)) != nil {
							return fmt.Errorf("ledger %d was there all the time, the walk found %v", each.ID, found)
						}
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestACookieThatIsThereIsRead: a bookie that is told "no cookie" stamps its directories.
func TestACookieThatIsThereIsRead(t *testing.T) {
	for seed := range uint64(30) {
		_, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			return withClients(h, 3, func(i int, store metadata.Store) error {
				c := metadata.NewCookies(h, h.Root(), store, layout(), metadata.DefaultRetry())
				var instance string
				for round := range 20 {
					id, err := c.Initialize(nil)
					if err != nil && !undecided(err) {
						return err
					}
					if instance != "" && err == nil && id != instance {
						return fmt.Errorf("the cluster was %q and is %q", instance, id)
					}
					if err == nil {
						instance = id
					}
					bookie := ledger.BookieID(fmt.Sprintf("bookie-%d:1", round))
					made := w.oracle.Get(layout().CookieKey(bookie)) != nil
					_, _, err = c.Read(bookie, nil)
					if made && errors.Is(err, metadata.ErrNotExist) {
						return fmt.Errorf("the cookie of %s was there and is read as absent: %w", bookie, err)
					}
					mine := metadata.Cookie{Bookie: bookie, JournalDir: "j", LedgerDirs: "1\tl", InstanceID: fmt.Sprintf("%s/%d", id, i)}
					if err := c.Create(mine, nil); err != nil && !undecided(err) && !errors.Is(err, metadata.ErrExist) {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLedgersKeepTheirPromisesOnAHostileOracle: no id has two creators, what was created is there with its creator's token
// until it is deleted, and what was deleted never comes back.
func TestLedgersKeepTheirPromisesOnAHostileOracle(t *testing.T) {
	created, deleted := 0, 0
	for seed := range uint64(30) {
		tokens := make(map[ledger.ID]int64)
		gone := make(map[ledger.ID]bool)
		w, err := run(seed, mixOf(seed), func(w *world, h host.Host) error {
			err := withClients(h, 3, func(i int, store metadata.Store) error {
				l := ledgersOn(h, store, fmt.Sprint(i))
				for round := range 15 {
					made, err := l.Create(aLedger(), host.Within(h, h.Root(), time.Minute))
					if undecided(err) {
						continue
					}
					if err != nil {
						return err
					}
					if tokens[made.ID] != 0 {
						return fmt.Errorf("ledger %d has two creators", made.ID)
					}
					tokens[made.ID] = made.Metadata.Token
					created++
					if round%3 > 0 {
						continue
					}
					if err := l.Delete(made.ID, made.Version, nil); err == nil {
						gone[made.ID] = true
						deleted++
					} else if !undecided(err) {
						return err
					} else {
						delete(tokens, made.ID) // it may be there or not
					}
				}
				return nil
			})
			h.Root().Sleep(time.Minute) // for what is late
			return err
		})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, id := range host.SortedKeys(tokens) {
			node := w.oracle.Get(layout().LedgerKey(id))
			if gone[id] {
				if node != nil {
					t.Errorf("seed %d: ledger %d was deleted and is there", seed, id)
				}
				continue
			}
			if node == nil {
				t.Errorf("seed %d: ledger %d is lost", seed, id)
				continue
			}
			if m, err := ledger.DecodeMetadata(node.Data); err != nil || m.Token != tokens[id] {
				t.Errorf("seed %d: ledger %d has token %d, want %d: %v", seed, id, m.Token, tokens[id], err)
			}
		}
	}
	if created < 500 || deleted < 100 {
		t.Errorf("weak: %d ledgers created, %d deleted", created, deleted)
	}
}
