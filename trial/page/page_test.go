package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/sim"
	"lakebed/trial"
)

// made is a trial that was watched.
type made struct {
	source Source
	page   *Page
}

// watched runs a trial and makes its page.
func watched(t *testing.T, scenario string, seed uint64, limits Limits) made {
	t.Helper()
	s, err := trial.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	o := trial.Options{Scenario: s, Seed: seed}
	seen := Watch(&o)
	r := trial.Run(o)
	source := Source{
		Scenario: s, Result: &r, Course: o.Course, Recorder: seen, Limits: limits,
		Replay: fmt.Sprintf("simrun replay %d --scenario %s", seed, scenario),
	}
	return made{source, New(source)}
}

// violated is the first trial of a canary that breaks a promise with an operation to show for it.
func violated(t *testing.T, scenario string) made {
	t.Helper()
	for seed := range uint64(60) {
		m := watched(t, scenario, seed, DefaultLimits())
		if m.page.Verdict == string(trial.Violation) && len(m.page.Copies) > 0 && len(m.page.Accused) > 0 {
			return m
		}
	}
	t.Fatalf("no seed of %s breaks its promise", scenario)
	return made{}
}

// Goal: an acknowledged append can be followed from the client to the disks: an add to each bookie of the write set, a
// journal write of it that begins after the add has arrived, a sync that ends before the answer, and the answer.
func TestAppendIsFollowedFromClientToDisk(t *testing.T) {
	p := watched(t, "cluster", 3, DefaultLimits()).page
	followed := 0
	for i := range p.Events {
		op := &p.Events[i]
		if op.Kind != KindOperation || !strings.Contains(op.Text, "append") || !strings.Contains(op.Text, "ok entry") {
			continue
		}
		entry, complete := op.Refs[0], 0
		for _, add := range p.Events {
			if add.Kind == KindMessage && strings.HasPrefix(add.Text, "add "+entry+",") && add.End != Open && add.At >= op.At && add.At <= op.End && !add.Bad {
				if stored(p, add, entry) {
					complete++
				}
			}
		}
		if complete > 0 {
			followed++
		}
	}
	if followed < 20 {
		t.Errorf("only %d appends can be followed to a disk and back", followed)
	}
}

// stored reports whether the bookie that got an add wrote it, synced it and answered, in this order.
func stored(p *Page, add Event, entry string) bool {
	step := func(after int64, kind Kind, prefix string) *Event {
		for i := range p.Events {
			e := &p.Events[i]
			if e.Kind == kind && e.Node == add.Peer && e.At >= after && slices.Contains(e.Refs, entry) && strings.HasPrefix(e.Text, prefix) {
				return e
			}
		}
		return nil
	}
	write := step(add.End, KindWrite, "write journal/")
	if write == nil {
		return false
	}
	sync := step(write.At, KindSync, "sync journal/")
	return sync != nil && sync.End != Open && step(sync.End, KindMessage, "answer to add "+entry) != nil
}

// Goal: the page of a violation names the operations of the finding, links them with their place in the lanes, tells what
// became of the copies of their entry, and gives the words of the checker.
func TestViolationIsExplained(t *testing.T) {
	for _, scenario := range []string{"canary", "cluster-canary"} {
		m := violated(t, scenario)
		p := m.page
		if !p.Failed || !strings.Contains(p.Sentence, p.Findings[0].Checker) || !strings.Contains(p.Sentence, fmt.Sprint(p.Seed)) {
			t.Errorf("%s: the sentence is %q", scenario, p.Sentence)
		}
		for _, a := range p.Accused {
			if a.Event < 0 || p.Events[a.Event].Text != a.Text || !p.Events[a.Event].Accused || p.Events[a.Event].At != a.Begin {
				t.Errorf("%s: %+v is not the event it leads to", scenario, a)
			}
		}
		if !slices.IsSortedFunc(p.Accused, func(a, b Operation) int { return int(a.Begin - b.Begin) }) {
			t.Errorf("%s: the operations are not in the order of time", scenario)
		}
		c := p.Copies[0]
		if !strings.Contains(p.Findings[0].Text, fmt.Sprintf("entry %d", c.Entry)) || len(c.Bookies) == 0 {
			t.Errorf("%s: copies of entry %d of ledger %d, and the finding is: %s", scenario, c.Entry, c.Ledger, p.Findings[0].Text)
		}
		if !slices.IsSortedFunc(c.Steps, func(a, b Step) int { return int(a.At - b.At) }) {
			t.Errorf("%s: the steps of the copies are not in the order of time", scenario)
		}
		if scenario == "cluster-canary" && (len(p.Metadata) == 0 || p.Metadata[0].State != "open") {
			t.Errorf("the ledger's metadata are told as %+v", p.Metadata)
		}
		if len(p.Plan) != len(m.source.Result.Plan.Elements) || len(p.Last) != len(p.Lanes) {
			t.Errorf("%s: %d of %d elements of the plan, last events of %d of %d nodes", scenario, len(p.Plan),
				len(m.source.Result.Plan.Elements), len(p.Last), len(p.Lanes))
		}
	}
}

