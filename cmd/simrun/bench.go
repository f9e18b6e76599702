package main

import (
	"context"
	"encoding/json"
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
	"github.com/spf13/pflag"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"lakebed/reports"
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
	processes  bool
	rate       float64
	inFlight   int
	length     time.Duration
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [WORKLOAD…]",
		Short: "Measure the engine on a real disk and real sockets, beside the machine's own limits",
		Long: `Measure the engine on this machine's disk and loopback network, in two to three minutes.

Workloads:

  append   the journal alone and a whole bookie in this process, 1 to 256 entries outstanding, in batches and by blocked
           tasks, 100 B, 1 KiB and 16 KiB, synced; each beside the raw line: the same groups, one write and one sync each
  fio      the raw line against fio, if it is installed
  read     a bookie in this process: from the write cache, read ahead, cold
  ledger   clients, bookies and a metadata store over loopback TCP: adds of 3/3/2, 5/3/2, 3/3/3 and 1/1/1 in a closed loop
           (so many in flight) and in an open one (at a rate, latency from when an add was due), beside raw lines of the
           disk and of the loopback; single reads, and batch reads of 10, 100 and 500, from cache, read ahead, cold

  stores   segment log, commit log and bookie on one node: appends to 1 and 1,000 partitions (--thorough: to 10,000) in each
           sync mode, 100 B to 16 KiB, by 1 and 64 appenders, each beside a raw line that writes and syncs the same groups;
           sequential reads and reads from a time, warm and cold; processor time, p99, open files

Without arguments all of them run, but for stores. Cells of one group take turns, so that a drift of the machine hits all of them. Figures
of the default run are quick; quote those of --thorough, on a machine that does nothing else.

The directory must be on a disk: a memory file system syncs nothing, and the figures then say nothing.`,
		Example: `  simrun bench                                        # all workloads, in two to three minutes
  simrun bench append --only batches/256              # the arms with a goal
  simrun bench ledger --only ledger/write/3-3-2/100B/1000
  simrun bench ledger --only write/3-3-2/1KiB/open --rate 20000
  simrun bench ledger --only write/3-3-2/1KiB --in-flight 200 --processes
  simrun bench --thorough --json >bench.json          # rounds of a second; more than an hour
  simrun report bench.json --out report               # the same as Markdown and as a page
  simrun bench stores                                 # the single-node stores, in a minute or two
  simrun bench stores --only seglog/group/1000/1KiB   # one cell; --thorough has all 360, in an hour
  simrun bench stores --only commitlog/always         # one store in one sync mode
  simrun bench stores --dir /disk1 --json >s.json     # on another disk, kept to compare with: --compare s.json
  simrun bench append --compare bench.json            # what has changed since
  simrun bench ledger --only read/100B/cached/batch/100 --profile cpu
  simrun bench world                                  # the simulated world's speed, with one bookie
  simrun bench cluster-world                          # that of simulated clusters`,
		Args:              cobra.ArbitraryArgs,
		RunE:              func(c *cobra.Command, names []string) error { return a.bench(c, f, names) },
		ValidArgsFunction: completeWorkloads,
	}
	flags := c.Flags()
	flags.StringVar(&f.dir, "dir", ".", "directory on the disk to measure; a fresh directory in it is used and removed")
	flags.StringVar(&f.only, "only", "", "measure only what has this in its name, such as journal/batches/256/1KiB or ledger/read")
	flags.BoolVar(&f.thorough, "thorough", false, "rounds of a second, 15 or more of each arm; of ledgers every cell")
	flags.DurationVar(&f.length, "length", 0, "length of a round, such as 500ms; all rounds are then run, however long it takes")
	flags.BoolVar(&f.processes, "processes", false, "ledger: bookies and the metadata store are processes of their own")
	flags.Float64Var(&f.rate, "rate", 0, "ledger: adds a second of the open loop, instead of 25, 50 and 75 % of what the closed one reached")
	flags.IntVar(&f.inFlight, "in-flight", 0, "ledger: adds in flight in the closed loop, instead of 1, 64 and 1000")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of contents, arrivals, orders and resampling")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	flags.StringVar(&f.compare, "compare", "", "a result printed with --json: say what has changed since")
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

