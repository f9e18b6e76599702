package ledger_test

import (
	"encoding/hex"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// TestGoldenHeader: clients of BookKeeper write and read these bytes.
func TestGoldenHeader(t *testing.T) {
	p := make([]byte, ledger.HeaderBytes)
	ledger.PutHeader(p, 0x0102030405060708, 0x1112131415161718, ledger.NoEntry, 0x2122232425262728)
	const want = "0102030405060708" + "1112131415161718" + "ffffffffffffffff" + "2122232425262728"
	if got := hex.EncodeToString(p); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	id, entry, err := ledger.Key(p)
	if id != 0x0102030405060708 || entry != 0x1112131415161718 || err != nil {
		t.Errorf("key %x %x, %v", id, entry, err)
	}
}

// TestAStoredEntryMayEndBehindItsIds, as upstream's bookies allow, and not before.
func TestAStoredEntryMayEndBehindItsIds(t *testing.T) {
	p := make([]byte, ledger.HeaderBytes)
	ledger.PutHeader(p, 7, 8, 6, 100)
	for n := range len(p) + 1 {
		id, entry, err := ledger.Key(p[:n])
		if good := n >= ledger.ShortestBytes; good != (err == nil) || good && (id != 7 || entry != 8) {
			t.Errorf("%d bytes: ledger %d, entry %d, %v", n, id, entry, err)
		}
		want := ledger.NoEntry
		if n >= 24 {
			want = 6
		}
		if got := ledger.LastAddConfirmed(p[:n]); got != want {
			t.Errorf("%d bytes: LAC %d, want %d", n, got, want)
		}
	}
}
