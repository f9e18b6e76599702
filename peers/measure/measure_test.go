package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"lakebed/peers/stores"
	"lakebed/reports"
)

// forgetful is a log that loses one payload, or changes one, when it is read.
type forgetful struct {
	payloads [][]byte
	lose     int
	change   int
}

func (f *forgetful) Append(_ int, payload []byte) error {
	f.payloads = append(f.payloads, payload)
	return nil
}

func (f *forgetful) Read(visit func([]byte)) error {
	for i, p := range f.payloads {
		switch {
		case i == f.change:
			p = bytes.Clone(p)
			p[0]++
		case i == f.lose && i+1 < len(f.payloads):
			p = f.payloads[i+1] // one twice instead
		}
		visit(p)
	}
	return nil
}

func (f *forgetful) Close() error { return nil }

// TestWhatIsReadIsComparedWithWhatWasAppended: a store that returns a changed payload, or one twice and another never, is
// found; an honest one is not.
func TestWhatIsReadIsComparedWithWhatWasAppended(t *testing.T) {
	for _, test := range []struct {
		name         string
		lose, change int
		broken       bool
	}{{"honest", -1, -1, false}, {"lost", 5, -1, true}, {"changed", -1, 7, true}} {
		w := &worker{log: &forgetful{lose: test.lose, change: test.change}, source: newSource(1), summing: true}
		w.point = stores.Point{PayloadBytes: 100, Partitions: 1, Appenders: 1}
		if _, err := w.appends(time.Minute, 100*50); err != nil {
			t.Fatal(err)
		}
		if w.count != 50 {
			t.Errorf("%s: %d appends for 50 payloads' worth of bytes", test.name, w.count)
		}
		if err := w.check(); errors.Is(err, ErrBroken) != test.broken {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestAWorkerServesAStore through its protocol, with the appends, the check, the readings and the errors of one.
func TestAWorkerServesAStore(t *testing.T) {
	place := stores.Place{Dir: t.TempDir(), Seed: 1, Point: stores.Point{PayloadBytes: 100, Partitions: 3, Appenders: 4}}
	var in, out bytes.Buffer
	ask := json.NewEncoder(&in)
	for _, r := range []request{
		{Do: doRound}, {Do: doOpen, Store: "none"}, {Do: doOpen, Store: "seglog", Place: place},
		{Do: doFill, Bytes: 100 * 300}, {Do: doCheck}, {Do: doRead, Length: time.Millisecond}, {Do: doRound, Length: 20 * time.Millisecond, Bytes: 1 << 20},
		{Do: doClose},
	} {
		if err := ask.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := Work(&in, &out); err != nil {
		t.Fatal(err)
	}
	var answers []answer
	for d := json.NewDecoder(&out); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != 8 || answers[0].Error != errNotOpen.Error() || !strings.Contains(answers[1].Error, `no store "none"`) {
		t.Fatalf("%+v", answers)
	}
	for i, a := range answers[2:] {
		if a.Error != "" {
			t.Errorf("answer %d: %s", i+2, a.Error)
		}
	}
	fill, read, round := answers[3].Round, answers[5].Round, answers[6].Round
	if fill.Done != 300 || read.Done == 0 || read.Done%300 != 0 || round.Done == 0 {
		t.Errorf("%d filled, %d read, %d appended in a round", fill.Done, read.Done, round.Done)
	}
	if round.P50 <= 0 || round.P99 < round.P50 || round.ClientCPU <= 0 || round.Elapsed <= 0 {
		t.Errorf("%+v", round)
	}
}

// roundsOf makes rounds of a second with so many appends and so much CPU.
func roundsOf(s stores.Store, done int64, client, broker time.Duration) storeRounds {
	r := Round{Done: done, Elapsed: time.Second, ClientCPU: client, BrokerCPU: broker, P50: time.Millisecond, P99: 2 * time.Millisecond}
	return storeRounds{store: s, rounds: []Round{r, r, r}}
}

func store(t *testing.T, name string) stores.Store {
	t.Helper()
	s, ok := stores.Find(name)
	if !ok {
		t.Fatalf("no store %q", name)
	}
	return s
}

// TestGoalsCompareWithTheBestPeerAndSpareBrokersTheirClients: the peer with most appends per CPU second counts, of a broker
// without its client; the result that says so passes the checks of reports.
func TestGoalsCompareWithTheBestPeerAndSpareBrokersTheirClients(t *testing.T) {
	p := pointResult{point: stores.Point{Synced: true, PayloadBytes: 1 << 10, Partitions: 1, Appenders: 64}, by: []storeRounds{
		roundsOf(store(t, "raw"), 1000, 100*time.Millisecond, 0),
		roundsOf(store(t, "seglog"), 900, 100*time.Millisecond, 0),         // 9,000 a CPU second
		roundsOf(store(t, "commitlog"), 800, 50*time.Millisecond, 0),       // 16,000
		roundsOf(store(t, "tidwall/wal"), 600, 100*time.Millisecond, 0),    // 6,000
		roundsOf(store(t, "kafka"), 500, time.Second, 50*time.Millisecond), // 10,000 without its client
	}}
	r := &run{options: Options{Command: "x", Seed: 1}, begun: time.Now(), appends: []pointResult{p}}
	result := r.result()
	if err := result.Check(); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		value float64
		met   bool
	}{
		"append/synced/1KiB/1/64/seglog by best peer":    {0.9, false},
		"append/synced/1KiB/1/64/commitlog by best peer": {1.6, true},
		"append/synced/1KiB/1/64/seglog by raw":          {0.9, true},
		"append/synced/1KiB/1/64/commitlog by raw":       {0.8, false},
	}
	for _, g := range result.Goals {
		w, ok := want[g.Cell+" "+g.Figure]
		if !ok || g.Met != w.met || math.Abs(g.Value-w.value) > 1e-9 {
			t.Errorf("%s %s is %v, met %t", g.Cell, g.Figure, g.Value, g.Met)
		}
		delete(want, g.Cell+" "+g.Figure)
	}
	if len(want) > 0 {
		t.Errorf("goals are missing: %v", want)
	}
	cell, _ := result.Cell("append/synced/1KiB/1/64/kafka")
	if f, ok := cell.Figure("CPU of broker"); !ok || f.Value != 100 {
		t.Errorf("the CPU of the broker is %+v", f)
	}
	var text bytes.Buffer
	if err := reports.WriteJSON(&text, &result); err != nil {
		t.Error(err)
	}
}

// TestAProcesssTimeIsReadBehindItsName, which may hold spaces and parentheses.
func TestAProcesssTimeIsReadBehindItsName(t *testing.T) {
	stat := "42 (a ) b) S 1 42 42 0 -1 4194560 1 0 0 0 123 45 6 7 20 0 1 0 1 2 3"
	if got := processTime([]byte(stat)); got != 1680*time.Millisecond {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1 2", "42 (x) S 1 42 42 0 -1 4194560 1 0 0 0 one 45 6"} {
		if got := processTime([]byte(bad)); got != 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute && processTime(own) == 0; {
		own, _ = os.ReadFile("/proc/self/stat")
	}
	if processTime(own) == 0 {
		t.Error("this process has used no time")
	}
}

// TestAPlanRefusesNamesThatMeanNothing, and chooses by parts of names.
func TestAPlanRefusesNamesThatMeanNothing(t *testing.T) {
	for _, o := range []Options{{Stores: []string{"nothing"}}, {Only: "nothing"}, {Stores: []string{"kafka"}, Brokers: BrokersNone}} {
		if _, err := o.plan(); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	all := Options{}
	p, err := all.plan()
	if err != nil || len(p.appends) != 24 || len(p.reads) != 6 || len(p.stores) != 8 {
		t.Errorf("%d points of appends, %d of reads, %d stores: %v", len(p.appends), len(p.reads), len(p.stores), err)
	}
	some := Options{Only: "synced/100B/1000/64,read/16KiB/1", Brokers: BrokersNone}
	p, err = some.plan()
	if err != nil || len(p.appends) != 2 || len(p.reads) != 2 || len(p.stores) != 6 {
		t.Errorf("%d points of appends, %d of reads, %d stores: %v", len(p.appends), len(p.reads), len(p.stores), err)
	}
}
