package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/partition"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/segments"
	"lakebed/service/segmentserver"
	"lakebed/trial/campaign"
)

// segmentFlags are what all commands on segment logs share.
type segmentFlags struct {
	reachFlags
	sync         string
	segmentBytes int64
	freeBytes    int64
}

func (a *app) logCommand() *cobra.Command {
	f := segmentFlags{reachFlags: reachFlags{sort: segmentLog, other: messageLog, settings: []string{"sync", "segment-bytes", "free-bytes"}}}
	c := &cobra.Command{
		Use:   "log",
		Short: "Serve a segment log over HTTP or a unix socket, and append to it, fetch and tail",
		Long: `A segment log (mstore) on this machine: topics in partitions over one or several data directories.

--dir opens the store in this process, for the time of the command; --url and --socket ask a server. A store can be open in
one process only. Over HTTP there is neither encryption nor a password: listen on the loopback, or on a unix socket, which
only its owner may open.

docs/http.md has all of it for curl.

Exit code 0: done. 2: wrong use, a store of another sort, or there is no such topic, partition or message. 3: the store could not do
it, or cannot be reached. With --json an error is one JSON object on standard error. An append whose outcome is unknown says so, and is never repeated.`,
		Example: `  simrun log serve --dir /tmp/mstore --listen 127.0.0.1:8080 --socket /tmp/mstore.sock
  simrun log create access --partitions 4 --url http://127.0.0.1:8080
  seq 1000 | simrun log append access --socket /tmp/mstore.sock
  simrun log fetch access --partition 0 --messages 10 --socket /tmp/mstore.sock
  simrun log tail access --socket /tmp/mstore.sock
  simrun log topics --dir /tmp/mstore           # without a server`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return fmt.Errorf("log has no command %q; there are: alter, append, create, fetch, health, seek, serve, stats, tail, topics", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.add(c, true)
	flags := c.PersistentFlags()
	flags.StringVar(&f.sync, "sync", string(partition.SyncGroup), "with --dir: when appends are acknowledged: always, group, interval or never")
	flags.Int64Var(&f.segmentBytes, "segment-bytes", partition.DefaultConfig().SegmentBytes, "with --dir: longest log of a segment")
	flags.Int64Var(&f.freeBytes, "free-bytes", seglog.DefaultConfig().FreeBytesMin, "with --dir: a directory with less free space is full: it is read, and takes no appends")
	c.AddCommand(a.logServeCommand(&f), a.logTopicsCommand(&f), a.logCreateCommand(&f), a.logAlterCommand(&f), a.logAppendCommand(&f),
		a.logFetchCommand(&f), a.logTailCommand(&f), a.logSeekCommand(&f), a.logStatsCommand(&f), a.logHealthCommand(&f))
	return c
}

// store says what --dir and the settings stand for.
func (f *segmentFlags) store(bounds service.Config, logger *slog.Logger) (*openStore, error) {
	config, server := seglog.DefaultConfig(), segmentserver.DefaultConfig()
	config.Partition.Sync, config.Partition.SegmentBytes = partition.SyncMode(f.sync), f.segmentBytes
	config.FreeBytesMin = f.freeBytes
	o := &openStore{volumes: map[string]string{}, logger: logger}
	config.Volumes = nil
	for i, dir := range f.dirs {
		name, path := volumePath(dir, i)
		config.Volumes = append(config.Volumes, name)
		o.volumes[name] = filepath.Clean(path)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	server.Service, server.Volumes, server.Sync, server.TimeUnit = bounds, len(config.Volumes), f.sync, config.TimeUnit
	o.open = func(h host.Host, logger *slog.Logger) (*service.Service, func() error, error) {
		s, err := seglog.Open(h, h.Root(), config)
		if err != nil {
			return nil, nil, err
		}
		server.Logger = logger
		made, err := segmentserver.New(s, server)
		return made, s.Close, err
	}
	return o, nil
}

// withSegments runs use with a client of the store that the flags name.
func (a *app) withSegments(c *cobra.Command, f *segmentFlags, use func(context.Context, *segments.Client) error) error {
	open := func() (*openStore, error) {
		if err := f.holds(); err != nil {
			return nil, err
		}
		return f.store(service.DefaultConfig(), a.errorLog())
	}
	return a.reach(c, &f.reachFlags, open, func(ctx context.Context, config call.Config) error {
		client, err := segments.New(config)
		if err != nil {
			return err
		}
		defer client.Close()
		return use(ctx, client)
	})
}

func (a *app) logServeCommand(f *segmentFlags) *cobra.Command {
	var serve serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a segment log over HTTP and a unix socket until it is asked to stop",
		Long: `Open a segment log, or make one, and serve it. SIGTERM and SIGINT stop it: fetches that wait are answered at once, requests
under way get their answers, and the store is closed. A second signal kills it, which loses nothing that was acknowledged in the
modes always and group.

It takes its addresses first, so that one that is taken is told at once and nothing is touched, then opens the store, and then says
where it listens; who connects meanwhile waits. /openapi.json describes what can be asked.

A directory on a volume with less than --free-bytes of room takes no appends until there is more, so that what must be written for
those before them, and by others, still fits; 0 leaves nothing free.`,
		Example: `  simrun log serve --dir /tmp/mstore --listen 127.0.0.1:8080
  simrun log serve --dir /disk0 --dir /disk1 --socket /run/mstore.sock
  simrun log serve --dir a=/disk0 --dir b=/disk1 --listen 127.0.0.1:8080 --sync always
  simrun log serve --dir /tmp/mstore --listen 127.0.0.1:8080 --free-bytes 1073741824`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.serveStore(c, &serve, &f.reachFlags, "segment log", func() (*openStore, error) {
				f.makes = true
				if err := f.holds(); err != nil {
					return nil, err
				}
				return f.store(serve.bounds, nil)
			})
		},
	}
	serve.add(c)
	return c
}

func (a *app) logTopicsCommand(f *segmentFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "topics",
		Short: "List topics and their partitions",
		Long:  `List all topics, with the cursors of the first and the next message of each partition, its size, and what troubles it.`,
		Example: `  simrun log topics --dir /tmp/mstore
  simrun log topics --url http://127.0.0.1:8080 --json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				all, err := client.Topics(ctx)
				if err != nil {
					return err
				}
				return a.printTopics(f.json, all)
			})
		},
	}
}

func (a *app) printTopics(asJSON bool, all []segments.Topic) error {
	if asJSON {
		return a.printJSON(segments.Topics{Topics: all})
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "topic\tpartition\tvolume\tfirst\tnext\tsegments\tbytes\tretention\ttrouble")
	for _, t := range all {
		for _, p := range t.Partitions {
			fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", t.Name, p.Number, p.Volume, p.First, p.Next, p.Segments, p.Bytes,
				retentionInWords(t.RetentionSeconds, t.RetentionBytes), p.Trouble)
		}
	}
	return table.Flush()
}

func retentionInWords(seconds, bytes int64) string {
	words := "for ever"
	if seconds > 0 {
		words = (time.Duration(seconds) * time.Second).String()
	}
	if bytes > 0 {
		words += fmt.Sprintf(", %d bytes", bytes)
	}
	return words
}

func (a *app) logCreateCommand(f *segmentFlags) *cobra.Command {
	var partitions int
	var period time.Duration
	var bytes int64
	c := &cobra.Command{
		Use:   "create TOPIC",
		Short: "Make a topic",
		Long:  `Make a topic. Its partitions are spread over the data directories in service. With --dir the directory is made if it is missing.`,
		Example: `  simrun log create access --dir /tmp/mstore --partitions 4
  simrun log create access --url http://127.0.0.1:8080 --retention 24h --retention-bytes 1073741824`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := refuseBelowOne(c, "partitions"); err != nil {
				return err
			}
			if err := checkRetention(period, bytes); err != nil {
				return err
			}
			for _, dir := range f.dirs {
				_, path := volumePath(dir, 0)
				if err := os.MkdirAll(path, 0o755); err != nil {
					return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
				}
			}
			f.makes = true
			asked := segments.NewTopic{Name: arguments[0], Partitions: partitions, RetentionSeconds: int64(period / time.Second), RetentionBytes: bytes}
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				made, err := client.CreateTopic(ctx, asked)
				if err != nil {
					return err
				}
				return a.printTopics(f.json, []segments.Topic{made})
			})
		},
	}
	c.Flags().IntVar(&partitions, "partitions", 0, "how many; left out: one for each data directory in service")
	c.Flags().DurationVar(&period, "retention", 0, "how long messages stay, in whole seconds; 0, with --retention-bytes: the store's default, 72h")
	c.Flags().Int64Var(&bytes, "retention-bytes", 0, "longest partition")
	return c
}

