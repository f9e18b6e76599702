package explore

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var large = flag.Bool("explore.large", false, "search the large worlds too; takes hours")

func find(t *testing.T, c Config) Result {
	t.Helper()
	start := time.Now()
	r, err := Search(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %v, %v", c, r, time.Since(start).Round(time.Millisecond))
	return r
}

// TestSmallWorldsKeepTheRules: every reachable state of the worlds that are searched by default keeps every rule. In half
// of them the writer has died and left copies behind, and rivals recover the ledger.
func TestSmallWorldsKeepTheRules(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	for _, c := range Worlds() {
		keepsTheRules(t, c)
	}
}

func keepsTheRules(t *testing.T, c Config) {
	t.Helper()
	if r := find(t, c); r.Violation != nil {
		t.Fatal(r.Violation)
	} else if !r.Complete {
		t.Error("not searched to the end")
	}
}

// TestLargeWorldsKeepTheRules is the same in worlds that take too long for every day.
func TestLargeWorldsKeepTheRules(t *testing.T) {
	if !*large {
		t.Skip("with -explore.large")
	}
	for _, c := range LargeWorlds() {
		keepsTheRules(t, c)
	}
}

// TestRulesTakenOutAreMissed: with a rule of the protocol taken out the search finds what it is there for, and tells it
// in a shortest sequence of steps that ends as the issue does.
func TestRulesTakenOutAreMissed(t *testing.T) {
	for _, c := range []struct {
		id    string
		rule  string
		steps int // 0: any
		ends  string
	}{
		{"2614", RuleDivergence, 16, "CLOSED at -1"},
		{"1591", RuleQuorum, 5, "acknowledges entry 0"},
		{"1591-loss", RuleDivergence, 0, ""},
		{"2615", RuleInvariant, 0, ""},
		{"c1-highest", RuleReadable, 0, "acknowledges entry"},
		{"c1-contiguous", RuleWaiting, 0, ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			arm, err := FindArm(c.id)
			if err != nil {
				t.Fatal(err)
			}
			world := arm.World
			if arm.Out(&world); testing.Short() && world.Timeouts > 1 {
				t.Skip("a quarter of a minute")
			}
			v := find(t, world).Violation
			if v == nil {
				t.Fatal("nothing found")
			}
			t.Log(v)
			last := strings.Join(v.Steps[len(v.Steps)-1], "\n")
			if v.Rule != c.rule || c.steps != 0 && len(v.Steps) != c.steps+1 || !strings.Contains(last, c.ends) {
				t.Errorf("rule %q after %d steps, want %q after %d; the last is\n%s", v.Rule, len(v.Steps)-1, c.rule, c.steps, last)
			}
		})
	}
}

// TestSameWorldSameSearch: counts do not depend on chance, such as the order of a map.
func TestSameWorldSameSearch(t *testing.T) {
	c := SmallWorld(oneOfTwo, func(c *Config) { c.Close, c.LostAnswers = true, 1 })
	if a, b := find(t, c), find(t, c); a != b {
		t.Errorf("%v, then %v", a, b)
	}
}

// TestSearchStopsAtItsBound and says that it has not seen all.
func TestSearchStopsAtItsBound(t *testing.T) {
	r := find(t, SmallWorld(threeOfThree, func(c *Config) { c.StatesMax = 1000 }))
	if r.Complete || r.States < 1000 || r.States > 1100 || r.Violation != nil {
		t.Errorf("%+v", r)
	}
}

// TestWorldsThatCannotBe are refused.
func TestWorldsThatCannotBe(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Bookies = 2 },
		func(c *Config) { c.Bookies = 7 },
		func(c *Config) { c.Entries = 0 },
		func(c *Config) { c.Entries = 4 },
		func(c *Config) { c.Recoveries = 3 },
		func(c *Config) { c.Quorum.Ack = 4 },
	} {
		c := SmallWorld(threeOfThree, change)
		if _, err := Search(c); err == nil {
			t.Errorf("%v was searched", c)
		}
	}
}