func (a *app) bench(c *cobra.Command, f benchFlags, names []string) error {
	if err := refuseBelowOne(c, "in-flight", "rate", "length"); err != nil {
		return err
	}
	workloads, err := bench.ParseWorkloads(names)
	if err != nil {
		return benchError(err)
	}
	if f.processes && f.profile != "" {
		return fmt.Errorf("%w: --profile is of this process, and with --processes the bookies are in others", campaign.ErrUsage)
	}
	var before *reports.Result
	if f.compare != "" {
		if before, err = readBenchResult(f.compare); err != nil {
			return err
		}
	}
	stopProfile, err := a.startBenchProfile(f)
	if err != nil {
		return err
	}
	defer stopProfile()
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	progress := newBenchProgress(a.err)
	result, err := bench.Run(ctx, bench.Options{
		Dir: f.dir, Workloads: workloads, Only: f.only, Thorough: f.thorough, Seed: f.seed, Length: f.length, Progress: progress.show,
		Command: commandLine(c, names), Processes: f.processes, Rate: f.rate, InFlight: f.inFlight,
	})
	progress.end()
	if err != nil {
		return sayInterrupted(ctx, benchError(err))
	}
	if f.require && result.GoalsMet() < len(result.Goals) {
		a.code = campaign.ExitBroken
	}
	return a.printBench(f.json, &result, before)
}

// commandLine is what a user would type to have the same again: the flags that were given, but for those that only say
// where the answer goes.
func commandLine(c *cobra.Command, names []string) string {
	words := append([]string{c.CommandPath()}, names...)
	c.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "json", "compare", "require-goals", "profile", "profile-dir", "dir":
		default:
			words = append(words, "--"+f.Name)
			if f.Value.Type() != "bool" {
				words = append(words, f.Value.String())
			} else if f.Value.String() != "true" {
				words[len(words)-1] += "=" + f.Value.String()
			}
		}
	})
	return strings.Join(words, " ")
}

// readBenchResult reads what to compare with. What older versions printed had another form.
func readBenchResult(path string) (*reports.Result, error) {
	result, err := reports.ReadResult(path)
	if err == nil {
		return &result, nil
	}
	text, failed := os.ReadFile(path)
	var former struct {
		Clock   *string          `json:"clock"`
		Appends *json.RawMessage `json:"appends"`
		Reads   *json.RawMessage `json:"reads"`
	}
	if failed == nil && json.Unmarshal(text, &former) == nil && former.Clock != nil && (former.Appends != nil || former.Reads != nil) {
		return nil, fmt.Errorf("%w: %s is a report of an older simrun, which kept no samples to compare with; measure that version again", campaign.ErrUsage, path)
	}
	return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
}

// printBench prints a result, and what has changed since another one.
func (a *app) printBench(asJSON bool, result, before *reports.Result) error {
	if asJSON {
		a.warnOfBuild(result)
		return reports.WriteJSON(a.out, result)
	}
	if err := result.Print(a.out); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return reports.PrintComparison(a.out, before, result)
}

// warnOfBuild tells whoever keeps a result that nobody will know what it is of, while it can still be measured again.
func (a *app) warnOfBuild(r *reports.Result) {
	if !r.Build.Known() {
		fmt.Fprintln(a.err, "simrun: WARNING: this result does not say which commit it is of: build in a clone, and without -buildvcs=false")
	}
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
			return a.benchWorld(c, length, asJSON)
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

func (a *app) benchWorld(c *cobra.Command, length time.Duration, asJSON bool) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: find this program, to start it again: %w", campaign.ErrEnvironment, err)
	}
	command := func(kind bench.WorldKind, length time.Duration) []string {
		return []string{executable, "bench", "world", "--process", string(kind), "--length", length.String()}
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := bench.MeasureWorlds(ctx, command, length)
	if err != nil {
		return sayInterrupted(ctx, benchError(err))
	}
	result := report.Result(commandLine(c, nil))
	return a.printBench(asJSON, &result, nil)
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
