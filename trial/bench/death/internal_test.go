package death

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/trial/bench/death/calls"
)

// TestPayloadsAreKnownByThemselves: two entries never hold the same, and each is found among other bytes.
func TestPayloadsAreKnownByThemselves(t *testing.T) {
	const seed = 0x5eed5eed5eed5eed
	seen := map[string]bool{}
	var all []byte
	var want []calls.Key
	for id := range ledger.ID(3) {
		for e := range ledger.EntryID(50) {
			p := Payload(seed, id, e)
			if len(p) < payloadBytesMin || len(p) > payloadBytesMax || seen[string(p)] || !bytes.Equal(p, Payload(seed, id, e)) {
				t.Fatalf("entry %d of ledger %d: %d bytes", e, id, len(p))
			}
			seen[string(p)] = true
			all = append(append(all, "between"...), p...)
			want = append(want, calls.Key{Ledger: id, Entry: e})
		}
	}
	found := EntriesIn(seed, all)
	if len(found) != len(want) || found[149] != want[149] {
		t.Errorf("found %d of %d", len(found), len(want))
	}
	all[len(all)-1]++ // an entry that is not whole is none
	if again := EntriesIn(seed, all); len(again) != len(want)-1 {
		t.Errorf("found %d of %d", len(again), len(want)-1)
	}
	if none := EntriesIn(seed, all[:30]); len(none) != 0 {
		t.Errorf("found %v in the beginning of one", none)
	}
}

// TestOnlyWholeLinesInOrderCount: what a kill cut off is not promised, and what comes out of order is told.
func TestOnlyWholeLinesInOrderCount(t *testing.T) {
	for said, want := range map[string]struct {
		last  ledger.EntryID
		ended string
		wrong string
	}{
		"":                           {ledger.NoEntry, "", ""},
		"ledger 7\n":                 {ledger.NoEntry, "", ""},
		"ledger 7\nacked 0\n":        {0, "", ""},
		"ledger 7\nacked 0\nac":      {0, "", ""},
		"ledger 7\nacked 0\nacked 1": {0, "", ""},
		"ledger 7\nacked 0\nacked 1\nended fenced\n": {1, "fenced", ""},
		"ledger 7\nacked 0\nacked 2\n":               {0, "", "acked 2"},
		"ledger 7\nacked 0\nacked 0\n":               {0, "", "acked 0"},
		"acked 0\n":                                  {ledger.NoEntry, "", "acked 0"},
		"ledger 7\nledger 8\n":                       {ledger.NoEntry, "", "ledger 8"},
		"ledger 7\nacked x\n":                        {ledger.NoEntry, "", "acked x"},
		"ledger 7\nacked -1\n":                       {ledger.NoEntry, "", "acked -1"},
	} {
		path := filepath.Join(t.TempDir(), "acks")
		a, err := collect(strings.NewReader(said), path)
		if err != nil {
			t.Fatal(err)
		}
		<-a.done
		<-a.begun
		h := a.heard()
		if h.last != want.last || h.ended != want.ended || (h.err != nil) != (want.wrong != "") ||
			h.err != nil && !strings.Contains(h.err.Error(), want.wrong) {
			t.Errorf("%q: %+v", said, h)
		}
		kept, err := os.ReadFile(path)
		if whole := said[:strings.LastIndexByte(said, '\n')+1]; err != nil || string(kept) != whole {
			t.Errorf("%q: logged %q, %v", said, kept, err)
		}
	}
	if _, err := collect(strings.NewReader(""), filepath.Join(t.TempDir(), "no", "acks")); err == nil {
		t.Error("a log that cannot be written passes")
	}
}

// TestEveryFindingBreaksTheReport, and no more of them are told than a reader takes.
func TestEveryFindingBreaksTheReport(t *testing.T) {
	round := Round{Number: 3, Kind: "writer", Writer: true, Ledger: 9}
	for e := range ledger.EntryID(findingsMax + 5) {
		round.add(Finding{What: Lost, Ledger: 9, First: e, Last: e})
	}
	report := Report{}
	report.take(round)
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || report.ExitCode() != exitBroken || len(report.Findings) != findingsMax || report.Kills != 1 {
		t.Errorf("%v, %+v", err, report)
	}
	for _, want := range []string{"BROKEN: 15 findings", "round 3: lost: entry 0 of ledger 9", "and 5 further ones"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	report.Interrupted = true
	if said := report.verdict(); report.ExitCode() != exitBroken || !strings.HasPrefix(said, "BROKEN: 15 findings, then INTERRUPTED") {
		t.Errorf("interrupted after findings: %s", said)
	}
	if !strings.Contains(round.String(), "writer") || !strings.HasSuffix(round.String(), Lost) {
		t.Error(round)
	}
	whole := Finding{What: EndMoved, Round: 1, Ledger: 2, First: 3, Last: 5, Detail: "why"}
	if whole.String() != "round 1: end-moved: entries 3 to 5 of ledger 2: why" {
		t.Error(whole)
	}
}

// TestEveryKindOfRoundIsThere: one, Qa and all bookies, and the writer, alone and together.
func TestEveryKindOfRoundIsThere(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range kinds() {
		seen[Kind{Writer: k.Writer, Bookies: k.Bookies}] = true
	}
	for _, writer := range []bool{false, true} {
		for _, bookies := range []int{0, 1, LedgerQuorum().Ack, allBookies} {
			if (writer || bookies != 0) && !seen[Kind{Writer: writer, Bookies: bookies}] {
				t.Errorf("writer %t, %d bookies: no round", writer, bookies)
			}
		}
	}
	for _, o := range []Options{{}, {Rounds: 1}, {Rounds: 1, Dir: "x", Bookies: 2}, {Rounds: 1, Dir: "x", InFlight: -1}} {
		if o.complete() == nil {
			t.Errorf("%+v passes", o)
		}
	}
	if err := Write(t.Context(), WriterOptions{}, io.Discard); err == nil {
		t.Error("a writer with nothing under way passes")
	}
}
