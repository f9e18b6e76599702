package ledgers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lakebed/reports"
)

// Options say what to measure and for how long.
type Options struct {
	Dir        string // directories are made below it, and removed again
	Only       string // part of the names of the cells to measure; empty: those of a default or a thorough run
	Thorough   bool
	Seed       uint64
	Processes  bool          // bookies and the metadata store are processes of their own
	Executable string        // simrun, which these processes run; empty: this program
	Rate       float64       // entries a second of the open loop; zero: parts of what the closed loop reached
	InFlight   int           // of the closed loop of adds; zero: several
	Length     time.Duration // of a round; zero: that of the run's pace
	Logger     *slog.Logger  // of the nodes in this process; nil: warnings go to stderr
	// Progress is told what is measured now. May be nil.
	Progress func(doing string)

	sizes *readSizes // of tests; nil: as the payload asks for
}

// pace is how long things are measured. A round robin ends early, but not before roundsMin rounds, when it has taken
// longer than its budget.
type pace struct {
	closedRound, openRound, readRound time.Duration
	goalRound                         time.Duration // at least, of the cells whose CPU has a goal
	closedRounds, openRounds          int
	readRounds, coldRounds            int
	roundsMin                         int
	budget                            time.Duration // of one round robin; zero: none
	hurryAfter                        time.Duration // of the run; from then on every round robin has roundsMin rounds
}

func (o Options) pace() pace {
	p := pace{
		closedRound: 70 * time.Millisecond, openRound: 180 * time.Millisecond, readRound: 60 * time.Millisecond, goalRound: 500 * time.Millisecond,
		closedRounds: 6, openRounds: 6, readRounds: 6, coldRounds: 3, roundsMin: 3,
		budget: 12 * time.Second, hurryAfter: 58 * time.Second,
	}
	if o.Thorough {
		p = pace{
			closedRound: time.Second, openRound: time.Second, readRound: time.Second,
			closedRounds: 16, openRounds: 15, readRounds: 15, coldRounds: 10, roundsMin: 10,
		}
	}
	if o.Length > 0 {
		p.closedRound, p.openRound, p.readRound = o.Length, o.Length, o.Length
		p.goalRound, p.budget, p.hurryAfter = 0, 0, 0
	}
	return p
}

// Findings is what a run has measured, in the form of reports.
type Findings struct {
	Groups   []reports.Group
	Plots    []reports.Plot
	Goals    []reports.Goal
	Settings []reports.Setting
	Notes    []string
}

// lab is one run.
type lab struct {
	options Options
	pace    pace
	dir     string
	begun   time.Time
	made    int // clusters, whose directories are numbered

	adds  []addResult
	raws  []rawResult
	reads []readResult
	notes []string
}

// Run measures what the options' plan has. Directories that it makes are removed again.
func Run(ctx context.Context, o Options) (Findings, error) {
	plan := o.Plan()
	if o.Rate < 0 || o.InFlight < 0 || o.Length < 0 {
		return Findings{}, fmt.Errorf("rate %v, %d in flight, length %v: must not be negative", o.Rate, o.InFlight, o.Length)
	}
	dir, err := os.MkdirTemp(o.Dir, "ledgers-")
	if err != nil {
		return Findings{}, fmt.Errorf("make a directory for the bookies: %w", err)
	}
	l := &lab{options: o, pace: o.pace(), dir: dir, begun: time.Now()}
	err = l.measure(ctx, plan)
	err = errors.Join(err, os.RemoveAll(dir))
	return l.findings(), err
}

// measure begins with what has goals, so that a run that is late has measured what matters.
func (l *lab) measure(ctx context.Context, plan Plan) error {
	groups := groupWrites(plan.Writes, l.options.Thorough)
	first := slices.IndexFunc(groups, func(g []WriteCell) bool { return g[0] == goalAdd })
	if first >= 0 {
		if err := l.writeGroup(ctx, groups[first]); err != nil {
			return fmt.Errorf("measure adds: %w", err)
		}
		groups = slices.Delete(groups, first, first+1)
	}
	for _, payload := range payloads {
		cells := slices.DeleteFunc(slices.Clone(plan.Reads), func(c ReadCell) bool { return c.PayloadBytes != payload })
		if len(cells) == 0 {
			continue
		}
		if err := l.readGroup(ctx, payload, cells); err != nil {
			return fmt.Errorf("measure reads of %s: %w", sizeName(payload), err)
		}
	}
	for _, group := range groups {
		if err := l.writeGroup(ctx, group); err != nil {
			return fmt.Errorf("measure adds: %w", err)
		}
	}
	return nil
}

func (l *lab) step(doing string) {
	if l.options.Progress != nil {
		l.options.Progress(doing)
	}
}

// Steps is about how often Options.Progress is called: once a cell, and besides for raw lines.
func (p Plan) Steps() int { return len(p.Writes) + len(p.Reads) }

func (l *lab) note(format string, values ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, values...))
}

// newDir makes a directory for a cluster or a line.
func (l *lab) newDir(name string) (string, error) {
	l.made++
	dir := filepath.Join(l.dir, fmt.Sprintf("%s-%d", name, l.made))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a directory for %s: %w", name, err)
	}
	return dir, nil
}

// late says that a round robin which began then should end.
func (l *lab) late(begun time.Time) bool {
	now := time.Now()
	return l.pace.budget > 0 && now.Sub(begun) > l.pace.budget || l.pace.hurryAfter > 0 && now.Sub(l.begun) > l.pace.hurryAfter
}

// arm is what takes its turn in a round robin.
type arm interface {
	name() string
	// round measures for about a length of time. Numbers rise from 0, which is the warm-up.
	round(number int, length time.Duration) (round, error)
}

// lengthOf is how long a round of a cell lasts. What is judged must hold its share of what happens now and then, such as a
// checkpoint or a collection of garbage.
func (p pace) lengthOf(cell string, length time.Duration) time.Duration {
	if cell == goalAdd.Name() || cell == goalBatchCell.Name() || cell == busyBatchCell.Name() {
		return max(length, p.goalRound)
	}
	return length
}

// turns says how a round robin goes.
type turns struct {
	length time.Duration
	rounds int
	before func(ctx context.Context, number int) error // each round, off the clock; may be nil
}

// roundRobin lets the arms take turns, so that a drift of the machine meets all of them, and each round of an arm has a
// round of every other arm next to it. The order turns round every time. The first round warms up and is not returned:
// first runs are up to twice as slow. The result has the arms' rounds in the order of the arms.
func (l *lab) roundRobin(ctx context.Context, arms []arm, t turns) ([][]round, error) {
	all := make([][]round, len(arms))
	begun := time.Now()
	for number := range t.rounds + 1 {
		if number > l.pace.roundsMin && l.late(begun) {
			l.note("%s and what took turns with it got %d rounds instead of %d: the time was up", arms[0].name(), number-1, t.rounds)
			break
		}
		if t.before != nil {
			if err := t.before(ctx, number); err != nil {
				return nil, err
			}
		}
		for i := range arms {
			if number%2 == 1 {
				i = len(arms) - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if number == 0 {
				l.step(arms[i].name())
			}
			done, err := arms[i].round(number, l.pace.lengthOf(arms[i].name(), t.length))
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", arms[i].name(), number, err)
			}
			if number > 0 {
				all[i] = append(all[i], done)
			}
		}
	}
	return all, nil
}
