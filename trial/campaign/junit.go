package campaign

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The elements of JUnit's XML that Jenkins and GitLab both read, with the attributes that both allow.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Failure *junitCause `xml:"failure"`
		Error   *junitCause `xml:"error"`
	}
	junitCause struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the summary as JUnit XML, for servers of continuous integration.
//
// A test case is not a seed, but a failure's signature in a scenario, or a scenario in which nothing failed; besides,
// there is one for each thing that a campaign as a whole is held to. A million passed seeds are more than such servers
// take (GitLab: 500,000 test cases and 30 MB) and than anybody reads. They follow a test case from build to build by its
// class and name, so those hold nothing that changes from one campaign to the next: a signature appears with the bug and
// goes with it. The command that replays it stands in the text, since GitLab does not show messages.
func (s *Summary) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "simrun campaign", Time: junitSeconds(s.WallSeconds), Cases: append(s.junitScenarios(), s.junitWhole()...)}
	for _, c := range suite.Cases {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Error != nil {
			suite.Errors++
		}
	}
	root := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: suite.Time, Suites: []junitSuite{suite}}
	text, err := xml.MarshalIndent(root, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("%w: write JUnit XML: %w", ErrEnvironment, err)
	}
	return nil
}

func junitSeconds(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }

// junitScenarios has the failures of each scenario, or that there were none.
func (s *Summary) junitScenarios() []junitCase {
	failing := map[string][]junitCase{}
	for i := range s.Failures {
		g := &s.Failures[i]
		for _, at := range g.Scenarios {
			failing[at.Scenario] = append(failing[at.Scenario], s.junitFailure(g, at))
		}
	}
	names := map[string]int64{}
	merge(names, s.Scenarios)
	for name := range failing { // a canary that killed its worker has no seed
		names[name] += 0
	}
	var cases []junitCase
	for _, f := range counted(names) {
		if len(failing[f.name]) > 0 {
			cases = append(cases, failing[f.name]...)
		} else {
			cases = append(cases, junitCase{Class: junitClass(f.name), Name: "all promises held", Time: "0"})
		}
	}
	return cases
}

func junitClass(scenario string) string { return "campaign." + scenario }

func (s *Summary) junitFailure(g *Group, at GroupScenario) junitCase {
	seed := at.Seed
	if at.Scenario == g.Scenario {
		seed = g.Seed // the shortest
	}
	replay := replayCommand(at.Scenario, seed, s.Defect)
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n%s of scenario %s, seed %d among them.\n", replay, plural(at.Count, "seed"), at.Scenario, seed)
	if g.Checker != "" {
		fmt.Fprintf(&text, "Checker: %s.\n", g.Checker)
	}
	fmt.Fprintf(&text, "\n%s\n%s", g.Text, g.Divergence)
	return junitCase{
		Class: junitClass(at.Scenario), Name: string(g.Kind) + ": " + g.Signature, Time: "0",
		Failure: &junitCause{Message: g.Signature + "; replay: " + replay, Type: string(g.Kind), Text: text.String()},
	}
}

// junitWhole has what the campaign as a whole is held to. A shard is held to none of it.
func (s *Summary) junitWhole() []junitCase {
	const class = "campaign"
	test := func(name string, failed bool, message string) junitCase {
		c := junitCase{Class: class, Name: name, Time: "0"}
		if failed {
			c.Failure = &junitCause{Message: message, Type: string(s.Outcome), Text: message + "\n\n" + strings.Join(s.Notes, "\n")}
		}
		return c
	}
	var cases []junitCase
	if s.Shard == "" {
		for _, c := range s.Canaries {
			if c.Seeds > 0 && !s.Interrupted {
				cases = append(cases, test(c.Scenario+" is caught", c.Caught == 0, fmt.Sprintf("none of %d trials that break their promise was caught", c.Seeds)))
			}
		}
		cases = append(cases, test("rare states are reached", s.Outcome == Weak, "the campaign is weak"))
	}
	end := test("the campaign comes to its end", false, "")
	if s.Interrupted {
		end.Error = &junitCause{Message: "interrupted", Type: string(Interrupted), Text: strings.Join(s.Notes, "\n")}
	}
	cases = append(cases, end)
	slices.SortFunc(cases, func(a, b junitCase) int { return strings.Compare(a.Name, b.Name) })
	return cases
}
