package trial

import (
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/workloads/replicated"
)

// holdersOneIn is how many seeds share one look at every copy: it costs more than the rest of the last look.
const holdersOneIn = 3

// probeHolders asks each bookie for the copies that it should have of what was acknowledged. All bookies are back by now,
// but for those that refused their directories.
func (c *cluster) probeHolders(h host.Host, store metadata.Store) {
	if c.rand.IntN(holdersOneIn) > 0 || !h.Root().Sleep(settlePause) {
		return
	}
	c.lookForRegistrations(h, store)
	wanted := map[ledger.BookieID][]replicated.Copy{}
	for _, acked := range c.lab.Recorder.AckedEntries() {
		id, entry := ledger.ID(acked.Ledger), ledger.EntryID(acked.Entry)
		m, there := c.ledgers[id]
		if !there {
			continue // deleted
		}
		ensemble, set := m.FragmentOf(entry).Ensemble, m.Quorum.WriteSet(entry)
		for i := range set.Len() {
			bookie := ensemble[set.At(i)]
			wanted[bookie] = append(wanted[bookie], replicated.Copy{Ledger: id, Entry: entry, Digest: m.Digest})
		}
	}
	s := replicated.NewSession(h, h.Root(), c.lab, nil, clientID(len(c.clients), 1), 0)
	for _, m := range c.bookies {
		if copies := wanted[ledger.BookieID(m.address)]; len(copies) > 0 {
			s.Holders(ledger.BookieID(m.address), slices.Clip(copies), c.drawn.client.Pool.Channel)
		}
	}
}

// registrationTries is how often, settlePause apart, a healed bookie is looked for among those that are registered.
const registrationTries = 5

// lookForRegistrations: a bookie that serves in a world that is whole again is found by clients, whatever became of its
// sessions before.
func (c *cluster) lookForRegistrations(h host.Host, store metadata.Store) {
	var missing []string
	for range registrationTries {
		registered, err := registrations(h, store)
		if missing = nil; err == nil {
			for _, m := range c.bookies {
				if m.node.Running() && m.serving && !m.failing && !m.refused && !slices.Contains(registered, m.address) {
					missing = append(missing, m.address)
				}
			}
			if len(missing) == 0 {
				return
			}
		}
		if !h.Root().Sleep(settlePause) {
			return
		}
	}
	if len(missing) > 0 {
		c.find(Stalled, "liveness", "a healed bookie is not registered", fmt.Sprintf("missing: %v", missing))
	}
}

// registrations lists the bookies that are registered, in either mode.
func registrations(h host.Host, store metadata.Store) ([]string, error) {
	layout := metadata.Layout{Root: metadata.DefaultRoot}
	scope := host.Within(h, h.Root(), settlePause)
	if err := store.Sync(scope); err != nil {
		return nil, err
	}
	writable, err := store.List(layout.WritableRoot(), scope)
	if err != nil {
		return nil, err
	}
	readOnly, err := store.List(layout.ReadOnlyRoot(), scope)
	return slices.Concat(writable, readOnly), err
}
