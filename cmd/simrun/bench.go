package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pkg/profile"
	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"lakebed/trial/bench"
	"lakebed/trial/campaign"
)

// Defaults of the bench command.
const (
	benchProfileDir  = "profiles"
	benchWorldLength = 4 * time.Second // of the processor, for each process
)

// benchFlags is what the command line says about a measurement.
type benchFlags struct {
	dir        string
	only       string
	compare    string
	profile    string
	profileDir string
	seed       uint64
	thorough   bool
	require    bool
	json       bool
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [WORKLOAD…]",
		Short: "Measure the engine on a real disk, beside the raw line",
		Long: `Measure the engine on this machine's disk, in at most two minutes.

Workloads: append (the journal alone and a whole bookie in this process, 1 to 256 entries outstanding, in batches and
by blocked tasks, 100 B, 1 KiB and 16 KiB, synced), fio (the raw line against fio, if it is installed) and read (from
the write cache, read ahead, cold). Without arguments all of them run.

Every arm of append is measured in turns with the raw line: the same groups, one write and one sync each. What counts is
the ratio of the two. Figures of the default run are quick; quote those of --thorough, on a machine that does nothing else.

The directory must be on a disk: a memory file system syncs nothing, and the figures then say nothing.`,
		Example: `  simrun bench                                        # all workloads, about a hundred seconds
  simrun bench append --only batches/256              # the arms with a goal
  simrun bench --thorough --json >bench.json          # rounds of a second; half an hour
  simrun bench append --compare bench.json            # what has changed since
  simrun bench append --only journal/batches/256/100B --profile cpu
  simrun bench world                                  # the simulated world's speed, with one bookie
  simrun bench cluster-world                          # that of simulated clusters`,
		Args:              cobra.ArbitraryArgs,
		RunE:              func(c *cobra.Command, names []string) error { return a.bench(c.Context(), f, names) },
		ValidArgsFunction: completeWorkloads,
	}
	flags := c.Flags()
	flags.StringVar(&f.dir, "dir", ".", "directory on the disk to measure; a fresh directory in it is used and removed")
	flags.StringVar(&f.only, "only", "", "measure only arms of append whose name contains this, such as journal/batches/256/1KiB")
	flags.BoolVar(&f.thorough, "thorough", false, "rounds of a second, 15 or more of each arm")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of contents, orders and resampling")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	flags.StringVar(&f.compare, "compare", "", "a report printed with --json: say what has changed since")
	flags.BoolVar(&f.require, "require-goals", false, "exit with 1 if a goal is missed")
	flags.StringVar(&f.profile, "profile", "", "write a profile of this process: "+profileNames())
	flags.StringVar(&f.profileDir, "profile-dir", benchProfileDir, "where the profile goes; made if it is missing")
	c.AddCommand(a.benchWorldCommand(), a.benchClusterWorldCommand())
	return c
}

