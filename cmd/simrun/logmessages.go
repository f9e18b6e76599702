package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lakebed/engine/seglog/message"
	"lakebed/service/segments"
	"lakebed/service/wire"
	"lakebed/trial/campaign"
)

const (
	linesAtOnce  = 500             // of one request
	lineBytesMax = 1 << 20         // of standard input
	tailWait     = 5 * time.Second // of one request
	unpackMax    = 256 << 20       // of a payload that is shown
)

func (a *app) logAppendCommand(f *segmentFlags) *cobra.Command {
	number, pack, source := 0, 1, ""
	c := &cobra.Command{
		Use:   "append TOPIC",
		Short: "Append the lines of standard input",
		Long: `Append each line of standard input as a message of one log group, whose time is now, or with --pack several lines as one message.
Lines that have come meanwhile are sent together. It prints how many were acknowledged.

It ends with the first append that fails; nothing is sent twice. Exit code 3 and "outcome unknown": the lines of that request may
be stored or not.`,
		Example: `  seq 1000 | simrun log append access --dir /tmp/mstore
  tail -f access.log | simrun log append access --source edge-7 --partition 2 --socket /tmp/mstore.sock
  simrun log append access --pack 100 --url http://127.0.0.1:8080 <access.log`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if pack < 1 {
				return fmt.Errorf("%w: --pack %d: must be more than nothing", campaign.ErrUsage, pack)
			}
			if err := checkLeast("partition", int64(number), segments.Balanced); err != nil {
				return err
			}
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				send := func(lines [][]byte) (int, error) {
					_, err := client.Append(ctx, arguments[0], number, packed(lines, pack, source)...)
					if err != nil {
						return 0, err
					}
					return len(lines), nil
				}
				return a.sendLines(ctx, f.json, send)
			})
		},
	}
	c.Flags().IntVar(&number, "partition", segments.Balanced, "number of the partition; -1: the store chooses one for each request")
	c.Flags().IntVar(&pack, "pack", 1, "lines of one message")
	c.Flags().StringVar(&source, "source", "", "source of the lines")
	return c
}

// packed makes messages of lines.
func packed(lines [][]byte, pack int, source string) (messages [][]segments.Group) {
	for len(lines) > 0 {
		n := min(pack, len(lines))
		payload := bytes.Join(lines[:n], []byte("\n"))
		messages = append(messages, []segments.Group{{Source: wire.Bytes(source), Payload: append(wire.Bytes{}, payload...)}})
		lines = lines[n:]
	}
	return messages
}

// sendLines sends the lines of standard input until it ends, a request fails, or the command is interrupted. Send returns how
// many lines were acknowledged.
func (a *app) sendLines(ctx context.Context, asJSON bool, send func(lines [][]byte) (int, error)) error {
	input := a.in
	if input == nil {
		input = os.Stdin
	}
	lines, inputError := scanLines(input, lineBytesMax)
	acknowledged := 0
	var failed error
	for open := true; open && failed == nil; {
		var batch [][]byte
		batch, open = gather(ctx, lines)
		if len(batch) > 0 {
			var sent int
			sent, failed = send(batch)
			acknowledged += sent
		}
	}
	if ctx.Err() == nil && failed == nil {
		failed = <-inputError
	}
	if asJSON {
		return errors.Join(failed, a.printJSON(map[string]any{"acknowledged": acknowledged}))
	}
	fmt.Fprintf(a.out, "%d lines acknowledged\n", acknowledged)
	return errors.Join(failed, ctx.Err())
}

// gather waits for a line, and takes those that are there besides. Not open: it was the last.
func gather(ctx context.Context, lines <-chan []byte) (batch [][]byte, open bool) {
	select {
	case line, more := <-lines:
		if !more {
			return nil, false
		}
		batch = append(batch, line)
	case <-ctx.Done():
		return nil, false
	}
	for len(batch) < linesAtOnce {
		select {
		case line, more := <-lines:
			if !more {
				return batch, false
			}
			batch = append(batch, line)
		case <-time.After(time.Millisecond): // the next line is not there yet
			return batch, true
		}
	}
	return batch, true
}

// fetchFlags say where a fetch begins.
type fetchFlags struct {
	partition int
	cursor    int64
	time      uint64
}

func (f *fetchFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.partition, "partition", 0, "number of the partition")
	c.Flags().Int64Var(&f.cursor, "cursor", -1, "cursor to begin at; -1: the oldest message")
	c.Flags().Uint64Var(&f.time, "time", 0, "begin at the first message with this time or a later one, in the store's unit, seconds by default")
}

func (f *fetchFlags) from(c *cobra.Command) (segments.From, error) {
	if err := cmp.Or(checkLeast("partition", int64(f.partition), 0), checkLeast("cursor", f.cursor, -1)); err != nil {
		return segments.From{}, err
	}
	switch byTime := c.Flags().Changed("time"); {
	case byTime && f.cursor >= 0:
		return segments.From{}, fmt.Errorf("%w: --cursor and --time: want one of them", campaign.ErrUsage)
	case byTime:
		return segments.Since(f.time), nil
	case f.cursor >= 0:
		return segments.At(f.cursor), nil
	}
	return segments.Oldest(), nil
}

