package oracle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial/oracle"
)

// only is a tame oracle with one freedom.
func only(set func(*oracle.Config)) oracle.Config {
	c := oracle.Tame()
	set(&c)
	return c
}

// TestEachFreedomIsUsedAlone: a rate by itself leads to its own mark, on the oracle's node, and the others are unheard of.
func TestEachFreedomIsUsedAlone(t *testing.T) {
	for _, c := range []struct {
		point  host.Point
		config oracle.Config
	}{
		{oracle.StaleRead, only(func(c *oracle.Config) { c.StalePermille = 500 })},
		{oracle.LostAnswer, only(func(c *oracle.Config) { c.LostAnswerPermille = 100 })},
		{oracle.LostRequest, only(func(c *oracle.Config) { c.LostRequestPermille = 100 })},
		{oracle.LateWrite, only(func(c *oracle.Config) { c.LateWritePermille = 300 })},
		{oracle.Expired, only(func(c *oracle.Config) { c.ExpirePermille = 100 })},
		{oracle.LateNotice, only(func(c *oracle.Config) { c.NoticePermille = 500 })},
		{oracle.Slow, only(func(c *oracle.Config) { c.SlowPermille = 100 })},
		{oracle.Outage, only(func(c *oracle.Config) { c.OutagePermille = 20 })},
	} {
		marked := int64(0)
		w, err := run(1, c.config, func(w *world, h host.Host) error {
			w.OnMark(func(n *sim.Node, e host.Event) {
				if e.Name == c.point && n.Name() == "metadata" {
					marked++
				}
			})
			return busy(h, 100)
		})
		counts := w.oracle.Counts()
		if err != nil || counts[c.point] == 0 || marked != counts[c.point] {
			t.Errorf("%s: %d marks, counts %v: %v", c.point, marked, counts, err)
		}
		delete(counts, oracle.Coalesced)
		if len(counts) != 1 {
			t.Errorf("%s alone: counts %v", c.point, counts)
		}
	}
}

// busy has two clients watch and change three keys.
func busy(h host.Host, steps int) error {
	a, err := connect(h)
	if err != nil {
		return err
	}
	b, err := connect(h)
	if err != nil {
		return err
	}
	for i := range steps {
		key := fmt.Sprintf("/busy/%d", i%3)
		w, err := b.Watch(key, h.Root())
		if err != nil {
			return err
		}
		v, err := a.Get(key, nil)
		if errors.Is(err, metadata.ErrNotExist) {
			_, err = a.Create(key, fmt.Append(nil, i), metadata.Persistent, nil)
		} else if err == nil {
			_, err = a.Put(key, fmt.Append(nil, i), v.Version, nil)
		}
		_, bErr := b.Get(key, nil)
		for _, err := range []error{err, bErr} {
			if err != nil && !tolerable(err) {
				return err
			}
		}
		w.Close()
		h.Root().Sleep(50 * time.Millisecond)
	}
	return errors.Join(a.Close(), b.Close())
}

