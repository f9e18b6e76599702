package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/campaign"
)

// ledgerFlags are what all commands on ledgers share.
type ledgerFlags struct {
	metadata []string
	password string
	json     bool
}

// metadataPatience is how long a command is silent while the metadata store does not answer.
const metadataPatience = time.Second

// ledgerSession is a connection to a running store.
type ledgerSession struct {
	ctx     context.Context
	h       host.Host
	client  *client.Client
	ledgers *metadata.Ledgers
}

func (a *app) ledgerCommand() *cobra.Command {
	var f ledgerFlags
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Write, read, recover and look at ledgers of a running store",
		Long: `Client commands on the ledgers of a running store: see simrun metadata and simrun bookie for how to run one.

A ledger is written once, by the one who makes it, and is closed for ever after. So there is no appending to a ledger
that exists: append makes one. Whoever recovers a ledger shuts its writer out and closes it behind everything that was
acknowledged.

A metadata store that nobody listens for is said at once; append and create wait for one as they do for bookies: --wait.

Exit code 0: done. 2: wrong use, or there is no such ledger. 3: the store could not do it, or cannot be reached.`,
		Example: `  seq 1000 | simrun ledger append               # a new ledger, one line an entry
  simrun ledger list
  simrun ledger read 0 --from 990
  simrun ledger append                          # type lines; Ctrl-D closes the ledger
  simrun ledger tail 1                          # meanwhile, in another terminal
  simrun ledger recover 1                       # shuts the writer out`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return fmt.Errorf("ledger has no command %q; there are: append, create, delete, list, read, recover, show, tail", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	flags := c.PersistentFlags()
	flags.StringSliceVar(&f.metadata, "metadata", []string{"127.0.0.1:2181"}, "addresses of the metadata store, tried in turn")
	flags.StringVar(&f.password, "password", "", "of the ledger")
	flags.BoolVar(&f.json, "json", false, "print JSON: one object, or one a line for each entry")
	c.AddCommand(a.ledgerCreateCommand(&f), a.ledgerAppendCommand(&f), a.ledgerReadCommand(&f), a.ledgerTailCommand(&f),
		a.ledgerRecoverCommand(&f), a.ledgerListCommand(&f), a.ledgerShowCommand(&f), a.ledgerDeleteCommand(&f))
	return c
}

// withLedgers runs f with a client of the store that the flags name. An interrupt ends what waits.
func (a *app) withLedgers(c *cobra.Command, f *ledgerFlags, use func(*ledgerSession) error) error {
	return a.withLedgersIn(c, f, 0, use)
}

// withLedgersIn waits for a metadata store for a time, where nobody listens.
func (a *app) withLedgersIn(c *cobra.Command, f *ledgerFlags, wait time.Duration, use func(*ledgerSession) error) error {
	for _, address := range f.metadata {
		if err := checkAddress("metadata", address, false); err != nil {
			return err
		}
	}
	ctx, release := oshost.UntilTerminated(c.Context())
	defer release()
	logger := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError}))
	err := oshost.Run(ctx, oshost.Config{Logger: logger}, func(h host.Host) error {
		store, err := a.reachMetadata(h, f.metadata, wait)
		if err != nil {
			return err
		}
		defer store.Close()
		config := client.DefaultConfig()
		config.Ledgers.IDBlock = 1 // a command makes one ledger, and the ids that it does not use are lost
		cl, err := client.New(h, h.Root(), store, config)
		if err != nil {
			return err
		}
		defer cl.Close()
		return use(&ledgerSession{ctx: ctx, h: h, client: cl, ledgers: metadata.NewLedgers(h, h.Root(), store, config.Ledgers)})
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return explainLedger(err, f)
}

// reachMetadata connects to the metadata store. Where it refuses, that is the end, or said and waited for; where it is silent
// that is said as well, and the command goes on to what its own bounds allow.
func (a *app) reachMetadata(h host.Host, addresses []string, wait time.Duration) (*service.Client, error) {
	config := service.DefaultClientConfig(addresses...)
	config.GiveUpRefused = true
	store, err := service.Connect(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	failed := store.Sync(host.Within(h, h.Root(), metadataPatience))
	switch {
	case failed == nil:
		return store, nil
	case errors.Is(failed, host.ErrTimeout) && !errors.Is(failed, host.ErrRefused):
		fmt.Fprintf(a.err, "still waiting: %v\n", failed)
		return store, nil
	}
	store.Abandon()
	if wait <= 0 || !errors.Is(failed, host.ErrRefused) {
		return nil, failed
	}
	fmt.Fprintf(a.err, "%v; waiting %v for it\n", failed, wait)
	config.GiveUpRefused = false
	return service.Connect(h, h.Root(), config)
}

// explainLedger sorts errors into exit codes and says what to do about them.
func explainLedger(err error, f *ledgerFlags) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrNoSuchLedger), errors.Is(err, metadata.ErrNotExist), errors.Is(err, client.ErrInvalid),
		errors.Is(err, client.ErrUnauthorized), errors.Is(err, client.ErrBeyondLAC), errors.Is(err, campaign.ErrUsage):
		return asUsage(err)
	case errors.Is(err, client.ErrNotEnoughBookies):
		return fmt.Errorf("%w: %w\nstart more with simrun bookie, or make a smaller ledger: --ensemble 1 --write-quorum 1 --ack-quorum 1", campaign.ErrEnvironment, err)
	case errors.Is(err, client.ErrFenced):
		return fmt.Errorf("%w: another client has taken the ledger over (as simrun ledger recover does): %w", campaign.ErrEnvironment, err)
	case errors.Is(err, client.ErrUnavailable) && !errors.Is(err, metadata.ErrUnavailable):
		return fmt.Errorf("%w: %w\ndo the ledger's bookies run? simrun ledger show LEDGER names them", campaign.ErrEnvironment, err)
	case errors.Is(err, metadata.ErrUnavailable):
		return fmt.Errorf("%w: %w\ndoes a metadata store run at %s (simrun metadata), and do the bookies?", campaign.ErrEnvironment, err, strings.Join(f.metadata, ", "))
	}
	return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
}

