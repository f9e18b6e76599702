package explore

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

func ask(t *testing.T, worlds ...Asked) Report {
	t.Helper()
	r, err := Run(t.Context(), worlds, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAReportSaysHowEachSearchEnded, and its headline tells the worst of them.
func TestAReportSaysHowEachSearchEnded(t *testing.T) {
	kept := Asked{Config: SmallWorld(oneOfTwo)}
	bounded := Asked{Config: SmallWorld(threeOfThree, func(c *Config) { c.StatesMax = 100 })}
	arm, err := FindArm("#2614")
	if err != nil {
		t.Fatal(err)
	}
	broken := Asked{Config: arm.World, Without: arm.ID, About: arm.Title}
	arm.Out(&broken.Config)
	narrow := kept
	narrow.Config.Only = RuleOrder
	for _, c := range []struct {
		worlds []Asked
		want   Ending
		says   []string
	}{
		{[]Asked{kept}, Kept, []string{"KEPT", "2/2/1 of 4, 1 entry, 1 recovery"}},
		{[]Asked{kept, bounded}, Stopped, []string{"STOPPED"}},
		{[]Asked{broken, bounded}, Broken, []string{"BROKEN: without a rule", "after 16 steps", " 16  the store takes", "without 2614: " + arm.Title}},
		{[]Asked{{Config: kept.Config, Without: arm.ID}}, Kept, []string{"NO COUNTER-EXAMPLE", "keeps every rule", "even so"}},
		{[]Asked{narrow}, Kept, []string{"KEPT", `keeps the rule "order", the only one`}},
		{[]Asked{kept, narrow}, Kept, []string{"KEPT", "keeps the rules that were looked at"}},
	} {
		r := ask(t, c.worlds...)
		var text strings.Builder
		if err := r.Print(&text); err != nil || r.Ending != c.want || len(r.Worlds) != len(c.worlds) {
			t.Errorf("%v: %v, %v", c.worlds, r.Ending, err)
		}
		for _, part := range c.says {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%q is missing in:\n%s", part, text.String())
			}
		}
		for _, w := range r.Worlds {
			if v := w.Violation; v != nil && w.Depth != len(v.Steps)-1 {
				t.Errorf("depth %d, and the way has %d steps", w.Depth, len(v.Steps)-1)
			}
		}
		sum := 0
		for _, w := range r.Worlds {
			sum += w.States
		}
		if r.States != sum {
			t.Errorf("%d states, and the worlds have %d", r.States, sum)
		}
	}
}

// TestAnInterruptEndsTheRun where it is, and the report says so.
func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	worlds := []Asked{{Config: SmallWorld(threeOfThree, timeouts(1))}, {Config: SmallWorld(oneOfTwo)}}
	r, err := Run(ctx, worlds, func(p Progress) {
		if calls++; p.World != 1 || p.Worlds != 2 || p.So.States == 0 || !strings.Contains(p.String(), "world 1 of 2") {
			t.Errorf("%v", p)
		}
		cancel()
	})
	if err != nil || calls != 1 || !r.Interrupted || len(r.Worlds) != 1 || r.Worlds[0].Ending != Stopped || r.Ending != Stopped {
		t.Errorf("%d calls, %v, %+v", calls, err, r)
	}
}

// TestAReportForPrograms has a place for everything, also where there is nothing.
func TestAReportForPrograms(t *testing.T) {
	text, err := json.Marshal(ask(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"result", "states", "transitions", "wall_seconds", "cpu_seconds", "worlds", "rules", "interrupted"} {
		if !strings.Contains(string(text), `"`+key+`":`) || strings.Contains(string(text), "null") {
			t.Errorf("%s: %s", key, text)
		}
	}
}

// TestTextsOfFlagsAreRead, and what makes no sense is refused.
func TestTextsOfFlagsAreRead(t *testing.T) {
	if q, err := ParseShape("3/2/1"); err != nil || q != (ledger.Quorum{Ensemble: 3, Write: 2, Ack: 1}) {
		t.Errorf("%v, %v", q, err)
	}
	for _, text := range []string{"", "3/2", "3/2/1/1", "2/3/2", "a/b/c", " 3/2/1"} {
		if _, err := ParseShape(text); err == nil {
			t.Errorf("shape %q was read", text)
		}
	}
	for text, want := range map[string][][]int{"0+1/0": {{0, 1}, {0}}, "/2": {{}, {2}}, "3": {{3}}} {
		held, err := ParseHeld(text)
		if err != nil || !reflect.DeepEqual(held, want) {
			t.Errorf("copies %q: %v, %v", text, held, err)
		}
		if heldText(want) != text {
			t.Errorf("%v is told as %q, not %q", want, heldText(want), text)
		}
	}
	for _, text := range []string{"b0", "0,1", "0+x"} {
		if held, err := ParseHeld(text); err == nil {
			t.Errorf("copies %q were read as %v", text, held)
		}
	}
	if rule, err := ParseRule("div"); err != nil || rule != RuleDivergence {
		t.Errorf("%q, %v", rule, err)
	}
	for _, text := range []string{"", "everything"} {
		if rule, err := ParseRule(text); err == nil {
			t.Errorf("rule %q is %q", text, rule)
		}
	}
	if _, err := FindArm("9999"); err == nil || !strings.Contains(err.Error(), "c1-highest") {
		t.Error(err)
	}
}

// TestEveryRuleThatCanBreakIsTold: arms look for rules that the list has.
func TestEveryRuleThatCanBreakIsTold(t *testing.T) {
	for _, a := range Arms() {
		if a.World.Only != "" && !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == a.World.Only }) {
			t.Errorf("%s looks for %q", a.ID, a.World.Only)
		}
	}
}
