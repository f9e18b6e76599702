package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
	"lakebed/trial/explore"
)

// exploreFlags is what the command line says about a search.
type exploreFlags struct {
	world    explore.Config
	shape    string
	held     string
	without  []string
	large    bool
	json     bool
	ownWorld bool // a flag describes one

	bookiesGiven, entriesGiven bool
}

// exploreStatesMax keeps a search within the memory of an ordinary machine. The default worlds are far below it.
const exploreStatesMax = 10_000_000

// worldFlags are those that describe one world instead of the default ones.
var worldFlags = []string{
	"shape", "bookies", "entries", "recoveries", "close", "held", "timeouts", "lost-answers", "stale-reads", "restarts",
}

func (a *app) exploreCommand() *cobra.Command {
	f := exploreFlags{world: explore.SmallWorld(explore.DefaultQuorum())}
	c := &cobra.Command{
		Use:   "explore",
		Short: "Visit every state of very small clusters",
		Long:  exploreHelp(),
		Example: `  simrun explore                                   # the default worlds, each to its end; half a minute of CPU
  simrun explore --without 2614                    # the shortest way in which recoveries that do not fence lose an entry
  simrun explore --without 1591,2615               # two counter-examples
  simrun explore --shape 2/2/1 --entries 2         # one world of your own
  simrun explore --held 0+1/0 --recoveries 2       # a dead writer left entry 0 on b0 and b1, entry 1 on b0
  simrun explore --large --states 100000000        # hours, and a machine with much memory
  simrun explore --json >explore.json              # the same facts for a program`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range worldFlags {
				f.ownWorld = f.ownWorld || c.Flags().Changed(name)
			}
			f.bookiesGiven, f.entriesGiven = c.Flags().Changed("bookies"), c.Flags().Changed("entries")
			return a.explore(c.Context(), f)
		},
	}
	flags, w := c.Flags(), &f.world
	flags.StringVar(&f.shape, "shape", "3/3/2", "ensemble, write quorum and ack quorum")
	flags.IntVar(&w.Bookies, "bookies", w.Bookies, "how many bookies there are; unless given, raised to one more than the ensemble")
	flags.IntVar(&w.Entries, "entries", w.Entries, "entries that the writer appends, all at once")
	flags.IntVar(&w.Recoveries, "recoveries", w.Recoveries, "clients that recover the ledger, whenever they like")
	flags.BoolVar(&w.Close, "close", false, "the writer may close, whenever it likes")
	flags.StringVar(&f.held, "held", "", "the writer is dead: bookies that have each entry, such as 0+1/0")
	flags.IntVar(&w.Timeouts, "timeouts", 0, "requests to bookies that their client may give up on")
	flags.IntVar(&w.LostAnswers, "lost-answers", 0, "writes of metadata whose outcome may stay unknown")
	flags.IntVar(&w.StaleReads, "stale-reads", 0, "reads of metadata that may return an older state")
	flags.IntVar(&w.Restarts, "restarts", 0, "bookies that may restart, and then do not know what they lost")
	flags.IntVar(&w.StatesMax, "states", exploreStatesMax, "stop each world after so many states, about a kilobyte of memory each; 0: never")
	flags.StringVar(&w.Only, "rule", "", "look for violations of this rule only; its first word will do")
	flags.StringSliceVar(&f.without, "without", nil, "take a rule of the protocol out: "+armNames())
	flags.BoolVar(&f.large, "large", false, "search the large worlds; takes hours")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	_ = c.RegisterFlagCompletionFunc("without", completeArms)
	return c
}

// exploreHelp also lists the invariants and the arms, from where they are defined.
func exploreHelp() string {
	var b strings.Builder
	b.WriteString(`Search all of a cluster that is small enough: one ledger, a few bookies, its writer, and rivals that recover it. Clients
are the protocol cores that every client runs; the rest is a model of a few hundred lines.

The search goes breadth first through every order of events: requests and answers are delivered in any order, late, or
never, and whoever stays silent may have died. Timeouts, lost answers of the metadata store, stale reads and restarts of
bookies are counted, so that the world is finite. A transition is one event in one state. Every state is held against
these rules, of which the first four are those of the TLA+ specification of BookKeeper's protocol:

`)
	for _, r := range explore.Rules() {
		fmt.Fprintf(&b, "  %-38s %s\n", r.Name, r.About)
	}
	b.WriteString("\nWith --without a rule of the protocol is taken out, to see what it is for. The search then prints the shortest\nsequence of steps at whose end a rule is broken:\n\n")
	for _, a := range explore.Arms() {
		fmt.Fprintf(&b, "  %-14s %s\n", a.ID, a.Title)
	}
	b.WriteString(`
Flags that describe a world replace the default ones by this one world.

Exit code 0: every state of every world was visited and keeps every rule. 1: a rule is broken, or --states has stopped
a search. 3: you interrupted.`)
	return b.String()
}