func (a *app) logAlterCommand(f *segmentFlags) *cobra.Command {
	var period time.Duration
	var bytes int64
	c := &cobra.Command{
		Use:     "alter TOPIC",
		Short:   "Change how long a topic's messages stay",
		Long:    `Change how long a topic's messages stay. Both bounds are set: one that is not given is none.`,
		Example: `  simrun log alter access --retention 24h --socket /tmp/mstore.sock`,
		Args:    oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if !c.Flags().Changed("retention") && !c.Flags().Changed("retention-bytes") {
				return fmt.Errorf("%w: alter needs --retention, --retention-bytes or both; --retention 0 keeps messages for ever", campaign.ErrUsage)
			}
			if err := checkRetention(period, bytes); err != nil {
				return err
			}
			asked := segments.Retention{Seconds: int64(period / time.Second), Bytes: bytes}
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				altered, err := client.SetRetention(ctx, arguments[0], asked)
				if err != nil {
					return err
				}
				return a.printTopics(f.json, []segments.Topic{altered})
			})
		},
	}
	c.Flags().DurationVar(&period, "retention", 0, "how long messages stay, in whole seconds; 0: for ever")
	c.Flags().Int64Var(&bytes, "retention-bytes", 0, "longest partition; 0: any length")
	return c
}

