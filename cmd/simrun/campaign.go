package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

// campaignFlags is what the command line says about a campaign.
type campaignFlags struct {
	seeds   int64
	seed    string
	time    time.Duration
	workers int
	canary  int64
	hang    time.Duration
	out     string
	defect  string
	json    bool
}

func (a *app) campaignCommand() *cobra.Command {
	var f campaignFlags
	c := &cobra.Command{
		Use:   "campaign [SCENARIO…]",
		Short: "Run many trials with faults, and check every one",
		Long:  campaignHelp(a.catalogue.Scenarios),
		Example: `  simrun campaign                              # about a minute, the same seeds each time
  simrun campaign --seed random --time 10m     # as many new seeds as ten minutes allow
  simrun campaign cluster --seeds 100          # one scenario only
  simrun campaign --json >campaign.json        # the same facts for a program
  simrun campaign --workers 0 --profile cpu    # in this process, for a profiler or a debugger`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, scenarios []string) error {
			if c.Flags().Changed("time") && !c.Flags().Changed("seeds") {
				f.seeds = 0
			}
			return a.campaign(c, f, scenarios)
		},
		ValidArgsFunction: a.completeScenarios,
	}
	flags := c.Flags()
	flags.Int64Var(&f.seeds, "seeds", campaign.SeedsDefault, "how many seeds to run")
	flags.StringVar(&f.seed, "seed", "1", `first seed, or "random"`)
	flags.DurationVar(&f.time, "time", 0, "run for this long instead (with --seeds: whichever ends first), such as 90s or 10m")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes; 0 runs everything in this process, without hang guard")
	flags.Int64Var(&f.canary, "canary", campaign.CanarySeedsDefault, "how many trials each canary gets; 0 runs none")
	flags.DurationVar(&f.hang, "hang", campaign.HangAfterDefault, "how long one trial may take before it counts as hung")
	flags.StringVar(&f.out, "out", campaign.OutDefault, "directory for the files of failures; made when there are any")
	flags.StringVar(&f.defect, "defect", "", "run all trials with this planted bug")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	a.addProfileFlag(c)
	return c
}

// campaignHelp also lists the scenarios that there are.
func campaignHelp(scenarios []trial.Scenario) string {
	var b strings.Builder
	b.WriteString(`Run a fault-injection campaign: trials with consecutive seeds, each in a simulated world that is broken on
purpose, each checked against what the engine promises.

Without arguments the default mix runs: every scenario that has a weight, as often as that says. With arguments only
those named run. The first seed is 1 unless --seed says otherwise, so that a campaign can be repeated; "--seed random"
draws one.

A trial is of one bookie, or of a cluster: a hostile metadata store, an ensemble of bookies with some to spare, and
clients that write, tail, read, take each other's ledgers away and delete them, each on a node of its own. The seed draws
shape, sizes, timeouts, network, disks and the plan of faults. When the work is over a core that suffices is healed, and a
new client must get back all that was ever acknowledged.

One seed in twenty runs twice, in another process, and must give the same trace, disks and verdict. Canaries, which
break their promise by an ordinary wrong setting, must be caught. A campaign of 300 seeds or more of the default mix
must reach every rare state that the laboratory knows by name, or it calls itself weak.

Scenarios, with their weights:

`)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range scenarios {
		weight := strconv.Itoa(s.Weight)
		if s.Canary {
			weight = "canary"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", s.Name, weight, s.About)
	}
	_ = t.Flush() // into memory
	b.WriteString(`
Exit code 0: all promises held. 1: one did not, or the campaign was weak or blind. A failure comes with the command
that shows it again, and is kept as a file that "simrun replay" accepts.`)
	return b.String()
}

func (a *app) campaign(c *cobra.Command, f campaignFlags, scenarios []string) error {
	if err := refuseBelowOne(c, "hang", "time"); err != nil {
		return err
	}
	ctx := c.Context()
	options, err := a.campaignOptions(f, scenarios)
	if err != nil {
		return err
	}
	stopProfile, err := a.startProfile()
	if err != nil {
		return err
	}
	// The first interrupt ends the campaign and prints what it has; the second one ends the program.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	display := newDisplay(a.err)
	options.Watch = display.show
	summary, failed := campaign.Run(ctx, options)
	display.end()
	stopProfile()
	if summary == nil {
		return failed
	}
	a.code = summary.ExitCode()
	if f.json {
		err = a.printJSON(summary)
	} else {
		err = summary.WriteText(a.out)
	}
	if failed != nil {
		return failed
	}
	return err
}

func (a *app) campaignOptions(f campaignFlags, scenarios []string) (campaign.Options, error) {
	seed, err := a.firstSeed(f.seed)
	if err != nil {
		return campaign.Options{}, err
	}
	if a.profile != "" && f.workers > 0 {
		return campaign.Options{}, fmt.Errorf("%w: --profile sees this process only; add --workers 0", campaign.ErrUsage)
	}
	executable, err := os.Executable()
	if err != nil {
		return campaign.Options{}, fmt.Errorf("%w: find this program, to start workers: %w", campaign.ErrEnvironment, err)
	}
	return campaign.Options{
		Catalogue: a.catalogue, Scenarios: scenarios, Seed: seed, Seeds: f.seeds, Time: f.time, Workers: f.workers,
		WorkerCommand: []string{executable, workerName}, CanarySeeds: f.canary, HangAfter: f.hang, Out: f.out, Defect: f.defect,
	}, nil
}

// firstSeed reads --seed. A drawn seed is told at once, so that it is known even if nothing else will be.
func (a *app) firstSeed(text string) (uint64, error) {
	if text == "random" {
		var drawn [4]byte // short enough to be typed again
		if _, err := rand.Read(drawn[:]); err != nil {
			return 0, fmt.Errorf("%w: draw a seed: %w", campaign.ErrEnvironment, err)
		}
		seed := uint64(binary.BigEndian.Uint32(drawn[:]))
		fmt.Fprintf(a.err, "first seed: %d\n", seed)
		return seed, nil
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf(`%w: --seed %q is neither a number from 0 to 2^64-1 nor "random"`, campaign.ErrUsage, text)
	}
	return seed, nil
}

func (a *app) completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range a.catalogue.Scenarios {
		names = append(names, s.Name+"\t"+s.About)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
