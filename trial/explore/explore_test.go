package explore

import (
	"flag"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

var large = flag.Bool("explore.large", false, "search the large worlds too; takes hours")

// smallWorld is four bookies, a writer with one entry and a recovery. Recoveries read one entry at a time, and a
// metadata call is made at most four times, so that the world is finite.
func smallWorld(quorum ledger.Quorum, change func(*Config)) Config {
	c := Config{
		Bookies: 4, Quorum: quorum, Entries: 1, Recoveries: 1,
		Writer: protocol.WriterOptions{AttemptsMax: 4}, Recovery: protocol.RecoveryOptions{ReadsMax: 1, AttemptsMax: 4},
	}
	if change != nil {
		change(&c)
	}
	return c
}

var (
	threeOfThree = ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}
	oneOfTwo     = ledger.Quorum{Ensemble: 2, Write: 2, Ack: 1}
	allOfTwo     = ledger.Quorum{Ensemble: 2, Write: 2, Ack: 2}
	striped      = ledger.Quorum{Ensemble: 3, Write: 2, Ack: 2}
)

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

// TestSmallWorldsKeepTheRules: every reachable state of these worlds keeps every rule.
func TestSmallWorldsKeepTheRules(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	for _, c := range []Config{
		smallWorld(threeOfThree, nil),
		smallWorld(threeOfThree, func(c *Config) { c.Timeouts = 1 }),
		smallWorld(threeOfThree, func(c *Config) { c.Restarts = 1 }),
		smallWorld(threeOfThree, func(c *Config) { c.Close, c.LostAnswers = true, 1 }),
		smallWorld(threeOfThree, func(c *Config) { c.LostAnswers, c.StaleReads = 1, 1 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Close, c.Timeouts, c.LostAnswers, c.StaleReads = true, 1, 1, 1 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Recoveries, c.Timeouts = 2, 1 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Entries = 2 }),
		smallWorld(striped, func(c *Config) { c.Entries = 2 }),
	} {
		keepsTheRules(t, c)
	}
}

// TestRecoveriesOfDeadWritersKeepTheRules: the same where the writer has died and left copies behind, and rivals
// recover the ledger.
func TestRecoveriesOfDeadWritersKeepTheRules(t *testing.T) {
	dead := func(q ledger.Quorum, held [][]int, recoveries int, change func(*Config)) Config {
		c := smallWorld(q, change)
		c.Entries, c.Held, c.Recoveries = len(held), held, recoveries
		return c
	}
	oneTimeout := func(c *Config) { c.Timeouts = 1 }
	for _, c := range []Config{
		// The first recovery writes entry 0 again on b0 and on a bookie of its own, and dies: entry 1 must not say of
		// entry 0 that it is confirmed.
		dead(allOfTwo, [][]int{{0}, {0}}, 2, oneTimeout),
		dead(threeOfThree, [][]int{{0}}, 2, nil),
		dead(threeOfThree, [][]int{{0, 1}}, 1, func(c *Config) { c.Restarts = 3 }), // of all that may have it
		dead(threeOfThree, [][]int{{0, 1}, {0}}, 1, oneTimeout),
		dead(threeOfThree, [][]int{{0, 1}, {1, 2}}, 1, oneTimeout),
		dead(striped, [][]int{{0}, {1}}, 2, nil),
	} {
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
	for _, c := range []Config{
		smallWorld(threeOfThree, func(c *Config) { c.Entries = 2 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Timeouts, c.LostAnswers, c.StaleReads = 2, 1, 1 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Entries, c.Timeouts = 2, 1 }),
		smallWorld(oneOfTwo, func(c *Config) { c.Recoveries, c.Restarts, c.LostAnswers = 2, 1, 1 }),
		smallWorld(threeOfThree, func(c *Config) { c.Timeouts, c.Close = 1, true }),
		smallWorld(threeOfThree, func(c *Config) { c.Timeouts = 2 }),
		smallWorld(threeOfThree, func(c *Config) { c.Recoveries = 2 }),
		smallWorld(threeOfThree, func(c *Config) { c.Restarts = 3 }),
	} {
		keepsTheRules(t, c)
	}
}

// TestRulesTakenOutAreMissed: with a rule of the protocol taken out the search finds what it is there for, and tells it
// in a shortest sequence of steps that ends as the issue does.
func TestRulesTakenOutAreMissed(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		rule   string
		steps  int
		ends   string
	}{
		{
			"bookkeeper#2614: reads of the recovery do not fence",
			smallWorld(threeOfThree, func(c *Config) { c.Recovery.ReadsDoNotFence = true }),
			RuleDivergence, 16, "CLOSED at -1",
		},
		{
			"bookkeeper#1591: acknowledged before the metadata are written",
			smallWorld(threeOfThree, func(c *Config) { c.Writer.AckBeforeMetadata, c.Timeouts = true, 1 }),
			RuleQuorum, 5, "acknowledges entry 0",
		},
		{
			"bookkeeper#1591, to the loss",
			smallWorld(oneOfTwo, func(c *Config) {
				c.Writer.AckBeforeMetadata, c.Timeouts, c.Only = true, 1, RuleDivergence
			}),
			RuleDivergence, 0, "",
		},
		{
			"bookkeeper#2615: the last fragment does not bound the LAC",
			smallWorld(oneOfTwo, func(c *Config) { c.Recovery.NoLowerBound, c.Entries, c.Timeouts, c.Only = true, 2, 2, RuleInvariant }),
			RuleInvariant, 0, "",
		},
		{
			"the highest entry of each bookie makes the LAC",
			smallWorld(striped, func(c *Config) { c.Writer.LACRule, c.Entries, c.Only = protocol.HighestWatermarks, 2, RuleReadable }),
			RuleReadable, 0, "acknowledges entry",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.config.Timeouts > 1 {
				t.Skip("a quarter of a minute")
			}
			v := find(t, c.config).Violation
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
	c := smallWorld(oneOfTwo, func(c *Config) { c.Close, c.LostAnswers = true, 1 })
	if a, b := find(t, c), find(t, c); a != b {
		t.Errorf("%v, then %v", a, b)
	}
}

// TestSearchStopsAtItsBound and says that it has not seen all.
func TestSearchStopsAtItsBound(t *testing.T) {
	r := find(t, smallWorld(threeOfThree, func(c *Config) { c.StatesMax = 1000 }))
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
		c := smallWorld(threeOfThree, change)
		if _, err := Search(c); err == nil {
			t.Errorf("%v was searched", c)
		}
	}
}
