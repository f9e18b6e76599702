package model

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A scenario is a few lines of text: what clients did, what the world did, and the verdict.
//
//	# the promise, which becomes the name of the test
//	1-2 add 7/0=a ok            call at 1, return at 2; ledger 7, entry 0, digest 0xa
//	3-never radd 7/0=b ?        a recovery add without an answer
//	5-6@1-2 read 7/0 found=a    called in incarnation 1, returned in 2; without @ it is 1
//	7-8@2 final 7/0 no-entry    a read marked final
//	9-9 range 7/0 2,100 0=a:40 1=b:50
//	9-9 last 7 found=1=b
//	9-9 list 7 8
//	crash 4; stop 4; damage 4 7/0, 7/*, */*
//	== ok, or signatures separated by " & "
type scenario struct {
	name    string
	history History
	want    []string
}

func readScenarios(t testing.TB, path string) []scenario {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	var s scenario
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			s.name = strings.TrimPrefix(line, "# ")
		case strings.HasPrefix(line, "== "):
			if verdict := strings.TrimPrefix(line, "== "); verdict != "ok" {
				s.want = strings.Split(verdict, " & ")
			}
			all = append(all, s)
			s = scenario{}
		default:
			if err := s.history.scan(strings.Fields(line)); err != nil {
				t.Fatalf("%s:%d: %s: %v", path, number+1, line, err)
			}
		}
	}
	return all
}

func (h *History) scan(words []string) error {
	for k := Stop; k < eventsEnd; k++ {
		if words[0] == k.String() {
			return h.scanEvent(k, words)
		}
	}
	var op Op
	if err := op.scanWhen(words[0]); err != nil {
		return err
	}
	switch words[1] {
	case "range":
		return h.scanRange(op, words[2:])
	case "list":
		return h.scanList(op, words[2:])
	}
	if err := op.scanRest(words[1], words[2], words[3]); err != nil {
		return err
	}
	h.Append(op)
	return nil
}

func (h *History) scanEvent(k EventKind, words []string) error {
	at, err := strconv.ParseInt(words[1], 10, 64)
	e := Event{At: Stamp(at), Kind: k}
	if k == Damage && err == nil {
		ledger, entry, _ := strings.Cut(words[2], "/")
		if e.Ledger, e.Entry = AnyLedger, AnyEntry; ledger != "*" {
			_, err = fmt.Sscan(ledger, &e.Ledger)
		}
		if entry != "*" && err == nil {
			_, err = fmt.Sscan(entry, &e.Entry)
		}
	}
	h.Event(e)
	return err
}

func (op *Op) scanWhen(word string) error {
	when, lives, _ := strings.Cut(word, "@")
	call, ret, _ := strings.Cut(when, "-")
	if lives == "" {
		lives = "1"
	}
	first, last, spans := strings.Cut(lives, "-")
	if !spans {
		last = first
	}
	if op.Return = Never; ret != "never" {
		if _, err := fmt.Sscan(ret, &op.Return); err != nil {
			return err
		}
	}
	_, err := fmt.Sscan(call+" "+first+" "+last, &op.Call, &op.CallIncarnation, &op.ReturnIncarnation)
	return err
}

func (op *Op) scanRest(kind, subject, outcome string) error {
	switch kind {
	case "radd":
		op.Kind, op.Recovery = Add, true
	case "final":
		op.Kind, op.Final = Read, true
	case "last":
		op.Kind = LastEntry
	default:
		for k := Add; k < kindsEnd; k++ {
			if k.String() == kind {
				op.Kind = k
			}
		}
	}
	subject, digest, _ := strings.Cut(subject, "=")
	ledger, entry, _ := strings.Cut(subject, "/")
	answered, value, _ := strings.Cut(outcome, "=")
	if op.Kind == LastEntry && answered == "found" {
		entry, digest, _ = strings.Cut(value, "=")
	} else if answered == "found" {
		digest = value
	}
	if answered == "?" {
		answered = Unknown.String()
	}
	for o := OK; o < outcomesEnd; o++ {
		if o.String() == answered {
			op.Outcome = o
		}
	}
	if digest != "" {
		d, err := strconv.ParseUint(digest, 16, 64)
		if err != nil {
			return err
		}
		op.Digest = Digest(d)
	}
	if entry == "" {
		entry = "0"
	}
	_, err := fmt.Sscan(ledger+" "+entry, &op.Ledger, &op.Entry)
	return err
}

func (h *History) scanRange(op Op, words []string) error {
	op.Kind, op.Outcome = ReadRange, Found
	subject, limits := words[0], words[1]
	if _, err := fmt.Sscanf(subject, "%d/%d", &op.Ledger, &op.Entry); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(limits, "%d,%d", &op.MaxCount, &op.MaxBytes); err != nil {
		return err
	}
	var items []Item
	for _, word := range words[2:] {
		var item Item
		if _, err := fmt.Sscanf(word, "%d=%x:%d", &item.Entry, &item.Digest, &item.Bytes); err != nil {
			// Not an entry, but how it ended.
			return h.scan([]string{h.when(&op), "read-range", subject, word})
		}
		items = append(items, item)
	}
	h.AppendRange(op, items)
	return nil
}

// when writes the stamps of op as a scenario has them.
func (h *History) when(op *Op) string {
	return fmt.Sprintf("%d-%d@%d-%d", op.Call, op.Return, op.CallIncarnation, op.ReturnIncarnation)
}

func (h *History) scanList(op Op, words []string) error {
	op.Kind, op.Outcome = List, OK
	var ledgers []LedgerID
	for _, word := range words {
		var id LedgerID
		if _, err := fmt.Sscan(word, &id); err != nil {
			return err
		}
		ledgers = append(ledgers, id)
	}
	h.AppendList(op, ledgers)
	return nil
}

// TestEveryWrongHistoryIsAccusedOfThatWrongAlone: each scenario is right, or wrong in one way, and the verdict names
// that way and no other.
func TestEveryWrongHistoryIsAccusedOfThatWrongAlone(t *testing.T) {
	for _, s := range readScenarios(t, "testdata/bookie.txt") {
		t.Run(s.name, func(t *testing.T) {
			var got []string
			for _, v := range CheckBookie(&s.history) {
				got = append(got, v.Signature)
				if v.Explanation == "" || v.Count < 1 || !strings.HasPrefix(v.Signature, v.Checker+": ") {
					t.Errorf("incomplete violation %+v", v)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(s.want) {
				t.Errorf("verdict %q, want %q", got, s.want)
			}
		})
	}
}
