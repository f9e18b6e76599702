package sameness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lakebed/reports"
)

// ID is the experiment's number.
const ID = "X-75"

// FigureLedgers is the figure of how many ledgers of a cluster were compared.
const FigureLedgers = "ledgers"

// Options say where the worlds are.
type Options struct {
	Dir        string // for data of the clusters on this machine
	Executable string // simrun, for processes. Empty: there are none, and the verdict is about two worlds
	Seed       uint64 // of the first simulated world; zero: 1
	Worlds     int    // simulated ones, of consecutive seeds; zero: 3
	Script     *Script
	Command    string // that repeats the run, for the result; empty: the experiment's

	twist      Twist // plants a difference, for tests
	twistWorld World
}

// World is where a script is played.
type World string

// The worlds.
const (
	Simulated World = "simulated"
	Local     World = "in-process"
	Processes World = "processes"
)

// played is what came of one world.
type played struct {
	name    string
	world   World
	state   State
	err     error
	seconds float64 // by the wall clock
}

// Run plays the recorded workload in all worlds and compares what is left with what must be, and so with one another. The
// error is about what hindered the comparison; a difference is a verdict.
func Run(ctx context.Context, o Options) (reports.Result, error) {
	script := o.Script
	if script == nil {
		read, err := Recorded()
		if err != nil {
			return reports.Result{}, err
		}
		script = &read
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Worlds == 0 {
		o.Worlds = 3
	}
	if o.Command == "" {
		o.Command = "simrun experiment run " + ID
	}
	want, err := script.Expected()
	if err != nil {
		return reports.Result{}, err
	}
	begun := time.Now()
	all := o.playAll(ctx, script)
	r := reports.Result{
		Schema: reports.Schema, Kind: reports.KindExperiment, ID: ID, Command: o.Command,
		Title:   "The same workload in a simulated world and on real disks ends in the same logical state",
		Started: begun.UTC(), Seconds: time.Since(begun).Seconds(),
		Build: reports.ThisBuild(), Machine: reports.ThisMachine(),
	}
	r.Settings = []reports.Setting{
		{Name: "steps", Value: strconv.Itoa(len(script.Steps))}, {Name: "entries", Value: strconv.Itoa(script.Entries())},
		{Name: "bookies", Value: strconv.Itoa(script.Bookies)}, {Name: "script seed", Value: strconv.FormatUint(script.Seed, 10)},
	}
	r.Groups = []reports.Group{groupOf(all, want)}
	r.Verdict = judge(all, want)
	r.Notes = notes(all)
	var failed error
	for _, p := range all {
		failed = errors.Join(failed, p.err)
	}
	return r, failed
}

// playAll plays a script in one world after the other.
func (o *Options) playAll(ctx context.Context, s *Script) []played {
	var all []played
	play := func(name string, w World, f func(Twist) (State, error)) {
		var t Twist
		if o.twistWorld == w {
			t = o.twist
		}
		begun := time.Now()
		p := played{name: name, world: w}
		if p.err = context.Cause(ctx); p.err == nil {
			p.state, p.err = f(t)
		}
		if p.err != nil {
			p.err = fmt.Errorf("%s: %w", name, p.err)
		}
		p.seconds = time.Since(begun).Seconds()
		all = append(all, p)
	}
	for i := range o.Worlds {
		seed := o.Seed + uint64(i)
		play(fmt.Sprintf("simulated world of seed %d", seed), Simulated, func(t Twist) (State, error) { return Simulate(s, seed, withTwist(t)) })
	}
	play("cluster in one process", Local, func(t Twist) (State, error) {
		return InProcess(ctx, filepath.Join(o.Dir, string(Local)), s, withTwist(t))
	})
	if o.Executable != "" {
		play("cluster of processes", Processes, func(t Twist) (State, error) {
			return onProcesses(ctx, filepath.Join(o.Dir, string(Processes)), o.Executable, s, t)
		})
	}
	return all
}

// groupOf is the table of worlds.
func groupOf(all []played, want State) reports.Group {
	g := reports.Group{Name: "worlds", Note: "A ledger is the same if its state, last entry, length, and the digest of all its " +
		"entries are what the script must leave, and its fragments begin where they must, where the script determines that."}
	lines := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, p := range all {
		same := 0
		for i, line := range lines {
			if lineOf(strings.Split(string(p.state), "\n"), i) == line {
				same++
			}
		}
		g.Cells = append(g.Cells, reports.Cell{
			Name: p.name, Labels: []reports.Setting{{Name: "world", Value: p.name}},
			Figures: []reports.Figure{
				reports.SingleFigure(FigureLedgers, "1", reports.ClockNone, reports.NeitherBetter, float64(len(lines))),
				reports.SingleFigure("the same", "1", reports.ClockNone, reports.HigherBetter, float64(same)),
				reports.SingleFigure("duration", "s", reports.ClockWall, reports.NeitherBetter, p.seconds),
			},
		})
	}
	return g
}

// judge: one difference refutes. Without any, all worlds must have been seen, real ones among them.
func judge(all []played, want State) *reports.Verdict {
	seen := map[World]int{}
	var unseen []string
	for _, p := range all {
		if p.err != nil {
			unseen = append(unseen, p.name)
			continue
		}
		seen[p.world]++
		if d := Difference("the "+p.name, p.state, "the script", want); d != "" {
			return &reports.Verdict{Word: reports.Refuted, Reason: d}
		}
	}
	switch {
	case len(unseen) > 0:
		return &reports.Verdict{Word: reports.Undecided, Reason: "the script could not be played to its end in: " + strings.Join(unseen, ", ")}
	case seen[Simulated] == 0 || seen[Local] == 0:
		return &reports.Verdict{Word: reports.Undecided, Reason: "there was no simulated world, or no real one, to compare"}
	}
	return &reports.Verdict{Word: reports.Confirmed, Reason: fmt.Sprintf(
		"%d simulated worlds, %d clusters in one process and %d of processes ended in the state that follows from the script alone",
		seen[Simulated], seen[Local], seen[Processes])}
}

func notes(all []played) []string {
	found := []string{
		"A kill is one without warning in the simulated world and of processes; in one process it is a stop in good order.",
		"Which bookies hold an entry is drawn at random and not compared; nor is what readers may see of a ledger that is still open.",
	}
	seen := false
	for _, p := range all {
		seen = seen || p.world == Processes
	}
	if !seen {
		found = append(found, "There was no executable of simrun, so no cluster of processes was compared.")
	}
	return found
}
