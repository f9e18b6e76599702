package explore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Asked is a world to search.
type Asked struct {
	Config  Config
	Without string // the id of the rule of the protocol that is taken out of it; empty: none
	About   string // what becomes of the protocol without it, in words
}

// Progress is how far a run is. It is told several times a second.
type Progress struct {
	World, Worlds int // the first is 1
	Config        Config
	So            Result // of this world, so far
	Elapsed       time.Duration
}

func (p Progress) String() string {
	return fmt.Sprintf("%s  world %d of %d (%s): %d states, %d transitions, depth %d",
		p.Elapsed.Round(time.Second), p.World, p.Worlds, p.Config.Words(), p.So.States, p.So.Steps, p.So.Depth)
}

// Ending is how the search of a world ended.
type Ending string

// The endings.
const (
	Kept    Ending = "kept"    // every state was visited, and keeps every rule
	Broken  Ending = "broken"  // a state breaks a rule
	Stopped Ending = "stopped" // by a bound or from outside: the states that were visited keep every rule
)

// Found is what there is to say of one world.
type Found struct {
	World       string     `json:"world"`
	Without     string     `json:"without,omitempty"` // id of the rule of the protocol that was taken out
	About       string     `json:"about,omitempty"`   // the same in words
	Only        string     `json:"rule,omitempty"`    // the one rule that was looked at; empty: all
	Ending      Ending     `json:"result"`
	States      int        `json:"states"`
	Transitions int        `json:"transitions"`
	Depth       int        `json:"depth"`
	WallSeconds float64    `json:"wall_seconds"`
	Violation   *Violation `json:"violation,omitempty"`
}

// Report is a run over several worlds. Its JSON form is what simrun explore --json prints.
type Report struct {
	Ending      Ending  `json:"result"` // the worst of the worlds
	Interrupted bool    `json:"interrupted"`
	States      int     `json:"states"`
	Transitions int     `json:"transitions"`
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"` // of this process meanwhile, collections included
	Worlds      []Found `json:"worlds"`
	Rules       []Rule  `json:"rules"`
}

// Run searches worlds one after the other until the context ends.
func Run(ctx context.Context, worlds []Asked, watch func(Progress)) (Report, error) {
	r := Report{Ending: Kept, Worlds: []Found{}, Rules: Rules()}
	begun, cpu := time.Now(), cpuTime()
	for i, w := range worlds {
		w.Config.Watch = func(so Result) bool {
			watch(Progress{i + 1, len(worlds), w.Config, so, time.Since(begun)})
			return ctx.Err() == nil
		}
		start := time.Now()
		result, err := Search(w.Config)
		if err != nil {
			return r, err
		}
		r.add(&w, &result, time.Since(start))
		if r.Interrupted = ctx.Err() != nil; r.Interrupted {
			break
		}
		runtime.GC() // what the last world held is not to be carried while the next one grows
	}
	r.WallSeconds, r.CPUSeconds = time.Since(begun).Seconds(), (cpuTime() - cpu).Seconds()
	return r, nil
}

func (r *Report) add(w *Asked, result *Result, took time.Duration) {
	found := Found{
		World: w.Config.Words(), Without: w.Without, About: w.About, Only: w.Config.Only, Ending: Stopped, States: result.States, Transitions: result.Steps,
		Depth: result.Depth, WallSeconds: took.Seconds(), Violation: result.Violation,
	}
	switch {
	case result.Violation != nil:
		found.Ending = Broken
	case result.Complete:
		found.Ending = Kept
	}
	if found.Ending == Broken || found.Ending == Stopped && r.Ending == Kept {
		r.Ending = found.Ending
	}
	r.States, r.Transitions = r.States+result.States, r.Transitions+result.Steps
	r.Worlds = append(r.Worlds, found)
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("getrusage of this process cannot fail: %v", err))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Words describes a world by what it has, for a column of a table.
func (c Config) Words() string {
	words := []string{fmt.Sprintf("%d/%d/%d of %d", c.Quorum.Ensemble, c.Quorum.Write, c.Quorum.Ack, c.Bookies)}
	count := func(n int, one, more string) {
		switch {
		case n == 1:
			words = append(words, "1 "+one)
		case n > 1:
			words = append(words, fmt.Sprintf("%d %s", n, more))
		}
	}
	count(c.Entries, "entry", "entries")
	count(c.Recoveries, "recovery", "recoveries")
	if c.Held != nil {
		words = append(words, "writer dead, copies on "+heldText(c.Held))
	}
	if c.Close {
		words = append(words, "close")
	}
	count(c.Timeouts, "timeout", "timeouts")
	count(c.LostAnswers, "lost answer", "lost answers")
	count(c.StaleReads, "stale read", "stale reads")
	count(c.Restarts, "restart", "restarts")
	return strings.Join(words, ", ")
}

// heldText is the form of holders that ParseHeld reads.
func heldText(held [][]int) string {
	var entries []string
	for _, bookies := range held {
		entries = append(entries, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(bookies)), "+"), "[]"))
	}
	return strings.Join(entries, "/")
}
