package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lakebed/trial/bench/processes/daemon"
	"lakebed/trial/bench/processes/settings"
	"lakebed/trial/campaign"
)

// bookieFlags is what the command line says about a bookie.
type bookieFlags struct {
	data       string
	address    string
	listen     string
	metadata   []string
	initialize bool
	config     string
	set        []string
	list       bool
	json       bool
	logs       logFlags
}

func (a *app) bookieCommand() *cobra.Command {
	var f bookieFlags
	c := &cobra.Command{
		Use:   "bookie --data DIR --address HOST:PORT --metadata HOST:PORT",
		Short: "Run a bookie: it stores entries of ledgers below a directory",
		Long: `Run one bookie of a cluster. It keeps its journal and its entries below --data, and is known to clients by --address.
Directory and address belong together for ever: a bookie that comes without what it acknowledged is refused.

The first bookie of a new cluster is started with --initialize. It founds the cluster if its own directories are blank
and the metadata store holds none, and changes nothing otherwise.

When the bookie serves and clients can find it, it says so in one line on standard output, and whether there was
something before:

  serving bookie 127.0.0.1:3181 new             or: restarted, or: recovered N (groups of the journal, after a crash)

The log goes to standard error. At the first SIGTERM or SIGINT the bookie stops in good order: it leaves the metadata
store, answers what it has taken, writes everything to the entry log and closes the journal. If the disk does not let it, it
ends with an error after a minute (lakebed.stopTimeout). A second signal kills it. Either loses nothing that was
acknowledged.

Settings have the names that bookkeeper.conf has for them. --config reads a file of them, in the same form; --set gives
one a value and wins. --settings lists them all.

Go's collector is told the sum of everything that the settings bound, for as many connections as are allowed, and 64 MiB:
the log says how much. The environment variable GOMEMLIMIT, such as 2GiB, gives it another limit.

Exit code 0: it was asked to stop. 2: wrong use. 3: it cannot serve, or had to stop; the error says what to do.`,
		Example: `  simrun metadata &
  simrun bookie --data /tmp/b1 --address 127.0.0.1:3181 --metadata 127.0.0.1:2181 --initialize &
  simrun bookie --data /tmp/b2 --address 127.0.0.1:3182 --metadata 127.0.0.1:2181 --initialize &
  simrun bookie --data /tmp/b3 --address 127.0.0.1:3183 --metadata 127.0.0.1:2181 --set journalMaxSizeMB=64 &
  simrun bookie --data /tmp/b4 --address 127.0.0.1:3184 --metadata 127.0.0.1:2181 --config bookkeeper.conf
  simrun bookie --settings                      # names, defaults, meanings`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.list {
				return a.listSettings(f.json)
			}
			return a.bookie(c, &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.data, "data", "", "directory of this bookie; made if it is missing")
	flags.StringVar(&f.address, "address", "127.0.0.1:3181", "address by which clients know this bookie")
	flags.StringVar(&f.listen, "listen", "", "address to listen on, if it is another one")
	flags.StringSliceVar(&f.metadata, "metadata", []string{"127.0.0.1:2181"}, "addresses of the metadata store, tried in turn")
	flags.BoolVar(&f.initialize, "initialize", false, "found the cluster if there is none yet")
	flags.StringVar(&f.config, "config", "", "file of settings, in the form of bookkeeper.conf")
	flags.StringArrayVar(&f.set, "set", nil, "name=value of a setting; may be given several times")
	flags.BoolVar(&f.list, "settings", false, "list the settings, and run nothing")
	flags.BoolVar(&f.json, "json", false, "with --settings: print one JSON object instead of a table")
	f.logs.add(c)
	_ = c.MarkFlagDirname("data")
	_ = c.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, s := range settings.All() {
			names = append(names, s.Name+"=\t"+s.About)
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (a *app) bookie(c *cobra.Command, f *bookieFlags) error {
	options, err := f.options(a)
	if err != nil {
		return asUsage(err)
	}
	daemon.LimitMemory(options.Config(), options.Logger)
	served := false
	options.Serving = func(s daemon.Announcement) {
		served = true
		fmt.Fprintln(a.out, s)
	}
	return a.live(c, func(ctx context.Context) error {
		err := daemon.RunBookie(ctx, options) // when it returns none of its tasks is left
		switch {
		case err == nil && served:
			fmt.Fprintf(a.out, "stopped bookie %s: it has left the metadata store, and everything is in its entry logs\n", options.Address)
		case err == nil:
			fmt.Fprintf(a.out, "stopped bookie %s before it served\n", options.Address)
		}
		return err
	})
}

// options reads everything that the command line names, and says what is wrong before anything is touched.
func (f *bookieFlags) options(a *app) (daemon.BookieOptions, error) {
	o := daemon.BookieOptions{
		Data: f.data, Address: f.address, Listen: f.listen, Metadata: f.metadata, Initialize: f.initialize, Settings: settings.Default(),
	}
	if f.data == "" {
		return o, fmt.Errorf("%w: bookie needs --data, the directory that it keeps everything in", campaign.ErrUsage)
	}
	if err := checkAddress("address", f.address, false); err != nil {
		return o, err
	}
	if f.listen != "" {
		if err := checkAddress("listen", f.listen, true); err != nil {
			return o, err
		}
	}
	for _, address := range f.metadata {
		if err := checkAddress("metadata", address, false); err != nil {
			return o, err
		}
	}
	if f.config != "" {
		if err := settings.Load(&o.Settings, f.config); err != nil {
			return o, err
		}
	}
	for _, assignment := range f.set {
		if err := settings.Assign(&o.Settings, assignment); err != nil {
			return o, err
		}
	}
	logger, err := f.logs.logger(a)
	if err != nil {
		return o, err
	}
	o.Logger = logger
	return o, o.Validate()
}

func (a *app) listSettings(asJSON bool) error {
	all := settings.All()
	if asJSON {
		return a.printJSON(map[string]any{"settings": all})
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "name\tdefault\tmeaning")
	for _, s := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Default, s.About)
	}
	return table.Flush()
}
