package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/processes/daemon"
	"lakebed/trial/campaign"
)

// daemonCommands are the processes of a cluster and what uses them.
func (a *app) daemonCommands() []*cobra.Command {
	return []*cobra.Command{a.metadataCommand(), a.bookieCommand(), a.ledgerCommand(), a.logCommand(), a.mqCommand(), a.deathCommand(), a.deathWriterCommand()}
}

// logFlags say what goes to standard error.
type logFlags struct {
	format string
	level  string
}

func (f *logFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "log-format", "text", "of the log on standard error: text or json")
	c.Flags().StringVar(&f.level, "log-level", "info", "least severe lines to log: debug, info, warn or error")
}

func (f *logFlags) logger(a *app) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, fmt.Errorf("%w: --log-level %q: want debug, info, warn or error", campaign.ErrUsage, f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(a.err, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.err, options)), nil
	}
	return nil, fmt.Errorf("%w: --log-format %q: want text or json", campaign.ErrUsage, f.format)
}

// checkAddress refuses what is no address of a machine and a port. A bookie's own needs a port that does not change.
func checkAddress(flag, address string, anyPort bool) error {
	machine, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("%w: --%s %q: want HOST:PORT, such as localhost:4000", campaign.ErrUsage, flag, address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		return fmt.Errorf("%w: --%s %q: the port must be a number up to 65535", campaign.ErrUsage, flag, address)
	case !anyPort && (n == 0 || machine == "" || isUnspecified(machine)):
		return fmt.Errorf("%w: --%s %q: want a host and a port that others can connect to", campaign.ErrUsage, flag, address)
	}
	return nil
}

// isUnspecified says whether an address stands for all that a machine has: one can listen there, and not connect from elsewhere.
func isUnspecified(machine string) bool {
	ip, err := netip.ParseAddr(machine)
	return err == nil && ip.IsUnspecified()
}

// live runs a daemon until it ends, or until SIGTERM or SIGINT; the second one has its usual effect.
func (a *app) live(c *cobra.Command, run func(context.Context) error) error {
	ctx, release := oshost.UntilTerminated(c.Context())
	defer release()
	err := run(ctx)
	if err == nil {
		return nil
	}
	if advice := daemon.Advice(err); advice != "" {
		if c.Flags().Lookup("data") == nil && c.Flags().Lookup("dir") != nil { // the stores of one node name their directories otherwise
			advice = strings.ReplaceAll(advice, "--data", "--dir")
		}
		err = fmt.Errorf("%w\n%s", err, advice)
	}
	return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
}

// asUsage marks errors that are the caller's.
func asUsage(err error) error {
	if err == nil || errors.Is(err, campaign.ErrUsage) {
		return err
	}
	return fmt.Errorf("%w: %w", campaign.ErrUsage, err)
}
