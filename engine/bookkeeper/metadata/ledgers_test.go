package metadata_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
)

// fresh is a new ledger's metadata.
func fresh() ledger.Metadata {
	return ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 2, Write: 2, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry,
		Digest: ledger.CRC32C, Fragments: []ledger.Fragment{{Ensemble: []ledger.BookieID{"a:1", "b:1"}}},
	}
}

func closed(m ledger.Metadata) ledger.Metadata {
	m = m.Clone()
	m.State, m.LastEntry, m.Length = ledger.Closed, 9, 100
	return m
}

func ledgersOn(h host.Host, store metadata.Store) *metadata.Ledgers {
	config := metadata.DefaultLedgersConfig()
	config.IDBlock = 3
	return metadata.NewLedgers(h, h.Root(), store, config)
}

// aLedgersLife goes through everything once.
func aLedgersLife(h host.Host, store metadata.Store) error {
	l := ledgersOn(h, store)
	created, err := l.Create(fresh(), nil)
	if err != nil {
		return err
	}
	read, err := l.ReadLatest(created.ID, nil)
	if err != nil || !read.Metadata.Equal(created.Metadata) || read.Version != created.Version || read.Metadata.Token == 0 {
		return fmt.Errorf("read %+v, %w, want %+v", read, err, created)
	}
	want := closed(read.Metadata)
	version, err := l.Write(read.ID, want, read.Version, nil)
	if err != nil {
		return err
	}
	_, twice := l.Write(read.ID, want, read.Version, nil)
	again, readErr := l.Read(read.ID, nil)
	if readErr != nil || !again.Metadata.Equal(want) || again.Version != version {
		return fmt.Errorf("read %+v, %w, want %+v", again, readErr, want)
	}
	wrong := want.Clone()
	wrong.Quorum.Ack = 0
	_, invalid := l.Write(read.ID, wrong, version, nil)
	_, invalidCreate := l.Create(wrong, nil)
	stale := l.Delete(read.ID, version+1, nil)
	all, listErr := l.List(nil)
	if listErr != nil || !slices.Equal(all, []ledger.ID{read.ID}) {
		return fmt.Errorf("ledgers %v, %w", all, listErr)
	}
	deleted := l.Delete(read.ID, version, nil)
	_, gone := l.Read(read.ID, nil)
	return errors.Join(
		is("write from an old version", twice, metadata.ErrVersion), is("invalid", invalid, ledger.ErrMetadata),
		is("create invalid", invalidCreate, ledger.ErrMetadata), is("delete an old version", stale, metadata.ErrVersion),
		deleted, is("read what is deleted", gone, metadata.ErrNotExist),
		is("delete it again", l.Delete(read.ID, version, nil), metadata.ErrNotExist),
	)
}

// TestALedgersLife from creation to deletion, each condition kept and broken once, in both worlds.
func TestALedgersLife(t *testing.T) {
	for seed := range uint64(10) {
		inWorld(t, seed, aLedgersLife)
	}
	onThisMachine(t, aLedgersLife)
}

// TestEveryLedgerHasOneCreator, whatever becomes of requests and answers: several clients create ledgers through stores
// that lose and delay what they can. No id is granted twice, what was granted is there with its creator's token, and
// nothing else is there but what a creator was unsure of.
func TestEveryLedgerHasOneCreator(t *testing.T) {
	lost, unsure, settled := 0, 0, 0
	for seed := range seeds(60) {
		created := map[ledger.ID]int64{} // only one task of a world runs at a time
		doubts, givenUp, done := 0, 0, 0
		work := func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 400}
			l := ledgersOn(h, f)
			for range 20 {
				got, err := l.Create(fresh(), host.Within(h, h.Root(), time.Minute))
				if errors.Is(err, metadata.ErrOutcomeUnknown) || errors.Is(err, metadata.ErrUnavailable) {
					doubts++
					continue
				}
				if err != nil {
					return err
				}
				if _, twice := created[got.ID]; twice {
					return fmt.Errorf("ledger %d was created twice", got.ID)
				}
				created[got.ID] = got.Metadata.Token
			}
			f.settle()
			lost += f.lost
			done++
			for done < 3 {
				h.Root().Sleep(time.Second)
			}
			all, err := ledgersOn(h, store).List(nil)
			if err != nil || len(all) < len(created) || len(all) > len(created)+doubts+givenUp || !slices.IsSorted(all) {
				return fmt.Errorf("%d ledgers, %d created, %d unsure, %d given up: %w", len(all), len(created), doubts, givenUp, err)
			}
			for _, id := range host.SortedKeys(created) {
				if found, err := l.Read(id, nil); err != nil || found.Metadata.Token != created[id] {
					return fmt.Errorf("ledger %d: token %d, want %d: %w", id, found.Metadata.Token, created[id], err)
				}
			}
			return nil
		}
		w := worldOf(seed, work, work, work)
		w.OnMark(func(n *sim.Node, e host.Event) {
			countMark(metadata.PointCreateSettled, &settled)(n, e)
			countMark(metadata.PointCreateGivenUp, &givenUp)(n, e)
		})
		failWith(t, seed, w)
		unsure += doubts + givenUp
	}
	if !testing.Short() && (lost < 1000 || settled < 100) {
		t.Errorf("weak: %d lost answers, %d creations settled by their token", lost, settled)
	}
	t.Logf("%d answers lost, %d creations settled by their token, %d given up", lost, settled, unsure)
}

