package trial

import (
	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Rare states of a cluster that no single node can see.
const (
	// MarkRecoveriesRaced: two clients recover one ledger at a time.
	MarkRecoveriesRaced = "cluster.recoveries-raced"
	// MarkFencedUnacked: a bookie fences a ledger while its writer waits for acknowledgements.
	MarkFencedUnacked = "cluster.fenced-between-write-and-ack"
	// MarkAckedInRecovery: a writer acknowledges an entry while another client recovers its ledger.
	MarkAckedInRecovery = "cluster.acked-during-recovery"
	// MarkTailRecovered: recovery closes a ledger behind entries that were never acknowledged.
	MarkTailRecovered = "cluster.unacked-tail-recovered"
	// MarkClosedUnderWriter: recovery closes a ledger while its writer waits for acknowledgements, and leaves entries out.
	MarkClosedUnderWriter = "cluster.closed-under-its-writer"
	// MarkClosedEmpty: recovery closes a ledger that has nothing.
	MarkClosedEmpty = "cluster.recovered-empty"
	// MarkWriteSetRestarted: all bookies of a write set have been down since the ledger was created, and it is still open.
	MarkWriteSetRestarted = "cluster.write-set-restarted"
	// MarkEnsembleChangedTwice: a ledger that is not closed has its third fragment, or a later one.
	MarkEnsembleChangedTwice = "cluster.ensemble-changed-twice"
	// MarkWipedRefused: a bookie whose disks were emptied does not start.
	MarkWipedRefused = "cluster.wiped-bookie-refused"
	// MarkEntryDamaged: a bookie that is not fragile loses an entry, within that entry's budget.
	MarkEntryDamaged = "cluster.entry-damaged"
	// MarkCoreOnly: the last look had to do without some bookies.
	MarkCoreOnly = "cluster.verified-by-a-core"
	// MarkExcused: a ledger could not be recovered, and what the plan broke is the reason.
	MarkExcused = "cluster.stuck-for-a-reason"
)

// fate is what has become of one ledger so far.
type fate struct {
	quorum    ledger.Quorum
	acked     int64
	recoverer string          // node that recovers it
	closed    bool            // by anybody
	ensemble  []string        // of the last fragment
	down      map[string]bool // bookies that have been down since it was created
}

// rareStates recognises states of the whole cluster in the marks of its nodes.
type rareStates struct {
	fates     map[int64]*fate
	appending func(ledger int64) bool // whether appends to it are under way
}

func newRareStates(appending func(ledger int64) bool) *rareStates {
	return &rareStates{fates: map[int64]*fate{}, appending: appending}
}

func (r *rareStates) of(id int64) *fate {
	f := r.fates[id]
	if f == nil {
		f = &fate{acked: -1, down: map[string]bool{}}
		r.fates[id] = f
	}
	return f
}

// see takes in a mark, and names the state that it leads to. Empty: none that is rare.
func (r *rareStates) see(node string, e host.Event) string {
	switch e.Name {
	case bookie.PointFenceDurable:
		if f := r.of(e.A); !f.closed && r.appending(e.A) {
			return MarkFencedUnacked
		}
	case client.PointAcked:
		f := r.of(e.A)
		f.acked = max(f.acked, e.B)
		if f.recoverer != "" && !f.closed {
			return MarkAckedInRecovery
		}
	case client.PointRecoveryStarted:
		f := r.of(e.A)
		before := f.recoverer
		f.recoverer = node
		if before != "" && before != node && !f.closed {
			return MarkRecoveriesRaced
		}
	case client.PointClosed:
		return r.closed(e)
	}
	return ""
}

func (r *rareStates) closed(e host.Event) string {
	f := r.of(e.A)
	first := !f.closed
	f.closed = true
	switch {
	case !first || e.Extra != "recovery":
		return ""
	case e.B < 0:
		return MarkClosedEmpty
	case e.B > f.acked:
		return MarkTailRecovered
	case r.appending(e.A):
		return MarkClosedUnderWriter
	}
	return ""
}

// stored takes in metadata of a ledger that were written.
func (r *rareStates) stored(id ledger.ID, m *ledger.Metadata) string {
	f := r.of(int64(id))
	f.quorum = m.Quorum
	f.ensemble = f.ensemble[:0]
	for _, b := range m.Last().Ensemble {
		f.ensemble = append(f.ensemble, string(b))
	}
	f.closed = f.closed || m.State == ledger.Closed
	if len(m.Fragments) > 2 && m.State == ledger.Open {
		return MarkEnsembleChangedTwice
	}
	return ""
}

// crashed takes in that a bookie has gone down without having been asked to.
func (r *rareStates) crashed(address string) string {
	found := ""
	for _, f := range r.fates { // in any order: what comes out does not depend on it
		f.down[address] = true
		if !f.closed && len(f.ensemble) > 0 && f.wasAllDown() {
			found = MarkWriteSetRestarted
		}
	}
	return found
}

func (f *fate) wasAllDown() bool {
	for first := range f.ensemble {
		down := 0
		for i := range f.quorum.Write {
			if f.down[f.ensemble[(first+i)%len(f.ensemble)]] {
				down++
			}
		}
		if down == f.quorum.Write {
			return true
		}
	}
	return false
}