func completeWorkloads(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, w := range bench.Workloads() {
		names = append(names, string(w))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) bench(ctx context.Context, f benchFlags, names []string) error {
	workloads, err := bench.ParseWorkloads(names)
	if err != nil {
		return benchError(err)
	}
	var before *bench.Report
	if f.compare != "" {
		read, err := bench.ReadReport(f.compare)
		if err != nil {
			return benchError(err)
		}
		before = &read
	}
	stopProfile, err := a.startBenchProfile(f)
	if err != nil {
		return err
	}
	defer stopProfile()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	progress := newBenchProgress(a.err)
	report, err := bench.Run(ctx, bench.Options{
		Dir: f.dir, Workloads: workloads, Only: f.only, Thorough: f.thorough, Seed: f.seed, Progress: progress.show,
	})
	progress.end()
	if err != nil {
		return sayInterrupted(ctx, benchError(err))
	}
	if f.require && report.GoalsMet() < len(report.Goals) {
		a.code = campaign.ExitBroken
	}
	return a.printBench(f, &report, before)
}

func (a *app) printBench(f benchFlags, report, before *bench.Report) error {
	if f.json {
		return a.printJSON(report)
	}
	if err := report.Print(a.out); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	return report.PrintComparison(a.out, before)
}

// benchError translates the classes of errors into those that the exit code is made of.
func benchError(err error) error {
	if errors.Is(err, bench.ErrUsage) {
		return fmt.Errorf("%w: %s", campaign.ErrUsage, strings.TrimPrefix(err.Error(), bench.ErrUsage.Error()+": "))
	}
	return err
}

// startBenchProfile starts what --profile asks for. The directory is made here: the package would end the program
// where it cannot write.
func (a *app) startBenchProfile(f benchFlags) (stop func(), err error) {
	if f.profile == "" {
		return func() {}, nil
	}
	mode, ok := profileModes[f.profile]
	if !ok {
		return nil, fmt.Errorf("%w: no profile is called %q; there are: %s", campaign.ErrUsage, f.profile, profileNames())
	}
	if err := os.MkdirAll(f.profileDir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: make the directory for profiles: %w", campaign.ErrEnvironment, err)
	}
	return profile.Start(mode, profile.ProfilePath(f.profileDir), profile.NoShutdownHook).Stop, nil
}

func (a *app) benchWorldCommand() *cobra.Command {
	var process string
	var length time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use:   "world",
		Short: "Measure the speed of the simulated world",
		Long: `Measure how fast the simulated world runs: scheduler events a CPU second with nothing in it and with the engine, what a
simulated second costs at 100 operations in it, and two processes against one. Each figure is of a process with one
thread, as campaigns start them.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if length <= 0 {
				return fmt.Errorf("%w: --length %s: must be longer than nothing", campaign.ErrUsage, length)
			}
			if process != "" {
				return a.benchWorldProcess(c.Context(), bench.WorldKind(process), length)
			}
			return a.benchWorld(c.Context(), length, asJSON)
		},
	}
	c.Flags().DurationVar(&length, "length", benchWorldLength, "CPU time for each process")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of a table")
	c.Flags().StringVar(&process, "process", "", "measure one kind of world in this process")
	_ = c.Flags().MarkHidden("process")
	return c
}

func (a *app) benchWorldProcess(ctx context.Context, kind bench.WorldKind, length time.Duration) error {
	figures, err := orInterrupted(ctx, func() (bench.WorldFigures, error) { return bench.MeasureWorld(kind, length) })
	if err != nil {
		return benchError(err)
	}
	return a.printJSON(figures)
}

func (a *app) benchWorld(ctx context.Context, length time.Duration, asJSON bool) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: find this program, to start it again: %w", campaign.ErrEnvironment, err)
	}
	command := func(kind bench.WorldKind, length time.Duration) []string {
		return []string{executable, "bench", "world", "--process", string(kind), "--length", length.String()}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := bench.MeasureWorlds(ctx, command, length)
	if err != nil {
		return sayInterrupted(ctx, benchError(err))
	}
	if asJSON {
		return a.printJSON(report)
	}
	return report.Print(a.out)
}

// benchProgress shows a bar on a terminal, and nothing elsewhere.
type benchProgress struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	doing atomic.Pointer[string] // for the bar, which redraws itself in a task of its own
}

func newBenchProgress(to io.Writer) *benchProgress {
	p := &benchProgress{}
	if isTerminal(to) {
		p.bars = mpb.New(mpb.WithOutput(to))
	}
	return p
}

func (p *benchProgress) show(doing string, done, total int) {
	if p.bars == nil {
		return
	}
	p.doing.Store(&doing)
	if p.bar == nil {
		p.bar = p.bars.AddBar(int64(total), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			return " " + *p.doing.Load()
		})))
	}
	p.bar.SetCurrent(int64(done))
}

// end takes the bar away; the report follows.
func (p *benchProgress) end() {
	if p.bars == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(true)
	}
	p.bars.Wait()
}