func tolerable(err error) bool {
	for _, class := range []error{
		metadata.ErrOutcomeUnknown, metadata.ErrSessionExpired, metadata.ErrVersion, metadata.ErrExist, metadata.ErrNotExist,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// TestAllFreedomsAreUsed by hostile oracles, within a handful of seeds, and drawn configurations use each as well.
func TestAllFreedomsAreUsed(t *testing.T) {
	total := make(map[host.Point]int64)
	for seed := range uint64(20) {
		w, err := run(seed, oracle.Draw(rand.New(rand.NewPCG(seed, 2))), func(_ *world, h host.Host) error { return busy(h, 100) })
		if err != nil {
			t.Fatal(err)
		}
		for point, n := range w.oracle.Counts() {
			total[point] += n
		}
	}
	for _, point := range oracle.Points() {
		if total[point] == 0 {
			t.Errorf("%s was never used in 20 trials", point)
		}
	}
	t.Log(total)
}

// TestTwoRunsAreOne: the same seed gives the same events.
func TestTwoRunsAreOne(t *testing.T) {
	for seed := range uint64(5) {
		var hashes [2]uint64
		for i := range hashes {
			w, err := run(seed, hostile(), func(_ *world, h host.Host) error { return busy(h, 60) })
			if err != nil {
				t.Fatal(err)
			}
			hashes[i] = w.Hash()
		}
		if hashes[0] != hashes[1] {
			t.Errorf("seed %d: two runs, two hashes", seed)
		}
	}
}

// TestTheStateOutlivesTheProcess: a crash of the node cuts connections. What was written is there, and sessions go on if
// their clients come back in time.
func TestTheStateOutlivesTheProcess(t *testing.T) {
	for seed := range uint64(10) {
		_, err := run(seed, oracle.Tame(), func(w *world, h host.Host) error {
			a, err := connect(h)
			if err != nil {
				return err
			}
			watch, err := a.Watch("/e", h.Root())
			if err != nil {
				return err
			}
			version, err := a.Create("/e", []byte("e"), metadata.Ephemeral, nil)
			if err != nil {
				return err
			}
			session := a.Session()
			for range 3 {
				w.node.Crash(sim.KillProcess())
				h.Root().Sleep(3 * time.Second)
				w.node.Start(w.oracle.Boot)
				if v, err := a.Get("/e", nil); err != nil || v.Version != version || string(v.Data) != "e" {
					return fmt.Errorf("after a restart: %q at %d: %w", v.Data, v.Version, err)
				}
				if version, err = a.Put("/e", []byte("e"), version, nil); err != nil {
					return err
				}
				if !watch.Wait() {
					return errors.New("the watch ended")
				}
			}
			if a.Session() != session {
				return errors.New("the session ended")
			}
			w.node.Crash(sim.KillProcess())
			a.Abandon()
			w.node.Start(w.oracle.Boot)
			h.Root().Sleep(11 * time.Second)
			if n := w.oracle.Get("/e"); n != nil {
				return fmt.Errorf("%+v has outlived its session", n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAHealedOracleIsTame: from then on every write is answered and every read is fresh.
func TestAHealedOracleIsTame(t *testing.T) {
	for seed := range uint64(20) {
		_, err := run(seed, hostile(), func(w *world, h host.Host) error {
			if err := busy(h, 50); err != nil {
				return err
			}
			w.oracle.Heal(h.Elapsed())
			before := fmt.Sprint(w.oracle.Counts())
			a, err := connect(h)
			if err != nil {
				return err
			}
			b, err := connect(h)
			if err != nil {
				return err
			}
			version, err := a.Create("/healed", nil, metadata.Persistent, nil)
			for i := 0; err == nil && i < 50; i++ {
				var v metadata.Value
				if v, err = b.Get("/healed", nil); err == nil && v.Version != version {
					err = fmt.Errorf("version %d was read while it was %d", v.Version, version)
				}
				if err == nil {
					version, err = a.Put("/healed", nil, version, nil)
				}
			}
			if after := fmt.Sprint(w.oracle.Counts()); err == nil && after != before {
				err = fmt.Errorf("freedoms went from %s to %s", before, after)
			}
			return errors.Join(err, a.Close(), b.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestALateWriteComesAfterTheLaterRequestsOfItsSession, and also after the session has ended: both are seen.
func TestALateWriteComesAfterLaterRequests(t *testing.T) {
	config := only(func(c *oracle.Config) { c.LateWritePermille, c.LateWriteMax = 1000, 20*time.Second })
	afterSync, afterEnd := 0, 0
	for seed := range uint64(10) {
		_, err := run(seed, config, func(w *world, h host.Host) error {
			a, err := connect(h)
			if err != nil {
				return err
			}
			_, err = a.Create("/late", nil, metadata.Persistent, nil)
			if !errors.Is(err, metadata.ErrOutcomeUnknown) {
				return fmt.Errorf("a write that is not answered: %w", err)
			}
			if err := a.Sync(nil); err != nil {
				return err
			}
			_, err = a.Get("/late", nil)
			if errors.Is(err, metadata.ErrNotExist) {
				afterSync++
			} else if err != nil {
				return err
			}
			if err := a.Close(); err != nil {
				return err
			}
			if w.oracle.Get("/late") == nil {
				afterEnd++
			}
			h.Root().Sleep(20 * time.Second)
			writes := w.oracle.Writes()
			if len(writes) != 1 || !writes[0].Late || w.oracle.Counts()[oracle.LateWrite] != 1 {
				return fmt.Errorf("in the end: %+v", writes)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if afterSync == 0 || afterEnd == 0 {
		t.Errorf("%d came after a Sync, %d after the session", afterSync, afterEnd)
	}
}
