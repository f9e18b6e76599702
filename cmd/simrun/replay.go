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
	html     string
	model    string
	from     time.Duration
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

--html=FILE writes one page about the trial, which needs nothing but itself: the verdict, the operations that contradict
each other, the plan of faults, lanes of all nodes over virtual time with messages, disks, marks and faults, the copies of
the entries in question and the metadata of their ledgers. Where a ledger in question is small, porcupine is asked too, and
its own picture written beside the page. --model=FILE writes the same facts as JSON. With either the
world runs to its end, and --from and --until choose which events are shown.

A case that was kept with a planted bug runs with it again, which takes the sources and the go command.

Exit code 0: the promises held, or the world was cut. 1: one did not. 2: wrong use, or no case. 3: the environment failed,
or you interrupted.`,
		Example: `  simrun replay 17                                  # seed 17 of the default campaign
  simrun replay 17 --scenario bookie --trace=17.txt # with all its events in a file
  simrun replay failures/bookie-17-violation.json   # a case that a campaign has kept
  simrun replay 17 --html=17.html                   # one page to look at
  simrun replay 17 --html=17.html --from 1.2s --until 1.4s
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
			if c.Flags().Changed("from") && !f.page() {
				return fmt.Errorf("%w: --from is for a page: add --html FILE or --model FILE", campaign.ErrUsage)
			}
			if f.from < 0 || f.until > 0 && f.from >= f.until {
				return fmt.Errorf("%w: from %s to %s there is nothing", campaign.ErrUsage, f.from, f.until)
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
	flags.StringVar(&f.html, "html", "", "write a page about the trial into this file")
	flags.StringVar(&f.model, "model", "", "write what is on the page into this file, as JSON")
	flags.DurationVar(&f.from, "from", 0, "with --html or --model: show events from this virtual time on")
	flags.StringVar(&f.defect, "defect", "", "run the trial with this planted bug")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	_ = c.RegisterFlagCompletionFunc("scenario", a.completeScenarios)
	a.addProfileFlag(c)
	return c
}

func (a *app) replay(ctx context.Context, f replayFlags, target string) error {
	if err := f.checkOutputs(target); err != nil {
		return err
	}
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
		return campaign.Replay(f.options(a.catalogue, target, trace))
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
	err = f.writePage(replayed) // what was found is told even if the page is lost
	if f.json {
		return errors.Join(a.printJSON(replayed), err)
	}
	return errors.Join(replayed.WriteText(a.out), err)
}

// checkOutputs reports files that would overwrite each other or the case, or cannot be written.
func (f *replayFlags) checkOutputs(target string) error {
	outputs := []outputFile{{"--html", f.html, false}, {"--model", f.model, false}}
	if f.trace != traceToStderr {
		outputs = append(outputs, outputFile{"--trace", f.trace, true})
	}
	for _, o := range outputs {
		if o.path != "" && sameFile(o.path, target) {
			return fmt.Errorf("%w: %s would overwrite the case %s", campaign.ErrUsage, o.flag, target)
		}
	}
	return checkOutputs(outputs...)
}

// page reports whether a page is asked for.
func (f *replayFlags) page() bool { return f.html != "" || f.model != "" }

func (f *replayFlags) options(catalogue campaign.Catalogue, target string, trace io.Writer) campaign.ReplayOptions {
	o := campaign.ReplayOptions{Catalogue: catalogue, Target: target, Scenario: f.scenario, Defect: f.defect, Trace: trace, Until: f.until}
	if f.page() {
		o.Page, o.Until = &campaign.PageOptions{From: f.from, Until: f.until}, 0
	}
	return o
}

// writePage writes the page of a replayed trial, in the forms that are asked for.
func (f *replayFlags) writePage(replayed *campaign.Replayed) error {
	if f.html != "" {
		if err := replayed.WritePage(f.html); err != nil {
			return err
		}
	}
	if f.model != "" {
		return replayed.WritePageModel(f.model)
	}
	return nil
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
