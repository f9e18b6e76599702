package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lakebed/service/wire"
	"lakebed/trial/campaign"
)

// app is what all commands share.
type app struct {
	catalogue campaign.Catalogue
	in        io.Reader // what commands read that say so; nil: standard input
	out       io.Writer // results
	err       io.Writer // progress, errors
	profile   string
	shrinker  campaign.Shrinker // makes failures smaller; nil: nothing does

	begun bool // the arguments were accepted and a command runs
	code  int  // what a command that did its work wants to exit with
}

// run executes a command line and returns its exit code.
func (a *app) run(ctx context.Context, arguments []string) int {
	root := a.rootCommand()
	root.SetArgs(arguments)
	root.SetOut(a.out)
	root.SetErr(a.err)
	if err := enoughFiles(); err != nil {
		a.tell(failure{Error: err.Error(), ExitCode: campaign.ExitEnvironment}, slices.Contains(arguments, "--json"))
		return campaign.ExitEnvironment
	}
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return a.code
	}
	if a.begun && errors.Is(err, context.Canceled) {
		a.tell(failure{Error: "interrupted", ExitCode: campaign.ExitEnvironment}, asJSON(command, arguments))
		return campaign.ExitEnvironment
	}
	told := failure{Error: strings.TrimPrefix(err.Error(), campaign.ErrUsage.Error()+": "), ExitCode: campaign.ExitEnvironment}
	_ = errors.As(err, &told.Class) // it may have none
	if !a.begun || errors.Is(err, campaign.ErrUsage) {
		told.See, told.ExitCode = command.CommandPath()+" --help", campaign.ExitUsage
	} else if a.code == campaign.ExitBroken {
		told.ExitCode = a.code // what was found before the environment failed still holds
	}
	a.tell(told, asJSON(command, arguments))
	return told.ExitCode
}

// failure is why a command has ended, as --json tells it on standard error: standard output holds results only, perhaps some that
// came before.
type failure struct {
	Error    string     `json:"error"`
	Class    wire.Class `json:"class,omitempty"` // of what a server of a single-node store has refused
	ExitCode int        `json:"exit_code"`
	See      string     `json:"see,omitempty"` // the command that explains the right use
}

func (a *app) tell(f failure, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(a.err).Encode(f) // there is nobody else to tell
		return
	}
	fmt.Fprintf(a.err, "simrun: %s\n", f.Error)
	if f.See != "" {
		fmt.Fprintf(a.err, "see: %s\n", f.See)
	}
}

// asJSON says whether a command was asked for JSON, even where its flags were not understood.
func asJSON(c *cobra.Command, arguments []string) bool {
	f := c.Flags().Lookup("json")
	if f == nil || f.Value.Type() != "bool" {
		return false
	}
	return f.Value.String() == "true" || !f.Changed && slices.Contains(arguments, "--json")
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "simrun",
		Short: "Prove a storage engine in a simulated world, measure it on a real disk, look at what it wrote",
		Long: `simrun runs the Lakebed storage engine and the laboratory around it.

There are four things to do:

  prove     run the engine in a world that breaks on purpose, thousands of times, each time from a seed
            simrun campaign          many seeds; a failure prints the command that shows it again
            simrun replay SEED       one of them again, event by event the same
            simrun shrink SEED|FILE  a failing one made small: few faults, few operations
            simrun explore           every state of very small clusters
            simrun metamorphic       one workload under many configurations: one state?
            simrun defects           planted bugs: are they caught, by what, how fast
  measure   run the same code on this machine's disk
            simrun bench             beside the disk's own limit; "bench world": the laboratory's own speed
            simrun experiment        numbered claims, each with the rule that decides it
            simrun report DIR        their results as Markdown, or as a page with plots
  run       the engine as processes of this machine
            simrun metadata, bookie  a cluster; "simrun bookie --help" has one that can be copied
            simrun ledger            write, read, tail and recover its ledgers
            simrun log               a segment log on one machine: serve, append, fetch, tail
            simrun mq                a commit log on one machine: serve, send, pull, query
            simrun death             kill -9 under load: is everything there that was acknowledged?
  inspect   read what the engine wrote, in words
            simrun inspect PATH      a bookie, a directory or a file, every checksum verified

Start with "simrun campaign". It takes about a minute and ends with what to do next.

Exit codes: 0 ok, 1 a promise that was checked is broken or too little was seen, 2 wrong use, 3 the environment failed or
you interrupted.
All commands that print a table print the same facts as JSON with --json. Then an error is one JSON object on standard error.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          explainCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.begun = true
			return refuseEmptyPaths(c)
		},
	}
	root.SetFlagErrorFunc(explainFlag)
	root.AddCommand(a.campaignCommand(), a.replayCommand(), a.shrinkCommand(), a.exploreCommand(), a.metamorphicCommand(), a.defectsCommand(), a.benchCommand(), a.inspectCommand(), a.reportCommand(), a.experimentCommand(), a.versionCommand(), a.workerCommand())
	root.AddCommand(a.daemonCommands()...)
	a.plantOnDemand(root)
	return root
}

// explainCommand names the command that was likely meant.
func explainCommand(root *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := campaign.Nearest(arguments[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", arguments[0], near)
	}
	return fmt.Errorf("unknown command %q; there are: %s", arguments[0], strings.Join(names, ", "))
}

// noArguments is for commands that have none: cobra's own words would call the argument a command.
func noArguments(c *cobra.Command, arguments []string) error {
	if len(arguments) > 0 {
		return fmt.Errorf("%s takes no arguments, not %q", c.Name(), arguments[0])
	}
	return nil
}

// refuseBelowOne refuses flags that were given with zero or less: their defaults stand for something else than zero, and
// whoever types a zero means it.
func refuseBelowOne(c *cobra.Command, names ...string) error {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		value := f.Value.String()
		if f.Changed && (strings.HasPrefix(value, "-") || value == "0" || value == "0s") {
			return fmt.Errorf("%w: --%s %s: must be more than nothing", campaign.ErrUsage, name, value)
		}
	}
	return nil
}

// refuseEmptyPaths refuses flags for a path or an address that were given without one, as a script does whose variable is not set: to
// take them for flags that were not given would lose the page, or reach another store.
func refuseEmptyPaths(c *cobra.Command) (err error) {
	paths := []string{"html", "model", "markdown", "out", "junit", "jsonl", "resume", "trace", "overlay", "compare", "dir", "data", "url", "socket", "listen", "profile-dir"}
	c.Flags().Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); err == nil && slices.Contains(paths, f.Name) && (value == "" || value == `[""]` || value == "[]") {
			err = fmt.Errorf("%w: --%s is given without a value", campaign.ErrUsage, f.Name)
		}
	})
	return err
}

// explainFlag names the flag that was likely meant.
func explainFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if name := unknown.GetSpecifiedName(); c.Name() == replayName && strings.Trim(name, "0123456789") == "" {
		return fmt.Errorf("replay takes a seed from 0 to 2^64-1, not -%s", unknown.GetSpecifiedShortnames())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := campaign.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

// printJSON prints one object, for programs.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("%w: print: %w", campaign.ErrEnvironment, err)
	}
	return nil
}
