package model

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestClusterHistoriesSurviveTheFile: what is read judges and writes as what was written.
func TestClusterHistoriesSurviveTheFile(t *testing.T) {
	for seed := range uint64(100) {
		throughClusterFile(t, newClusterWorld(seed, "one answer is enough").run(400))
	}
}

func throughClusterFile(t *testing.T, h *ClusterHistory) {
	t.Helper()
	var file, second bytes.Buffer
	if err := WriteClusterHistory(&file, h); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	again, err := ReadClusterHistory(&file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := WriteClusterHistory(&second, again); err != nil || second.String() != text {
		t.Fatalf("error %v, wrote\n%s\nthen\n%s", err, text, second.String())
	}
	if !reflect.DeepEqual(CheckCluster(h), CheckCluster(again)) || len(h.items) != len(again.items) {
		t.Fatalf("another verdict after the file\n%s", text)
	}
}

// clusterSample has a line of each kind.
func clusterSample() *ClusterHistory {
	h := &ClusterHistory{}
	h.AppendDamage(NodeDamage{60, "b0:3181", AnyLedger, AnyEntry})
	h.AppendMetadata(MetadataWrite{At: 3, Ledger: 7, Expected: NoVersion, Last: NoLast, Quorum: QuorumShape{2, 2, 1},
		State: LedgerOpen}, []LedgerFragment{{0, []Node{"b0:3181", "b1:3181"}}})
	h.AppendMetadata(MetadataWrite{At: 90, Ledger: 7, Version: 1, Last: 3, Length: 500, Quorum: QuorumShape{2, 2, 1},
		State: LedgerClosed}, []LedgerFragment{{0, []Node{"b0:3181", "b1:3181"}}, {2, []Node{"b2:3181", "b1:3181"}}})
	h.AppendMetadata(MetadataWrite{At: 99, Ledger: 7, Version: 2, Expected: 1, Last: NoLast, State: LedgerGone}, nil)
	h.AppendNotice(Notice{At: 12, Ledger: 7, Entry: 3, Client: 1, Writer: 2, Kind: NoticeAcked}, []Node{"b0:3181"})
	h.AppendNotice(Notice{At: 91, Ledger: 7, Entry: NoLast, Client: 1, Kind: NoticeClosed}, nil)
	h.Append(ClusterOp{Kind: LedgerAppend, Outcome: OK, Client: 1, Handle: 2, Call: 10, Return: 13, Ledger: 7, Entry: 3,
		Digest: 0xaa, Length: 100})
	h.Append(ClusterOp{Kind: LedgerConfirmed, Outcome: OK, Client: 1, Handle: 2, Call: 10, Return: 13, Ledger: 7,
		Entry: NoLast, Closed: true})
	h.AppendRead(ClusterOp{Kind: LedgerBatchRead, Outcome: Found, Client: 1, Handle: 3, Call: 10, Return: 13, Ledger: 7,
		Entry: 3, Bound: NoBound, MaxCount: 10, MaxBytes: 4096, Final: true}, []Item{{3, 0xaa, 100}})
	h.Append(ClusterOp{Kind: LedgerRead, Outcome: Unknown, Call: 1, Return: Never, Entry: 2, Last: 4})
	h.AppendHolding(Holding{Ledger: 7, Entry: 3, Node: "b0:3181", Digest: 0xaa, Outcome: Found})
	h.AppendHolding(Holding{Node: "b1:3181", Outcome: NoEntry})
	return h
}

const clusterSampleText = `{"history":"cluster","version":1}
{"damage":"b0:3181","at":60,"ledger":-1,"entry":-1}
{"metadata":"open","at":3,"ledger":7,"version":0,"expected":-1,"quorum":[2,2,1],"fragments":[[0,"b0:3181","b1:3181"]]}
{"metadata":"closed","at":90,"ledger":7,"version":1,"expected":0,"quorum":[2,2,1],"last":3,"length":500,"fragments":[[0,"b0:3181","b1:3181"],[2,"b2:3181","b1:3181"]]}
{"metadata":"gone","at":99,"ledger":7,"version":2,"expected":1}
{"notice":"acked","at":12,"ledger":7,"entry":3,"client":1,"writer":2,"by":["b0:3181"]}
{"notice":"closed","at":91,"ledger":7,"entry":-1,"client":1}
{"op":"append","outcome":"ok","client":1,"handle":2,"call":10,"return":13,"ledger":7,"entry":3,"digest":"00000000000000aa","length":100}
{"op":"confirmed-read","outcome":"ok","client":1,"handle":2,"call":10,"return":13,"ledger":7,"entry":-1,"closed":true}
{"op":"batch-read","outcome":"found","client":1,"handle":3,"call":10,"return":13,"ledger":7,"entry":3,"bound":-2,"maxCount":10,"maxBytes":4096,"final":true,"items":[[3,"00000000000000aa",100]]}
{"op":"read","outcome":"outcome-unknown","call":1,"entry":2,"last":4}
{"holding":"found","node":"b0:3181","ledger":7,"entry":3,"digest":"00000000000000aa"}
{"holding":"no-entry","node":"b1:3181"}
`

// TestClusterFormat holds the bytes of a line of each kind.
func TestClusterFormat(t *testing.T) {
	var file bytes.Buffer
	if err := WriteClusterHistory(&file, clusterSample()); err != nil {
		t.Fatal(err)
	}
	if file.String() != clusterSampleText {
		t.Errorf("wrote\n%s\nwant\n%s", file.String(), clusterSampleText)
	}
	throughClusterFile(t, clusterSample())
	stale := &ClusterHistory{StaleMetadata: true}
	throughClusterFile(t, stale)
}

// TestOnlyTheOneClusterFormIsRead: every deviation is refused.
func TestOnlyTheOneClusterFormIsRead(t *testing.T) {
	for name, change := range map[string][2]string{
		"unknown key":        {`,"closed":true}`, `,"closed":true,"color":"red"}`},
		"space":              {`"at":60`, `"at": 60`},
		"key in other case":  {`"at":60`, `"At":60`},
		"zero spelled out":   {`{"op":"read","outcome":"outcome-unknown"`, `{"op":"read","outcome":"outcome-unknown","client":0`},
		"no such state":      {`"metadata":"open"`, `"metadata":"ajar"`},
		"no such notice":     {`"notice":"acked"`, `"notice":"heard"`},
		"no such operation":  {`"op":"append"`, `"op":"apend"`},
		"no such outcome":    {`"outcome":"ok"`, `"outcome":"fine"`},
		"outcome of others":  {`"op":"append","outcome":"ok"`, `"op":"append","outcome":"found"`},
		"holding of others":  {`"holding":"found"`, `"holding":"ok"`},
		"two numbers":        {`"quorum":[2,2,1]`, `"quorum":[2,2]`},
		"no quorum":          {`"quorum":[2,2,1]`, `"quorum":[2,3,1]`},
		"fragment of none":   {`[0,"b0:3181","b1:3181"]`, `[]`},
		"fragment of text":   {`[0,"b0:3181"`, `["b0:3181"`},
		"name to be escaped": {`"node":"b1:3181"`, `"node":"b1\"3181"`},
		"end while open":     {`"metadata":"open","at":3,"ledger":7,"version":0,"expected":-1,"quorum":[2,2,1]`, `"metadata":"open","at":3,"ledger":7,"version":0,"expected":-1,"quorum":[2,2,1],"last":3`},
		"items of an append": {`"length":100}`, `"length":100,"items":[[3,"00000000000000aa",100]]}`},
		"out of place":       {`{"holding":"no-entry"`, `{"damage":"b0:3181","at":60}` + "\n" + `{"holding":"no-entry"`},
		"header again":       {`{"holding":"no-entry","node":"b1:3181"}`, clusterHeader},
		"wrong header":       {`"cluster"`, `"bookie"`},
		"against time":       {`"at":90`, `"at":2`},
		"limits of a read":   {`"last":4}`, `"last":4,"maxCount":1}`},
		"same digest":        {`{"op":"read"`, `{"op":"append","outcome":"ok","call":1,"return":2,"ledger":7,"entry":1,"digest":"00000000000000aa"}` + "\n" + `{"op":"read"`},
	} {
		text := strings.Replace(clusterSampleText, change[0], change[1], 1)
		if text == clusterSampleText {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := ReadClusterHistory(strings.NewReader(text)); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "long line": clusterHeader + "\n" + strings.Repeat("x", lineMaxBytes+1)} {
		if _, err := ReadClusterHistory(strings.NewReader(text)); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMalformedClusterHistoriesAreNotWritten: a file that could not be read again is never made.
func TestMalformedClusterHistoriesAreNotWritten(t *testing.T) {
	h := &ClusterHistory{Ops: []ClusterOp{{Kind: LedgerAppend}}}
	var file bytes.Buffer
	if err := WriteClusterHistory(&file, h); !errors.Is(err, ErrHistory) || file.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, file.Len())
	}
	if found := CheckCluster(h); len(found) != 1 || found[0].Checker != CheckerHistory {
		t.Errorf("judged as %v", found)
	}
}

// FuzzReadClusterHistory: whatever is read is written back as it was, and no history makes the checkers fall over.
func FuzzReadClusterHistory(f *testing.F) {
	f.Add([]byte(clusterSampleText))
	for line := range strings.Lines(strings.TrimPrefix(clusterSampleText, clusterHeader+"\n")) {
		f.Add([]byte(clusterHeader + "\n" + line)) // small ones: the fuzzer shortens what it finds byte by byte
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ReadClusterHistory(bytes.NewReader(text))
		if err != nil {
			return
		}
		throughClusterFile(t, h)
		ClusterUnverified(h)
	})
}
