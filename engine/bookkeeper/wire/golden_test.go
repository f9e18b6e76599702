package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// emptyPasswordKey is SHA-1("ledger"), the master key of a ledger with an empty password.
var emptyPasswordKey = ledger.MasterKey(unhex("850bf1071c5e3d8c24235676f8816ae0cbe2f14f"))

// helloEntry is entry 0 of ledger 1 with payload "hello", LAC -1 and a CRC32C digest.
var helloEntry = unhex("00000000000000010000000000000000ffffffffffffffff0000000000000005e3a5f74d68656c6c6f")

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// goldenRequests are frames as BookKeeper writes them. The first is the published vector of an add; the others follow
// from the layouts, written out by hand.
var goldenRequests = []struct {
	name    string
	frame   string
	request wire.Request
}{
	{
		"add", "00000041" + "02010000" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f" +
			"00000000000000010000000000000000ffffffffffffffff0000000000000005e3a5f74d68656c6c6f",
		wire.Request{
			Version: 2, Operation: wire.Add, HasMasterKey: true, MasterKey: emptyPasswordKey,
			Ledger: 1, Entry: 0, Body: helloEntry,
		},
	},
	{
		"recovery add of the shortest entry", "00000028" + "02010006" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f" +
			"0000000000000001" + "0000000100000000",
		wire.Request{
			Version: 2, Operation: wire.Add, Flags: wire.RecoveryAdd | wire.HighPriority, HasMasterKey: true,
			MasterKey: emptyPasswordKey, Ledger: 1, Entry: 1 << 32, Body: unhex("00000000000000010000000100000000"),
		},
	},
	{
		"add of version 0", "00000028" + "00000001" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f" +
			"0000000000000001" + "0000000000000002",
		wire.Request{
			Version: 0, Operation: wire.Add, HasMasterKey: true,
			MasterKey: emptyPasswordKey, Ledger: 1, Entry: 2, Body: unhex("00000000000000010000000000000002"),
		},
	},
	{
		"read", "00000014" + "02020000" + "0000000000000007" + "0000000000000003",
		wire.Request{Version: 2, Operation: wire.Read, Ledger: 7, Entry: 3},
	},
	{
		"fencing read of the last entry", "00000028" + "02020001" + "0000000000000007" + "ffffffffffffffff" +
			"850bf1071c5e3d8c24235676f8816ae0cbe2f14f",
		wire.Request{
			Version: 2, Operation: wire.Read, Flags: wire.Fencing, Ledger: 7, Entry: ledger.NoEntry,
			HasMasterKey: true, MasterKey: emptyPasswordKey,
		},
	},
	{
		"recovery read", "00000028" + "02020005" + "0000000000000007" + "0000000000000003" +
			"850bf1071c5e3d8c24235676f8816ae0cbe2f14f",
		wire.Request{
			Version: 2, Operation: wire.Read, Flags: wire.Fencing | wire.HighPriority, Ledger: 7, Entry: 3,
			HasMasterKey: true, MasterKey: emptyPasswordKey,
		},
	},
	{
		"batch read", "00000028" + "02070000" + "0000000000000007" + "0000000000000003" + "0000000000000009" +
			"00000064" + "0000000000500000",
		wire.Request{
			Version: 2, Operation: wire.BatchRead, Ledger: 7, Entry: 3, RequestID: 9, MaxCount: 100, MaxSize: 5 << 20,
		},
	},
	{
		"fencing batch read without bounds", "0000003c" + "02070001" + "0000000000000007" + "0000000000000003" +
			"8000000000000000" + "ffffffff" + "ffffffffffffffff" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f",
		wire.Request{
			Version: 2, Operation: wire.BatchRead, Flags: wire.Fencing, Ledger: 7, Entry: 3, RequestID: -1 << 63,
			MaxCount: -1, MaxSize: -1, HasMasterKey: true, MasterKey: emptyPasswordKey,
		},
	},
	{
		"auth", "0000001a" + "02030000" + "0a12" + hex.EncodeToString([]byte("AuthDisabledPlugin")) + "1200",
		wire.Request{
			Version: 2, Operation: wire.Auth,
			Body: unhex("0a12" + hex.EncodeToString([]byte("AuthDisabledPlugin")) + "1200"),
		},
	},
}

