package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Exit codes, those of simrun.
const (
	exitOK          = 0
	exitBroken      = 1
	exitUsage       = 2
	exitEnvironment = 3
)

const help = `usage: wasm [--seed N] [--seeds N] [--randoms N] [--json] [SCENARIO…]

Run the same trials natively and under wazero, and compare trace hash, events, disks and verdict of each.

  go -C interop/wasm run .                              # two seeds of each scenario, each twice under wazero
  go -C interop/wasm run . --seeds 20 --randoms 1       # more seeds
  go -C interop/wasm run . --seed 42 --seeds 1 cluster  # one trial

Exit codes: 0 the same everywhere, 1 two runs of a trial differ, 2 wrong use, 3 the environment failed.

`

// asked is what the command line asks for.
type asked struct {
	first, seeds, randoms uint64
	scenarios             []string
	json                  bool
}

// report is what came of it, for programs.
type report struct {
	Trials      int          `json:"trials"`
	Randoms     uint64       `json:"randoms"` // runs under wazero, each with another random source
	Differences []difference `json:"differences"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, arguments []string, out, problems io.Writer) int {
	a, err := parse(arguments, problems)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(problems, "wasm: %v\n", err)
		return exitUsage
	}
	r, err := a.compare(ctx, problems)
	if err == nil {
		err = r.print(out, a.json)
	}
	switch {
	case err != nil:
		fmt.Fprintf(problems, "wasm: %v\n", err)
		return exitEnvironment
	case len(r.Differences) > 0:
		return exitBroken
	}
	return exitOK
}

func parse(arguments []string, problems io.Writer) (asked, error) {
	var a asked
	flags := flag.NewFlagSet("wasm", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprint(problems, help)
		flags.PrintDefaults()
	}
	flags.Uint64Var(&a.first, "seed", 0, "the first seed")
	flags.Uint64Var(&a.seeds, "seeds", 2, "how many seeds of each scenario")
	flags.Uint64Var(&a.randoms, "randoms", 2, "runs under wazero, each with another random source of the guest")
	flags.BoolVar(&a.json, "json", false, "print one JSON object instead of text")
	if err := flags.Parse(arguments); err != nil {
		return a, err
	}
	a.scenarios = flags.Args()
	if a.seeds == 0 || a.randoms == 0 {
		return a, errors.New("--seeds and --randoms: must be more than nothing")
	}
	return a, nil
}

// arguments are those of cmd/fingerprint.
func (a *asked) arguments() []string {
	return append([]string{"--seed", strconv.FormatUint(a.first, 10), "--seeds", strconv.FormatUint(a.seeds, 10), "--"}, a.scenarios...)
}

// compare builds both programs, runs them, and compares what they print.
func (a *asked) compare(ctx context.Context, progress io.Writer) (*report, error) {
	directory, err := os.MkdirTemp("", "lakebed-wasm-")
	if err != nil {
		return nil, fmt.Errorf("make room for the programs: %w", err)
	}
	defer os.RemoveAll(directory)
	fmt.Fprintln(progress, "build for this machine and for wasip1")
	programs, err := build(ctx, directory)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "run natively")
	want, err := programs.native(ctx, a.arguments())
	if err != nil {
		return nil, err
	}
	r := &report{Trials: strings.Count(want, "\n"), Randoms: a.randoms, Differences: []difference{}}
	if r.Trials == 0 {
		return nil, errors.New("no trial ran")
	}
	for random := range a.randoms {
		fmt.Fprintf(progress, "run under wazero, random source %d of %d\n", random+1, a.randoms)
		got, err := programs.guest(ctx, a.arguments(), random)
		if err != nil {
			return nil, err
		}
		r.Differences = append(r.Differences, differences(random, want, got)...)
	}
	return r, nil
}

func (r *report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "DIFFERENT with random source %d:\n  native  %s\n  wazero  %s\n", d.Random+1, d.Native, d.Guest)
	}
	if len(r.Differences) > 0 {
		fmt.Fprintf(&b, "%d of %d comparisons differ: a trial is not determined by its seed\n", len(r.Differences), uint64(r.Trials)*r.Randoms)
	} else {
		fmt.Fprintf(&b, "%d trials, each once natively and %d times under wazero: the same hash, events and disks\n", r.Trials, r.Randoms)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
