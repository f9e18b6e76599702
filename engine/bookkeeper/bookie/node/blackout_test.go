package node_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// trio is three bookies that are all there are, and lose power together.
type trio struct {
	*cluster
	nodes []*sim.Node
	rot   bool // the next start finds the journal's last group bad
}

func newTrio(t *testing.T, seed uint64) *trio {
	c := newCluster(t, seed)
	all := &trio{cluster: c, nodes: []*sim.Node{c.bookie, c.w.NewNode("bookie-1"), c.w.NewNode("bookie-2")}}
	return all
}

func (a *trio) start() {
	for _, n := range a.nodes {
		config := a.config
		config.Store.BookieID = n.Name() + ":3181"
		n.Start(func(h host.Host) error {
			if a.rot {
				if err := rotLastGroup(h, n); err != nil {
					return err
				}
			}
			return withStore(h, storeAddr, func(store metadata.Store) error { return node.Run(h, store, config) })
		})
	}
}

// blackout cuts the power of all bookies and lets the last group of each rot: what a power cut can do that tears pages.
func (a *trio) blackout() {
	for _, n := range a.nodes {
		n.Crash(sim.PowerCut(disk.Keep))
	}
	a.rot = true
	a.start()
}

func (a *trio) stopAll() {
	for _, n := range a.nodes {
		n.Stop()
	}
}

// write appends entries to a new ledger and closes it.
func write(c *client.Client, q ledger.Quorum, count int) (ledger.ID, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = q
	w, err := c.Create(o)
	if err != nil {
		return 0, err
	}
	for i := range count {
		if _, err := w.AppendOne([]byte(fmt.Sprintf("entry %d", i))); err != nil {
			w.Abandon()
			return 0, err
		}
	}
	return w.ID(), w.Close()
}

// TestAClusterThatLostPowerTakesNewLedgers: every bookie comes back in doubt, and there are no others. Striped ledgers
// begin on some of them with an entry above 0, which a bookie in doubt for ever refuses.
func TestAClusterThatLostPowerTakesNewLedgers(t *testing.T) {
	quorums := []ledger.Quorum{{Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 3, Write: 1, Ack: 1}, {Ensemble: 3, Write: 2, Ack: 2}}
	for seed := range uint64(9) {
		a := newTrio(t, seed)
		q := quorums[seed%3]
		a.run(func(h host.Host, store metadata.Store) error {
			c, err := client.New(h, h.Root(), store, client.DefaultConfig())
			if err != nil {
				return err
			}
			defer c.Close()
			a.start()
			defer a.stopAll()
			h.Root().Sleep(time.Second)
			old, err := write(c, q, 30)
			if err != nil {
				return fmt.Errorf("before: %w", err)
			}
			for range 2 { // the second time, most of what is in doubt was in limbo before
				a.blackout()
				settled := a.marks[node.PointDoubtSettled] + len(a.nodes)
				if err := until(h, "all doubt is settled", func() bool { return a.marks[node.PointDoubtSettled] == settled }); err != nil {
					return err
				}
				h.Root().Sleep(10 * time.Second) // the client connects again
				if _, err := write(c, q, 30); err != nil {
					return fmt.Errorf("after: %w", err)
				}
			}
			r, err := c.Open(old, client.OpenOptions{})
			if err != nil {
				return err
			}
			defer r.Close()
			entries, err := r.Read(0, 20)
			if err != nil {
				return err
			}
			entries.Release()
			a.stopAll()
			return until(h, "the bookies are down", func() bool { return !a.nodes[1].Running() && !a.nodes[2].Running() })
		})
		if a.marks[bookie.PointLimbo] != 6 {
			t.Errorf("seed %d: marks %v", seed, a.marks)
		}
		for _, n := range a.nodes {
			if err := n.BootErr(); err != nil && !errors.Is(err, host.ErrStopping) {
				t.Errorf("seed %d: %s: %v", seed, n.Name(), err)
			}
		}
	}
}
