package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lakebed/reports"
	"lakebed/trial/bench/experiments"
	"lakebed/trial/campaign"
)

// Hidden commands of processes that experiments start.
const (
	experimentWorkerName = "worker"
	fingerprintsName     = "fingerprints"
)

// experimentFlags is what the command line says about experiments.
type experimentFlags struct {
	results string // the shelf that is listed and reported
	all     bool
	quick   bool
	out     string
	dir     string
	seed    uint64
	workers int
	json    bool
}

func (a *app) experimentCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "experiment",
		Short: "The numbered experiments: run them, see how they were decided",
		Long: `Run the numbered experiments, each of which is a claim with a rule that says beforehand what refutes it. The verdict
is computed from the figures: confirmed, refuted or undecided.

  list     which there are, and how they were decided last
  show     one of them: hypothesis, rule, last result
  run      measure, judge, and write the result
  report   EXPERIMENTS.md from all results and the hand-written sections beside them`,
		Example: `  simrun experiment list
  simrun experiment run X-45                # minutes; writes results/X-45.json
  simrun experiment run X-45 --quick        # seconds; writes nothing
  simrun experiment run --all
  simrun experiment report --out EXPERIMENTS.md`,
		Args: explainCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.experimentListCommand(), a.experimentShowCommand(), a.experimentRunCommand(), a.experimentReportCommand())
	c.AddCommand(experimentWorkerCommand(), a.fingerprintsCommand())
	return c
}

func (a *app) experimentListCommand() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "Which experiments there are, and how they were decided last",
		Long: `List the experiments by their numbers, with the verdict of the last result of each. Modes: S simulator, D real disk and
sockets, B both. --json says for each what is claimed in full, the reason of its verdict, and its command.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.listExperiments(f) },
	}
	c.Flags().StringVar(&f.results, "results", string(experiments.DefaultShelf), "directory with the results")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON list instead of a table")
	return c
}

// listedExperiment is a line of the list, for programs.
type listedExperiment struct {
	ID         experiments.ID   `json:"id"`
	Title      string           `json:"title"`
	Mode       experiments.Mode `json:"mode"`
	Hypothesis string           `json:"hypothesis"`
	State      string           `json:"state"`
	Reason     string           `json:"reason,omitempty"`
	Measured   string           `json:"measured,omitempty"` // the day
	Commit     string           `json:"commit,omitempty"`
	Minutes    float64          `json:"minutes"`
	Command    string           `json:"command"`
}

func (a *app) listExperiments(f experimentFlags) error {
	entries, err := experiments.Shelf(f.results).Entries()
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	listed := make([]listedExperiment, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		l := listedExperiment{
			ID: e.ID, Title: e.Title, Mode: e.Mode, Hypothesis: e.Hypothesis.Hypothesis, State: e.State(), Measured: e.When(), Minutes: e.Minutes,
			Command: e.Command(),
		}
		if e.Result != nil {
			l.Commit = e.Result.Build.Commit
			if e.Result.Verdict != nil {
				l.Reason = e.Result.Verdict.Reason
			}
		}
		listed = append(listed, l)
	}
	if f.json {
		return a.printJSON(listed)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tmode\tlast verdict\tmeasured\tminutes\tclaim")
	for _, l := range listed {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%g\t%s\n", l.ID, l.Mode, l.State, l.Measured, l.Minutes, l.Title)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("%w: print: %w", campaign.ErrEnvironment, err)
	}
	if shelf := experiments.Shelf(f.results); !shelf.Exists() {
		fmt.Fprintf(a.out, "\nNo results are here: there is no directory %s. Run this in a clone of the repository, or name its results with --results.\n", f.results)
	}
	fmt.Fprintln(a.out, "\nmodes: S simulator, D real disk and sockets, B both\nnext: simrun experiment run ID, or --all; --quick tries one in seconds")
	return nil
}

func (a *app) experimentShowCommand() *cobra.Command {
	var results string
	c := &cobra.Command{
		Use:     "show ID",
		Short:   "One experiment: hypothesis, rule, last result",
		Long:    "Write the section of EXPERIMENTS.md that is about one experiment, from its last result.",
		Example: "  simrun experiment show X-45",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("show takes the number of one experiment, such as X-45; see simrun experiment list")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error {
			id := experiments.ID(arguments[0])
			if _, err := experiments.Find(id); err != nil {
				return fmt.Errorf("%w: %w", campaign.ErrUsage, err)
			}
			return a.writeOut(func(w io.Writer) error { return experiments.Shelf(results).WriteOne(w, id) })
		},
	}
	c.Flags().StringVar(&results, "results", string(experiments.DefaultShelf), "directory with the results")
	return c
}

func (a *app) experimentRunCommand() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "run ID…",
		Short: "Measure, judge, and write the result",
		Long: `Run experiments by their numbers, one after the other, and judge each by its rule. A result is printed and written to
the directory of --out in the place of the last one.

A quick run takes seconds and shows that an experiment works; it is written only if --out is given. Figures by the wall
clock are worth what the machine was worth: the result says how busy others kept it.

