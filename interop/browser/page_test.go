package browser

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lakebed/reports"
)

//go:embed probes.js
var probes string

// What must hold of every page in every view.
const (
	textContrast = "4.5" // the guidelines' AA for text
	lineContrast = "3"   // and for pictures
	letterPixels = "10"
)

func views() []view {
	return []view{
		{width: 1280, height: 900}, {width: 1280, height: 900, dark: true},
		{width: 320, height: 640}, {width: 320, height: 640, dark: true},
		{width: 820, height: 1180}, {width: 1280, height: 900, noScript: true},
	}
}

func pages(t *testing.T) map[string][]reports.Result {
	t.Helper()
	return map[string][]reports.Result{
		"one":     {read(t, "bench.json")},
		"two":     {read(t, "bench.json"), read(t, "experiment.json")},
		"hostile": {hostile(t)},
		"large":   {large(t)},
	}
}

// Goal: every page can be read, in light and dark, on a telephone and on a wide screen, and asks for nothing.
func TestPagesCanBeReadInEveryView(t *testing.T) {
	for name, results := range pages(t) {
		for _, v := range views() {
			t.Run(name+"/"+v.String(), func(t *testing.T) {
				o := open(t, v, results...)
				for _, call := range []string{
					"faintText(" + textContrast + ")", "faintLines(" + lineContrast + ")", "overflow()", "unnamed()", "headings()", "tables()",
					"pictures(" + letterPixels + ")", "scripts()",
				} {
					o.clean(t, v, call)
				}
				o.quiet(t, v)
			})
		}
	}
}

// Goal: nothing is lost without scripts: the page shows the same words.
func TestPagesShowTheSameWithoutScripts(t *testing.T) {
	results := []reports.Result{read(t, "bench.json"), hostile(t)}
	text := func(v view) string {
		words, err := chromedp.Run(open(t, v, results...).ctx, chromedp.Evaluate[string]("document.body.innerText"))
		if err != nil {
			t.Fatal(err)
		}
		return words
	}
	with, without := text(view{width: 1280, height: 900}), text(view{width: 1280, height: 900, noScript: true})
	if with != without || !strings.Contains(with, "Ledgers over loopback TCP") {
		t.Errorf("with scripts the page has %d bytes of text, without %d", len(with), len(without))
	}
}

// Goal: the keyboard alone reaches everything that scrolls, first of all a way past the contents, and one sees where it is.
func TestKeyboardReachesEveryRegion(t *testing.T) {
	o := open(t, view{width: 320, height: 640}, read(t, "bench.json"), read(t, "experiment.json"))
	wanted, err := chromedp.Run(o.ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a, .scroll")].map((e, i) => e.dataset.probe = String(i))`))
	if err != nil {
		t.Fatal(err)
	}
	var reached []string
	for range wanted {
		if err := chromedp.Do(o.ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
			t.Fatal(err)
		}
		type stop struct{ Probe, Outline string }
		at, err := chromedp.Run(o.ctx, chromedp.Evaluate[stop](
			`({Probe: document.activeElement.dataset.probe || "none", Outline: getComputedStyle(document.activeElement).outlineStyle})`))
		if err != nil {
			t.Fatal(err)
		}
		if at.Outline == "none" {
			t.Errorf("stop %s of the keyboard cannot be seen", at.Probe)
		}
		reached = append(reached, at.Probe)
	}
	if !slices.Equal(reached, wanted) || len(wanted) < 10 {
		t.Errorf("the keyboard stops at %v, and there are, in their order, %v", reached, wanted)
	}
}

// Goal: the skip link leads to the results, and the arrow keys move a table that is wider than the screen.
func TestSkipLinkAndArrowKeysWork(t *testing.T) {
	o := open(t, view{width: 320, height: 640}, read(t, "bench.json"))
	if err := chromedp.Do(o.ctx, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	focused, err := chromedp.Run(o.ctx, chromedp.Evaluate[string]("document.activeElement.id"))
	if err != nil {
		t.Fatal(err)
	}
	if focused != "main" {
		t.Errorf("the skip link leads to %q", focused)
	}
	err = chromedp.Do(o.ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector("#r1-t1").closest(".scroll").focus()`),
		chromedp.KeyEvent(kb.ArrowRight),
		chromedp.Poll[chromedp.Void](`document.querySelector("#r1-t1").closest(".scroll").scrollLeft > 0`))
	if err != nil {
		t.Errorf("the arrow keys do not move a wide table: %v", err)
	}
}

// Goal: on paper the page is dark on light and shows the whole of its tables.
func TestPrintedPageIsLightAndWhole(t *testing.T) {
	v := view{width: 1280, height: 900, dark: true, print: true}
	o := open(t, v, read(t, "bench.json"))
	o.clean(t, v, "faintText("+textContrast+")")
	o.clean(t, v, `[...document.querySelectorAll(".scroll")].filter((e) => getComputedStyle(e).overflowX !== "visible").map(describe)`)
	o.clean(t, v, `ground(document.body).luminance < 0.9 ? ["the paper is dark"] : []`)
}

// Goal: the probes see what they are made for. Each page here is wrong in one way.
func TestProbesFindWhatIsWrong(t *testing.T) {
	for call, harm := range map[string]string{
		"faintText(" + textContrast + ")":  `document.querySelector("h1").style.color = "rgb(128, 128, 128)"`,
		"faintLines(" + lineContrast + ")": `document.documentElement.style.setProperty("--s0", "#ddeeff")`,
		"overflow()":                       `document.querySelector("main").append(Object.assign(document.createElement("div"), {style: "width: 999px; height: 1px"}))`,
		"unnamed()":                        `document.querySelector("svg[role=img]").removeAttribute("aria-label")`,
		"headings()":                       `document.querySelector("h2").outerHTML = "<h4>x</h4>"`,
		"tables()":                         `document.querySelector("th").removeAttribute("scope")`,
		"pictures(" + letterPixels + ")":   `document.querySelector("svg[role=img] text").style.fontSize = "5px"`,
		"scripts()":                        `document.body.setAttribute("onclick", "0")`,
	} {
		o := open(t, view{width: 320, height: 640}, read(t, "bench.json")) // unharmed
		if found := o.complaints(t, call); len(found) > 0 {
			t.Errorf("%s complains before anything is wrong: %q", call, found)
		}
		if found := o.complaints(t, fmt.Sprintf("%s; %s", harm, call)); len(found) == 0 {
			t.Errorf("%s does not see: %s", call, harm)
		}
	}
}
