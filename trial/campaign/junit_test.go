package campaign

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lakebed/trial"
)

// junitElement is what a schema allows of an element: the attributes that must be there, those that may, the elements in it.
type junitElement struct{ must, may, children []string }

// jenkinsSchema is what the schema junit-10 of Jenkins' xUnit plugin says, without elements that no campaign has use for.
var jenkinsSchema = map[string]junitElement{
	"":           {children: []string{"testsuites"}},
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}},
	"testsuite": {
		[]string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"}, []string{"testcase"},
	},
	"testcase": {[]string{"name"}, []string{"time", "classname", "group"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":  {nil, []string{"type", "message"}, nil},
	"error":    {nil, []string{"type", "message"}, nil},
}

var (
	jenkinsTime   = regexp.MustCompile(`^([0-9]+)?(\.[0-9]*)?$`)
	jenkinsDigits = regexp.MustCompile(`^[0-9]+$`)
)

// seenJUnit is what a server of continuous integration shows.
type seenJUnit struct {
	texts  map[string]string // by class and name: of a failure or error, or empty
	counts map[string]int    // elements by name
}

// readJUnit reads XML as strictly as both servers together: Jenkins validates, and GitLab takes the first of two test cases
// with one class and name, wants a class, and shows the text of a failure and not its message.
func readJUnit(t *testing.T, text []byte) seenJUnit {
	t.Helper()
	seen := seenJUnit{map[string]string{}, map[string]int{}}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	stack, test := []string{""}, ""
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return seen
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, parent := token.Name.Local, stack[len(stack)-1]
			stack = append(stack, name)
			seen.counts[name]++
			if !slices.Contains(jenkinsSchema[parent].children, name) {
				t.Errorf("element %s in %q", name, parent)
			}
			attributes := checkAttributes(t, token)
			if name == "testcase" {
				test = attributes["classname"] + " " + attributes["name"]
				if _, twice := seen.texts[test]; twice || attributes["classname"] == "" {
					t.Errorf("no class, or a second time: %s", test)
				}
				seen.texts[test] = ""
			}
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if at := stack[len(stack)-1]; at == "failure" || at == "error" {
				seen.texts[test] += string(token)
			} else if strings.TrimSpace(string(token)) != "" {
				t.Errorf("text in %s: %q", at, token)
			}
		}
	}
}

func checkAttributes(t *testing.T, e xml.StartElement) map[string]string {
	t.Helper()
	allowed := jenkinsSchema[e.Name.Local]
	values := map[string]string{}
	for _, a := range e.Attr {
		name := a.Name.Local
		values[name] = a.Value
		if !slices.Contains(allowed.must, name) && !slices.Contains(allowed.may, name) {
			t.Errorf("%s has no attribute %s", e.Name.Local, name)
		}
		switch name {
		case "time":
			if !jenkinsTime.MatchString(a.Value) || a.Value == "" {
				t.Errorf("%s takes the time %q", e.Name.Local, a.Value)
			}
		case "tests", "failures", "errors", "skipped":
			if !jenkinsDigits.MatchString(a.Value) {
				t.Errorf("%s %s of %s", a.Value, name, e.Name.Local)
			}
		}
	}
	for _, name := range allowed.must {
		if values[name] == "" {
			t.Errorf("%s lacks %s", e.Name.Local, name)
		}
	}
	return values
}

func junitOf(t *testing.T, s *Summary) seenJUnit {
	t.Helper()
	var text bytes.Buffer
	if err := s.WriteJUnit(&text); err != nil {
		t.Fatal(err)
	}
	seen := readJUnit(t, text.Bytes())
	var suites junitSuites
	if err := xml.Unmarshal(text.Bytes(), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != seen.counts["testcase"] || suites.Failures != seen.counts["failure"] || suites.Errors != seen.counts["error"] {
		t.Errorf("the sums are wrong: %+v, seen %v", suites, seen.counts)
	}
	return seen
}

// TestJUnitHoldsWhatFailedWithItsReplay: a test case for each signature in each scenario, one for each scenario without
// failures, and those of the campaign as a whole.
func TestJUnitHoldsWhatFailedWithItsReplay(t *testing.T) {
	o := mixed(200)
	o.Workers = 0
	seen := junitOf(t, conduct(t, o))
	lost := seen.texts["campaign.bad violation: acked entry is absent"]
	if !strings.HasPrefix(lost, "go run ./cmd/simrun replay ") || !strings.Contains(lost, "--scenario bad\n") || !strings.Contains(lost, "entry ") {
		t.Errorf("%q", lost)
	}
	for name, failed := range map[string]bool{
		"campaign.bad stalled: stalled": true, "campaign.good all promises held": false, "campaign canary is caught": false,
		"campaign rare states are reached": false, "campaign the campaign comes to its end": false,
	} {
		if text, there := seen.texts[name]; !there || (text != "") != failed {
			t.Errorf("%s: there %v, %q", name, there, text)
		}
	}
	if seen.counts["testcase"] != 6 || seen.counts["failure"] != 2 {
		t.Errorf("%v", seen.texts)
	}
}

// TestJUnitShowsACampaignThatProvesNothing: blind, weak and interrupted ones do not look like passed ones.
func TestJUnitShowsACampaignThatProvesNothing(t *testing.T) {
	base := Summary{Scenarios: map[string]int64{"good": 3}, Notes: []string{"why"}, Canaries: []Canary{{"canary", 3, 0}}}
	for outcome, want := range map[Outcome]string{Blind: "campaign canary is caught", Weak: "campaign rare states are reached", Interrupted: "campaign the campaign comes to its end"} {
		s := base
		s.Outcome, s.Interrupted = outcome, outcome == Interrupted
		if outcome != Blind {
			s.Canaries = nil
		}
		seen := junitOf(t, &s)
		if !strings.Contains(seen.texts[want], "why") || seen.counts["failure"]+seen.counts["error"] != 1 {
			t.Errorf("%s: %v", outcome, seen.texts)
		}
	}
}

// TestJUnitTakesAnyText: what a failure says may hold anything, and XML does not.
func TestJUnitTakesAnyText(t *testing.T) {
	g := Group{Kind: Kind(trial.Violation)}
	r := trial.Result{Scenario: "good", Verdict: trial.Violation, Findings: []trial.Finding{{Checker: "<&>", Signature: "a \x00\x1b\xff\" ]]> b", Text: "]]> \x01 <x>" + strconv.Quote("\u2028")}}}
	g.add(failureOf(&r), "")
	seen := junitOf(t, &Summary{Scenarios: map[string]int64{"good": 1}, Failures: []Group{g}})
	if seen.counts["failure"] != 1 || !strings.Contains(seen.texts["campaign.good violation: a \ufffd\ufffd\ufffd\" ]]> b"], "]]> \ufffd <x>") {
		t.Errorf("%q", seen.texts)
	}
}