var goldenResponses = []struct {
	name     string
	frame    string
	response wire.Response
}{
	{
		"add", "00000018" + "02010000" + "00000000" + "0000000000000001" + "0000000000000000",
		wire.Response{Version: 2, Operation: wire.Add, Ledger: 1, Entry: 0},
	},
	{
		"fenced add of version 0", "00000018" + "00000001" + "00000068" + "0000000000000001" + "0000000000000002",
		wire.Response{Version: 0, Operation: wire.Add, Code: wire.Fenced, Ledger: 1, Entry: 2},
	},
	{
		"read", "00000041" + "02020000" + "00000000" + "0000000000000001" + "0000000000000000" +
			"00000000000000010000000000000000ffffffffffffffff0000000000000005e3a5f74d68656c6c6f",
		wire.Response{Version: 2, Operation: wire.Read, Ledger: 1, Entry: 0, Body: helloEntry},
	},
	{
		"last entry that is not there", "00000018" + "02020000" + "00000002" + "0000000000000001" + "ffffffffffffffff",
		wire.Response{Version: 2, Operation: wire.Read, Code: wire.NoEntry, Ledger: 1, Entry: ledger.NoEntry},
	},
	{
		"limbo", "00000018" + "02020000" + "0000006b" + "0000000000000001" + "0000000000000004",
		wire.Response{Version: 2, Operation: wire.Read, Code: wire.UnknownLedgerState, Ledger: 1, Entry: 4},
	},
	{
		"batch read of two", "0000004c" + "02070000" + "00000000" + "0000000000000001" + "0000000000000003" +
			"0000000000000009" + "00000010" + "00000000000000010000000000000003" + "00000014" +
			"00000000000000010000000000000004aabbccdd",
		wire.Response{
			Version: 2, Operation: wire.BatchRead, Ledger: 1, Entry: 3, RequestID: 9,
			Body: unhex("00000010" + "00000000000000010000000000000003" + "00000014" +
				"00000000000000010000000000000004aabbccdd"),
		},
	},
	{
		"batch read that failed", "00000020" + "02070000" + "00000065" + "0000000000000001" + "0000000000000003" +
			"0000000000000009",
		wire.Response{Version: 2, Operation: wire.BatchRead, Code: wire.IOError, Ledger: 1, Entry: 3, RequestID: 9},
	},
	{
		"auth", "0000001a" + "02030000" + "0a12" + hex.EncodeToString([]byte("AuthDisabledPlugin")) + "1200",
		wire.Response{
			Version: 2, Operation: wire.Auth,
			Body: unhex("0a12" + hex.EncodeToString([]byte("AuthDisabledPlugin")) + "1200"),
		},
	},
}

// TestRequestsAreBookKeepersBytes in both directions.
func TestRequestsAreBookKeepersBytes(t *testing.T) {
	for _, c := range goldenRequests {
		frame := unhex(c.frame)
		if got := c.request.Append([]byte{0xEE}); !bytes.Equal(got[1:], frame) || got[0] != 0xEE {
			t.Errorf("%s: encoded\n%x, want\n%x", c.name, got[1:], frame)
		}
		if c.request.FrameBytes() != len(frame) {
			t.Errorf("%s: says %d bytes for a frame of %d", c.name, c.request.FrameBytes(), len(frame))
		}
		var got wire.Request
		if err := got.Decode(frame[4:]); err != nil || !reflect.DeepEqual(got, c.request) {
			t.Errorf("%s: decoded %+v, error %v, want %+v", c.name, got, err, c.request)
		}
	}
}

// TestResponsesAreBookKeepersBytes in both directions.
func TestResponsesAreBookKeepersBytes(t *testing.T) {
	for _, c := range goldenResponses {
		frame := unhex(c.frame)
		if got := c.response.Append([]byte{0xEE}); !bytes.Equal(got[1:], frame) || got[0] != 0xEE {
			t.Errorf("%s: encoded\n%x, want\n%x", c.name, got[1:], frame)
		}
		if got := c.response.FrameBytes(len(c.response.Body)); got != len(frame) {
			t.Errorf("%s: says %d bytes for a frame of %d", c.name, got, len(frame))
		}
		var got wire.Response
		if err := got.Decode(frame[4:]); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got.Body = emptyAsNil(got.Body); !reflect.DeepEqual(got, c.response) {
			t.Errorf("%s: decoded %+v, want %+v", c.name, got, c.response)
		}
	}
}

func emptyAsNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// TestEntriesOfABatchComeApartAsTheyWerePutTogether, and a cut batch is an error and no shorter batch.
func TestEntriesOfABatchComeApartAsTheyWerePutTogether(t *testing.T) {
	entries := [][]byte{helloEntry, {}, helloEntry[:16]}
	var body []byte
	for _, e := range entries {
		body = wire.AppendEntry(body, e)
	}
	if n, err := wire.CountEntries(body); n != len(entries) || err != nil {
		t.Fatalf("counted %d, error %v", n, err)
	}
	for cut := range body {
		n, err := wire.CountEntries(body[:cut])
		boundary := cut == 0 || cut == 4+len(helloEntry) || cut == 8+len(helloEntry)
		if (err == nil) != boundary {
			t.Errorf("cut at %d: counted %d, error %v", cut, n, err)
		}
		if err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("cut at %d: %v is not ErrMalformed", cut, err)
		}
	}
	for i, want := range entries {
		var got []byte
		var err error
		if got, body, err = wire.NextEntry(body); err != nil || !bytes.Equal(got, want) {
			t.Errorf("entry %d: %x, %v", i, got, err)
		}
	}
}

