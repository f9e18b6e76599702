package browser

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lakebed/trial"
	"lakebed/trial/page"
)

// failing is a trial that breaks its promise by an ordinary setting, with its page: the first seed of a canary that does.
func failing(t *testing.T, scenario string) *page.Page {
	t.Helper()
	s, err := trial.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		o := trial.Options{Scenario: s, Seed: seed}
		seen := page.Watch(&o)
		r := trial.Run(o)
		p := page.New(page.Source{
			Scenario: s, Result: &r, Course: o.Course, Recorder: seen, Replay: fmt.Sprintf("go run ./cmd/simrun replay %d --scenario %s", seed, scenario),
			Limits: page.DefaultLimits(),
		})
		if r.Verdict == trial.Violation && len(p.Accused) > 0 && len(p.Copies) > 0 {
			return p
		}
	}
	t.Fatalf("no seed of %s fails", scenario)
	return nil
}

var (
	failures       = map[string]*page.Page{}
	failuresAccess sync.Mutex
)

// failure is the page of a failing trial, made once.
func failure(t *testing.T, scenario string) *page.Page {
	t.Helper()
	failuresAccess.Lock()
	defer failuresAccess.Unlock()
	if failures[scenario] == nil {
		failures[scenario] = failing(t, scenario)
	}
	return failures[scenario]
}

func openFailure(t *testing.T, v view, p *page.Page) *opened {
	t.Helper()
	needBrowser(t)
	path := filepath.Join(t.TempDir(), "failure.html")
	if err := p.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return openFile(t, v, path)
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, o *opened, expression string) T {
	t.Helper()
	value, err := chromedp.Run(o.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("ask the page %s: %v", expression, err)
	}
	return value
}

// act evaluates a statement for its effect.
func act(t *testing.T, o *opened, statement string) {
	t.Helper()
	ask[bool](t, o, "(() => { "+statement+"; return true; })()")
}

// hostilePage has a text in every place that tries to be markup, or to end the script that it stands in.
func hostilePage(t *testing.T) *page.Page {
	t.Helper()
	p := *failure(t, "cluster-canary")
	spoil(reflect.ValueOf(&p).Elem())
	p.Events = slices.Clone(p.Events)
	for i := range p.Events {
		p.Events[i].Text = hostileText
		p.Events[i].Refs = []string{hostileText}
	}
	return &p
}

const hostileText = `</script><script>document.title="broken"</script><!--<script>"><img src=x onerror="document.title='broken'"> ' {{.}} unbreakableunbreakableunbreakableunbreakableunbreakable`

// spoil sets each text that can be set, but those that are no free text: kinds.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostileText)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		v.Set(fresh)
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	}
}