// checkLeast refuses numbers that stand for nothing.
func checkLeast(flag string, value, least int64) error {
	switch {
	case value >= least:
		return nil
	case least < 0:
		return fmt.Errorf("%w: --%s %d: want a number from 0, or %d", campaign.ErrUsage, flag, value, least)
	}
	return fmt.Errorf("%w: --%s %d: must not be negative", campaign.ErrUsage, flag, value)
}

func (a *app) logFetchCommand(f *segmentFlags) *cobra.Command {
	var from fetchFlags
	var count int
	c := &cobra.Command{
		Use:   "fetch TOPIC",
		Short: "Print messages of a partition, in order",
		Long: `Print the payloads of messages, one group after the other. Packed payloads are unpacked if their code is known. With --json
each message is one object on one line, with its cursor and its groups.`,
		Example: `  simrun log fetch access --dir /tmp/mstore --messages 10
  simrun log fetch access --partition 2 --cursor 500 --url http://127.0.0.1:8080
  simrun log fetch access --time 1555553312 --json --socket /tmp/mstore.sock`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			begin, err := from.from(c)
			if err != nil {
				return err
			}
			if count < 0 {
				return fmt.Errorf("%w: --messages %d: must not be negative", campaign.ErrUsage, count)
			}
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				for left := count; count == 0 || left > 0; {
					o := segments.FetchOptions{Messages: linesAtOnce, Groups: true}
					if count > 0 {
						o.Messages = min(left, linesAtOnce)
					}
					batch, err := client.Fetch(ctx, arguments[0], from.partition, begin, o)
					if err != nil || len(batch.Messages) == 0 {
						return err
					}
					if err := a.printMessages(f.json, batch.Messages); err != nil {
						return err
					}
					left -= len(batch.Messages)
					begin = segments.At(batch.Next)
				}
				return nil
			})
		},
	}
	from.add(c)
	c.Flags().IntVar(&count, "messages", 0, "at most so many; 0: all that are there")
	return c
}

func (a *app) printMessages(asJSON bool, all []segments.Message) error {
	for _, m := range all {
		if asJSON {
			if err := a.printLine(m); err != nil {
				return err
			}
			continue
		}
		for _, g := range m.Groups {
			stored := message.Group{Compression: message.Compression(g.Compression), Payload: g.Payload}
			payload, err := stored.Unpack(unpackMax)
			if err != nil {
				payload = g.Payload // of a code that is the user's
			}
			if _, err := fmt.Fprintf(a.out, "%s\n", bytes.TrimSuffix(payload, []byte("\n"))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) logTailCommand(f *segmentFlags) *cobra.Command {
	var from fetchFlags
	c := &cobra.Command{
		Use:   "tail TOPIC",
		Short: "Print messages of a partition as they come, until interrupted",
		Long: `Print messages of a partition from now on, or from --cursor or --time, as soon as they are acknowledged, until the command is
interrupted, which is exit code 3.`,
		Example: `  simrun log tail access --url http://127.0.0.1:8080
  simrun log tail access --partition 1 --cursor 0 --json --socket /tmp/mstore.sock`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			begin, err := from.from(c)
			if err != nil {
				return err
			}
			topic := arguments[0]
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				if begin == segments.Oldest() {
					t, err := client.Topic(ctx, topic)
					if err != nil {
						return err
					}
					if from.partition < 0 || from.partition >= len(t.Partitions) {
						return fmt.Errorf("%w: topic %s has %d partitions", campaign.ErrUsage, topic, len(t.Partitions))
					}
					begin = segments.At(t.Partitions[from.partition].Next)
				}
				for {
					batch, err := client.Fetch(ctx, topic, from.partition, begin, segments.FetchOptions{Wait: tailWait, Groups: true})
					if err == nil {
						err = a.printMessages(f.json, batch.Messages)
					}
					if err != nil {
						return err
					}
					begin = segments.At(batch.Next)
				}
			})
		},
	}
	from.add(c)
	return c
}

func (a *app) logSeekCommand(f *segmentFlags) *cobra.Command {
	var number int
	var at uint64
	c := &cobra.Command{
		Use:     "seek TOPIC",
		Short:   "Print the cursor of the first message of a time",
		Long:    `Print the cursor of a partition's first message with that time or a later one, or of the next one to come if there is none.`,
		Example: `  simrun log seek access --partition 2 --time 1555553312 --socket /tmp/mstore.sock`,
		Args:    oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := checkLeast("partition", int64(number), 0); err != nil {
				return err
			}
			return a.withSegments(c, f, func(ctx context.Context, client *segments.Client) error {
				cursor, err := client.Seek(ctx, arguments[0], number, at)
				if err != nil || f.json {
					return orJSON(a, segments.Position{Cursor: cursor}, err)
				}
				_, err = fmt.Fprintln(a.out, cursor)
				return err
			})
		},
	}
	c.Flags().IntVar(&number, "partition", 0, "number of the partition")
	c.Flags().Uint64Var(&at, "time", 0, "in the store's unit, seconds by default")
	return c
}
