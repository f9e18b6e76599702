package ledgertable

import (
	"encoding/binary"
	"fmt"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

const (
	kindLedger      record.Kind = 1
	kindLog         record.Kind = 2
	kindLogGone     record.Kind = 3
	kindBookie      record.Kind = 4
	kindSnapshotEnd record.Kind = 5
)

const (
	ledgerBytes = 29
	logBytes    = 13
	goneBytes   = 4
	bookieBytes = 1
)

const (
	flagFenced  = 1
	flagHasKey  = 2
	flagLimbo   = 4
	flagDeleted = 8
)

func appendLedger(p []byte, r Row) []byte {
	p = binary.BigEndian.AppendUint64(p, uint64(r.ID))
	flags := flag(r.Fenced, flagFenced) | flag(r.HasKey, flagHasKey) | flag(r.Limbo, flagLimbo) | flag(r.Deleted, flagDeleted)
	return append(append(p, flags), r.MasterKey[:]...)
}

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func appendLog(p []byte, s entrylog.LogState) []byte {
	p = binary.BigEndian.AppendUint32(p, uint32(s.ID))
	p = binary.BigEndian.AppendUint64(p, uint64(s.Durable))
	return append(p, flag(s.Closed, 1))
}

// content is what the records of a file add up to.
type content struct {
	table    *Table
	logs     map[entrylog.LogID]entrylog.LogState
	finished bool // the snapshot's end was seen
}

// bodyBytes is the length of a kind's body; -1 for a kind that does not exist.
func bodyBytes(kind record.Kind) int {
	switch kind {
	case kindLedger:
		return ledgerBytes
	case kindLog:
		return logBytes
	case kindLogGone:
		return goneBytes
	case kindBookie:
		return bookieBytes
	case kindSnapshotEnd:
		return 0
	default:
		return -1
	}
}

// apply decodes one record.
func (c *content) apply(kind record.Kind, body []byte) error {
	if want := bodyBytes(kind); len(body) != want {
		return fmt.Errorf("ledger table record of kind %d has %d bytes, want %d: %w", kind, len(body), want, record.ErrCorrupt)
	}
	switch kind {
	case kindLedger:
		c.applyLedger(body)
	case kindLog:
		id := entrylog.LogID(binary.BigEndian.Uint32(body))
		c.logs[id] = entrylog.LogState{ID: id, Durable: int64(binary.BigEndian.Uint64(body[4:])), Closed: body[12]&1 != 0}
	case kindLogGone:
		delete(c.logs, entrylog.LogID(binary.BigEndian.Uint32(body)))
	case kindBookie:
		c.table.uncertain = body[0]&1 != 0
	case kindSnapshotEnd:
		c.finished = true
	}
	return nil
}

func (c *content) applyLedger(body []byte) {
	id := ledger.ID(binary.BigEndian.Uint64(body))
	l := c.table.Get(id)
	if l == nil {
		l = c.table.Create(id)
	}
	flags := body[8]
	l.State = State{
		Fenced: flags&flagFenced != 0, HasKey: flags&flagHasKey != 0,
		Limbo: flags&flagLimbo != 0, Deleted: flags&flagDeleted != 0,
	}
	copy(l.MasterKey[:], body[9:])
}
