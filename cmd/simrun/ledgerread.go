package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/trial/campaign"
)

// readChunk is how many entries a command asks for at a time; tailPoll how long it waits for one until it looks whether
// it was interrupted.
const (
	readChunk = 500
	tailPoll  = time.Second
)

// entryJSON is one entry for a program. Text is there if the payload is UTF-8, Base64 if it is not.
type entryJSON struct {
	Entry  ledger.EntryID `json:"entry"`
	Text   *string        `json:"text,omitempty"`
	Base64 string         `json:"base64,omitempty"`
}

func (a *app) ledgerReadCommand(f *ledgerFlags) *cobra.Command {
	var from, to int64
	c := &cobra.Command{
		Use:   "read LEDGER",
		Short: "Print entries, one a line",
		Long: `Print the entries of a ledger, one a line, up to the last one or to --to. The ledger is opened as it is: of one that is
being written, what is known as confirmed is read, and its writer is left alone; how much that is, is said on standard error.`,
		Example: `  simrun ledger read 0
  simrun ledger read 0 --from 10 --to 19
  simrun ledger read 0 --json                   # one object a line, with the entry's number`,
		Args: oneLedger,
		RunE: func(c *cobra.Command, arguments []string) error {
			if from < 0 || to < -1 || to != -1 && to < from {
				return fmt.Errorf("%w: --from %d --to %d: must not be negative, and not fall", campaign.ErrUsage, from, to)
			}
			id, _ := parseLedger(arguments[0])
			return a.withLedgers(c, f, func(s *ledgerSession) error {
				r, err := s.client.OpenNoRecovery(id, client.OpenOptions{Password: []byte(f.password)})
				if err != nil {
					return err
				}
				defer r.Close()
				last, err := r.ReadLastConfirmed()
				if err != nil {
					return err
				}
				if !r.Closed() {
					fmt.Fprintf(a.err, "ledger %d is open: %d of its entries are known as confirmed, and its writer may have written more; "+
						"simrun ledger recover closes it\n", id, last+1)
				}
				if end := ledger.EntryID(max(from, to)); end > max(last, 0) {
					return fmt.Errorf("%w: ledger %d has no confirmed entry %d, the last one is %d", campaign.ErrUsage, id, end, last)
				}
				if to >= 0 {
					last = ledger.EntryID(to)
				}
				_, err = a.printEntries(s, f, r, ledger.EntryID(from), last)
				return err
			})
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "first entry")
	c.Flags().Int64Var(&to, "to", -1, "last entry; -1: the last one that is confirmed")
	return c
}

// printEntries prints entries and returns the one to go on with.
func (a *app) printEntries(s *ledgerSession, f *ledgerFlags, r *client.Reader, first, last ledger.EntryID) (ledger.EntryID, error) {
	for first <= last {
		if s.ctx.Err() != nil {
			return first, s.ctx.Err()
		}
		entries, err := r.Read(first, min(last, first+readChunk-1))
		if err != nil {
			return first, err
		}
		for _, e := range entries.List {
			if err := a.printEntry(f, e.ID, e.Payload); err != nil {
				entries.Release()
				return first, err
			}
		}
		first += ledger.EntryID(len(entries.List))
		entries.Release()
	}
	return first, nil
}

func (a *app) printEntry(f *ledgerFlags, id ledger.EntryID, payload []byte) error {
	if !f.json {
		_, err := fmt.Fprintf(a.out, "%s\n", payload)
		return err
	}
	told := entryJSON{Entry: id}
	if utf8.Valid(payload) {
		text := string(payload)
		told.Text = &text
	} else {
		told.Base64 = base64.StdEncoding.EncodeToString(payload)
	}
	return a.printLine(told)
}

func (a *app) ledgerTailCommand(f *ledgerFlags) *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:   "tail LEDGER",
		Short: "Print entries as they are written, until the ledger is closed",
		Long: `Print the entries of a ledger that is being written, one a line, as soon as they are known as confirmed, until the
ledger is closed. What is confirmed travels with the next entry: while the writer pauses, its last entry is not seen.`,
		Example: `  simrun ledger tail 1
  simrun ledger tail 1 --from 1000 --json`,
		Args: oneLedger,
		RunE: func(c *cobra.Command, arguments []string) error {
			if from < 0 {
				return fmt.Errorf("%w: --from %d: must not be negative", campaign.ErrUsage, from)
			}
			id, _ := parseLedger(arguments[0])
			return a.withLedgers(c, f, func(s *ledgerSession) error { return a.tail(s, f, id, ledger.EntryID(from)) })
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "first entry")
	return c
}

func (a *app) tail(s *ledgerSession, f *ledgerFlags, id ledger.ID, next ledger.EntryID) error {
	r, err := s.client.OpenNoRecovery(id, client.OpenOptions{Password: []byte(f.password)})
	if err != nil {
		return err
	}
	defer r.Close()
	for s.ctx.Err() == nil {
		last, err := r.WaitFor(next, tailPoll)
		switch {
		case errors.Is(err, client.ErrBeyondLAC) && r.Closed():
			return nil
		case errors.Is(err, host.ErrTimeout):
			continue
		case err != nil:
			return err
		}
		if next, err = a.printEntries(s, f, r, next, last); err != nil {
			return err
		}
	}
	return s.ctx.Err()
}
