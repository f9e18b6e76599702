package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// emptyStore restarts the metadata server, which keeps everything in memory.
func (c *cluster) emptyStore() {
	c.metadata.Crash(sim.PowerCut(disk.Keep))
	c.startStore()
}

func cookiesOf(h host.Host, store metadata.Store) *metadata.Cookies {
	return metadata.NewCookies(h, h.Root(), store, metadata.Layout{Root: metadata.DefaultRoot}, metadata.DefaultRetry())
}

// TestARunningBookieStaysOutOfAnEmptiedStore, whether a new cluster is made there or none. It goes on serving, and its
// next start is refused without making a cluster, although its configuration lets it make one.
func TestARunningBookieStaysOutOfAnEmptiedStore(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if err := errors.Join(registered(h, store), add(h, bookieAddr, 1, 0)); err != nil {
				return err
			}
			session := store.Session()
			c.emptyStore()
			if err := until(h, "the store is back", func() bool { return store.Session() != session }); err != nil {
				return err
			}
			if seed%2 == 1 {
				if _, err := cookiesOf(h, store).Initialize(nil); err != nil {
					return err
				}
			}
			for range 300 {
				h.Root().Sleep(100 * time.Millisecond)
				if has(store, bookieKey) {
					return errors.New("the bookie is registered in a store of another cluster")
				}
			}
			if err := errors.Join(add(h, bookieAddr, 1, 1), c.stop(h)); err != nil {
				return err
			}
			c.startBookie(nil)
			if err := c.ended(h, bookie.ErrCookie); err != nil {
				return err
			}
			if _, err := cookiesOf(h, store).InstanceID(nil); seed%2 == 0 && !errors.Is(err, metadata.ErrNotInitialized) {
				return fmt.Errorf("stamped directories made a cluster: %w", err)
			}
			return nil
		})
		if c.marks[metadata.PointForeignStore] != 1 || c.marks[node.PointCookieRefused] != 1 {
			t.Errorf("seed %d: marks %v", seed, c.marks)
		}
	}
}

// TestABookieInDoubtDoesNotBelieveAnEmptiedStore: every ledger that it may have lost would count as a new one, and a fence
// that it has lost would let writers in.
func TestABookieInDoubtDoesNotBelieveAnEmptiedStore(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			c.onMark = func(e host.Event) {
				if e.Name == bookie.PointLimbo { // it has found its cluster, and not asked for the ledgers
					c.emptyStore()
				}
			}
			l := ledgersOf(h, store)
			d, err := c.doubt(h, store, l)
			if err := errors.Join(err, c.serves(h)); err != nil {
				return err
			}
			h.Root().Sleep(30 * time.Second)
			if _, err := create(l); err != nil { // the emptied store does answer
				return err
			}
			if c.settled() {
				return errors.New("the doubt was settled by a store of another cluster")
			}
			return errors.Join(refused(h, d.kept, 1), refused(h, d.lost, 0), c.stop(h))
		})
		if c.marks[bookie.PointLimbo] != 1 {
			t.Errorf("seed %d: marks %v", seed, c.marks)
		}
	}
}

// TestABookieMakesAClusterOnlyWhenToldTo, and says so otherwise: an empty store may be one that lost its content.
func TestABookieMakesAClusterOnlyWhenToldTo(t *testing.T) {
	if node.DefaultConfig().Initialize {
		t.Error("the default makes clusters")
	}
	c := newCluster(t, 1)
	c.config.Initialize = false
	c.run(func(h host.Host, store metadata.Store) error {
		c.startBookie(nil)
		if err := c.ended(h, metadata.ErrNotInitialized); err != nil {
			return err
		}
		if bookie.IsRefusal(c.end) || !strings.Contains(c.end.Error(), "Initialize") {
			return fmt.Errorf("it does not say what to do: %w", c.end)
		}
		if _, err := cookiesOf(h, store).Initialize(nil); err != nil {
			return err
		}
		c.startBookie(nil)
		return errors.Join(registered(h, store), c.stop(h))
	})
}
