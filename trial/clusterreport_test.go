package trial

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"lakebed/sim"
)

// reportSeedsMax is how many seeds a scenario that is known to fail gets to do so.
const reportSeedsMax = 20

// failing runs a scenario until its verdict is the wanted one.
func failing(t *testing.T, s Scenario, wanted Verdict) (uint64, Result) {
	t.Helper()
	for seed := range uint64(reportSeedsMax) {
		if r := Run(Options{Scenario: s, Seed: seed}); r.Verdict == wanted {
			return seed, r
		}
	}
	t.Fatalf("no verdict %s on %d seeds of %s", wanted, reportSeedsMax, s.Name)
	return 0, Result{}
}

func found(t *testing.T, name string) Scenario {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAStallSaysFirstWhichSessionWaitsForWhat. With the rule that makes writers wait for ever, the report begins with
// sessions, their appends and ledgers, and not with states of tasks.
func TestAStallSaysFirstWhichSessionWaitsForWhat(t *testing.T) {
	s := found(t, "cluster")
	arm := *s.Cluster
	arm.LACRule, s.Cluster = "contiguous", &arm
	seed, r := failing(t, s, Stalled)
	head, _, ok := strings.Cut(r.Findings[0].Text, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || lines[0] != "sessions do not end; sessions that have not ended:" || len(lines) < 2 {
		t.Fatalf("seed %d: the report begins with\n%s", seed, head)
	}
	session := regexp.MustCompile(`^  client-\d +client \d+, chapter "[a-z-]+" since \d+\.\d{9}: `)
	waits := 0
	for _, line := range lines[1:] {
		if !session.MatchString(line) {
			t.Errorf("seed %d: %q", seed, line)
		}
		if strings.Contains(line, ": append ledger ") && strings.Contains(line, ", since ") {
			waits++
		}
	}
	if waits == 0 {
		t.Errorf("seed %d: no session is said to wait for an append:\n%s", seed, head)
	}
}

// TestWhatAFindingNamesIsInTheTrace: its lines have the times, nodes and numbers of lines of the trace.
func TestWhatAFindingNamesIsInTheTrace(t *testing.T) {
	s := found(t, "cluster-canary")
	seed, quiet := failing(t, s, Violation)
	var trace bytes.Buffer
	traced := Run(Options{Scenario: s, Seed: seed, Trace: &trace})
	if traced.Hash != quiet.Hash || traced.Events != quiet.Events {
		t.Fatalf("seed %d: %x after %d events, with a trace %x after %d", seed, quiet.Hash, quiet.Events, traced.Hash, traced.Events)
	}
	located := regexp.MustCompile(`(?m)^  (\d+\.\d{9})  (\S+) +operation \d+: client (\d+) calls (.*\(called at \d+\)); (\S+)`)
	checked := 0
	for _, f := range traced.Findings {
		for _, m := range located.FindAllStringSubmatch(f.Text, -1) {
			call := regexp.MustCompile(regexp.QuoteMeta(m[1]+"  "+m[2]) + ` .* client ` + m[3] + ` calls .*` + stampOf(m[4]))
			end := regexp.MustCompile(regexp.QuoteMeta(m[2]) + ` .* client ` + m[3] + ` ends .*` + regexp.QuoteMeta(m[4]+": "+m[5]))
			if !call.Match(trace.Bytes()) || m[5] != "outcome-unknown" && !end.Match(trace.Bytes()) {
				t.Errorf("seed %d: not in the trace: %s", seed, m[0])
			}
			checked++
		}
	}
	if checked == 0 {
		t.Fatalf("seed %d: findings name no operation: %+v", seed, traced.Findings)
	}
}

// stampOf is the end of an operation in words: its ledger has no name yet in the call of a create.
func stampOf(asked string) string {
	return regexp.QuoteMeta(asked[strings.LastIndex(asked, "("):])
}

// TestATraceWithoutStepsHasAllOtherLines.
func TestATraceWithoutStepsHasAllOtherLines(t *testing.T) {
	s := found(t, "cluster")
	var whole, sparing bytes.Buffer
	a := Run(Options{Scenario: s, Seed: 3, Trace: &whole})
	b := Run(Options{Scenario: s, Seed: 3, Trace: sim.WithoutSteps(&sparing)})
	if a.Hash != b.Hash || a.Events != b.Events {
		t.Fatalf("%x after %d events, without steps %x after %d", a.Hash, a.Events, b.Hash, b.Events)
	}
	var rest []string
	steps := 0
	for line := range strings.Lines(whole.String()) {
		if strings.Contains(line, " step after ") || strings.HasSuffix(line, " callback\n") {
			steps++
			continue
		}
		rest = append(rest, line)
	}
	if steps == 0 || strings.Join(rest, "") != sparing.String() {
		t.Errorf("%d lines of %d are the scheduler's, and %d are left", steps, steps+len(rest), strings.Count(sparing.String(), "\n"))
	}
}
