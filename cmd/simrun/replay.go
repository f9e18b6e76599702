package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

// replayFlags is what the command line says about a replay.
type replayFlags struct {
	scenario string
	trace    string
	noSteps  bool
	until    time.Duration
	defect   string
	json     bool
}

// replayName is the command's own name.
const replayName = "replay"

// traceToStderr is what --trace without a file means.
const traceToStderr = "stderr"

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   replayName + " SEED|FILE",
		Short: "Run one trial again, event by event the same",
		Long: `Run one trial again in this process. The same program gives the same trace hash each time.

A SEED runs the scenario that the default campaign runs with it, or the one that --scenario names. A FILE is a case
that a campaign has kept; its plan of faults is taken from the file and may have been edited.

--trace shows every event with its virtual time, node and task: on standard error, or in a file with --trace=FILE.
The scheduler's lines, "step after" and "callback", are half of them: --without-steps leaves them out. In traces of
clusters, lines "client N calls" and "client N ends" show what clients ask for and are answered; they are no events.
Numbers of an event that are all zero are not shown.
With --until the world ends early, and what is unfinished then is not judged: its verdict is "cut" unless something
was broken before.

A case that was kept with a planted bug runs with it again, which takes the sources and the go command.

Exit code 0: the promises held, or the world was cut. 1: one did not. 3: you interrupted.`,
		Example: `  simrun replay 17                                  # seed 17 of the default campaign
  simrun replay 17 --scenario bookie --trace=17.txt # with all its events in a file
  simrun replay failures/bookie-17-violation.json   # a case that a campaign has kept
  simrun replay 17 --json                           # verdict, trace hash and counts for a program`,
		Args: func(_ *cobra.Command, arguments []string) error {
			switch len(arguments) {
			case 1:
				return nil
			case 0:
				return fmt.Errorf("replay needs a seed or the file of a case")
			default:
				return fmt.Errorf("replay takes one seed or file, not %q (a file for the trace is written --trace=FILE)", arguments)
			}
		},
		RunE: func(c *cobra.Command, arguments []string) error {
			if c.Flags().Changed("until") && f.until == 0 {
				return fmt.Errorf("%w: --until 0s would run nothing; without the flag the world runs to its end", campaign.ErrUsage)
			}
			return a.replay(c.Context(), f, arguments[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.scenario, "scenario", "", "scenario of the seed (default: as in the default campaign)")
	flags.StringVar(&f.trace, "trace", "", "print every event; --trace=FILE writes them to a file")
	flags.Lookup("trace").NoOptDefVal = traceToStderr
	flags.BoolVar(&f.noSteps, "without-steps", false, "leave the scheduler's own lines out of the trace")
	flags.DurationVar(&f.until, "until", 0, "end the world at this virtual time, such as 350ms")
	flags.StringVar(&f.defect, "defect", "", "run the trial with this planted bug")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	_ = c.RegisterFlagCompletionFunc("scenario", a.completeScenarios)
	a.addProfileFlag(c)
	return c
}

func (a *app) replay(ctx context.Context, f replayFlags, target string) error {
	trace, closeTrace, err := a.openTrace(f.trace)
	if err != nil {
		return err
	}
	if f.noSteps && trace == nil {
		return fmt.Errorf("%w: --without-steps is for a replay with --trace", campaign.ErrUsage)
	}
	if f.noSteps {
		trace = trial.WithoutSteps(trace)
	}
	stopProfile, err := a.startProfile()
	if err != nil {
		return err
	}
	replayed, err := orInterrupted(ctx, func() (*campaign.Replayed, error) {
		return campaign.Replay(campaign.ReplayOptions{
			Catalogue: a.catalogue, Target: target, Scenario: f.scenario, Defect: f.defect, Trace: trace, Until: f.until,
		})
	})
	stopProfile()
	if errors.Is(err, context.Canceled) {
		return err // the trial still writes its trace; the end of this process ends both
	}
	if closed := closeTrace(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	a.code = replayed.ExitCode()
	if f.json {
		return a.printJSON(replayed)
	}
	return replayed.WriteText(a.out)
}

// openTrace returns where events go, and what makes them arrive there.
func (a *app) openTrace(name string) (io.Writer, func() error, error) {
	switch name {
	case "":
		return nil, func() error { return nil }, nil
	case traceToStderr:
		buffered := bufio.NewWriter(a.err)
		return buffered, buffered.Flush, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: write the trace: %w", campaign.ErrEnvironment, err)
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	return buffered, func() error {
		err := buffered.Flush()
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("%w: write the trace: %w", campaign.ErrEnvironment, err)
		}
		return nil
	}, nil
}
