package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lakebed/trial/bench/metamorphic"
	"lakebed/trial/campaign"
)

// metamorphicFlags is what the command line says about relations.
type metamorphicFlags struct {
	options metamorphic.Options
	json    bool
}

func (a *app) metamorphicCommand() *cobra.Command {
	var f metamorphicFlags
	c := &cobra.Command{
		Use:   "metamorphic [RELATION…]",
		Short: "One workload under many configurations: does it end in one state?",
		Long:  metamorphicHelp(),
		Example: `  simrun metamorphic                               # all relations; ten seeds simulated, one on this machine
  simrun metamorphic --seeds 200 --real 0          # simulated only, more seeds
  simrun metamorphic striped flush-early           # two relations
  simrun metamorphic --seeds 0 --real 3 --dir /data  # real goroutines, files and sockets, under a directory
  simrun metamorphic --defect last-of-run-missed   # is this planted bug caught?
  simrun metamorphic --json >metamorphic.json      # the same facts for a program`,
		ValidArgsFunction: completeRelations,
		RunE: func(c *cobra.Command, arguments []string) error {
			return a.metamorphic(c.Context(), f, arguments)
		},
	}
	flags, o := c.Flags(), &f.options
	flags.Uint64Var(&o.Seed, "seed", metamorphic.DefaultSeed, "the first seed; odd ones kill bookies, even ones do not")
	flags.IntVar(&o.Seeds, "seeds", metamorphic.DefaultSeeds, "scripts that are played in simulated worlds")
	flags.IntVar(&o.RealSeeds, "real", metamorphic.DefaultRealSeeds, "scripts that are played on this machine, with GOMAXPROCS 1 and 2 among the relations")
	flags.StringVar(&o.Dir, "dir", "", "directory for the files of those; empty: the one for temporary files")
	flags.StringVar(&o.Defect, "defect", "", "switch a planted bug on; see simrun defects --list")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	return c
}

// metamorphicHelp lists the relations from where they are defined.
func metamorphicHelp() string {
	var b strings.Builder
	b.WriteString(`Play scripts of appends, closes, recoveries, take-overs, deletes and killed bookies, each once as it is and once under each
relation: a change of the configuration that must not show. Then read all ledgers with a client that wrote none of them, and
compare. Each script's unchanged run is also held against what follows from the script alone.

`)
	for _, r := range metamorphic.All() {
		fmt.Fprintf(&b, "  %-16s %s\n", r.Name, r.Change)
	}
	b.WriteString(`
Exit code 0: every script ended in one state. 1: it ended in another one under a relation, or a simulated world did not end.
2: wrong use. 3: the environment failed, or you interrupted.`)
	return b.String()
}

func completeRelations(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, r := range metamorphic.All() {
		names = append(names, string(r.Name)+"\t"+r.Change)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) metamorphic(ctx context.Context, f metamorphicFlags, names []string) error {
	o := f.options
	var err error
	if o.Relations, err = metamorphic.Find(names); err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	if o.Seeds < 0 || o.RealSeeds < 0 || o.Seeds+o.RealSeeds == 0 {
		return fmt.Errorf("%w: --seeds %d and --real %d: must not be negative, nor both zero", campaign.ErrUsage, o.Seeds, o.RealSeeds)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.Progress = func(w metamorphic.World, seed uint64) { fmt.Fprintf(a.err, "%s, seed %d\n", w, seed) }
	report, err := metamorphic.Run(ctx, o)
	if !report.OK() {
		a.code = campaign.ExitBroken // what was found before the environment failed still holds
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	if f.json {
		return a.printJSON(report)
	}
	return report.Print(a.out)
}