// TestWrongPacketsAreMalformed: each is wrong in one way.
func TestWrongPacketsAreMalformed(t *testing.T) {
	for _, c := range []struct{ name, packet string }{
		{"no header", "020100"},
		{"read LAC, which no bookie ever decoded", "020400000000000000000007"},
		{"operation 0", "02000000"},
		{"operation of version 0 in the wrong place", "00020000" + "0000000000000007" + "0000000000000003"},
		{"add without an entry id", "02010000" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f" + "00000000000000010000000000"},
		{"read one byte short", "02020000" + "0000000000000007" + "00000000000000"},
		{"read with half a key", "02020001" + "0000000000000007" + "0000000000000003" + "850bf1071c5e3d8c2423"},
		{"batch read in the form of the proposal", "02070000" + "00000028" + "0000000000000007" + "0000000000000003" +
			"0000000000000009" + "00000064" + "0000000000500000"},
	} {
		var r wire.Request
		if err := r.Decode(unhex(c.packet)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("request %s: %v", c.name, err)
		}
	}
	for _, c := range []struct{ name, packet string }{
		{"no header", "02"},
		{"add one byte short", "02010000" + "00000000" + "0000000000000001" + "00000000000000"},
		{"add with a tail", "02010000" + "00000000" + "0000000000000001" + "0000000000000000" + "00"},
		{"batch read without a request id", "02070000" + "00000000" + "0000000000000001" + "0000000000000003"},
	} {
		var r wire.Response
		if err := r.Decode(unhex(c.packet)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("response %s: %v", c.name, err)
		}
	}
}

// TestAKeyCountsOnlyWhereVersion2Fences: older requests and plain reads may carry one that means nothing.
func TestAKeyCountsOnlyWhereVersion2Fences(t *testing.T) {
	ids, key := "0000000000000007"+"0000000000000003", "850bf1071c5e3d8c24235676f8816ae0cbe2f14f"
	for _, c := range []struct {
		header string
		has    bool
	}{{"02020001", true}, {"02020000", false}, {"02020004", false}, {"01020001", false}, {"00000002", false}} {
		var r wire.Request
		if err := r.Decode(unhex(c.header + ids + key)); err != nil || r.HasMasterKey != c.has {
			t.Errorf("%s: has a key %v, error %v", c.header, r.HasMasterKey, err)
		}
	}
}

// TestAuthMessagesAreProtobuf: fields in any order, unknown ones passed over, required ones required.
func TestAuthMessagesAreProtobuf(t *testing.T) {
	for _, c := range []struct {
		name, bytes, plugin, payload string
		ok                           bool
	}{
		{"in order", "0a0161" + "1202beef", "a", "\xbe\xef", true},
		{"in the other order", "1202beef" + "0a0161", "a", "\xbe\xef", true},
		{"the last counts", "0a0162" + "1200" + "0a0161", "a", "", true},
		{"unknown number, fixed and bytes fields", "189601" + "210102030405060708" + "2a0100" + "3501020304" + "0a0161" + "1200", "a", "", true},
		{"no payload", "0a0161", "", "", false},
		{"no plug-in", "1200", "", "", false},
		{"nothing", "", "", "", false},
		{"length past the end", "0a0261" + "", "", "", false},
		{"length of 2^63", "0affffffffffffffff7f", "", "", false},
		{"length that never ends", "0affffffffffffffffffffff", "", "", false},
		{"group", "0b" + "0a0161" + "1200", "", "", false},
		{"field 0", "0200" + "0a0161" + "1200", "", "", false},
		{"cut fixed field", "0a0161" + "1200" + "21010203", "", "", false},
	} {
		m, err := wire.DecodeAuth(unhex(c.bytes))
		if (err == nil) != c.ok || m.Plugin != c.plugin || string(m.Payload) != c.payload {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
	}
	m := wire.AuthMessage{Plugin: wire.AuthDisabled, Payload: bytes.Repeat([]byte{7}, 300)}
	if got, err := wire.DecodeAuth(m.Append(nil)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAVersion3RequestIsRecognisedByItsFirstByte(t *testing.T) {
	for _, c := range []struct {
		packet string
		is     bool
	}{{"0a0408031002", true}, {"02010000", false}, {"00000001", false}, {"03010000", false}, {"", false}} {
		if got := wire.IsVersion3(unhex(c.packet)); got != c.is {
			t.Errorf("%s: %v", c.packet, got)
		}
	}
}

// TestNamesOfCodesAndOperations, since logs and errors are read by people.
func TestNamesOfCodesAndOperations(t *testing.T) {
	if got := wire.Fenced.String() + ", " + wire.Code(999).String(); got != "ledger is fenced, code 999" {
		t.Error(got)
	}
	if got := wire.BatchRead.String() + ", " + wire.Operation(4).String(); got != "batch read, operation 4" {
		t.Error(got)
	}
}

// TestAddsAreEncodedAndDecodedWithoutAllocation in either direction, given room.
func TestAddsAreEncodedAndDecodedWithoutAllocation(t *testing.T) {
	buffer := make([]byte, 0, 1024)
	request := goldenRequests[0].request
	response := goldenResponses[0].response
	allocations := testing.AllocsPerRun(100, func() {
		out := request.Append(buffer)
		end := len(out)
		out = response.Append(out)
		if request.Decode(out[4:end]) != nil || response.Decode(out[end+4:]) != nil {
			t.Error("does not decode")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
