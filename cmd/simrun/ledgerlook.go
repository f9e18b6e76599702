package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

func (a *app) ledgerListCommand(f *ledgerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List all ledgers",
		Long:  "List all ledgers with their state and size, ascending. The size of a ledger that is not closed is not known here.",
		Example: `  simrun ledger list
  simrun ledger list --json --metadata 127.0.0.1:2181`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgers(c, f, func(s *ledgerSession) error {
				all, err := s.list()
				if err != nil {
					return err
				}
				return a.printLedgers(f, all)
			})
		},
	}
}

// list reads the metadata of all ledgers. One that is deleted meanwhile is left out.
func (s *ledgerSession) list() ([]ledgerJSON, error) {
	scope := host.Within(s.h, s.h.Root(), client.DefaultConfig().MetadataTimeout)
	ids, err := s.ledgers.List(scope)
	if err != nil {
		return nil, err
	}
	all := []ledgerJSON{}
	for _, id := range ids {
		stored, err := s.ledgers.Read(id, host.Within(s.h, s.h.Root(), client.DefaultConfig().MetadataTimeout))
		if errors.Is(err, metadata.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, tellLedger(id, &stored.Metadata))
	}
	return all, nil
}

func (a *app) printLedgers(f *ledgerFlags, all []ledgerJSON) error {
	if f.json {
		return a.printJSON(map[string]any{"ledgers": all})
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ledger\tstate\tentries\tbytes\tE/Qw/Qa\tfragments")
	for _, l := range all {
		entries, bytes := "-", "-"
		if l.State == ledger.Closed.String() {
			entries, bytes = fmt.Sprint(l.LastEntry+1), fmt.Sprint(l.Length)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d/%d/%d\t%d\n", l.Ledger, l.State, entries, bytes, l.Ensemble, l.Write, l.Ack, len(l.Fragments))
	}
	return table.Flush()
}

func (a *app) ledgerShowCommand(f *ledgerFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "show LEDGER",
		Short:   "Show what the metadata store knows of a ledger",
		Long:    "Show a ledger's state, quorums, and on which bookies its entries lie. No bookie is asked.",
		Example: "  simrun ledger show 0",
		Args:    oneLedger,
		RunE: func(c *cobra.Command, arguments []string) error {
			id, _ := parseLedger(arguments[0])
			return a.withLedgers(c, f, func(s *ledgerSession) error {
				stored, err := s.ledgers.ReadLatest(id, host.Within(s.h, s.h.Root(), client.DefaultConfig().MetadataTimeout))
				if err != nil {
					return err
				}
				return a.printLedger(f, tellLedger(id, &stored.Metadata))
			})
		},
	}
}

func (a *app) ledgerRecoverCommand(f *ledgerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "recover LEDGER",
		Short: "Close a ledger whose writer may be dead",
		Long: `Close a ledger behind everything that was acknowledged, and show it. Its writer is shut out, if it still lives. A ledger
that is closed stays as it is.`,
		Example: "  simrun ledger recover 1",
		Args:    oneLedger,
		RunE: func(c *cobra.Command, arguments []string) error {
			id, _ := parseLedger(arguments[0])
			return a.withLedgers(c, f, func(s *ledgerSession) error {
				m, err := s.client.Recover(id, client.OpenOptions{Password: []byte(f.password)})
				if err != nil {
					return err
				}
				return a.printLedger(f, tellLedger(id, &m))
			})
		},
	}
}

func (a *app) ledgerDeleteCommand(f *ledgerFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "delete LEDGER",
		Short:   "Delete a ledger, in whatever state it is",
		Long:    "Delete a ledger, in whatever state it is. There is no way back.",
		Example: "  simrun ledger delete 1",
		Args:    oneLedger,
		RunE: func(c *cobra.Command, arguments []string) error {
			id, _ := parseLedger(arguments[0])
			return a.withLedgers(c, f, func(s *ledgerSession) error {
				if err := s.client.Delete(id); err != nil {
					return err
				}
				if f.json {
					return a.printJSON(map[string]any{"ledger": id, "deleted": true})
				}
				_, err := fmt.Fprintf(a.out, "ledger %d is deleted\n", id)
				return err
			})
		},
	}
}
