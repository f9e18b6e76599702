package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lakebed/trial/bench"
	"lakebed/trial/campaign"
)

// clusterFlags is what the command line says about a measurement of simulated clusters.
type clusterFlags struct {
	length time.Duration
	bench  benchFlags // profile and its directory
	json   bool
}

func (a *app) benchClusterWorldCommand() *cobra.Command {
	var f clusterFlags
	c := &cobra.Command{
		Use:   "cluster-world [WORLD…]",
		Short: "Measure the speed of simulated clusters",
		Long: `Measure what a cluster costs in the simulated world. Each kind of world runs in a process with one thread, as campaigns
start them:

  cluster      trials of the scenario of this name: what a campaign pays for a seed
  steady       5/3/2, one writer that keeps many appends under way, no fault: what an acknowledged append costs
  sequential   5/3/2, one append after the other, so that one operation is under way at any time: simulated by wall time

CPU figures hold on a busy machine too; those by wall time need a quiet one. To see where the time goes, let the worlds
run in this process and profile it.`,
		Example: `  simrun bench cluster-world                                     # all three, a quarter of a minute
  simrun bench cluster-world steady --length 20s --json
  simrun bench cluster-world cluster --profile cpu                # then: go tool pprof -top profiles/cpu.pprof`,
		RunE: func(c *cobra.Command, names []string) error { return a.benchClusterWorld(c, f, names) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, k := range bench.ClusterKinds() {
				names = append(names, string(k))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := c.Flags()
	flags.DurationVar(&f.length, "length", benchWorldLength, "CPU time for each kind of world")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	flags.StringVar(&f.bench.profile, "profile", "", "measure in this process, and write a profile of it: "+profileNames())
	flags.StringVar(&f.bench.profileDir, "profile-dir", benchProfileDir, "where the profile goes; made if it is missing")
	return c
}

func (a *app) benchClusterWorld(c *cobra.Command, f clusterFlags, names []string) error {
	kinds, err := bench.ParseClusterKinds(names)
	if err != nil {
		return benchError(err)
	}
	if f.length <= 0 {
		return fmt.Errorf("%w: --length %s: must be longer than nothing", campaign.ErrUsage, f.length)
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	measure, err := clusterMeasure(ctx, f)
	if err != nil {
		return err
	}
	stopProfile, err := a.startBenchProfile(f.bench)
	if err != nil {
		return err
	}
	report, err := bench.MeasureClusters(kinds, measure)
	stopProfile()
	if err != nil {
		return sayInterrupted(ctx, benchError(err))
	}
	result := report.Result(commandLine(c, names))
	return a.printBench(f.json, &result, nil)
}

// clusterMeasure measures in other processes, which only this one's profile would not see.
func clusterMeasure(ctx context.Context, f clusterFlags) (func(bench.WorldKind) (bench.WorldFigures, error), error) {
	if f.bench.profile != "" {
		return func(kind bench.WorldKind) (bench.WorldFigures, error) {
			return orInterrupted(ctx, func() (bench.WorldFigures, error) { return bench.MeasureWorld(kind, f.length) })
		}, nil
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: find this program, to start it again: %w", campaign.ErrEnvironment, err)
	}
	command := func(kind bench.WorldKind, length time.Duration) []string {
		return []string{executable, "bench", "world", "--process", string(kind), "--length", length.String()}
	}
	return bench.InAnotherProcess(ctx, command, f.length), nil
}
