package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
	"lakebed/trial/defects"
	"lakebed/trial/shrink"
)

// shrinkName is the command's own name.
const shrinkName = "shrink"

// collectorPercent is what GOGC is for campaigns' workers: what a trial costs is allocation.
const collectorPercent = 400

// shrinkFlags is what the command line says about a trial that is to be made smaller.
type shrinkFlags struct {
	scenario string
	defect   string
	budget   time.Duration
	tries    int
	replays  int
	out      string
	json     bool
}

func (a *app) shrinkCommand() *cobra.Command {
	var f shrinkFlags
	c := &cobra.Command{
		Use:   shrinkName + " SEED|FILE",
		Short: "Make a failing trial small: the fewest faults and operations that fail in the same way",
		Long: `Make a failing trial small. What is left out, one piece after the other: what comes after the failure, kinds of faults,
nodes, clients, single faults, single operations of clients, the length of faults, the seed's choices. A smaller trial
counts when the same checker reports the same violation, numbers in its signature aside. Where that depends on a race,
other luck is tried: other latencies, another order of tasks, another moment of a fault.

A SEED is run as by "simrun replay"; a FILE is a case that a campaign has kept. The small trial is written to a file that
"simrun replay" takes, and run again in fresh processes. If the budget lasts, a last pass shows of each fault and each
operation that the failure goes away without it.

With a planted bug, what fails without the bug does not count.

Exit code 0: here is a smaller one. 1: it does not fail in each replay. 2: wrong use, or the trial does not fail. 3: the
environment failed, or you interrupted: then the smallest so far is in the file.`,
		Example: `  simrun shrink failures/bookie-17-violation.json
  simrun shrink 1 --scenario cluster-canary --budget 2m --out small.json
  simrun shrink 12 --scenario bookie --defect ack-before-write --json`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("shrink takes one seed or the file of a case, not %q", arguments)
			}
			return nil
		},
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := refuseBelowOne(c, "budget", "tries"); err != nil {
				return err
			}
			return a.shrink(c.Context(), f, arguments[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.scenario, "scenario", "", "scenario of the seed (default: as in the default campaign)")
	flags.StringVar(&f.defect, "defect", "", "run the trial with this planted bug")
	flags.DurationVar(&f.budget, "budget", shrink.BudgetDefault, "processor time for looking for a smaller trial; on the clock at most four times as much")
	flags.IntVar(&f.tries, "tries", shrink.TriesDefault, "how many trials to run at most")
	flags.IntVar(&f.replays, "replays", campaign.ReplaysDefault, "how often to run the small trial again, each time in a process of its own")
	flags.StringVar(&f.out, "out", "shrunk.json", "file for the small trial")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	_ = c.RegisterFlagCompletionFunc("scenario", a.completeScenarios)
	a.addProfileFlag(c)
	return c
}

func (a *app) shrink(ctx context.Context, f shrinkFlags, target string) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: find this program, to start replays: %w", campaign.ErrEnvironment, err)
	}
	if f.replays < 0 {
		return fmt.Errorf("%w: --replays %d: cannot be negative", campaign.ErrUsage, f.replays)
	}
	if err := checkOutputs(outputFile{"--out", f.out, false}); err != nil {
		return err
	}
	stopProfile, err := a.startProfile()
	if err != nil {
		return err
	}
	defer stopProfile()
	defer debug.SetGCPercent(debug.SetGCPercent(collectorPercent))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	shrunk, err := campaign.Shrink(ctx, campaign.ShrinkOptions{
		ReplayOptions: campaign.ReplayOptions{Catalogue: a.catalogue, Target: target, Scenario: f.scenario, Defect: f.defect},
		Checkers:      checkersOf(f.defect), Budget: f.budget, Tries: f.tries, Out: f.out, Replays: f.replays,
		ReplayCommand: []string{executable, replayName, "--json"},
		Watch:         func(s shrink.Stage) { fmt.Fprintln(a.err, campaign.StageLine(s)) },
	})
	if shrunk == nil {
		return err
	}
	if shrunk.Ending == shrink.Interrupted {
		err = errors.Join(err, ctx.Err())
	}
	a.code = shrunk.ExitCode()
	if f.json {
		return errors.Join(a.printJSON(shrunk), err)
	}
	return errors.Join(shrunk.WriteText(a.out), err)
}

// smallSuffix ends the name of a case that a campaign has made smaller.
const smallSuffix = "-small.json"

// shrinkCase is what a campaign does with the file of a failure: it leaves a smaller one beside it.
func (a *app) shrinkCase(ctx context.Context, file string) (smaller string, err error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	shrunk, err := campaign.Shrink(ctx, campaign.ShrinkOptions{
		ReplayOptions: campaign.ReplayOptions{Catalogue: a.catalogue, Target: file},
		Budget:        shrink.BudgetDefault, Tries: shrink.TriesDefault, Out: strings.TrimSuffix(file, ".json") + smallSuffix,
		Replays: campaign.ReplaysDefault, ReplayCommand: []string{executable, replayName, "--json"},
	})
	if shrunk == nil {
		return "", err
	}
	return shrunk.File, err
}

// checkersOf are those that must catch a planted bug. None: there is no such bug, or none is named.
func checkersOf(id string) []string {
	d, err := defects.Find(id)
	if err != nil {
		return nil
	}
	return d.Checkers
}
