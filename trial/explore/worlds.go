package explore

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// Shapes of ensembles: two bookies write what one must confirm, or both; three write and two must confirm; each entry
// lies on two of three.
var (
	oneOfTwo     = ledger.Quorum{Ensemble: 2, Write: 2, Ack: 1}
	allOfTwo     = ledger.Quorum{Ensemble: 2, Write: 2, Ack: 2}
	threeOfThree = ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}
	striped      = ledger.Quorum{Ensemble: 3, Write: 2, Ack: 2}
)

// SmallWorld is four bookies, a writer with one entry and a recovery, where nothing goes wrong but that messages take
// their time. Recoveries read one entry at a time, and a metadata call is made at most four times, so that the world is
// finite.
func SmallWorld(quorum ledger.Quorum, changes ...func(*Config)) Config {
	c := Config{
		Bookies: 4, Quorum: quorum, Entries: 1, Recoveries: 1,
		Writer: protocol.WriterOptions{AttemptsMax: 4}, Recovery: protocol.RecoveryOptions{ReadsMax: 1, AttemptsMax: 4},
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// DefaultQuorum is that of the TLA+ model: three bookies write and two must confirm.
func DefaultQuorum() ledger.Quorum { return threeOfThree }

// dead is the small world of a writer that has died and left copies on bookies: one list an entry.
func dead(quorum ledger.Quorum, held [][]int, changes ...func(*Config)) Config {
	return SmallWorld(quorum, append(changes, func(c *Config) { c.Entries, c.Held = len(held), held })...)
}

func entries(n int) func(*Config)     { return func(c *Config) { c.Entries = n } }
func recoveries(n int) func(*Config)  { return func(c *Config) { c.Recoveries = n } }
func timeouts(n int) func(*Config)    { return func(c *Config) { c.Timeouts = n } }
func restarts(n int) func(*Config)    { return func(c *Config) { c.Restarts = n } }
func lostAnswers(n int) func(*Config) { return func(c *Config) { c.LostAnswers = n } }
func staleReads(n int) func(*Config)  { return func(c *Config) { c.StaleReads = n } }
func closes(c *Config)                { c.Close = true }

// Worlds are searched by default: each to its end, all in less than a minute.
func Worlds() []Config {
	return []Config{
		SmallWorld(threeOfThree),
		SmallWorld(threeOfThree, timeouts(1)),
		SmallWorld(threeOfThree, restarts(1)),
		SmallWorld(threeOfThree, closes, lostAnswers(1)),
		SmallWorld(threeOfThree, lostAnswers(1), staleReads(1)),
		SmallWorld(oneOfTwo, closes, timeouts(1), lostAnswers(1), staleReads(1)),
		SmallWorld(oneOfTwo, recoveries(2), timeouts(1)),
		SmallWorld(oneOfTwo, entries(2)),
		SmallWorld(striped, entries(2)),
		// The first recovery writes entry 0 again on b0 and on a bookie of its own, and dies: entry 1 must not say of
		// entry 0 that it is confirmed.
		dead(allOfTwo, [][]int{{0}, {0}}, recoveries(2), timeouts(1)),
		dead(threeOfThree, [][]int{{0}}, recoveries(2)),
		dead(threeOfThree, [][]int{{0, 1}}, restarts(3)), // of all that may have it
		dead(threeOfThree, [][]int{{0, 1}, {0}}, timeouts(1)),
		dead(threeOfThree, [][]int{{0, 1}, {1, 2}}, timeouts(1)),
		dead(striped, [][]int{{0}, {1}}, recoveries(2)),
	}
}

// LargeWorlds take hours, and without a bound on their states as many gigabytes as there are million states.
func LargeWorlds() []Config {
	return []Config{
		SmallWorld(threeOfThree, entries(2)),
		SmallWorld(oneOfTwo, timeouts(2), lostAnswers(1), staleReads(1)),
		SmallWorld(oneOfTwo, entries(2), timeouts(1)),
		SmallWorld(oneOfTwo, recoveries(2), restarts(1), lostAnswers(1)),
		SmallWorld(threeOfThree, timeouts(1), closes),
		SmallWorld(threeOfThree, timeouts(2)),
		SmallWorld(threeOfThree, recoveries(2)),
		SmallWorld(threeOfThree, restarts(3)),
	}
}

// Rule is one of the promises that every state is held against.
type Rule struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Rules are the four invariants of the TLA+ specification, and two of our own.
func Rules() []Rule {
	return []Rule{
		{RuleDivergence, "a closed ledger ends at or behind every acknowledged entry, never changes, and is what clients report"},
		{RuleReadable, "of every acknowledged entry a bookie that the metadata name for it has a copy"},
		{RuleQuorum, "every acknowledged entry, and every entry of a closed ledger, lies on Qa bookies of its write set"},
		{RuleOrder, "copies of an entry agree, acknowledgements have no gap"},
		{RuleWaiting, "where no message is left, nobody waits for one"},
		{RuleInvariant, "what the cores check of themselves while they run"},
	}
}

// Arm is a rule of the protocol that can be taken out by a setting, and a world in which that shows.
type Arm struct {
	ID    string
	Title string
	World Config
	Out   func(*Config) // takes the rule out of any world
}

// Arms are those that there are.
func Arms() []Arm {
	arm := func(id, title string, world Config, only string, out func(*Config)) Arm {
		world.Only = only
		return Arm{ID: id, Title: title, World: world, Out: out}
	}
	ackEarly := func(c *Config) { c.Writer.AckBeforeMetadata = true }
	watermarks := func(rule protocol.LACRule) func(*Config) { return func(c *Config) { c.Writer.LACRule = rule } }
	return []Arm{
		arm("2614", "the reads of a recovery do not fence (bookkeeper#2614)",
			SmallWorld(threeOfThree), "", func(c *Config) { c.Recovery.ReadsDoNotFence = true }),
		arm("1591", "entries on new bookies count before the metadata name these (bookkeeper#1591)",
			SmallWorld(threeOfThree, timeouts(1)), "", ackEarly),
		arm("1591-loss", "entries on new bookies count before the metadata name these, and one of them is lost (bookkeeper#1591)",
			SmallWorld(oneOfTwo, timeouts(1)), RuleDivergence, ackEarly),
		arm("2615", "the last fragment's start is no lower bound of the LAC (bookkeeper#2615)",
			SmallWorld(oneOfTwo, entries(2), timeouts(2)), RuleInvariant, func(c *Config) { c.Recovery.NoLowerBound = true }),
		arm("c1-highest", "the highest entry of each bookie, sorted, makes the LAC",
			SmallWorld(striped, entries(2)), RuleReadable, watermarks(protocol.HighestWatermarks)),
		arm("c1-contiguous", "the last entry up to which each bookie has everything, sorted, makes the LAC",
			SmallWorld(striped, entries(2)), RuleWaiting, watermarks(protocol.ContiguousWatermarks)),
	}
}

// FindArm looks one up by its id.
func FindArm(id string) (Arm, error) {
	arms := Arms()
	i := slices.IndexFunc(arms, func(a Arm) bool { return a.ID == strings.TrimPrefix(id, "#") })
	if i < 0 {
		var ids []string
		for _, a := range arms {
			ids = append(ids, a.ID)
		}
		return Arm{}, fmt.Errorf("no rule that can be taken out is called %q; there are: %s", id, strings.Join(ids, ", "))
	}
	return arms[i], nil
}
