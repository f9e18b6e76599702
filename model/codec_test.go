package model

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestHistoriesSurviveTheFile: what is read is what was written, for every scenario and for random histories.
func TestHistoriesSurviveTheFile(t *testing.T) {
	for _, s := range readScenarios(t, "testdata/bookie.txt") {
		if s.history.Validate() == nil {
			throughFile(t, &s.history)
		}
	}
	for seed := range uint64(100) {
		throughFile(t, newWorld(seed, false).run(200))
	}
}

func throughFile(t *testing.T, h *History) {
	t.Helper()
	var file bytes.Buffer
	if err := WriteHistory(&file, h); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	again, err := ReadHistory(&file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(CheckBookie(h), CheckBookie(again)) || !reflect.DeepEqual(h, again) {
		t.Fatalf("wrote %+v\nread %+v\n%s", h, again, text)
	}
}

// TestFormat holds the bytes of one line of each kind.
func TestFormat(t *testing.T) {
	h := &History{}
	h.Event(Event{At: 50, Kind: Crash})
	h.Event(Event{At: 60, Kind: Damage, Ledger: 7, Entry: AnyEntry})
	h.Append(Op{Kind: Add, Outcome: OK, Client: 1, Call: 10, Return: 12, CallIncarnation: 1, ReturnIncarnation: 1,
		Ledger: 7, Entry: 3, Digest: 0xaa, Recovery: true})
	h.Append(Op{Kind: Fence, Outcome: Unknown, Call: 0, Return: Never, CallIncarnation: 1, ReturnIncarnation: 1})
	h.AppendRange(Op{Kind: ReadRange, Outcome: Found, Call: 20, Return: 22, CallIncarnation: 1, ReturnIncarnation: 2,
		Ledger: 7, Entry: 3, MaxCount: 10, MaxBytes: 4096, Final: true}, []Item{{3, 0xaa, 100}, {4, 0, 0}})
	h.AppendList(Op{Kind: List, Outcome: OK, Call: 30, Return: 30, CallIncarnation: 2, ReturnIncarnation: 2},
		[]LedgerID{7, 0})
	const want = `{"history":"bookie","version":1}
{"event":"crash","at":50}
{"event":"damage","at":60,"ledger":7,"entry":-1}
{"op":"add","outcome":"ok","client":1,"call":10,"return":12,"lives":[1,1],"ledger":7,"entry":3,"digest":"00000000000000aa","recovery":true}
{"op":"fence","outcome":"outcome-unknown","call":0,"lives":[1,1]}
{"op":"read-range","outcome":"found","call":20,"return":22,"lives":[1,2],"ledger":7,"entry":3,"final":true,"maxCount":10,"maxBytes":4096,"items":[[3,"00000000000000aa",100],[4,"0000000000000000",0]]}
{"op":"list","outcome":"ok","call":30,"return":30,"lives":[2,2],"ledgers":[7,0]}
`
	var file bytes.Buffer
	if err := WriteHistory(&file, h); err != nil {
		t.Fatal(err)
	}
	if file.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", file.String(), want)
	}
	throughFile(t, h)
}

// TestOnlyTheOneFormIsRead: every deviation is refused with the number of its line.
func TestOnlyTheOneFormIsRead(t *testing.T) {
	const good = `{"op":"add","outcome":"ok","call":1,"return":2,"lives":[1,1],"digest":"00000000000000aa"}`
	if _, err := ReadHistory(strings.NewReader(historyHeader + "\n" + good + "\n")); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"unknown key":        strings.Replace(good, `}`, `,"color":"red"}`, 1),
		"key twice":          strings.Replace(good, `"call":1`, `"call":1,"call":1`, 1),
		"key in other case":  strings.Replace(good, `"call"`, `"Call"`, 1),
		"space":              strings.Replace(good, `:1,`, `: 1,`, 1),
		"zero spelled out":   strings.Replace(good, `"lives"`, `"client":0,"lives"`, 1),
		"digest too short":   strings.Replace(good, `00000000000000aa`, `aa`, 1),
		"digest in capitals": strings.Replace(good, `00aa`, `00AA`, 1),
		"digest of others":   strings.Replace(good, `00aa`, `00xx`, 1),
		"no outcome":         strings.Replace(good, `"outcome":"ok",`, ``, 1),
		"wrong outcome":      strings.Replace(good, `ok`, `fine`, 1),
		"outcome of others":  strings.Replace(good, `ok`, `found`, 1),
		"wrong kind":         strings.Replace(good, `add`, `addd`, 1),
		"three lives":        strings.Replace(good, `[1,1]`, `[1,1,1]`, 1),
		"too large":          strings.Replace(good, `"lives"`, `"lives"`, 1) + `{}`,
		"return before call": strings.Replace(good, `"return":2`, `"return":0`, 1),
		"return never":       strings.Replace(good, `"return":2`, `"return":9223372036854775807`, 1),
		"empty line":         ``,
		"not JSON":           `add 1`,
		"items of an add":    strings.Replace(good, `}`, `,"items":[[1,"00000000000000aa",1]]}`, 1),
		"item of two parts":  `{"op":"read-range","outcome":"found","call":1,"return":1,"lives":[1,1],"items":[[1,"00000000000000aa"]]}`,
		"items of a refusal": `{"op":"read-range","outcome":"error","call":1,"return":1,"lives":[1,1],"items":[[1,"00000000000000aa",5]]}`,
		"event of others":    `{"event":"fire","at":1}`,
		"crash of a ledger":  `{"event":"crash","at":1,"ledger":3}`,
		"header again":       historyHeader,
	} {
		if _, err := ReadHistory(strings.NewReader(historyHeader + "\n" + line + "\n")); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: %s: error %v", name, line, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "no header": good + "\n",
		"long line": historyHeader + "\n" + strings.Repeat("x", lineMaxBytes+1)} {
		if _, err := ReadHistory(strings.NewReader(text)); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMalformedHistoriesAreNotWritten: a file that could not be read again is never made.
func TestMalformedHistoriesAreNotWritten(t *testing.T) {
	h := &History{Ops: []Op{{Kind: Add}}}
	var file bytes.Buffer
	if err := WriteHistory(&file, h); !errors.Is(err, ErrHistory) || file.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, file.Len())
	}
}

// FuzzReadHistory: whatever is read is written back as it was, and no history makes the checkers fall over.
func FuzzReadHistory(f *testing.F) {
	for _, s := range readScenarios(f, "testdata/bookie.txt") {
		var file bytes.Buffer
		if WriteHistory(&file, &s.history) == nil {
			f.Add(file.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ReadHistory(bytes.NewReader(text))
		if err != nil {
			return
		}
		throughFile(t, h)
		Unverified(h)
	})
}