// TestALateCreationBringsNoDeletedLedgerBack: a lost request that is done at last makes a ledger that nobody knows, never
// one that was used and deleted.
func TestALateCreationBringsNoDeletedLedgerBack(t *testing.T) {
	for seed := range seeds(60) {
		inWorld(t, seed, func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 500}
			doubtful, sure := ledgersOn(h, f), ledgersOn(h, store)
			var deleted []ledger.ID
			for range 20 {
				m, err := doubtful.Create(fresh(), nil)
				if errors.Is(err, metadata.ErrOutcomeUnknown) || errors.Is(err, metadata.ErrUnavailable) {
					continue
				}
				if err := errors.Join(err, sure.Delete(m.ID, m.Version, nil)); err != nil {
					return err
				}
				deleted = append(deleted, m.ID)
			}
			f.settle()
			for _, id := range deleted {
				if _, err := sure.ReadLatest(id, nil); !errors.Is(err, metadata.ErrNotExist) {
					return fmt.Errorf("ledger %d was deleted, and then: %w", id, err)
				}
			}
			return nil
		})
	}
}

// TestNoIdIsGrantedTwice, whatever becomes of requests and answers: a block whose answer was lost is given up.
func TestNoIdIsGrantedTwice(t *testing.T) {
	blocks := 0
	for seed := range seeds(60) {
		granted := map[ledger.ID]bool{}
		work := func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 500}
			l := ledgersOn(h, f)
			for range 30 {
				id, err := l.TakeID(nil)
				if err != nil && !errors.Is(err, metadata.ErrUnavailable) {
					return err
				}
				if err == nil && granted[id] {
					return fmt.Errorf("id %d was granted twice", id)
				}
				granted[id] = granted[id] || err == nil
			}
			f.settle()
			return nil
		}
		w := worldOf(seed, work, work, work)
		w.OnMark(countMark(metadata.PointIDsLost, &blocks))
		failWith(t, seed, w)
	}
	if !testing.Short() && blocks < 500 {
		t.Errorf("weak: %d blocks were given up", blocks)
	}
}

// TestOneOfTwoCreatorsOfAnIdWins, whatever becomes of requests and answers: the other is told that it is taken, or is
// unsure, and the ledger that is there has the winner's token.
func TestOneOfTwoCreatorsOfAnIdWins(t *testing.T) {
	const rounds = 20
	for seed := range seeds(40) {
		winners := map[ledger.ID]int64{}
		work := func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 400}
			l := ledgersOn(h, f)
			for id := range ledger.ID(rounds) {
				got, err := l.CreateAt(id, fresh(), nil)
				if err != nil {
					if !errors.Is(err, metadata.ErrExist) && !errors.Is(err, metadata.ErrOutcomeUnknown) {
						return err
					}
					continue
				}
				if winners[id] != 0 {
					return fmt.Errorf("ledger %d has two creators", id)
				}
				if winners[id] = got.Metadata.Token; got.Metadata.Token == 0 {
					return fmt.Errorf("ledger %d has no token", id)
				}
			}
			f.settle()
			for _, id := range host.SortedKeys(winners) {
				if got, err := l.ReadLatest(id, nil); err != nil || got.Metadata.Token != winners[id] {
					return fmt.Errorf("ledger %d has token %d, its creator's is %d: %w", id, got.Metadata.Token, winners[id], err)
				}
			}
			return nil
		}
		inWorld(t, seed, work, work)
		if len(winners) < rounds/2 {
			t.Errorf("seed %d: %d of %d ledgers have a creator", seed, len(winners), rounds)
		}
	}
}

// TestADeletionIsSettledByAskingAgain: whatever becomes of its answers, a deletion that reports success has left nothing,
// and one that reports another version has changed nothing.
func TestADeletionIsSettledByAskingAgain(t *testing.T) {
	settled := 0
	for seed := range seeds(60) {
		w := worldOf(seed, func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 500}
			sure, doubtful := ledgersOn(h, store), ledgersOn(h, f)
			for range 20 {
				m, err := sure.Create(fresh(), nil)
				if err != nil {
					return err
				}
				other, err := sure.Write(m.ID, closed(m.Metadata), m.Version, nil)
				if err != nil {
					return err
				}
				err = doubtful.Delete(m.ID, m.Version, nil)
				if !errors.Is(err, metadata.ErrVersion) && !errors.Is(err, metadata.ErrOutcomeUnknown) {
					return fmt.Errorf("delete the version before: %w", err)
				}
				err = doubtful.Delete(m.ID, other, nil)
				_, readErr := sure.ReadLatest(m.ID, nil)
				if gone := errors.Is(readErr, metadata.ErrNotExist); !gone && err == nil || gone && err != nil && !errors.Is(err, metadata.ErrOutcomeUnknown) {
					return fmt.Errorf("deleted with %v, then read with %v", err, readErr)
				}
			}
			return nil
		})
		w.OnMark(countMark(metadata.PointDeleteSettled, &settled))
		failWith(t, seed, w)
	}
	if !testing.Short() && settled < 100 {
		t.Errorf("weak: %d deletions were settled by asking again", settled)
	}
}

