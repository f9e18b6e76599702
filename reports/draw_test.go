package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Goal: whatever passes the check can be drawn: without a panic, inside of the picture, in colours that the style knows.
func TestEveryPlotThatPassesTheCheckIsDrawn(t *testing.T) {
	colour := regexp.MustCompile(`(?:fill|stroke):([^;"]+)`)
	rapid.Check(t, func(t *rapid.T) {
		p := drawnPlot(t)
		if err := p.check(); err != nil {
			t.Fatalf("a plot made to pass does not: %v", err)
		}
		r := sampleExperiment()
		r.Plots = []Plot{p}
		var page strings.Builder
		if err := Page(&page, []Result{r}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "NaN") || strings.Contains(page.String(), "Inf") {
			t.Fatal("the picture holds what is not a number")
		}
		_, drawn, _ := strings.Cut(page.String(), "<body>")
		for _, found := range colour.FindAllStringSubmatch(drawn, -1) {
			if found[1] != "none" && !strings.HasPrefix(found[1], "var(--") {
				t.Fatalf("the picture holds the colour %s, which no mode can change", found[1])
			}
		}
	})
}

// drawnPlot makes a plot of anything: sizes from tiny to huge, below zero too.
func drawnPlot(t *rapid.T) Plot {
	value := rapid.Custom(func(t *rapid.T) float64 {
		return float64(rapid.IntRange(-9, 9).Draw(t, "digit")) * math.Pow10(rapid.IntRange(-20, 138).Draw(t, "power"))
	})
	p := Plot{
		Name: "p", Title: "title", Legend: rapid.SampledFrom([]string{"", "legend"}).Draw(t, "legend"),
		X:     Axis{Label: "x", Unit: "1", Log: rapid.Bool().Draw(t, "log x")},
		Y:     Axis{Label: "y", Unit: rapid.SampledFrom([]string{"1", "s", "B", "B/s"}).Draw(t, "unit"), Log: rapid.Bool().Draw(t, "log y")},
		Ideal: value.Draw(t, "ideal"),
	}
	if names := rapid.IntRange(0, 40).Draw(t, "names"); names > 0 {
		p.X.Names, p.Bars = manyNames(names), rapid.Bool().Draw(t, "bars")
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "lines") {
		l := Line{Name: fmt.Sprint("line ", i)}
		for range rapid.IntRange(0, 5).Draw(t, "points") {
			y := value.Draw(t, "y")
			at := Point{X: value.Draw(t, "x"), Y: y, Low: y - math.Abs(y)/2, High: y + math.Abs(value.Draw(t, "high"))}
			if n := len(p.X.Names); n > 0 {
				at.X = float64(rapid.IntRange(0, n-1).Draw(t, "name"))
			}
			l.Points = append(l.Points, at)
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// Goal: ticks stand where a reader expects them, and are few.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		log       bool
		low, high float64
		want      string
	}{
		{false, 0, 10, "0 2 4 6 8 10"},
		{false, 0, 0.3, "0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{false, -5, 5, "−4 −2 0 2 4"},
		{false, 0, 3e6, "0 500,000 1 M 1.5 M 2 M 2.5 M 3 M"},
		{false, 3, 3, ""},
		{true, 1, 100, "1 2 5 10 20 50 100"},
		{true, 0.5, 1e6, "1 10 100 1,000 10,000 100,000 1 M"},
		{true, 1e-12, 1e12, "1e−12 1e−08 0.0001 1 10,000 100 M 1,000 G"},
		{true, 0, 10, ""},
	} {
		var labels []string
		for _, tick := range (ticker{log: c.log}).Ticks(c.low, c.high) {
			if !tick.IsMinor() {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %v to %v (log %v): %q, not %q", c.low, c.high, c.log, got, c.want)
		}
	}
}

// Goal: names under an axis are broken or shortened, never longer than their room, and begin as they are called.
func TestLongNamesAreBroken(t *testing.T) {
	for name, want := range map[string]string{
		"short":                                        "short",
		"single, 10 outstanding":                       "single, 10|outstanding",
		"write/3-3-2/100B/1000":                        "write/3-3-2/|100B/1000",
		"a-name-that-is-far-too-long-for-any":          "a-name-that-|is-far-too-|long-for-any",
		"unbreakableunbreakableunbreakableunbreakable": "unbreakableu|nbreakableun|breakableun…",
	} {
		lines := broken(name, func(s string) bool { return len([]rune(s)) <= 12 })
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		for _, l := range lines {
			if len([]rune(l)) > 12 {
				t.Errorf("%s: the line %q is too long", name, l)
			}
		}
	}
}

// Goal: numbers are written in full, with the digits that a measurement may have, in a unit that suits them.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.000", 12.3456: "12.35", 999.96: "1,000", 9.9996: "10.00", 0.99996: "1.000", 1234.5: "1,234", -1234567: "−1,234,567", 0.00012345: "0.0001234", 1e-9: "1e−09",
	} {
		if got := numberText(v); got != want {
			t.Errorf("%v is written %q, not %q", v, got, want)
		}
	}
	for _, c := range []struct {
		unit   string
		values []float64
		want   string
	}{
		{"s", []float64{0.0012, 0.0034, 2}, "1.200 3.400 2,000 ms"},
		{"µs", []float64{1500}, "1.500 ms"},
		{"B", []float64{100, 16384}, "100 16,384 B"},
		{"B/s", []float64{5e6}, "5 MB/s"},
		{"1", []float64{3, 1000}, "3 1,000"},
		{"1/s", []float64{0.5, 0}, "0.5000 0 1/s"},
		{"s", []float64{0}, "0 s"},
	} {
		s := scaleOf(c.unit, c.values)
		var texts []string
		for _, v := range c.values {
			texts = append(texts, s.text(v))
		}
		if got := strings.TrimSpace(strings.Join(texts, " ") + " " + s.unit); got != c.want {
			t.Errorf("%v %s: %q, not %q", c.values, c.unit, got, c.want)
		}
	}
}

// colours reads the variables of a mode from the page's style.
func colours(t *testing.T, dark bool) map[string][3]float64 {
	t.Helper()
	light, rest, ok := strings.Cut(pageStyle, "@media screen and (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("the style has no dark mode")
	}
	if dark {
		light, _, _ = strings.Cut(rest, "\n}")
	}
	found := map[string][3]float64{}
	for _, m := range regexp.MustCompile(`(--[a-z0-9]+): #([0-9a-f]{6});`).FindAllStringSubmatch(light, -1) {
		n, err := strconv.ParseUint(m[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			c := found[m[1]]
			c[i] = linear(float64(n>>(16-8*i)&0xff) / 255)
			found[m[1]] = c
		}
	}
	return found
}

func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// contrast is that of the web's accessibility guidelines.
func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	x, y := luminance(a), luminance(b)
	return max(x, y) / min(x, y)
}

// sights are how colours look without one kind of cone, in linear light (Viénot, Brettel and Mollon 1999 for the first two).
var sights = map[string][3][3]float64{
	"all cones": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red":    {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
	"no green":  {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
}

func seen(c [3]float64, sight [3][3]float64) (out [3]float64) {
	for i, row := range sight {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// distance is the difference of two colours as the eye sees it, in CIELAB: 2 is just visible side by side.
func distance(a, b [3]float64) float64 {
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(c [3]float64) [3]float64 {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// Goal: in both modes text is readable, lines stand out from the ground, and no two lines look alike, also to those who see
// no red or no green.
func TestColoursCanBeReadAndToldApart(t *testing.T) {
	const textContrast, lineContrast, apart = 4.5, 3, 11
	for _, dark := range []bool{false, true} {
		c := colours(t, dark)
		for _, name := range []string{"--ink", "--soft", "--accent", "--good", "--bad", "--open"} {
			for _, ground := range []string{"--paper", "--sunk"} {
				if got := contrast(c[name], c[ground]); got < textContrast {
					t.Errorf("dark %v: %s on %s has the contrast %.2f", dark, name, ground, got)
				}
			}
		}
		for i := range seriesColours {
			one := fmt.Sprintf("--s%d", i)
			if got := contrast(c[one], c["--paper"]); got < lineContrast {
				t.Errorf("dark %v: %s has the contrast %.2f", dark, one, got)
			}
			for j := range i {
				other := fmt.Sprintf("--s%d", j)
				for name, sight := range sights {
					if got := distance(seen(c[one], sight), seen(c[other], sight)); got < apart {
						t.Errorf("dark %v, %s: %s and %s are only %.1f apart", dark, name, one, other, got)
					}
				}
			}
		}
	}
}

// Goal: a picture is well-formed, and each of its texts has the size that its place was measured for.
func TestPicturesAreWellFormed(t *testing.T) {
	r := sampleBench()
	page := string(rendered(t, func(w io.Writer) error { return Page(w, []Result{r}) }))
	pictures := regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1)
	texts := 0
	for _, picture := range pictures {
		for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("a picture is not well-formed: %v", err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
				texts++
				if !slices.ContainsFunc(start.Attr, func(a xml.Attr) bool { return a.Name.Local == "style" && strings.Contains(a.Value, "font-size:1") }) {
					t.Errorf("a text has no size: %v", start.Attr)
				}
			}
		}
	}
	if len(pictures) < 10 || texts < 30 {
		t.Errorf("%d pictures with %d texts: the test sees nothing", len(pictures), texts)
	}
}

// Goal: a picture says in words what it shows.
func TestPicturesAreDescribed(t *testing.T) {
	r := sampleBench()
	page := string(rendered(t, func(w io.Writer) error { return Page(w, []Result{r}) }))
	for _, want := range []string{
		`role="img" aria-label="Appends per second by entries in flight. Lines of acknowledged appends in 1/s, logarithmic by entries in flight, logarithmic; 1/1/1: 4,328 at 1 to 390,963 at 1,000;`,
		`aria-label="Entries read from the cache per second. Bars of entries in 1/s by way of reading; from the write cache: 85,327 at single, 10 outstanding to 830,715 at batches of 100;`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no picture is described as %s", want)
		}
	}
}

// Goal: a rate that was measured has no more digits where it is a place on an axis than where it is a value.
func TestPlacesOnAnAxisHaveFewDigits(t *testing.T) {
	for v, want := range map[float64]string{
		24692.796661: "24,693", 0.05: "0.05", 1: "1", 12345: "12,345", 0.123456: "0.1235", 2.5e6: "2.5 M", 329068.4: "329,068", 1e-7: "1e−07",
	} {
		if got := positionText(v); got != want {
			t.Errorf("%v is written %q, not %q", v, got, want)
		}
	}
	p := Plot{Name: "p", Title: "t", X: Axis{Label: "arrivals", Unit: "1/s"}, Y: Axis{Label: "latency", Unit: "s"}, Lines: []Line{line("l", 24692.796661, 1, 49385.593322, 2)}}
	r := sampleBench()
	r.Plots = []Plot{p}
	if page := string(rendered(t, func(w io.Writer) error { return Page(w, []Result{r}) })); strings.Contains(page, "24,692.7") || !strings.Contains(page, "24,693") {
		t.Error("the page has the digits that nobody measured")
	}
}
