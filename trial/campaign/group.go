package campaign

import (
	"cmp"
	"fmt"
	"slices"
)

// Group is all failures with one signature. It shows the shortest of them.
type Group struct {
	Kind      Kind     `json:"kind"`
	Signature string   `json:"signature"`
	Checker   string   `json:"checker,omitempty"`
	Text      string   `json:"text,omitempty"`
	Count     int64    `json:"count"`
	Seeds     []uint64 `json:"seeds"` // the lowest few
	// Scenarios says where it happened, by name.
	Scenarios []GroupScenario `json:"scenarios"`
	// Replays is how many runs followed those of the first failures in other processes, and Flaky how many of them gave
	// something else, which is a failure of its own: nondeterminism.
	Replays int64 `json:"replays"`
	Flaky   int64 `json:"flaky_replays"`
	// Of the trial with the fewest events:
	Scenario   string `json:"scenario"`
	Seed       uint64 `json:"seed"`
	Events     int64  `json:"events"`
	Replay     string `json:"replay"` // the command that shows it again
	File       string `json:"file,omitempty"`
	Smaller    string `json:"smaller,omitempty"` // the file of a case that a Shrinker made of it
	Page       string `json:"page,omitempty"`    // where the failure is shown on one page
	Divergence string `json:"divergence,omitempty"`

	shortest failure
}

// GroupScenario is a group's failures in one scenario.
type GroupScenario struct {
	Scenario string `json:"scenario"`
	Count    int64  `json:"count"`
	Seed     uint64 `json:"seed"` // the lowest
}

// happened counts failures of a scenario.
func (g *Group) happened(more GroupScenario) {
	for i := range g.Scenarios {
		if s := &g.Scenarios[i]; s.Scenario == more.Scenario {
			s.Count, s.Seed = s.Count+more.Count, min(s.Seed, more.Seed)
			return
		}
	}
	g.Scenarios = append(g.Scenarios, more)
	slices.SortFunc(g.Scenarios, func(a, b GroupScenario) int { return cmp.Compare(a.Scenario, b.Scenario) })
}

// listSeeds lists the lowest seeds.
func (g *Group) listSeeds(seeds ...uint64) {
	g.Seeds = append(g.Seeds, seeds...)
	slices.Sort(g.Seeds)
	g.Seeds = g.Seeds[:min(len(g.Seeds), seedsOfGroupMax)]
}

// absorb adds the failures of another part of the campaign.
func (g *Group) absorb(other *Group, defect string) {
	g.Count += other.Count
	g.Replays, g.Flaky = g.Replays+other.Replays, g.Flaky+other.Flaky
	g.listSeeds(other.Seeds...)
	for _, s := range other.Scenarios {
		g.happened(s)
	}
	if g.Divergence == "" {
		g.Divergence = other.Divergence
	}
	if compareLength(&other.shortest, &g.shortest) < 0 {
		g.show(other.shortest, defect)
	}
}

// add counts a failure and keeps it if it is the shortest. The outcome does not depend on the order of calls.
func (g *Group) add(f failure, defect string) {
	g.Count++
	g.listSeeds(f.result.Seed)
	g.happened(GroupScenario{f.result.Scenario, 1, f.result.Seed})
	if g.Count == 1 || compareLength(&f, &g.shortest) < 0 {
		g.show(f, defect)
	}
}

// show has the group show a failure.
func (g *Group) show(f failure, defect string) {
	g.shortest = f
	g.Kind, g.Signature, g.Checker, g.Text = f.kind, f.signature, f.checker, f.text
	g.Scenario, g.Seed, g.Events = f.result.Scenario, f.result.Seed, f.result.Events
	g.Replay = replayCommand(g.Scenario, g.Seed, defect)
}

func compareLength(a, b *failure) int {
	return cmp.Or(
		cmp.Compare(a.result.Events, b.result.Events),
		cmp.Compare(a.result.Seed, b.result.Seed),
		cmp.Compare(a.result.Scenario, b.result.Scenario),
	)
}

func replayCommand(scenario string, seed uint64, defect string) string {
	command := fmt.Sprintf("go run ./cmd/simrun replay %d --scenario %s", seed, scenario)
	if defect != "" {
		command += " --defect " + defect
	}
	return command
}

// byGravity puts first what must be mended first: while runs of one seed differ, nothing else can be trusted.
func byGravity(a, b *Group) int {
	return cmp.Or(
		cmp.Compare(b.gravity(), a.gravity()),
		cmp.Compare(b.Count, a.Count),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Signature, b.Signature),
	)
}

func (g *Group) gravity() int {
	switch g.Kind {
	case Nondeterminism:
		return 3
	case Died:
		return 2
	case Hang:
		return 1
	default:
		return 0
	}
}
