package trial

import (
	"strings"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/faults"
)

// clusterAims are the moments in which a cluster is most vulnerable, whichever node and ledger they happen to: a plan that
// is drawn by time and node alone hardly ever meets them.
func clusterAims() []faults.Aim {
	visitor, named := faults.Target{Node: faults.Visitor}, faults.Target{Node: faults.Named}
	between := faults.Target{Node: faults.Visitor, Peer: faults.Named}
	volumes := []string{bookie.JournalVolume, bookie.LedgerVolume}
	down := []faults.Kind{faults.Kill, faults.PowerCut, faults.Pause, faults.Clog, faults.Wipe}
	away := []faults.Kind{faults.Kill, faults.Pause, faults.Clog, faults.SlowReceiver, faults.ClockJump}
	links := []faults.Kind{faults.Partition, faults.OneWayPartition, faults.Reset, faults.Stall, faults.SlowLink}
	media := []faults.Kind{
		faults.SyncError, faults.SyncDirError, faults.WriteError, faults.NoSpace, faults.SlowDisk, faults.StuckDisk,
		faults.LostWrite, faults.MisdirectedWrite, faults.BitRot, faults.PowerCut, faults.Kill,
	}
	at := func(name string, p host.Point, visits int64, target faults.Target, kinds ...[]faults.Kind) faults.Aim {
		a := faults.Aim{Name: name, Point: string(p), VisitsMax: visits, Target: target, Volumes: volumes}
		for _, some := range kinds {
			a.Kinds = append(a.Kinds, some...)
		}
		return a
	}
	return []faults.Aim{
		at("joined", client.PointEnsembleChanged, 16, named, down, media),
		at("joined-recovery", client.PointRecoveryEnsemble, 6, named, down, media),
		at("resent", client.PointResent, 24, named, down),
		at("answered", client.PointAcked, 200, visitor, away),
		at("answered-link", client.PointAcked, 200, between, links),
		at("holder", client.PointAcked, 200, named, down, media),
		at("fenced", bookie.PointFenceDurable, 30, visitor, down, media),
		at("recovers", client.PointRecoveryStarted, 16, visitor, away),
		at("recovers-link", client.PointRecoveryStarted, 16, between, links),
		at("recovered-from", client.PointRecoveryStarted, 16, named, down, media),
		at("writes-again", client.PointRecoveryReadd, 24, visitor, away),
		at("log-written", entrylog.PointBytesWritten, 60, visitor, down, media),
		at("log-synced", entrylog.PointBytesSynced, 60, visitor, down, media),
		at("table-written", bookie.PointTableWritten, 60, visitor, down, media),
		at("mark-written", lastmark.PointWritten, 60, visitor, down, media),
		at("replayed", journal.PointReplayedGroup, 40, visitor, down, media),
	}
}

// naming is whom a mark names, as addresses separated by commas: its own Extra, or what the metadata know of its ledger.
func (c *cluster) naming(e *host.Event) string {
	switch e.Name {
	case client.PointEnsembleChanged, client.PointRecoveryEnsemble:
		return c.joined(ledger.ID(e.A))
	case client.PointRecoveryStarted:
		m, there := c.ledgers[ledger.ID(e.A)]
		if !there {
			return ""
		}
		return addresses(m.Last().Ensemble)
	}
	return e.Extra
}

// joined is the bookies that the last fragment of a ledger has and the one before it has not.
func (c *cluster) joined(id ledger.ID) string {
	m, there := c.ledgers[id]
	if !there || len(m.Fragments) < 2 {
		return ""
	}
	before := "," + addresses(m.Fragments[len(m.Fragments)-2].Ensemble) + ","
	var fresh []ledger.BookieID
	for _, b := range m.Last().Ensemble {
		if !strings.Contains(before, ","+string(b)+",") {
			fresh = append(fresh, b)
		}
	}
	return addresses(fresh)
}

func addresses(bookies []ledger.BookieID) string {
	texts := make([]string, len(bookies))
	for i, b := range bookies {
		texts[i] = string(b)
	}
	return strings.Join(texts, ",")
}
