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
	// Of the trial with the fewest events:
	Scenario   string `json:"scenario"`
	Seed       uint64 `json:"seed"`
	Events     int64  `json:"events"`
	Replay     string `json:"replay"` // the command that shows it again
	File       string `json:"file,omitempty"`
	Divergence string `json:"divergence,omitempty"`

	shortest failure
}

// add counts a failure and keeps it if it is the shortest. The outcome does not depend on the order of calls.
func (g *Group) add(f failure, defect string) {
	g.Count++
	g.Seeds = append(g.Seeds, f.result.Seed)
	slices.Sort(g.Seeds)
	g.Seeds = g.Seeds[:min(len(g.Seeds), seedsOfGroupMax)]
	if g.Count > 1 && compareLength(&g.shortest, &f) <= 0 {
		return
	}
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