// checkRetention refuses what would be rounded to something else than was asked for.
func checkRetention(period time.Duration, bytes int64) error {
	switch {
	case period < 0 || bytes < 0:
		return fmt.Errorf("%w: --retention %v, --retention-bytes %d: must not be negative", campaign.ErrUsage, period, bytes)
	case period%time.Second != 0:
		return fmt.Errorf("%w: --retention %v: want whole seconds", campaign.ErrUsage, period)
	}
	return nil
}

func (a *app) logStatsCommand(f *segmentFlags) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "How the store and its server stand",
		Long:    `Counts of topics, partitions, messages and bytes, directories that are out of service, and requests under way.`,
		Example: `  simrun log stats --url http://127.0.0.1:8080`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				s, err := client.Stats(ctx)
				if err != nil || f.json {
					return orJSON(a, s, err)
				}
				_, err = fmt.Fprintf(a.out, "%d topics, %d partitions, %d segments, %d messages, %d bytes\nacknowledged in mode %s; %d requests under way, %d wait\n",
					s.Topics, s.Partitions, s.Segments, s.Messages, s.Bytes, s.Sync, s.Requests, s.Waits)
				return err
			})
		},
	}
}

// orJSON prints an answer, if there is one.
func orJSON(a *app, v any, err error) error {
	if err != nil {
		return err
	}
	return a.printJSON(v)
}

func (a *app) logHealthCommand(f *segmentFlags) *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Does the store take appends?",
		Long:    `Exit code 0: it does, perhaps with some directories out of service, which are named. 3: it takes none, or cannot be reached.`,
		Example: `  simrun log health --socket /tmp/mstore.sock`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				h, err := client.Health(ctx)
				if err != nil || f.json {
					return orJSON(a, h, err)
				}
				fmt.Fprintln(a.out, h.Status)
				for _, e := range h.Ejected {
					fmt.Fprintf(a.out, "%s: %s\n", e.Volume, e.Why)
				}
				return nil
			})
		},
	}
}