// Goal: the page of a failure can be read by everybody, in light and dark, on a telephone and on a wide screen, asks for
// nothing, and no text of a trial runs as a script.
func TestFailurePagesCanBeReadInEveryView(t *testing.T) {
	wide, phone, dark := view{width: 1280, height: 900}, view{width: 320, height: 640}, view{width: 1280, height: 900, dark: true}
	for _, c := range []struct {
		name  string
		page  *page.Page
		views []view
	}{
		{"bookie", failure(t, "canary"), []view{phone, dark}},
		{"cluster", failure(t, "cluster-canary"), []view{wide, {width: 320, height: 640, dark: true}, {width: 1280, height: 900, noScript: true}}},
		{"hostile", hostilePage(t), []view{wide, phone}},
	} {
		for _, v := range c.views {
			t.Run(c.name+"/"+v.String(), func(t *testing.T) {
				o := openFailure(t, v, c.page)
				act(t, o, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
				for _, call := range []string{"faintText(" + textContrast + ")", "overflow()", "unnamed()", "headings()", "tables()", "inert()"} {
					o.clean(t, v, call)
				}
				if title := ask[string](t, o, "document.title"); title == "broken" {
					t.Error("a text of the trial has run as a script")
				}
				o.quiet(t, v)
			})
		}
	}
}

// Goal: without a script the page still says what was broken, by what, under which plan, and how to see it again.
func TestFailurePagesSayTheEssenceWithoutScripts(t *testing.T) {
	p := failure(t, "cluster-canary")
	text := ask[string](t, openFailure(t, view{width: 1280, height: 900, noScript: true}, p), "document.body.innerText")
	for _, wanted := range []string{p.Sentence, p.Accused[0].Text, p.Plan[0].Kind, p.Copies[0].Steps[0].Text, p.Metadata[0].State, p.Replay} {
		if !strings.Contains(text, strings.Join(strings.Fields(wanted), " ")) {
			t.Errorf("without scripts the page does not say %q", wanted)
		}
	}
}

// Goal: the lanes are drawn in colours of the mode, and the operation in question stands out at once.
func TestLanesAreDrawnInBothModes(t *testing.T) {
	const ground = `(() => { window.page.paint(); const c = document.getElementById("canvas"), p = c.getContext("2d");
		const d = p.getImageData(2, 2, 1, 1).data, all = p.getImageData(0, 0, c.width, c.height).data, seen = new Set();
		for (let i = 0; i < all.length; i += 4) if (all[i + 3] > 200) seen.add(all[i] + "," + all[i + 1] + "," + all[i + 2]);
		return [d[0], seen.size]; })()`
	for _, dark := range []bool{false, true} {
		o := openFailure(t, view{width: 1280, height: 900, dark: dark}, failure(t, "cluster-canary"))
		got := ask[[]int](t, o, ground)
		if light := got[0] > 128; light == dark {
			t.Errorf("dark %v: the ground of the lanes is %d", dark, got[0])
		}
		if got[1] < 20 {
			t.Errorf("dark %v: the lanes have %d colours: nothing is drawn", dark, got[1])
		}
		if ask[int](t, o, "window.page.chosen()") < 0 {
			t.Errorf("dark %v: nothing is chosen when the page opens", dark)
		}
	}
}

// Goal: filters by kind, node, entry and text each leave exactly the events that they name, and can be taken back.
func TestFiltersShowWhatTheyName(t *testing.T) {
	p := failure(t, "cluster-canary")
	o := openFailure(t, view{width: 1280, height: 900}, p)
	subject := fmt.Sprintf("%d/%d", p.Copies[0].Ledger, p.Copies[0].Entry)
	act(t, o, `document.getElementById("all").click()`)
	count := func() int { return ask[int](t, o, "window.page.visible().length") }
	all := count()
	if all != len(p.Events) {
		t.Fatalf("without a filter %d of %d events are in view", all, len(p.Events))
	}
	wanted := func(keep func(e *page.Event) bool) (n int) {
		for i := range p.Events {
			if keep(&p.Events[i]) {
				n++
			}
		}
		return n
	}
	for name, c := range map[string]struct {
		set  string
		keep func(e *page.Event) bool
	}{
		"kind":  {`document.querySelectorAll("#kinds input").forEach((i) => { if (i.value !== "sync") i.click(); })`, func(e *page.Event) bool { return e.Kind == page.KindSync }},
		"node":  {`const n = document.getElementById("node"); n.value = "1"; n.dispatchEvent(new Event("input"))`, func(e *page.Event) bool { return e.Node == 1 || e.Peer == 1 }},
		"entry": {`document.querySelector("#subjects button").click()`, func(e *page.Event) bool { return slices.Contains(e.Refs, subject) }},
		"text":  {`const x = document.getElementById("text"); x.value = "SYNC"; x.dispatchEvent(new Event("input"))`, func(e *page.Event) bool { return strings.Contains(strings.ToLower(e.Text), "sync") }},
	} {
		act(t, o, c.set)
		if got, want := count(), wanted(c.keep); got != want || want == 0 || want == all {
			t.Errorf("filter by %s: %d events in view, want %d of %d", name, got, want, all)
		}
		act(t, o, `document.getElementById("reset").click()`)
		if got := count(); got != all {
			t.Errorf("after the filter by %s %d of %d events come back", name, got, all)
		}
	}
}

// Goal: buttons, keys, wheel and mouse zoom and pan; no zoom leaves the trial.
func TestZoomAndPan(t *testing.T) {
	o := openFailure(t, view{width: 1280, height: 900}, failure(t, "cluster-canary"))
	type stretch struct{ From, To float64 }
	look := func() stretch { return ask[stretch](t, o, `({From: window.page.view.from, To: window.page.view.to})`) }
	length := func(s stretch) float64 { return s.To - s.From }
	act(t, o, `document.getElementById("all").click()`)
	whole := look()
	act(t, o, `document.getElementById("in").click(); document.getElementById("in").click()`)
	if in := look(); length(in) > length(whole)/3 {
		t.Errorf("two steps in: %v of %v", in, whole)
	}
	before := look()
	if err := chromedp.Do(o.ctx, chromedp.Focus("#canvas"), chromedp.KeyEvent(kb.ArrowRight)); err != nil {
		t.Fatal(err)
	}
	if after := look(); after.From <= before.From || length(after) != length(before) {
		t.Errorf("an arrow key pans from %v to %v", before, after)
	}
	before = look()
	if err := chromedp.Do(o.ctx, chromedp.KeyEvent("+")); err != nil {
		t.Fatal(err)
	}
	if after := look(); length(after) >= length(before) {
		t.Errorf("the plus key zooms from %v to %v", before, after)
	}
	before = look()
	act(t, o, `const c = document.getElementById("canvas"), r = c.getBoundingClientRect();
		c.dispatchEvent(new WheelEvent("wheel", {deltaY: 80, ctrlKey: true, clientX: r.left + 400, clientY: r.top + 50, cancelable: true}))`)
	if after := look(); length(after) <= length(before) {
		t.Errorf("the wheel zooms out from %v to %v", before, after)
	}
	before = look()
	act(t, o, `const c = document.getElementById("canvas"), r = c.getBoundingClientRect();
		const at = (type, x) => c.dispatchEvent(new PointerEvent(type, {pointerType: "mouse", pointerId: 1, clientX: r.left + x, clientY: r.top + 40, bubbles: true}));
		c.setPointerCapture = () => {}; at("pointerdown", 600); at("pointermove", 500); at("pointerup", 500)`)
	if after := look(); after.From <= before.From {
		t.Errorf("dragging to the left pans from %v to %v", before, after)
	}
	for range 30 {
		act(t, o, `document.getElementById("out").click()`)
	}
	if out := look(); out.From != 0 || length(out) > 1.03*length(whole) {
		t.Errorf("zoomed out for ever: %v, the whole is %v", out, whole)
	}
}

// Goal: one operation is followed from client to disk: a click on an acknowledged append shows its sends, the journal
// writes and syncs of the bookies, and their answers, all of its own entry, in the order of time.
func TestOneOperationIsFollowedFromClientToDisk(t *testing.T) {
	p := failure(t, "cluster-canary")
	answersTo := func(entry string) (n int) {
		for i := range p.Events {
			e := &p.Events[i]
			if e.Kind == page.KindMessage && strings.HasPrefix(e.Text, "answer to add") && slices.Contains(e.Refs, entry) {
				n++
			}
		}
		return n
	}
	append := slices.IndexFunc(p.Events, func(e page.Event) bool { // one that several bookies have answered
		return e.Kind == page.KindOperation && strings.Contains(e.Text, "append") && strings.Contains(e.Text, "ok entry") && len(e.Refs) == 1 &&
			answersTo(e.Refs[0]) >= 2
	})
	if append < 0 {
		t.Fatal("no append was acknowledged by two bookies")
	}
	entry := p.Events[append].Refs[0]
	o := openFailure(t, view{width: 1280, height: 900}, p)
	act(t, o, fmt.Sprintf(`window.page.select(-1); const e = window.page.events[%d], d = e.end - e.at; window.page.show(e.at - d, e.end + d); window.page.paint()`, append))
	// Clients do several things at a time, and their bars may lie over each other: the others are filtered out for the click.
	act(t, o, fmt.Sprintf(`const x = document.getElementById("text"); x.value = %q; x.dispatchEvent(new Event("input")); window.page.paint()`, p.Events[append].Text))
	type point struct{ X, Y float64 }
	at := ask[point](t, o, fmt.Sprintf(`(() => { document.getElementById("box").scrollIntoView(); const s = window.page.place(%d), r = document.getElementById("canvas").getBoundingClientRect();
		return {X: r.left + s.left + s.wide / 2, Y: r.top + s.top + s.high / 2}; })()`, append))
	// The bar is where its time is: a third of the view from the labels' edge, and as long.
	if off := ask[float64](t, o, fmt.Sprintf(`(() => { const s = window.page.place(%d), wide = document.getElementById("canvas").clientWidth - 112;
		return Math.max(Math.abs(s.left - 104 - wide / 3), Math.abs(s.wide - wide / 3)); })()`, append)); off > 3 {
		t.Errorf("the bar of the append is %.0f pixels from where its time is", off)
	}
	if err := chromedp.Do(o.ctx, chromedp.MouseClickXY(at.X, at.Y)); err != nil {
		t.Fatal(err)
	}
	if chosen := ask[int](t, o, "window.page.chosen()"); chosen != append {
		t.Fatalf("the click at %v chose event %d, not %d", at, chosen, append)
	}
	act(t, o, `document.getElementById("reset").click()`)
	kinds := map[page.Kind]int{}
	answers := 0
	for _, i := range ask[[]int](t, o, "window.page.related()") {
		e := p.Events[i]
		if !slices.Contains(e.Refs, entry) {
			t.Errorf("%+v is shown as belonging to entry %s", e, entry)
		}
		kinds[e.Kind]++
		if e.Kind == page.KindMessage && strings.HasPrefix(e.Text, "answer to add") {
			answers++
		}
	}
	if kinds[page.KindMessage] < 4 || answers < 2 || kinds[page.KindWrite] < 2 || kinds[page.KindMark] < 1 {
		t.Errorf("of entry %s there are %v, with %d answers", entry, kinds, answers)
	}
	steps := ask[[]string](t, o, `[...document.querySelectorAll("#detail ol:first-of-type li")].map((e) => e.firstChild.textContent)`)
	if len(steps) < 5 || !slices.IsSorted(steps) {
		t.Errorf("the path is told as %q", steps)
	}
	if err := chromedp.Do(o.ctx, chromedp.Focus("#canvas"), chromedp.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}
	if ask[int](t, o, "window.page.chosen()") >= 0 {
		t.Error("Escape does not let it go")
	}
}

// Goal: on a telephone the lanes scroll in their own box, and an event can be chosen from the list by keyboard alone.
func TestLanesOnATelephoneAndByKeyboard(t *testing.T) {
	o := openFailure(t, view{width: 320, height: 640}, failure(t, "canary"))
	if scrolls := ask[bool](t, o, `document.getElementById("box").scrollWidth > document.getElementById("box").clientWidth && document.documentElement.scrollWidth <= 320`); !scrolls {
		t.Error("the lanes do not scroll in their own box")
	}
	act(t, o, `window.page.select(-1); document.getElementById("listing").open = true`)
	if err := chromedp.Do(o.ctx, chromedp.Poll[chromedp.Void](`document.querySelector("#events button") !== null`), chromedp.Focus("#events button"), chromedp.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if ask[int](t, o, "window.page.chosen()") < 0 || ask[bool](t, o, `document.getElementById("detail").hidden`) {
		t.Error("the keyboard does not choose an event of the list")
	}
	if err := chromedp.Do(o.ctx, chromedp.Focus("#canvas"), chromedp.KeyEvent("n")); err != nil {
		t.Fatal(err)
	}
	before := ask[int](t, o, "window.page.chosen()")
	if err := chromedp.Do(o.ctx, chromedp.KeyEvent("n")); err != nil {
		t.Fatal(err)
	}
	if after := ask[int](t, o, "window.page.chosen()"); after <= before {
		t.Errorf("N goes from event %d to %d", before, after)
	}
}

// Goal: a trial with more events than a page may have says loudly what is left out and how to see it, and stays quick.
func TestLargeTrialsSayWhatIsLeftOut(t *testing.T) {
	p := *failure(t, "cluster-canary")
	p.LeftOut = []page.Gap{{Count: 12345, From: 1e9, To: 2e9, Command: p.Replay + " --html page.html --from 1s --until 2s"}}
	events := slices.Clone(p.Events)
	for i := 0; len(events) < page.DefaultLimits().EventsMax; i++ {
		events = append(events, p.Events[i%len(p.Events)])
	}
	slices.SortStableFunc(events, func(a, b page.Event) int { return int(a.At - b.At) })
	p.Events = events
	o := openFailure(t, view{width: 1280, height: 900}, &p)
	act(t, o, `document.getElementById("all").click()`)
	text := ask[string](t, o, `document.querySelector(".leftout").innerText`)
	if !strings.Contains(text, "12345 events are left out") || !strings.Contains(text, "--from 1s --until 2s") {
		t.Errorf("what is left out is told as %q", text)
	}
	if took := ask[float64](t, o, `(() => { const t = performance.now(); window.page.paint(); return performance.now() - t; })()`); took > 1000 {
		t.Errorf("%d events take %.0f ms to draw", len(events), took)
	}
}
