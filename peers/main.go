package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"lakebed/peers/measure"
	"lakebed/reports"
)

// Exit codes, those of simrun.
const (
	exitOK          = 0
	exitBroken      = 1
	exitUsage       = 2
	exitEnvironment = 3
)

const help = `usage: peers [flags]

Measure engine/seglog and engine/commitlog beside NATS JetStream, etcd's WAL, tidwall/wal, and, where java and mvn are, Apache Kafka
and Apache RocketMQ: appends synced and unsynced, 100 B to 16 KiB, 1 and 1000 partitions, 1 and 64 appenders, and warm sequential
reads; the raw line (pwrite and fdatasync) beside them. All take turns on the same disk. About twenty minutes.

  go -C peers run . --quick --brokers none                  # a look, in half a minute
  go -C peers run . --dir /data --json >peers.json          # everything
  go -C peers run . --only synced/1KiB/1/64,read/1KiB       # some points
  go -C peers run . --stores seglog,tidwall/wal --rounds 10 # some stores
  go -C peers run . --compare peers.json                    # what has changed since
  simrun report peers/peers.json --html peers.html          # the same as a page

Exit codes: 0 ok, 1 a store gave back other payloads than it took, or with --require-goals a goal is missed, 2 wrong use,
3 the environment failed.

`

// asked is what the command line asks for.
type asked struct {
	options      measure.Options
	json         bool
	compare      string
	requireGoals bool
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == measure.WorkerArgument {
		if err := measure.Work(os.Stdin, measure.AnswerFile()); err != nil {
			fmt.Fprintf(os.Stderr, "peers worker: %v\n", err)
			os.Exit(exitEnvironment)
		}
		return
	}
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
	if err == nil {
		err = a.measure(ctx, out, problems)
	}
	if err != nil && !errors.Is(err, errGoals) {
		fmt.Fprintf(problems, "peers: %v\n", err)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, measure.ErrBroken), errors.Is(err, errGoals):
		return exitBroken
	case errors.Is(err, measure.ErrUsage):
		return exitUsage
	}
	return exitEnvironment
}

var errGoals = errors.New("goals are missed")

func parse(arguments []string, problems io.Writer) (a asked, err error) {
	var names, brokers string
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprint(problems, help)
		flags.PrintDefaults()
	}
	o := &a.options
	flags.StringVar(&o.Dir, "dir", ".", "directory on the disk to measure; a fresh directory in it is used and removed")
	flags.StringVar(&names, "stores", "", "measure only these, with commas between: "+strings.Join(measure.StoreNames(), ", "))
	flags.StringVar(&o.Only, "only", "", "measure only points with one of these in their names, with commas between")
	flags.StringVar(&brokers, "brokers", string(measure.BrokersAuto), "auto: Kafka and RocketMQ where they can be had; none; require: it is an error if they cannot")
	flags.BoolVar(&o.Quick, "quick", false, "two short rounds of 1 KiB and one partition")
	flags.IntVar(&o.Rounds, "rounds", 0, "rounds of each store at each point; 0: six, or two with --quick")
	flags.DurationVar(&o.Length, "length", 0, "length of a round; 0: half a second, or a tenth with --quick")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of payloads and resampling")
	flags.BoolVar(&a.json, "json", false, "print one JSON object instead of tables")
	flags.StringVar(&a.compare, "compare", "", "a result printed with --json: say what has changed since")
	flags.BoolVar(&a.requireGoals, "require-goals", false, "exit with 1 if a goal is missed")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return a, err
	} else if err != nil {
		return a, fmt.Errorf("%w: %w", measure.ErrUsage, err)
	}
	o.Brokers = measure.Brokers(brokers)
	switch {
	case flags.NArg() > 0:
		return a, fmt.Errorf("%w: %q is not a flag", measure.ErrUsage, flags.Arg(0))
	case o.Brokers != measure.BrokersAuto && o.Brokers != measure.BrokersNone && o.Brokers != measure.BrokersRequire:
		return a, fmt.Errorf("%w: --brokers %q: want auto, none or require", measure.ErrUsage, brokers)
	case o.Rounds < 0 || o.Length < 0:
		return a, fmt.Errorf("%w: --rounds and --length must not be negative", measure.ErrUsage)
	}
	if names != "" {
		o.Stores = strings.Split(names, ",")
	}
	o.Command = strings.Join(append([]string{"go -C peers run ."}, arguments...), " ")
	o.Progress = func(doing string) { fmt.Fprintf(problems, "peers: %s\n", doing) }
	return a, nil
}

func (a *asked) measure(ctx context.Context, out, problems io.Writer) (err error) {
	var before reports.Result
	if a.compare != "" {
		if before, err = reports.ReadResult(a.compare); err != nil {
			return fmt.Errorf("%w: %w", measure.ErrUsage, err)
		}
	}
	if a.options.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("%w: find this program, to start workers: %w", measure.ErrEnvironment, err)
	}
	result, err := measure.Run(ctx, a.options)
	if err != nil {
		return err
	}
	if err := a.print(out, &before, &result); err != nil {
		return fmt.Errorf("%w: print: %w", measure.ErrEnvironment, err)
	}
	if skipped := measure.Skipped(&result); len(skipped) > 0 {
		fmt.Fprintf(problems, "peers: %d skipped, see the notes\n", len(skipped))
	}
	if missed := len(result.Goals) - result.GoalsMet(); missed > 0 && a.requireGoals {
		return errGoals
	}
	return nil
}

func (a *asked) print(out io.Writer, before, after *reports.Result) error {
	if a.json {
		return reports.WriteJSON(out, after)
	}
	if err := after.Print(out); err != nil {
		return err
	}
	if a.compare == "" {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return reports.PrintComparison(out, before, after)
}