// TestOneOfTwoWritesWins: of writers that start from the same version one succeeds, and the other sees its value.
func TestOneOfTwoWritesWins(t *testing.T) {
	for seed := range seeds(20) {
		wins, rounds := 0, 10
		work := func(h host.Host, store metadata.Store) error {
			l := ledgersOn(h, store)
			for id := range ledger.ID(rounds) {
				m, err := l.CreateAt(id, fresh(), nil)
				if errors.Is(err, metadata.ErrExist) {
					m, err = l.ReadLatest(id, nil)
				}
				if err != nil {
					return err
				}
				if m.Metadata.State == ledger.Closed {
					continue // the other was faster by a whole round
				}
				mine := closed(m.Metadata)
				mine.Length = int64(h.Rand(fmt.Sprint(id)).Uint32())
				if _, err = l.Write(id, mine, m.Version, nil); err == nil {
					wins++
					continue
				}
				if err := is("the second write", err, metadata.ErrVersion); err != nil {
					return err
				}
				if m, err = l.Read(id, nil); err != nil || m.Metadata.State != ledger.Closed || m.Metadata.Length == mine.Length {
					return fmt.Errorf("the loser reads %+v, %w", m, err)
				}
			}
			return nil
		}
		inWorld(t, seed, work, work)
		if wins != rounds {
			t.Errorf("seed %d: %d writes won in %d rounds", seed, wins, rounds)
		}
	}
}

// TestWhatAWriteDidIsLeftToItsCaller: a lost answer is handed out and not tried again, since the caller must judge anew.
func TestWhatAWriteDidIsLeftToItsCaller(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		f := &flaky{Store: store, random: rand.New(rand.NewPCG(1, 1)), permille: 1000}
		sure, doubtful := ledgersOn(h, store), ledgersOn(h, f)
		for range 30 {
			m, err := sure.Create(fresh(), nil)
			if err != nil {
				return err
			}
			before := f.lost
			_, err = doubtful.Write(m.ID, closed(m.Metadata), m.Version, nil)
			if !errors.Is(err, metadata.ErrOutcomeUnknown) && !errors.Is(err, metadata.ErrSessionExpired) || f.lost > before+1 {
				return fmt.Errorf("after %d lost answers: %w", f.lost-before, err)
			}
		}
		return nil
	})
}

// TestListingPassesOverWhatIsNoLedger, and finds short and long ids in order.
func TestListingPassesOverWhatIsNoLedger(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		l := ledgersOn(h, store)
		want := []ledger.ID{0, 9999, 10000, 1<<31 - 2, 1<<31 - 1, 1 << 40, 1<<63 - 1}
		for _, id := range []ledger.ID{1 << 40, 10000, 0, 1<<63 - 1, 1<<31 - 1, 9999, 1<<31 - 2} {
			if _, err := l.CreateAt(id, fresh(), nil); err != nil {
				return err
			}
		}
		for _, key := range []string{"/ledgers/00/0000/x", "/ledgers/00/xxxx/L0000", "/ledgers/available/a:1", "/ledgers/21/4748/L9999", "/ledgers/0/1"} {
			if _, err := store.Create(key, nil, metadata.Persistent, nil); err != nil {
				return err
			}
		}
		got, err := l.List(nil)
		if err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("ledgers %v, %w, want %v", got, err, want)
		}
		enough := errors.New("enough")
		visited := 0
		err = l.Walk(nil, func(ledger.ID) error {
			visited++
			return enough
		})
		if visited != 1 {
			return fmt.Errorf("%d ledgers were visited after an error", visited)
		}
		return is("the visitor's error", err, enough)
	})
}

// TestDamagedKeysAreTold: which key and which ledger, and as what they are no good.
func TestDamagedKeysAreTold(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		l := ledgersOn(h, store)
		if _, err := store.Create("/ledgers/00/0000/L0007", []byte("x"), metadata.Persistent, nil); err != nil {
			return err
		}
		if _, err := store.Create("/ledgers/idgen/NEXT", []byte("x"), metadata.Persistent, nil); err != nil {
			return err
		}
		_, read := l.Read(7, nil)
		_, taken := l.CreateAt(7, fresh(), nil)
		_, ids := l.Create(fresh(), nil)
		if err := store.Delete("/ledgers/idgen/NEXT", metadata.AnyVersion, nil); err != nil {
			return err
		}
		if _, err := store.Create("/ledgers/idgen/NEXT", []byte("9223372036854775807"), metadata.Persistent, nil); err != nil {
			return err
		}
		_, full := l.Create(fresh(), nil)
		return errors.Join(is("read", read, ledger.ErrMetadata), is("create", taken, metadata.ErrExist),
			is("take ids", ids, metadata.ErrContent), is("take ids at the end", full, metadata.ErrLimit))
	})
}
