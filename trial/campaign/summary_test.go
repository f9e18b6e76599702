package campaign

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSummaryJSONHasItsKeys whether there is anything to tell or not, and never null.
func TestSummaryJSONHasItsKeys(t *testing.T) {
	kinds := map[string]string{
		"seeds": "number", "violations": "number", "client_operations": "number", "faults": "object", "events": "number",
		"simulated_seconds": "number", "wall_seconds": "number", "cpu_seconds": "number", "distinct_hashes": "number",
		"determinism_checked": "number", "canary_caught": "bool", "marks": "object", "marks_missing": "array",
		"failures": "array", "notes": "array", "canaries": "array", "outcome": "string", "interrupted": "bool",
		"events_per_cpu_second": "number", "simulated_seconds_per_cpu_second": "number", "scenarios": "object",
	}
	for _, scenario := range []string{"good", "bad"} {
		o := options(scenario, 20)
		o.Workers = 0
		var object map[string]any
		if err := json.Unmarshal([]byte(toJSON(t, conduct(t, o))), &object); err != nil {
			t.Fatal(err)
		}
		for key, kind := range kinds {
			if got := kindOf(object[key]); got != kind {
				t.Errorf("%s: %s is %s %v, want %s", scenario, key, got, object[key], kind)
			}
		}
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case float64:
		return "number"
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "nothing"
	}
}

// TestTheGravestOutcomeCounts: a broken promise outweighs an interrupt, which excuses blindness and weakness.
func TestTheGravestOutcomeCounts(t *testing.T) {
	const broken, interrupted, blind, weak = 8, 4, 2, 1
	for state := range 16 {
		var want Outcome
		switch {
		case state >= broken:
			want = Broken
		case state >= interrupted:
			want = Interrupted
		case state >= blind:
			want = Blind
		case state >= weak:
			want = Weak
		default:
			want = Passed
		}
		if got := outcome(state&broken != 0, state&interrupted != 0, state&blind != 0, state&weak != 0); got != want {
			t.Errorf("state %04b: %s, want %s", state, got, want)
		}
	}
	for outcome, code := range map[Outcome]int{Broken: 1, Blind: 1, Weak: 1, Interrupted: 3, Passed: 0} {
		s := Summary{Outcome: outcome}
		if s.ExitCode() != code || outcome != Broken && s.next() == "" {
			t.Errorf("%s: exit code %d, want %d", outcome, s.ExitCode(), code)
		}
	}
}

// TestASummaryReadsWithTheCommandThatShowsTheFailure, its figures in line.
func TestASummaryReadsWithTheCommandThatShowsTheFailure(t *testing.T) {
	o := options("bad", 100)
	o.Workers, o.Out = 0, t.TempDir()
	var text strings.Builder
	if err := conduct(t, o).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"BROKEN: 100 seeds, 32 violations of 2 kinds in ",
		"\nVIOLATION: acked entry is absent (20 seeds, checker log)\n  entry 100\n  shortest  seed 100 of bad, 9,900 events\n" +
			"  again     go run ./cmd/simrun replay 100 --scenario bad\n  replayed  6 more times, alike\n  case      " + o.Out,
		"\n  client operations  ", "\neffective faults\n  power-cut  200\n  reset      100\n",
		"\nnext: go run ./cmd/simrun replay 100 --scenario bad --trace\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("missing %q in:\n%s", want, text.String())
		}
	}
}

// TestGravityPutsDeterminismFirst, then lost workers, then the most frequent.
func TestGravityPutsDeterminismFirst(t *testing.T) {
	order := []Group{
		{Kind: Nondeterminism, Count: 1}, {Kind: Died, Count: 2}, {Kind: Hang, Count: 3}, {Kind: "violation", Count: 9}, {Kind: "panic", Count: 8},
		{Kind: "violation", Count: 8, Signature: "a"}, {Kind: "violation", Count: 8, Signature: "b"},
	}
	for i := range order {
		for j := range order {
			if got := byGravity(&order[i], &order[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%+v against %+v: %d", order[i], order[j], got)
			}
		}
	}
}

// TestNumbersAreGroupedByThree.
func TestNumbersAreGroupedByThree(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1001: "-1,001"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
