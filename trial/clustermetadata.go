package trial

import (
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/model"
	"lakebed/trial/oracle"
	"lakebed/workloads/replicated"
)

// hostilityScale shortens what the oracle draws, so that its freedoms fit into a trial of a second or two.
const hostilityScale = 6

// drawOracle draws how hostile the metadata store is.
func drawOracle(r *rand.Rand) oracle.Config { return scaled(oracle.Draw(r)) }

// scaled makes times fit a trial.
func scaled(c oracle.Config) oracle.Config {
	for _, d := range []*time.Duration{
		&c.StaleMax, &c.NoticeMax, &c.LateWriteMax, &c.SlowMax, &c.OutageMax, &c.SessionTimeoutMin,
	} {
		*d /= hostilityScale
	}
	return c
}

// writtenMetadata is what was written of ledgers since the last call.
func (c *cluster) writtenMetadata() []replicated.Written {
	fresh := c.oracle.WritesSince(c.writes)
	c.writes += len(fresh)
	var out []replicated.Written
	for i := range fresh {
		id, isLedger := metadata.Layout{Root: metadata.DefaultRoot}.ParseLedgerKey(fresh[i].Key)
		if isLedger && !fresh[i].Parent {
			out = append(out, c.ledgerWritten(id, &fresh[i]))
		}
	}
	return out
}

func (c *cluster) ledgerWritten(id ledger.ID, w *oracle.Write) replicated.Written {
	written := replicated.Written{Write: model.MetadataWrite{
		Ledger: model.LedgerID(id), Last: model.NoLast, Expected: model.NoVersion, State: model.LedgerGone,
	}}
	if w.Before != nil {
		written.Write.Version = model.MetadataVersion(w.Before.Version)
	}
	if w.After == nil {
		delete(c.ledgers, id)
		return written
	}
	if w.Before != nil {
		written.Write.Expected = model.MetadataVersion(w.Before.Version)
	}
	m, err := ledger.DecodeMetadata(w.After.Data)
	if err != nil {
		c.find(Violation, "metadata", "what was stored is no metadata of a ledger", err.Error())
		return written
	}
	c.ledgers[id] = m
	if state := c.rare.stored(id, &m); state != "" {
		c.marks.Hit(state)
	}
	written.Write.Version, written.Write.State = model.MetadataVersion(w.After.Version), model.LedgerState(m.State)
	written.Write.Last, written.Write.Length = model.EntryID(m.LastEntry), m.Length
	written.Write.Quorum = model.QuorumShape{
		Ensemble: int32(m.Quorum.Ensemble), Write: int32(m.Quorum.Write), Ack: int32(m.Quorum.Ack),
	}
	for _, f := range m.Fragments {
		fragment := model.LedgerFragment{First: model.EntryID(f.First)}
		for _, b := range f.Ensemble {
			fragment.Ensemble = append(fragment.Ensemble, model.Node(b))
		}
		written.Fragments = append(written.Fragments, fragment)
	}
	return written
}
