package ledgertable

import (
	"encoding/hex"
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

func emptyContent() content {
	return content{table: NewTable(), logs: map[entrylog.LogID]entrylog.LogState{}}
}

// TestGoldenRecords: tables are read by every later version.
func TestGoldenRecords(t *testing.T) {
	key := ledger.MasterKey{0xaa, 19: 0xbb}
	for _, c := range []struct {
		name, want string
		got        []byte
	}{
		{"fenced with key", "0102030405060708" + "03" + "aa" + "000000000000000000000000000000000000" + "bb",
			appendLedger(nil, Row{0x0102030405060708, State{Fenced: true, HasKey: true, MasterKey: key}})},
		{"limbo", "0000000000000001" + "04" + "0000000000000000000000000000000000000000",
			appendLedger(nil, Row{1, State{Limbo: true}})},
		{"deleted", "0000000000000001" + "08" + "0000000000000000000000000000000000000000",
			appendLedger(nil, Row{1, State{Deleted: true}})},
		{"closed log", "0000000a" + "0000000000012000" + "01",
			appendLog(nil, entrylog.LogState{ID: 10, Durable: 0x12000, Closed: true})},
		{"open log", "0000000a" + "0000000000012000" + "00",
			appendLog(nil, entrylog.LogState{ID: 10, Durable: 0x12000})},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestEveryStateRoundTrips: all combinations of flags.
func TestEveryStateRoundTrips(t *testing.T) {
	for bits := range 16 {
		want := State{Fenced: bits&1 != 0, HasKey: bits&2 != 0, Limbo: bits&4 != 0, Deleted: bits&8 != 0, MasterKey: ledger.MasterKey{byte(bits)}}
		c := emptyContent()
		if err := c.apply(kindLedger, appendLedger(nil, Row{ledger.ID(bits), want})); err != nil {
			t.Fatal(err)
		}
		if got := c.table.Get(ledger.ID(bits)); got == nil || got.State != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}

// TestALaterRecordReplacesAnEarlierOne, and a log that is gone is not listed.
func TestALaterRecordReplacesAnEarlierOne(t *testing.T) {
	c := emptyContent()
	for _, r := range []struct {
		kind record.Kind
		body []byte
	}{
		{kindLedger, appendLedger(nil, Row{5, State{Fenced: true}})},
		{kindLedger, appendLedger(nil, Row{5, State{Deleted: true}})},
		{kindLog, appendLog(nil, entrylog.LogState{ID: 1, Durable: 4096})},
		{kindLog, appendLog(nil, entrylog.LogState{ID: 2, Durable: 4096})},
		{kindLog, appendLog(nil, entrylog.LogState{ID: 2, Durable: 8192, Closed: true})},
		{kindLogGone, []byte{0, 0, 0, 1}},
		{kindBookie, []byte{1}},
		{kindSnapshotEnd, nil},
	} {
		if err := c.apply(r.kind, r.body); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.table.Get(5).State; got != (State{Deleted: true}) {
		t.Errorf("ledger 5: %+v", got)
	}
	if len(c.logs) != 1 || c.logs[2] != (entrylog.LogState{ID: 2, Durable: 8192, Closed: true}) {
		t.Errorf("logs: %+v", c.logs)
	}
	if !c.table.Uncertain() || !c.finished {
		t.Error("the flags of the bookie or the snapshot's end were lost")
	}
}

// FuzzTableRecord applies arbitrary records: each is taken whole, or corrupt.
func FuzzTableRecord(f *testing.F) {
	f.Add(uint32(kindLedger), appendLedger(nil, Row{5, State{Fenced: true}}))
	f.Add(uint32(kindLog), appendLog(nil, entrylog.LogState{ID: 1, Durable: 4096}))
	f.Add(uint32(kindLogGone), []byte{0, 0, 0, 1})
	f.Add(uint32(kindBookie), []byte{1})
	f.Add(uint32(kindSnapshotEnd), []byte{})
	f.Add(uint32(99), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, kind uint32, body []byte) {
		c := emptyContent()
		err := c.apply(record.Kind(kind), body)
		if known := kind >= 1 && kind <= 5 && len(body) == bodyBytes(record.Kind(kind)); known != (err == nil) {
			t.Fatalf("kind %d, %d bytes: %v", kind, len(body), err)
		}
		if err != nil && (!errors.Is(err, record.ErrCorrupt) || c.table.Len() > 0 || len(c.logs) > 0) {
			t.Fatalf("a refused record left something, or is not corrupt: %v", err)
		}
	})
}

// TestCaptureTellsEachChangeOnce, and a whole capture everything.
func TestCaptureTellsEachChangeOnce(t *testing.T) {
	table := NewTable()
	for id := range ledger.ID(4) {
		table.Create(3 - id)
	}
	ids := func(c Changes) (ids []ledger.ID) {
		for _, r := range c.Rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	if got := table.Capture(false); len(got.Rows) != 4 || got.whole {
		t.Errorf("first capture: %v", ids(got))
	}
	if got := table.Capture(false); len(got.Rows) != 0 {
		t.Errorf("second capture: %v", ids(got))
	}
	l := table.Get(2)
	l.Fenced = true
	table.Changed(l)
	table.Changed(l)
	if got := table.Capture(false); len(got.Rows) != 1 || got.Rows[0] != (Row{2, State{Fenced: true}}) {
		t.Errorf("after one change: %+v", got.Rows)
	}
	table.Changed(l)
	if got := ids(table.Capture(true)); len(got) != 4 || got[0] != 0 || got[3] != 3 {
		t.Errorf("whole: %v", got)
	}
	if got := table.Capture(false); len(got.Rows) != 0 {
		t.Errorf("a whole capture left %v as changed", ids(got))
	}
}

// TestLimboReachesEveryLedgerThatIsLeft, and those that nobody has heard of.
func TestLimboReachesEveryLedgerThatIsLeft(t *testing.T) {
	table := NewTable()
	table.Create(1)
	table.Create(2).Deleted = true
	table.Capture(false)
	table.Limbo()
	if !table.Get(1).Limbo || table.Get(2).Limbo || !table.Uncertain() {
		t.Error("limbo did not reach the ledgers, or reached a deleted one")
	}
	if got := table.Capture(false); len(got.Rows) != 1 || got.Rows[0].ID != 1 || !got.Uncertain {
		t.Errorf("limbo is not written: %+v", got)
	}
}