Exit code 0: all were run. 1: a promise of the engine was refuted. 3: one could not be run, or you interrupted.`,
		Example: `  simrun experiment run X-07 X-09
  simrun experiment run x-7 --quick
  simrun experiment run --all --out results
  simrun experiment run X-46 --seed 1000 --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, ids []string) error {
			if f.quick && !c.Flags().Changed("out") {
				f.out = ""
			}
			if err := refuseBelowOne(c, "workers", "seed"); err != nil {
				return err
			}
			return a.runExperiments(c.Context(), f, ids)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, h := range experiments.Hypotheses() {
				names = append(names, string(h.ID)+"\t"+h.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.all, "all", false, "run all of them")
	flags.BoolVar(&f.quick, "quick", false, "fewer rounds, arms and seeds: seconds instead of minutes")
	flags.StringVar(&f.out, "out", string(experiments.DefaultShelf), "directory for the results; empty: write none")
	flags.StringVar(&f.dir, "dir", ".", "where clusters on this machine keep their files: the disk that is measured")
	flags.Uint64Var(&f.seed, "seed", experiments.DefaultSeed, "first of the seeds of worlds and campaigns")
	flags.IntVar(&f.workers, "workers", 0, "processes that run trials (default: as many as there are processors)")
	flags.BoolVar(&f.json, "json", false, "print one JSON list of results instead of tables")
	return c
}

// chooseExperiments looks the numbers up.
func chooseExperiments(f experimentFlags, ids []string) (chosen []experiments.Hypothesis, err error) {
	switch {
	case f.all && len(ids) > 0:
		return nil, fmt.Errorf("%w: --all means all experiments: give no numbers with it", campaign.ErrUsage)
	case f.all:
		return experiments.Hypotheses(), nil
	case len(ids) == 0:
		return nil, fmt.Errorf("%w: run needs the numbers of experiments, or --all; see simrun experiment list", campaign.ErrUsage)
	case f.workers < 0:
		return nil, fmt.Errorf("%w: --workers must not be negative", campaign.ErrUsage)
	case f.seed == 0:
		return nil, fmt.Errorf("%w: --seed must be positive", campaign.ErrUsage)
	}
	for _, id := range ids {
		h, err := experiments.Find(experiments.ID(id))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
		}
		chosen = append(chosen, h)
	}
	return chosen, nil
}

func (a *app) runExperiments(ctx context.Context, f experimentFlags, ids []string) error {
	chosen, err := chooseExperiments(f, ids)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: find this program: %w", campaign.ErrEnvironment, err)
	}
	o := experiments.Options{
		Quick: f.quick, Seed: f.seed, Dir: f.dir, Workers: f.workers, Watch: a.err,
		Executable: experiments.Program{
			Self: self, Worker: []string{self, "experiment", experimentWorkerName},
			Fingerprints: []string{self, "experiment", fingerprintsName},
		},
	}
	results := []reports.Result{}
	var failed error
	for _, h := range chosen {
		r, err := experiments.Run(ctx, h.ID, o)
		if err != nil {
			if ctx.Err() != nil { // it says no more than that somebody interrupted
				break
			}
			failed = errors.Join(failed, err)
			fmt.Fprintf(a.err, "simrun: %v\n", err)
			continue
		}
		if h.Promise && r.Verdict.Word == reports.Refuted {
			a.code = campaign.ExitBroken
		}
		results = append(results, *r)
		if err := a.keepExperiment(f, r); err != nil {
			return err
		}
	}
	if f.json {
		failed = errors.Join(failed, reports.WriteAllJSON(a.out, results))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed != nil:
		return fmt.Errorf("%w: %d of %d experiments could not be run", campaign.ErrEnvironment, len(chosen)-len(results), len(chosen))
	}
	return nil
}

// keepExperiment prints a result and writes it, where that is wanted.
func (a *app) keepExperiment(f experimentFlags, r *reports.Result) error {
	if !f.json {
		if err := r.Print(a.out); err != nil {
			return fmt.Errorf("%w: print: %w", campaign.ErrEnvironment, err)
		}
	}
	if f.out == "" {
		return nil
	}
	path, err := experiments.Shelf(f.out).Put(r)
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	a.warnOfBuild(r)
	fmt.Fprintf(a.err, "%s  %s, written to %s\n", r.ID, r.Verdict.Word, path)
	return nil
}

func (a *app) experimentReportCommand() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "report",
		Short: "EXPERIMENTS.md from all results and the hand-written sections beside them",
		Long: `Write one Markdown page: intro.md of the results' directory, the numbered experiments with their hypotheses, rules and
last results, and the files sections/*.md. Equal results give equal bytes. Pages with plots are made by simrun report.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if f.out == "" {
				return a.writeOut(experiments.Shelf(f.results).WritePage)
			}
			return writeReport(f.out, experiments.Shelf(f.results).WritePage)
		},
	}
	c.Flags().StringVar(&f.results, "results", string(experiments.DefaultShelf), "directory with the results")
	c.Flags().StringVar(&f.out, "out", "", "write to this file instead of standard output")
	return c
}

func experimentWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    experimentWorkerName,
		Short:  "Run trials for an experiment",
		Long:   "Read jobs from standard input and answer them on standard output, for the experiment that started this process.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return experiments.ServeWorker() },
	}
}

func (a *app) fingerprintsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    fingerprintsName + " FIRST COUNT",
		Short:  "Run seeds and print what must be equal everywhere",
		Long:   "Run seeds of every scenario and print a line a trial, for the experiment that started this process.",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, arguments []string) error {
			first, err := strconv.ParseUint(arguments[0], 10, 64)
			seeds, bad := strconv.Atoi(arguments[1])
			if err = errors.Join(err, bad); err != nil || seeds < 1 {
				return fmt.Errorf("%w: a first seed and how many, not %s", campaign.ErrUsage, strings.Join(arguments, " "))
			}
			return experiments.WriteFingerprints(a.out, first, seeds)
		},
	}
}
