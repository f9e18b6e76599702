package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/messages"
	"lakebed/service/messageserver"
	"lakebed/trial/campaign"
)

// messageFlags are what all commands on commit logs share.
type messageFlags struct {
	reachFlags
	flush       string
	fileBytes   int64
	preallocate string
}

func (a *app) mqCommand() *cobra.Command {
	f := messageFlags{reachFlags: reachFlags{sort: messageLog, other: segmentLog, settings: []string{"flush", "file-bytes", "preallocate"}}}
	c := &cobra.Command{
		Use:   "mq",
		Short: "Serve a commit log over HTTP or a unix socket, and send to it, pull, tail and query",
		Long: `A commit log (RocketMQ's way) on this machine: topics in queues, the messages of all in one log, found by offset, by key and by
time.

--dir opens the store in this process, for the time of the command; --url and --socket ask a server. A store can be open in
one process only. Over HTTP there is neither encryption nor a password: listen on the loopback, or on a unix socket, which
only its owner may open.

A new store takes 2 GiB of the disk with its first command: the log's files have 1 GiB, and one lies ready behind the one that is written.
Smaller files take less: --file-bytes 67108864 takes 128 MiB; it counts when a store is made, which then keeps its length. Or
--preallocate sparse, each time the store is opened: files take what is written, as RocketMQ's do. The default reserves, though every
file system could do without: a disk that is full then refuses whole files, the store goes on answering, and takes messages again when
there is room. In a sparse file it can refuse any write, and that stops the store until it is started again.

docs/http.md has all of it for curl.

Exit code 0: done. 2: wrong use, a store of another sort, or there is no such topic, queue or message. 3: the store could not do it, or
cannot be reached. With --json an error is one JSON object on standard error. A send whose outcome is unknown says so, and is never
repeated.`,
		Example: `  simrun mq serve --dir /tmp/mq --file-bytes 67108864 --listen 127.0.0.1:8081 --socket /tmp/mq.sock
  simrun mq create orders --queues 4 --url http://127.0.0.1:8081
  seq 1000 | simrun mq send orders --tag paid --socket /tmp/mq.sock
  simrun mq pull orders --queue 0 --tags 'paid || refused' --socket /tmp/mq.sock
  simrun mq query orders o-17 --url http://127.0.0.1:8081
  simrun mq topics --dir /tmp/mq                # without a server`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return fmt.Errorf("mq has no command %q; there are: create, health, offset, pull, query, send, serve, stats, tail, topics", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.add(c, false)
	flags := c.PersistentFlags()
	flags.StringVar(&f.flush, "flush", string(commitlog.FlushGroup), "with --dir: when appends are acknowledged: always, group, interval or never")
	flags.Int64Var(&f.fileBytes, "file-bytes", 0, "with --dir: length of the log's files, of which two are reserved at once; 0: as they are, 1 GiB in a new store")
	flags.StringVar(&f.preallocate, "preallocate", string(commitlog.DefaultConfig().Preallocation), "with --dir: what a new file of the log takes of the disk: fallocated, sparse, zero-filled or recycled")
	c.AddCommand(a.mqServeCommand(&f), a.mqTopicsCommand(&f), a.mqCreateCommand(&f), a.mqSendCommand(&f), a.mqPullCommand(&f), a.mqTailCommand(&f),
		a.mqQueryCommand(&f), a.mqOffsetCommand(&f), a.mqStatsCommand(&f), a.mqHealthCommand(&f))
	return c
}

// store says what --dir and the settings stand for.
func (f *messageFlags) store(bounds service.Config, logger *slog.Logger) (*openStore, error) {
	if len(f.dirs) != 1 {
		return nil, fmt.Errorf("%w: a commit log has one directory, not %d", campaign.ErrUsage, len(f.dirs))
	}
	config := commitlog.DefaultConfig()
	config.Flush, config.AutoCreateTopic = commitlog.FlushMode(f.flush), false
	config.Preallocation = series.Preallocation(f.preallocate)
	found, err := logFileBytes(f.dirs[0])
	switch {
	case err != nil:
		return nil, err
	case f.fileBytes != 0:
		config.FileBytes = f.fileBytes
	case found != 0:
		config.FileBytes = found
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	server := messageserver.DefaultConfig(config)
	server.Service = bounds
	o := &openStore{volumes: map[string]string{commitlog.StoreVolume: f.dirs[0]}, logger: logger}
	o.open = func(h host.Host, logger *slog.Logger) (*service.Service, func() error, error) {
		s, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return nil, nil, err
		}
		server.Logger = logger
		made, err := messageserver.New(s, server)
		return made, s.Close, err
	}
	return o, nil
}

// logFileBytes is the length of the log's files in a directory; zero if there are none.
func logFileBytes(dir string) (int64, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "commitlog"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if _, ok := series.ParseFileName(e.Name()); ok {
			info, err := e.Info()
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		}
	}
	return 0, err
}

// withMessages runs use with a client of the store that the flags name.
func (a *app) withMessages(c *cobra.Command, f *messageFlags, use func(context.Context, *messages.Client) error) error {
	open := func() (*openStore, error) {
		if err := f.holds(); err != nil {
			return nil, err
		}
		return f.store(service.DefaultConfig(), a.errorLog())
	}
	return a.reach(c, &f.reachFlags, open, func(ctx context.Context, config call.Config) error {
		client, err := messages.New(config)
		if err != nil {
			return err
		}
		defer client.Close()
		return use(ctx, client)
	})
}

func (a *app) mqServeCommand(f *messageFlags) *cobra.Command {
	var serve serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a commit log over HTTP and a unix socket until it is asked to stop",
		Long: `Open a commit log, or make one, and serve it. SIGTERM and SIGINT stop it: pulls that wait are answered at once, requests under
way get their answers, and the store is closed. A second signal kills it, which loses nothing that was acknowledged in the modes
always and group.

A store whose disk fails stops taking messages, says so in /v1/health, and goes on answering what it can read, until it is started
again. A new store takes 2 GiB of the disk; smaller: --file-bytes, --preallocate sparse (see simrun mq --help).

It takes its addresses first, so that one that is taken is told at once and nothing is touched, then opens the store, and then says
where it listens; who connects meanwhile waits. /openapi.json describes what can be asked.`,
		Example: `  simrun mq serve --dir /tmp/mq --listen 127.0.0.1:8081
  simrun mq serve --dir /tmp/mq --file-bytes 67108864 --socket /tmp/mq.sock --flush always`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.serveStore(c, &serve, &f.reachFlags, "commit log", func() (*openStore, error) {
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

func (a *app) mqTopicsCommand(f *messageFlags) *cobra.Command {
	return &cobra.Command{
		Use: "topics", Short: "List topics and their queues",
		Long: `List all topics, with the offsets of the first message of each queue, and of the one behind its last.`,
		Example: `  simrun mq topics --dir /tmp/mq
  simrun mq topics --url http://127.0.0.1:8081 --json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				all, err := client.Topics(ctx)
				if err != nil {
					return err
				}
				return a.printQueues(f.json, all)
			})
		},
	}
}

func (a *app) printQueues(asJSON bool, all []messages.Topic) error {
	if asJSON {
		return a.printJSON(messages.Topics{Topics: all})
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "topic\tqueue\tmin\tmax")
	for _, t := range all {
		for _, q := range t.Queues {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", t.Name, q.Queue, q.Min, q.Max)
		}
	}
	return table.Flush()
}

func (a *app) mqCreateCommand(f *messageFlags) *cobra.Command {
	queues := commitlog.DefaultConfig().QueuesPerTopic
	c := &cobra.Command{
		Use: "create TOPIC", Short: "Make a topic, or give it more queues",
		Long: `Make a topic, or give one more queues. With --dir the directory is made if it is missing, and a new store in it
takes 2 GiB of the disk; with --file-bytes 67108864 128 MiB. See simrun mq --help.`,
		Example: `  simrun mq create orders --dir /tmp/mq --file-bytes 67108864
  simrun mq create orders --queues 8 --url http://127.0.0.1:8081`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := refuseBelowOne(c, "queues"); err != nil {
				return err
			}
			for _, dir := range f.dirs {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
				}
			}
			f.makes = true
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				made, err := client.CreateTopic(ctx, messages.NewTopic{Name: arguments[0], Queues: queues})
				if err != nil {
					return err
				}
				if err := a.printQueues(f.json, []messages.Topic{made}); err != nil {
					return err
				}
				return f.roomFor(ctx, client, made.Name)
			})
		},
	}
	c.Flags().Int32Var(&queues, "queues", queues, "how many, at least")
	return c
}

