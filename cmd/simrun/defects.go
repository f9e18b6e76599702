package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lakebed/trial/campaign"
	"lakebed/trial/defects"
	"lakebed/trial/defects/defect"
	"lakebed/trial/shrink"
)

// defectsFlags is what the command line says about the defects.
type defectsFlags struct {
	campaigns int
	budget    float64
	seed      uint64
	workers   int
	list      bool
	shrink    time.Duration
	out       string
	overlay   string
	json      bool
}

func (a *app) defectsCommand() *cobra.Command {
	var f defectsFlags
	c := &cobra.Command{
		Use:   "defects [ID…]",
		Short: "Plant known bugs, and see whether the checkers find them",
		Long: `Plant bugs of the catalogue into the engine, one at a time, and hunt for each with trials until a checker that its
entry names reports it. The table shows what was caught, by which checker, after how many seeds and how much processor
time: the median of several hunts from different seeds, of ten where it is above 20 s. Without arguments the whole
catalogue is hunted.

The bugs are planted by a build overlay, so this takes the sources of the repository and the go command. The sources
themselves carry none, and nothing in the work tree is changed.

A trial with a planted bug can be run again: simrun replay SEED --scenario NAME --defect ID.

With --shrink each bug is hunted once, and the trial that caught it is made small, as "simrun shrink" does: the table then
says how many faults and operations are left, and whether each is needed.

With --overlay nothing is hunted: all bugs are written into a directory, switched off, as an overlay for "go test" and
"go build", also for those of a module of yours that imports lakebed from this clone. LAKEBED_DEFECT=ID switches one on.
See: go doc ./trial/property.

Exit code 0: all were caught. 1: one has survived. 3: there are no sources, or the program could not be built.`,
		Example: `  simrun defects                               # the whole catalogue, five hunts each
  simrun defects no-sync limbo-ignored         # these two
  simrun defects --campaigns 1 --budget 10     # a quick look
  simrun defects --shrink                      # how small the failing trials become
  simrun defects --list                        # what is planted and where, how it goes wrong, what a unit test would see
  simrun defects --overlay /tmp/planted        # for tests of your own
  simrun replay 12 --scenario bookie --defect ack-before-write`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, ids []string) error { return a.defects(c.Context(), f, ids) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, d := range defects.All() {
				names = append(names, d.ID+"\t"+d.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := c.Flags()
	flags.IntVar(&f.campaigns, "campaigns", defects.CampaignsDefault, "hunts for each defect, from different seeds")
	flags.Float64Var(&f.budget, "budget", defects.CPUSecondsDefault, "seconds of processor time that a hunt may take")
	flags.Uint64Var(&f.seed, "seed", 1, "first seed of the first hunt")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "hunts side by side")
	flags.DurationVar(&f.shrink, "shrink", 0, "make the failing trials small instead, each within this time")
	flags.Lookup("shrink").NoOptDefVal = shrink.BudgetDefault.String()
	flags.StringVar(&f.out, "out", "shrunk", "with --shrink: directory for the small trials")
	flags.StringVar(&f.overlay, "overlay", "", "write the bugs into this directory as an overlay for go test, and hunt for nothing")
	flags.BoolVar(&f.list, "list", false, "print the catalogue and hunt for nothing")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	return c
}

func (a *app) defects(ctx context.Context, f defectsFlags, ids []string) error {
	chosen, err := chooseDefects(ids)
	if err != nil {
		return err
	}
	switch {
	case f.overlay != "" && (f.list || f.json || f.shrink > 0 || len(ids) > 0):
		return fmt.Errorf("%w: --overlay writes all bugs and does nothing else: leave the rest out", campaign.ErrUsage)
	case f.overlay != "":
		return a.writeOverlay(f.overlay)
	case f.list && f.json:
		return a.printJSON(map[string]any{"defects": chosen})
	case f.list:
		return defects.WriteList(a.out, chosen)
	case f.campaigns < 1 || f.workers < 1 || f.budget <= 0:
		return fmt.Errorf("%w: campaigns, workers and budget must be positive", campaign.ErrUsage)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(a.err, "building the engine with all defects planted")
	if f.shrink > 0 {
		return a.shrinkDefects(ctx, f, ids)
	}
	table, err := defects.Detect(ctx, defects.Options{
		Sources: ".", IDs: ids, Campaigns: f.campaigns, Workers: f.workers, Seed: f.seed, CPUSeconds: f.budget,
		Watch: func(p defects.Progress) { fmt.Fprintln(a.err, p) },
	})
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	a.code = table.ExitCode()
	if f.json {
		return a.printJSON(table)
	}
	return table.WriteText(a.out)
}

// writeOverlay writes the planted bugs for go commands of the user's own, and says how to use them.
func (a *app) writeOverlay(directory string) error {
	root, err := defects.FindSources(".")
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	// The go command may run anywhere, and reads the paths in the overlay as they stand there.
	if directory, err = filepath.Abs(directory); err == nil {
		err = os.MkdirAll(directory, 0o755)
	}
	if err != nil {
		return fmt.Errorf("%w: make room for the overlay: %w", campaign.ErrEnvironment, err)
	}
	plan, err := defects.WriteOverlay(root, directory)
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	fmt.Fprintf(a.out, "%d bugs are planted, all switched off; one is on with:\n\n  %s=ID go test -overlay %s\n", len(defects.All()), defect.Variable, plan)
	return nil
}

// shrinkDefects makes the failures of defects small.
func (a *app) shrinkDefects(ctx context.Context, f defectsFlags, ids []string) error {
	table, err := defects.ShrinkAll(ctx, defects.ShrinkOptions{
		Sources: ".", IDs: ids, Workers: f.workers, Seed: f.seed, CPUSeconds: f.budget, Budget: f.shrink, Out: f.out,
		Watch: func(r defects.ShrinkRow) {
			fmt.Fprintf(a.err, "%s: %d faults and %d operations, %s %s\n", r.ID, r.After.Faults, r.After.Operations, r.Ending, r.Failure)
		},
	})
	if table == nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	if !table.OK() {
		a.code = campaign.ExitBroken
	}
	if f.json {
		return errors.Join(a.printJSON(table), err)
	}
	return errors.Join(table.WriteText(a.out), err)
}

// chooseDefects looks names up, and tells the nearest where there is none.
func chooseDefects(ids []string) ([]defects.Defect, error) {
	all := defects.All()
	if len(ids) == 0 {
		return all, nil
	}
	var names []string
	for _, d := range all {
		names = append(names, d.ID)
	}
	var chosen []defects.Defect
	for _, id := range ids {
		d, err := defects.Find(id)
		if err != nil {
			if near := campaign.Nearest(id, names); near != "" {
				return nil, fmt.Errorf("%w: %w; did you mean %s?", campaign.ErrUsage, err, near)
			}
			return nil, fmt.Errorf("%w: %w; see simrun defects --list", campaign.ErrUsage, err)
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

// plantOnDemand lets commands with a flag --defect run in a program that has defects: this one has none.
func (a *app) plantOnDemand(root *cobra.Command) {
	for _, c := range root.Commands() {
		if defect.Compiled || c.Flags().Lookup("defect") == nil {
			continue
		}
		run := c.RunE
		c.RunE = func(c *cobra.Command, arguments []string) error {
			id := demandedDefect(c, arguments)
			if id == "" {
				return run(c, arguments)
			}
			if _, err := chooseDefects([]string{id}); err != nil {
				return err
			}
			return a.runPlanted(c, arguments)
		}
	}
}

// demandedDefect is the one that the flag names, or else the case or the campaign that is to be run again. A file that is
// neither names none: the command itself says what is wrong with it.
func demandedDefect(c *cobra.Command, arguments []string) string {
	if id, err := c.Flags().GetString("defect"); err != nil || id != "" {
		return id
	}
	if log := c.Flags().Lookup("resume"); log != nil && log.Changed {
		header, err := campaign.ReadHeader(log.Value.String())
		if err != nil {
			return ""
		}
		return header.Defect
	}
	if c.Name() != replayName && c.Name() != shrinkName || len(arguments) != 1 {
		return ""
	}
	defect, err := campaign.DefectOf(arguments[0])
	if err != nil {
		return ""
	}
	return defect
}

// runPlanted builds simrun with the defects planted and has it do what this command was asked for.
func (a *app) runPlanted(c *cobra.Command, arguments []string) error {
	root, err := defects.FindSources(".")
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	directory, err := os.MkdirTemp("", "lakebed-defects-")
	if err != nil {
		return fmt.Errorf("%w: make room for the overlay: %w", campaign.ErrEnvironment, err)
	}
	defer os.RemoveAll(directory)
	fmt.Fprintln(a.err, "building the engine with all defects planted")
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	program, err := defects.Build(ctx, root, directory, "cmd/simrun")
	interrupted := ctx.Err()
	stop()
	if interrupted != nil {
		return interrupted
	}
	if err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	line := []string{c.Name()}
	c.Flags().Visit(func(f *pflag.Flag) { line = append(line, "--"+f.Name+"="+f.Value.String()) })
	planted := exec.CommandContext(c.Context(), program, append(append(line, "--"), arguments...)...)
	planted.Stdin, planted.Stdout, planted.Stderr = os.Stdin, a.out, a.err
	interrupted, err = runForwarding(planted)
	if interrupted != nil && planted.ProcessState != nil && !planted.ProcessState.Exited() {
		return interrupted
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		a.code = exit.ExitCode()
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: run %s: %w", campaign.ErrEnvironment, strings.Join(line, " "), err)
	}
	return nil
}