// oneLedger checks that the only argument is the id of a ledger.
func oneLedger(c *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("ledger %s takes the id of one ledger, not %d arguments; simrun ledger list shows them", c.Name(), len(arguments))
	}
	_, err := parseLedger(arguments[0])
	return err
}

func parseLedger(text string) (ledger.ID, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(text, "L"), 10, 64)
	if err != nil || id < 0 {
		return 0, fmt.Errorf("%q is no ledger id: want a whole number from 0", text)
	}
	return ledger.ID(id), nil
}

// ledgerJSON is what programs are told of a ledger.
type ledgerJSON struct {
	Ledger    ledger.ID      `json:"ledger"`
	State     string         `json:"state"`
	LastEntry ledger.EntryID `json:"last_entry"` // -1: none, or not known while it is open
	Length    int64          `json:"length"`
	Ensemble  int            `json:"ensemble"`
	Write     int            `json:"write_quorum"`
	Ack       int            `json:"ack_quorum"`
	Digest    string         `json:"digest"`
	Created   string         `json:"created,omitempty"`
	Fragments []fragmentJSON `json:"fragments"`
}

type fragmentJSON struct {
	First    ledger.EntryID    `json:"first_entry"`
	Ensemble []ledger.BookieID `json:"ensemble"`
}

func tellLedger(id ledger.ID, m *ledger.Metadata) ledgerJSON {
	told := ledgerJSON{
		Ledger: id, State: m.State.String(), LastEntry: m.LastEntry, Length: m.Length,
		Ensemble: m.Quorum.Ensemble, Write: m.Quorum.Write, Ack: m.Quorum.Ack, Digest: m.Digest.String(),
	}
	if m.Created != 0 {
		told.Created = time.UnixMilli(m.Created).UTC().Format(time.RFC3339)
	}
	for _, f := range m.Fragments {
		told.Fragments = append(told.Fragments, fragmentJSON{f.First, f.Ensemble})
	}
	return told
}

func (a *app) printLedger(f *ledgerFlags, told ledgerJSON) error {
	if f.json {
		return a.printJSON(told)
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "ledger\t%d\n", told.Ledger)
	fmt.Fprintf(table, "state\t%s\n", told.State)
	if told.State == ledger.Closed.String() {
		fmt.Fprintf(table, "entries\t%d, %d bytes\n", told.LastEntry+1, told.Length)
	}
	fmt.Fprintf(table, "quorum\tensemble %d, write %d, ack %d\n", told.Ensemble, told.Write, told.Ack)
	fmt.Fprintf(table, "digest\t%s\n", told.Digest)
	if told.Created != "" {
		fmt.Fprintf(table, "created\t%s\n", told.Created)
	}
	for _, fragment := range told.Fragments {
		fmt.Fprintf(table, "from entry %d\t%v\n", fragment.First, fragment.Ensemble)
	}
	return table.Flush()
}

// printLine prints one JSON object on one line, as part of a stream.
func (a *app) printLine(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
