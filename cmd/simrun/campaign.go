package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
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
	"github.com/spf13/pflag"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

// campaignFlags is what the command line says about a campaign.
type campaignFlags struct {
	seeds   int64
	seed    string
	time    time.Duration
	weights weights
	shard   string
	workers int
	canary  int64
	hang    time.Duration
	out     string
	log     string
	resume  string
	junit   string
	shrink  time.Duration
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
  simrun campaign --seed random --for 8h       # as many new seeds as a night allows
  simrun campaign cluster --seeds 100          # one scenario only
  simrun campaign --weight cluster=5           # more of one scenario
  simrun campaign --for 8h --jsonl night.jsonl # keeps each result at once; run again, it goes on where it ended
  simrun campaign --resume night.jsonl         # the same, with the options from the file
  simrun campaign --shard 2/8 --jsonl 2.jsonl  # the second eighth, see: simrun campaign merge
  simrun campaign --junit campaign.xml         # for a server of continuous integration
  simrun campaign --json >campaign.json        # the same facts for a program
  simrun campaign --workers 0 --profile cpu    # in this process, for a profiler or a debugger`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, scenarios []string) error {
			if c.Flags().Changed("for") && !c.Flags().Changed("seeds") {
				f.seeds = 0
			}
			return a.campaign(c, f, scenarios)
		},
		ValidArgsFunction: a.completeScenarios,
	}
	flags := c.Flags()
	flags.Int64Var(&f.seeds, "seeds", campaign.SeedsDefault, "how many seeds to run")
	flags.StringVar(&f.seed, "seed", "1", `first seed, or "random"`)
	flags.DurationVar(&f.time, "for", 0, "run for this long instead (with --seeds: whichever ends first), such as 90s or 8h")
	flags.SetNormalizeFunc(formerNames)
	flags.Var(&f.weights, "weight", "replace the weight of a scenario, such as cluster=5; 0 leaves it out")
	flags.StringVar(&f.shard, "shard", "1/1", "run one part of the campaign, such as 2/8 for the second of eight")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes; 0 runs everything in this process, without hang guard")
	flags.Int64Var(&f.canary, "canary", campaign.CanarySeedsDefault, "how many trials each canary gets; 0 runs none")
	flags.DurationVar(&f.hang, "hang", campaign.HangAfterDefault, "how long one trial may take before it counts as hung")
	flags.StringVar(&f.out, "out", campaign.OutDefault, "directory for the files of failures; made when there are any")
	flags.StringVar(&f.log, "jsonl", "", "keep each result at once in this file, one JSON object a line; if it is there, go on where it ends")
	flags.StringVar(&f.resume, "resume", "", "go on with the campaign of this file of --jsonl, with its options")
	flags.StringVar(&f.junit, "junit", "", "write the result as JUnit XML to this file too")
	if a.shrinker != nil {
		flags.DurationVar(&f.shrink, "shrink-budget", shrinkBudgetDefault, "make failures smaller afterwards, for so long in all; 0 leaves them as they are")
	}
	flags.StringVar(&f.defect, "defect", "", "run all trials with this planted bug")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	a.addProfileFlag(c)
	c.AddCommand(a.mergeCommand())
	return c
}

// shrinkBudgetDefault is time enough for most failures, and little beside a campaign that has found some.
const shrinkBudgetDefault = 30 * time.Second

// formerNames has a flag keep a name that it had.
func formerNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "time" {
		name = "for"
	}
	return pflag.NormalizedName(name)
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
new client must get back all that was ever acknowledged. Or it is of a segment log or a commit log on one node, with its
clients in its process.

One seed in twenty runs twice, in another process, and must give the same trace, disks and verdict. Canaries, which
break their promise by an ordinary wrong setting, must be caught. A campaign of 300 seeds or more of the default mix
must reach every rare state that the laboratory knows by name, or it calls itself weak. The first failure of each kind
runs twice more; if it is flaky, determinism is broken, and that comes first.

With --jsonl each result is in a file as soon as it is there. A campaign that was interrupted, or killed, goes on with the
seeds that are not there when it is run again with the same options, or with --resume. With --shard the campaign can be
spread over machines: the seeds of all shards are those of the whole, and "simrun campaign merge" adds up the files.
deploy/kubernetes has an example.

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
	if err := refuseBelowOne(c, "hang", "for"); err != nil {
		return err
	}
	ctx := c.Context()
	options, err := a.campaignOptions(c, f, scenarios)
	if err != nil {
		return err
	}
	if err := errors.Join(checkOutputs(outputFile{"--jsonl", options.Log, true}, outputFile{"--junit", f.junit, false}), checkDirectory("--out", f.out)); err != nil {
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
	return errors.Join(failed, a.showSummary(summary, f.json, f.junit))
}

// showSummary prints what a campaign found, and writes it as JUnit XML too if there is a file for that.
func (a *app) showSummary(s *campaign.Summary, asJSON bool, junit string) error {
	a.code = s.ExitCode()
	var err error
	if asJSON {
		err = a.printJSON(s)
	} else {
		err = s.WriteText(a.out)
	}
	if junit == "" {
		return err
	}
	file, failed := os.Create(junit)
	if failed != nil {
		return errors.Join(err, fmt.Errorf("%w: write JUnit XML: %w", campaign.ErrEnvironment, failed))
	}
	return errors.Join(err, s.WriteJUnit(file), file.Close())
}

// resumed are the options of the campaign whose log there is.
func (a *app) resumed(c *cobra.Command, f *campaignFlags, scenarios []string) (campaign.Options, error) {
	for _, name := range []string{"seeds", "seed", "for", "weight", "shard", "canary", "defect", "jsonl"} {
		if c.Flags().Changed(name) {
			return campaign.Options{}, fmt.Errorf("%w: --resume takes the options from %s: leave --%s out", campaign.ErrUsage, f.resume, name)
		}
	}
	if len(scenarios) > 0 {
		return campaign.Options{}, fmt.Errorf("%w: --resume takes the scenarios from %s: leave %s out", campaign.ErrUsage, f.resume, scenarios[0])
	}
	header, err := campaign.ReadHeader(f.resume)
	if err != nil {
		return campaign.Options{}, err
	}
	options := campaign.Options{Log: f.resume}
	header.Apply(&options)
	return options, nil
}

// asked are the options of a new campaign, or of one that is asked for again.
func (a *app) asked(f *campaignFlags, scenarios []string) (campaign.Options, error) {
	seed, err := a.firstSeed(f.seed)
	if err != nil {
		return campaign.Options{}, err
	}
	shard, err := campaign.ParseShard(f.shard)
	if err != nil {
		return campaign.Options{}, err
	}
	return campaign.Options{
		Scenarios: scenarios, Weights: f.weights, Seed: seed, Seeds: f.seeds, Time: f.time, Shard: shard, CanarySeeds: f.canary,
		Defect: f.defect, Log: f.log,
	}, nil
}

func (a *app) campaignOptions(c *cobra.Command, f campaignFlags, scenarios []string) (options campaign.Options, err error) {
	if f.resume != "" {
		options, err = a.resumed(c, &f, scenarios)
	} else {
		options, err = a.asked(&f, scenarios)
	}
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
	options.Catalogue, options.Workers, options.WorkerCommand = a.catalogue, f.workers, []string{executable, workerName}
	options.HangAfter, options.Out, options.Shrink, options.ShrinkBudget = f.hang, f.out, a.shrinker, f.shrink
	return options, nil
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