// roomFor says if a store that has a new topic takes no message for it: its files are made ahead, and may be larger than the volume.
func (f *messageFlags) roomFor(ctx context.Context, client *messages.Client, topic string) error {
	h, err := client.Health(ctx)
	if err != nil || h.Status == "ok" {
		return err
	}
	what := "make room"
	if len(f.dirs) > 0 {
		what = "make room, or want smaller files: --file-bytes"
	}
	return fmt.Errorf("topic %s is made, and the store takes no message: %s\n%s", topic, h.Why, what)
}

func (a *app) mqStatsCommand(f *messageFlags) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "How the store and its server stand",
		Long:    `How far the log is written, synced and dispatched to queues, and the requests under way.`,
		Example: `  simrun mq stats --url http://127.0.0.1:8081`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				s, err := client.Stats(ctx)
				if err != nil || f.json {
					return orJSON(a, s, err)
				}
				table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
				fmt.Fprintf(table, "log\tbytes %d to %d, synced to %d, dispatched to %d\n", s.First, s.Written, s.Synced, s.Dispatched)
				if s.Cut > 0 {
					fmt.Fprintf(table, "cut\t%d bytes at its end, which the start found damaged\n", s.Cut)
				}
				fmt.Fprintf(table, "topics\t%d, with %d queues, %d of their files open\n", s.Topics, s.Queues, s.OpenQueueFiles)
				fmt.Fprintf(table, "flush\t%s; disk full: %v\n", s.Flush, s.DiskFull)
				fmt.Fprintf(table, "requests\t%d under way, %d wait\n", s.Requests, s.Waits)
				return table.Flush()
			})
		},
	}
}

func (a *app) mqHealthCommand(f *messageFlags) *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Does the store work?",
		Long: `Exit code 0: it does. 3: its disk is full, so that it takes no message, or it has stopped after a failure of its disk, which is said; or
it cannot be reached.`,
		Example: `  simrun mq health --socket /tmp/mq.sock`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				h, err := client.Health(ctx)
				switch {
				case err != nil:
				case f.json:
					err = a.printJSON(h)
				default:
					_, err = fmt.Fprintln(a.out, h.Status)
				}
				if err == nil && h.Status != "ok" {
					err = fmt.Errorf("the store takes no message: %s", h.Why)
				}
				return err
			})
		},
	}
}
