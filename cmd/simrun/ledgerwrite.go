package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/trial/campaign"
)

// createFlags say what a new ledger is like.
type createFlags struct {
	ensemble, write, ack int
	digest               string
	leaveOpen            bool
	wait                 time.Duration
}

func (f *createFlags) add(c *cobra.Command) {
	o := client.DefaultCreateOptions()
	flags := c.Flags()
	flags.IntVar(&f.ensemble, "ensemble", o.Quorum.Ensemble, "bookies that the ledger lies on")
	flags.IntVar(&f.write, "write-quorum", o.Quorum.Write, "bookies that each entry is sent to")
	flags.IntVar(&f.ack, "ack-quorum", o.Quorum.Ack, "bookies that must have an entry before it is acknowledged")
	flags.StringVar(&f.digest, "digest", "crc32c", "of the entries: crc32c, crc32, mac or none")
	flags.BoolVar(&f.leaveOpen, "leave-open", false, "do not close the ledger, as if the writer had died")
	flags.DurationVar(&f.wait, "wait", 10*time.Second, "for the metadata store and so many bookies to be there")
}

func (f *createFlags) options(password string) (client.CreateOptions, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = ledger.Quorum{Ensemble: f.ensemble, Write: f.write, Ack: f.ack}
	o.Password = []byte(password)
	digests := map[string]ledger.DigestType{"crc32c": ledger.CRC32C, "crc32": ledger.CRC32, "mac": ledger.MAC, "none": ledger.Dummy}
	digest, ok := digests[f.digest]
	if !ok {
		return o, fmt.Errorf("%w: --digest %q: want crc32c, crc32, mac or none", campaign.ErrUsage, f.digest)
	}
	o.Digest = digest
	if !(1 <= f.ack && f.ack <= f.write && f.write <= f.ensemble) {
		return o, fmt.Errorf("%w: --ensemble %d --write-quorum %d --ack-quorum %d: must be positive and not grow in this order",
			campaign.ErrUsage, f.ensemble, f.write, f.ack)
	}
	return o, nil
}

// create makes a ledger, once enough bookies are there.
func (f *createFlags) create(s *ledgerSession, password string) (*client.Writer, error) {
	o, err := f.options(password)
	if err != nil {
		return nil, err
	}
	if err := s.client.AwaitBookies(f.ensemble, host.Within(s.h, s.h.Root(), f.wait)); err != nil {
		return nil, err
	}
	return s.client.Create(o)
}

func (a *app) ledgerCreateCommand(f *ledgerFlags) *cobra.Command {
	var create createFlags
	c := &cobra.Command{
		Use:   "create",
		Short: "Make a ledger without entries",
		Long: `Make a ledger without entries, and show it: a look at whether the store takes ledgers. Only the one who makes a ledger
may write it, so to write one use append.`,
		Example: `  simrun ledger create
  simrun ledger create --ensemble 1 --write-quorum 1 --ack-quorum 1`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := create.options(f.password); err != nil {
				return err
			}
			return a.withLedgersIn(c, f, create.wait, func(s *ledgerSession) error {
				w, err := create.create(s, f.password)
				if err != nil {
					return err
				}
				if err := create.end(w); err != nil {
					return err
				}
				m := w.Metadata()
				return a.printLedger(f, tellLedger(w.ID(), &m))
			})
		},
	}
	create.add(c)
	return c
}

// end closes a ledger, or leaves it.
func (f *createFlags) end(w *client.Writer) error {
	if f.leaveOpen {
		w.Abandon()
		return nil
	}
	return w.Close()
}

