package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/death"
	"lakebed/trial/campaign"
	"lakebed/trial/defects/defect"
)

// deathFlags is what the command line says about a run.
type deathFlags struct {
	rounds   int
	seed     uint64
	bookies  int
	inFlight int
	dir      string
	keep     bool
	strace   bool
	defect   string
	json     bool
}

func (a *app) deathCommand() *cobra.Command {
	var f deathFlags
	c := &cobra.Command{
		Use:   "death",
		Short: "Kill real processes under load, and look for what was acknowledged",
		Long: `Run a cluster as processes of this machine and kill in it without warning, round after round: one bookie, as many as
an acknowledged entry lies on at least, all of them at the same moment, the writer, and the writer with each of these.
Every round writes a ledger from a process of its own, kills at a random moment under load, starts the bookies again,
recovers the ledger as another client, and reads it.

Acknowledgements are logged by this process, which is not killed. Every acknowledged entry must be there, byte for byte
and in its place; a recovered ledger must end in the same place for everybody, and its writer must be shut out. When all
rounds are over the bookies are stopped and started once more, and everything is read again.

With --defect the bookies run with a planted bug, which takes the sources of the repository and the go command. One that
answers adds before they are written (answer-at-submit), or that forgets its newest journal when it starts
(last-file-not-replayed), must be found; one that never syncs (no-sync) is not, since SIGKILL takes nothing from the page
cache: that is what --strace is for.

--strace runs no rounds. It runs one bookie under strace, writes a ledger to it, and shows from the system calls that no
acknowledgement left before a sync of the journal had returned that began after the entry was written. This finds no-sync.

Exit code 0: nothing was lost. 1: something was; the table says what, and the directory is kept. 3: this machine did not
let it, and the directory is kept as well; or you interrupted: the table has the rounds that were finished.`,
		Example: `  simrun death                                # 50 rounds, a minute or two
  simrun death --rounds 7                     # one of each kind
  simrun death --defect answer-at-submit      # bookies that promise too much: exit code 1
  simrun death --strace                       # do acknowledgements wait for the disk?
  simrun death --strace --defect no-sync      # these do not: exit code 1
  simrun death --json > death.json            # every round, for a program`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.death(c.Context(), &f) },
	}
	flags := c.Flags()
	flags.IntVar(&f.rounds, "rounds", death.RoundsDefault, "how many rounds")
	flags.Uint64Var(&f.seed, "seed", 1, "draws moments, victims and contents; processes still do not run the same way twice")
	flags.IntVar(&f.bookies, "bookies", death.BookiesDefault, "how many bookies; ledgers use three")
	flags.IntVar(&f.inFlight, "in-flight", death.InFlightDefault, "entries that the writer has under way")
	flags.StringVar(&f.dir, "dir", "", "directory for bookies and logs (default: a new one below the temporary directory)")
	flags.BoolVar(&f.keep, "keep", false, "keep a new directory although nothing was found")
	flags.BoolVar(&f.strace, "strace", false, "trace the system calls of one bookie, instead of killing")
	flags.StringVar(&f.defect, "defect", "", "run the bookies with this planted bug")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (a *app) death(ctx context.Context, f *deathFlags) error {
	if f.rounds < 1 || f.inFlight < 1 {
		return fmt.Errorf("%w: rounds and entries in flight must be positive", campaign.ErrUsage)
	}
	if least := death.LedgerQuorum().Ensemble; f.bookies < least {
		return fmt.Errorf("%w: %d bookies: a ledger needs %d", campaign.ErrUsage, f.bookies, least)
	}
	ctx, release := oshost.UntilTerminated(ctx)
	defer release()
	dir, temporary, err := f.directory()
	if err != nil {
		return err
	}
	var environment []string
	if f.defect != "" {
		environment = []string{defect.Variable + "=" + f.defect}
	}
	if f.strace {
		err = a.deathTrace(ctx, f, dir, environment)
		return a.endDeath(f, dir, temporary, err)
	}
	options := death.Options{
		Dir: dir, Rounds: f.rounds, Seed: f.seed, Bookies: f.bookies, InFlight: f.inFlight, Env: environment,
		Watch: func(r death.Round) { fmt.Fprintln(a.err, r) },
	}
	report, err := death.Run(ctx, options)
	report.Defect = f.defect
	a.code = report.ExitCode()
	if len(report.Rounds) > 0 || report.Interrupted {
		err = errors.Join(err, a.printDeath(f, report))
	}
	return a.endDeath(f, dir, temporary, err)
}

// endDeath removes what nobody needs, and sorts the error. What an interrupt left half done shows nobody anything.
func (a *app) endDeath(f *deathFlags, dir string, temporary bool, err error) error {
	interrupted := errors.Is(err, context.Canceled)
	if temporary && !f.keep && (err == nil || interrupted) && a.code != campaign.ExitBroken {
		err = errors.Join(err, os.RemoveAll(dir))
	} else {
		fmt.Fprintln(a.err, "kept:", dir)
	}
	if err != nil && !interrupted {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	return err
}

// deathTrace shows from one bookie's system calls that acknowledgements wait for the disk.
func (a *app) deathTrace(ctx context.Context, f *deathFlags, dir string, environment []string) error {
	traced, err := death.Trace(ctx, death.TraceOptions{Dir: dir, Seed: f.seed, Env: environment})
	if err != nil {
		return sayInterrupted(ctx, err)
	}
	if len(traced.Violations) > 0 {
		a.code = campaign.ExitBroken
	}
	if f.json {
		return a.printJSON(traced)
	}
	return traced.WriteText(a.out)
}

func (a *app) printDeath(f *deathFlags, report *death.Report) error {
	if f.json {
		return a.printJSON(report)
	}
	return report.WriteText(a.out)
}

// directory is where everything goes. A directory that was named must be empty, so that no earlier run's bookies are in it.
func (f *deathFlags) directory() (path string, temporary bool, err error) {
	if f.dir == "" {
		path, err = os.MkdirTemp("", "lakebed-death-")
		if err != nil {
			return "", false, fmt.Errorf("%w: make room: %w", campaign.ErrEnvironment, err)
		}
		return path, true, nil
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return "", false, fmt.Errorf("%w: make room: %w", campaign.ErrEnvironment, err)
	}
	inside, err := os.ReadDir(f.dir)
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	if len(inside) > 0 {
		return "", false, fmt.Errorf("%w: --dir %s is not empty, and bookies of another cluster must not come back in this one", campaign.ErrUsage, f.dir)
	}
	return f.dir, false, nil
}

func (a *app) deathWriterCommand() *cobra.Command {
	o := death.WriterOptions{Quorum: death.LedgerQuorum()}
	var logs logFlags
	c := &cobra.Command{
		Use:    death.WriterCommand,
		Short:  "Write a ledger for simrun death, until killed",
		Long:   "Write a ledger and tell every acknowledgement on standard output, for the run of simrun death that started this process.",
		Hidden: true,
		Args:   noArguments,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Logger, err = logs.logger(a); err != nil {
				return err
			}
			return a.live(c, func(ctx context.Context) error { return death.Write(ctx, o, a.out) })
		},
	}
	c.Flags().StringVar(&o.Metadata, "metadata", "127.0.0.1:2181", "address of the metadata store")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "of the contents")
	c.Flags().IntVar(&o.InFlight, "in-flight", death.InFlightDefault, "entries under way")
	logs.add(c)
	return c
}