// Goal: a violation of a store on one node has a page: its clients' operations and its disks are on one lane, and porcupine is
// not asked. Those that the
// findings name are in question.
func TestStoresOnOneNodeHavePages(t *testing.T) {
	for scenario, kinds := range map[string][]string{"segments-canary": {"append", "read"}, "commitlog-canary": {"send", "pull"}} {
		m := watched(t, scenario, 1, DefaultLimits())
		p := m.page
		if !p.Failed || len(p.Lanes) != 1 || p.Lanes[0].Role != "store" {
			t.Errorf("%s: %s, lanes %+v", scenario, p.Sentence, p.Lanes)
		}
		shown := map[string]int{}
		for _, e := range p.Events {
			shown[string(e.Kind)]++
			for _, kind := range kinds {
				if e.Kind == KindOperation && strings.Contains(e.Text, ": "+kind+" ") {
					shown[kind]++
				}
			}
		}
		for _, kind := range append(kinds, string(KindDisk), string(KindSync), string(KindFault)) {
			if shown[kind] == 0 {
				t.Errorf("%s: no %s in %v", scenario, kind, shown)
			}
		}
		if len(p.Accused) == 0 {
			t.Errorf("%s: no operation is named by %+v", scenario, p.Findings)
		}
		if picture, err := p.Search(m.source.Course); picture != nil || err != nil {
			t.Errorf("%s: porcupine shows %d bytes, %v", scenario, len(picture), err)
		}
		if err := p.WriteHTML(&bytes.Buffer{}); err != nil {
			t.Errorf("%s: %v", scenario, err)
		}
	}
}

// Goal: a fault that fired has a bar on the lanes, from when it fired until it or all faults ended.
func TestFiredFaultsHaveBars(t *testing.T) {
	m := watched(t, "cluster", 3, DefaultLimits())
	checkBars(t, m)
	long := slices.Clone(m.source.Result.Plan.Elements) // as if each had been meant to last
	for i := range long {
		long[i].Params.For = time.Hour
	}
	m.source.Result.Plan.Elements = long
	m.page = New(m.source)
	checkBars(t, m)
}

func checkBars(t *testing.T, m made) {
	t.Helper()
	fired := 0
	for _, f := range m.page.Plan {
		if !f.Fired {
			continue
		}
		fired++
		bar := slices.ContainsFunc(m.page.Events, func(e Event) bool {
			return e.Kind == KindFault && e.At == f.At && e.End == f.End && strings.Contains(e.Text, f.ID)
		})
		if !bar || f.End < f.At || f.At <= m.page.Healed && f.End > m.page.Healed {
			t.Errorf("no bar, or a wrong one: %+v; healed at %d", f, m.page.Healed)
		}
	}
	if fired == 0 || fired != len(m.source.Course.Firings) {
		t.Errorf("%d faults on the page, %d have fired", fired, len(m.source.Course.Firings))
	}
}

