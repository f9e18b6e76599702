package trial

import (
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/workloads/replicated"
)

// holdersOneIn is how many seeds share one look at every copy: it costs more than the rest of the last look.
const holdersOneIn = 3

// probeHolders asks each bookie for the copies that it should have of what was acknowledged. All bookies are back by now,
// but for those that refused their directories.
func (c *cluster) probeHolders(h host.Host) {
	if c.rand.IntN(holdersOneIn) > 0 || !h.Root().Sleep(settlePause) {
		return
	}
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