func (a *app) ledgerAppendCommand(f *ledgerFlags) *cobra.Command {
	var create createFlags
	c := &cobra.Command{
		Use:   "append",
		Short: "Make a ledger of the lines of standard input",
		Long: `Make a ledger, append each line of standard input as an entry, and close it at the end of the input. The ledger's
number is printed first, so that it can be tailed meanwhile, and how many entries were acknowledged last.

If an append fails, what was acknowledged before is safe, and the ledger is left to simrun ledger recover. An interrupt closes
the ledger behind what was appended, and exits with 3.`,
		Example: `  seq 1000 | simrun ledger append
  simrun ledger append --ensemble 1 --write-quorum 1 --ack-quorum 1 < access.log`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := create.options(f.password); err != nil {
				return err
			}
			return a.withLedgersIn(c, f, create.wait, func(s *ledgerSession) error {
				w, err := create.create(s, f.password)
				if err != nil {
					return err
				}
				input := a.in
				if input == nil {
					input = os.Stdin
				}
				return a.appendLines(s, f, &create, w, input)
			})
		},
	}
	create.add(c)
	return c
}

// lineAppend is one line under way.
type lineAppend struct {
	client.Op
	settled chan<- *lineAppend
}

// Appended hands the line back. The channel has room for all that a writer holds at a time.
func (l *lineAppend) Appended(*client.Op) { l.settled <- l }

// appendLines appends lines until the input ends, an append fails, or the command is interrupted, and closes the ledger.
func (a *app) appendLines(s *ledgerSession, f *ledgerFlags, create *createFlags, w *client.Writer, input io.Reader) error {
	if !f.json {
		fmt.Fprintf(a.out, "ledger %d\n", w.ID())
	}
	lines, inputError := scanLines(input, w.PayloadBytesMax())
	settled := make(chan *lineAppend, client.DefaultConfig().WindowEntries+1)
	var failed error
	underWay := 0
	settle := func(l *lineAppend) {
		underWay--
		if failed == nil {
			failed = l.Err
		}
	}
	for open := true; open && failed == nil; {
		select {
		case <-s.ctx.Done():
			open = false
		case l := <-settled:
			settle(l)
		case line, more := <-lines:
			if open = more; !more {
				break
			}
			l := &lineAppend{settled: settled}
			l.Done = l
			if failed = w.Append(line, &l.Op); failed == nil {
				underWay++
			}
			for underWay >= cap(settled)-1 {
				settle(<-settled)
			}
		}
	}
	for underWay > 0 {
		settle(<-settled)
	}
	if failed == nil {
		failed = create.end(w)
	} else {
		w.Abandon()
	}
	if s.ctx.Err() == nil {
		select {
		case err := <-inputError:
			failed = errors.Join(failed, err)
		default: // an append failed, and the input goes on
		}
	}
	state := "closed"
	switch {
	case errors.Is(failed, client.ErrFenced):
		state = "taken over by another client, which closes it"
	case failed != nil || create.leaveOpen:
		state = "left open; simrun ledger recover closes it"
	}
	// After an interrupt it is whole and closed, but not all of the input: who asks by exit code must see that.
	return errors.Join(failed, a.printWritten(f, w, state), s.ctx.Err())
}

// scanLines reads lines in a goroutine of its own, since a read from a terminal cannot be interrupted. The error follows
// when the lines have ended.
func scanLines(input io.Reader, longest int) (<-chan []byte, <-chan error) {
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(input)
		scanner.Buffer(make([]byte, 0, 64<<10), longest+1)
		for scanner.Scan() {
			lines <- append([]byte(nil), scanner.Bytes()...)
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("%w: a line is longer than the longest entry, %d bytes", campaign.ErrUsage, longest)
		}
		failed <- err
		close(lines)
	}()
	return lines, failed
}

// printWritten says what is safe.
func (a *app) printWritten(f *ledgerFlags, w *client.Writer, state string) error {
	last := w.LastAddConfirmed()
	if f.json {
		return a.printJSON(map[string]any{"ledger": w.ID(), "entries": last + 1, "length": w.Length(), "closed": state == "closed"})
	}
	_, err := fmt.Fprintf(a.out, "%d entries, %d bytes, %s\n", last+1, w.Length(), state)
	return err
}