// Goal: of more events than a page may have, those in question stay, the number of the others is told, and the filter that
// is told with them shows them.
func TestTooManyEventsAreCutAndCounted(t *testing.T) {
	whole := violated(t, "cluster-canary")
	limits := DefaultLimits()
	limits.EventsMax = 1200
	source := whole.source
	source.Limits = limits
	cut := New(source)
	left := 0
	for _, g := range cut.LeftOut {
		left += g.Count
		if !strings.Contains(g.Command, "--from") || !strings.Contains(g.Command, "--until") || g.From > g.To {
			t.Errorf("%+v", g)
		}
	}
	if len(cut.Events) > limits.EventsMax || len(cut.Events)+left != len(whole.page.Events) || len(whole.page.LeftOut) > 0 {
		t.Errorf("%d events and %d left out, of %d", len(cut.Events), left, len(whole.page.Events))
	}
	for _, a := range cut.Accused {
		if a.Event < 0 {
			t.Errorf("left out, although a finding names it: %+v", a)
		}
	}
	subject := fmt.Sprintf("%d/%d", cut.Copies[0].Ledger, cut.Copies[0].Entry)
	about := func(p *Page) (n int) {
		for i := range p.Events {
			if slices.Contains(p.Events[i].Refs, subject) {
				n++
			}
		}
		return n
	}
	if about(cut) != about(whole.page) || about(cut) < 8 {
		t.Errorf("%d of %d events about entry %s are left", about(cut), about(whole.page), subject)
	}
	g := cut.LeftOut[0]
	source.From, source.Until, source.Limits = time.Duration(g.From), time.Duration(g.To)+time.Microsecond, DefaultLimits()
	inside := 0
	for _, e := range New(source).Events {
		if e.At >= g.From && e.At <= g.To {
			inside++
		}
	}
	if inside < g.Count {
		t.Errorf("the filter shows %d events of a stretch in which %d were left out", inside, g.Count)
	}
}

// Goal: the same trial gives the same page, byte for byte.
func TestTheSameTrialGivesTheSamePage(t *testing.T) {
	var first []byte
	for range 2 {
		var b bytes.Buffer
		if err := watched(t, "cluster", 5, DefaultLimits()).page.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, b.Bytes()) {
			t.Error("two pages of one trial differ")
		}
		first = b.Bytes()
	}
}

// Goal: what a trial says can neither end the script that it stands in nor become an element, and its JSON form is the
// model again.
func TestHostileTextsStayTexts(t *testing.T) {
	const hostile = `</script><script>x()</script><img src=x onerror=x()>`
	p := watched(t, "bookie", 3, DefaultLimits()).page
	p.Sentence, p.Scenario, p.Replay = hostile, hostile, hostile
	p.Events[0].Text, p.Lanes[0].Name, p.Last[0].Lines[0].Text = hostile, hostile, hostile
	p.Porcupine, p.Searched = "javascript:x()", hostile
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "</script>") != 2 || strings.Contains(text, "<img") || strings.Contains(text, `href="javascript`) {
		t.Error("a hostile text is markup")
	}
	_, data, _ := strings.Cut(text, `id="model">`)
	data, _, _ = strings.Cut(data, "</script>")
	var back Page
	if err := json.Unmarshal([]byte(data), &back); err != nil || back.Sentence != hostile || len(back.Events) != len(p.Events) {
		t.Errorf("the model does not come back: %v", err)
	}
}

// Goal: a message that nobody read to its end is open, bytes in no known form are shown as bytes, and a stream that splits
// a frame anywhere is put together again.
func TestMessagesAreCutFromStreams(t *testing.T) {
	r := NewRecorder()
	send := func(text string, data ...byte) {
		r.Look(&sim.Sight{Kind: sim.SightSend, Node: "a", Text: text, Conn: 1, Length: int64(len(data)), Data: [][]byte{data}})
	}
	send("a:1>b:9", 0, 0, 0)
	send("a:1>b:9", 3, 'x', 'y')
	send("a:1>b:9", 'z', 0, 0, 0, 1, 'q')
	r.Look(&sim.Sight{Kind: sim.SightReceive, At: 5, Node: "b", Text: "b:9>a:1", Conn: 1, Length: 9})
	send("a:1>b:9", 0xff, 0xff, 0xff, 0xff)
	var got []string
	for _, e := range r.events {
		got = append(got, fmt.Sprint(e.text, " ", int64(e.end), " ", e.peer))
	}
	want := []string{"packet of 3 bytes 5 b", "packet of 1 bytes -1 b", "4 bytes -1 b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Goal: porcupine's own picture is made where a ledger is small enough, and the page says what it found.
func TestPorcupineIsAsked(t *testing.T) {
	m := violated(t, "cluster-canary")
	picture, err := m.page.Search(m.source.Course)
	if err != nil || !strings.Contains(m.page.Searched, "orcupine") {
		t.Errorf("%v: %q", err, m.page.Searched)
	}
	if picture != nil && !bytes.Contains(picture, []byte("<html")) {
		t.Error("the picture is no page")
	}
}