func armNames() string {
	var ids []string
	for _, a := range explore.Arms() {
		ids = append(ids, a.ID)
	}
	return strings.Join(ids, ", ")
}

func completeArms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, a := range explore.Arms() {
		names = append(names, a.ID+"\t"+a.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) explore(ctx context.Context, f exploreFlags) error {
	worlds, err := f.worlds()
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	next := plainEvery
	report, err := explore.Run(ctx, worlds, func(p explore.Progress) {
		if p.Elapsed >= next {
			next = p.Elapsed + plainEvery
			fmt.Fprintln(a.err, p)
		}
	})
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	switch {
	case report.Ending == explore.Broken:
		a.code = campaign.ExitBroken
	case report.Interrupted:
		a.code = campaign.ExitEnvironment
	case report.Ending == explore.Stopped:
		a.code = campaign.ExitBroken
	}
	if f.json {
		return a.printJSON(&report)
	}
	return report.Print(a.out)
}

// worlds are those that the flags ask for.
func (f *exploreFlags) worlds() ([]explore.Asked, error) {
	own, err := f.own()
	if err == nil && f.world.Only != "" {
		f.world.Only, err = explore.ParseRule(f.world.Only)
	}
	if err != nil {
		return nil, err
	}
	if f.large && (f.ownWorld || len(f.without) > 0) {
		return nil, fmt.Errorf("--large means worlds of its own: give it alone")
	}
	if len(f.without) > 0 {
		return f.withoutRules(own)
	}
	chosen := explore.Worlds()
	switch {
	case f.large:
		chosen = explore.LargeWorlds()
	case f.ownWorld:
		chosen = []explore.Config{own}
	}
	var worlds []explore.Asked
	for _, w := range chosen {
		worlds = append(worlds, explore.Asked{Config: f.bounded(w)})
	}
	return worlds, nil
}

// own is the world that flags describe.
func (f *exploreFlags) own() (explore.Config, error) {
	w := f.world
	var err error
	if w.Quorum, err = explore.ParseShape(f.shape); err != nil {
		return w, err
	}
	if !f.bookiesGiven {
		w.Bookies = min(max(w.Bookies, w.Quorum.Ensemble+1), explore.BookiesMax)
	}
	if f.held == "" {
		return w, f.explained(&w)
	}
	switch {
	case f.entriesGiven:
		return w, fmt.Errorf("--held says how many entries there are: --entries cannot be given with it")
	case w.Close:
		return w, fmt.Errorf("with --held the writer is dead and cannot close: --close cannot be given with it")
	}
	if w.Held, err = explore.ParseHeld(f.held); err != nil {
		return w, err
	}
	w.Entries = len(w.Held)
	return w, f.explained(&w)
}

// explained names the flag where the number of bookies does not suit the shape.
func (f *exploreFlags) explained(w *explore.Config) error {
	if w.Quorum.Ensemble > explore.BookiesMax {
		return fmt.Errorf("--shape has an ensemble of %d, and a world at most %d bookies", w.Quorum.Ensemble, explore.BookiesMax)
	}
	err := w.Validate()
	if err != nil && (w.Bookies < w.Quorum.Ensemble || w.Bookies > explore.BookiesMax) {
		return fmt.Errorf("%w; see --bookies", err)
	}
	return err
}

// withoutRules takes each rule out of the world in which it shows, or out of the one that flags describe.
func (f *exploreFlags) withoutRules(own explore.Config) ([]explore.Asked, error) {
	var worlds []explore.Asked
	for _, id := range f.without {
		arm, err := explore.FindArm(id)
		if err != nil {
			return nil, err
		}
		world := arm.World
		if f.ownWorld {
			world = own
		}
		arm.Out(&world)
		worlds = append(worlds, explore.Asked{Config: f.bounded(world), Without: arm.ID, About: arm.Title})
	}
	return worlds, nil
}

// bounded gives any world the bounds of the flags.
func (f *exploreFlags) bounded(w explore.Config) explore.Config {
	w.StatesMax = f.world.StatesMax
	if f.world.Only != "" {
		w.Only = f.world.Only
	}
	return w
}
