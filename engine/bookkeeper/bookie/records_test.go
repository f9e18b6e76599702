package bookie

import (
	"encoding/hex"
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

// TestGoldenJournalRecords: journals are replayed by every later version.
func TestGoldenJournalRecords(t *testing.T) {
	key := ledger.MasterKey{0xaa, 19: 0xbb}
	const id = "0102030405060708"
	for _, c := range []struct {
		kind record.Kind
		want string
		key  *ledger.MasterKey
	}{
		{1 + 1, id + "aa" + "000000000000000000000000000000000000" + "bb", &key},
		{3, id, nil},
		{4, id, nil},
	} {
		body := ledgerRecord(0x0102030405060708, c.key)
		if got := hex.EncodeToString(body); got != c.want {
			t.Errorf("kind %d:\n got %s\nwant %s", c.kind, got, c.want)
		}
		r, err := decodeRecord(c.kind, body)
		if err != nil || r.ledger != 0x0102030405060708 || c.key != nil && r.key != key {
			t.Errorf("kind %d decodes to %+v, %v", c.kind, r, err)
		}
	}
	if kindEntry != 1 || kindLedger != 2 || kindFence != 3 || kindDelete != 4 {
		t.Error("the kinds of records have other numbers")
	}
}

// FuzzJournalRecord: each record is taken whole, or corrupt.
func FuzzJournalRecord(f *testing.F) {
	entry := make([]byte, 40)
	ledger.PutHeader(entry, 1, 2, 1, 8)
	f.Add(uint32(kindEntry), entry)
	f.Add(uint32(kindLedger), ledgerRecord(1, &ledger.MasterKey{}))
	f.Add(uint32(kindFence), ledgerRecord(1, nil))
	f.Add(uint32(kindDelete), []byte{1})
	f.Fuzz(func(t *testing.T, kind uint32, body []byte) {
		r, err := decodeRecord(record.Kind(kind), body)
		known := kind == 1 && len(body) >= ledger.ShortestBytes || kind == 2 && len(body) == 28 || (kind == 3 || kind == 4) && len(body) == 8
		if known != (err == nil) || err != nil && !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("kind %d, %d bytes: %+v, %v", kind, len(body), r, err)
		}
	})
}

// TestGoldenCookie: BookKeeper's own text form.
func TestGoldenCookie(t *testing.T) {
	c := Cookie{BookieHost: "10.0.0.1:3181", JournalDir: "journal", LedgerDirs: "1\tledger", InstanceID: "abc \"x\""}
	want := "5\nbookieHost: \"10.0.0.1:3181\"\njournalDir: \"journal\"\nledgerDirs: \"1\\tledger\"\ninstanceId: \"abc \\\"x\\\"\"\n"
	if got := string(c.Encode()); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if got, err := DecodeCookie([]byte(want)); got != c || err != nil {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// FuzzCookie: a text that is accepted says the same when it is written again.
func FuzzCookie(f *testing.F) {
	f.Add(Cookie{BookieHost: "a:1", JournalDir: "journal", LedgerDirs: "1\tledger", InstanceID: "x"}.Encode())
	f.Add([]byte("5\n"))
	f.Add([]byte("4\nbookieHost: \"a\"\n"))
	f.Add([]byte("5\nbookieHost: `a`\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := DecodeCookie(text)
		if err != nil {
			if !errors.Is(err, ErrCookie) {
				t.Fatal(err)
			}
			return
		}
		if again, err := DecodeCookie(c.Encode()); err != nil || again != c {
			t.Fatalf("%q: %+v became %+v, %v", text, c, again, err)
		}
	})
}
