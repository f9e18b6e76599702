package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lakebed/engine/commitlog/message"
	"lakebed/service/messages"
	"lakebed/service/wire"
	"lakebed/trial/campaign"
)

// sendersAtOnce is how many messages of one command are under way: the store syncs those together.
const sendersAtOnce = 32

func (a *app) mqSendCommand(f *messageFlags) *cobra.Command {
	queue, tag := int32(messages.AnyQueue), ""
	var keys []string
	c := &cobra.Command{
		Use:   "send TOPIC",
		Short: "Send the lines of standard input",
		Long: `Send each line of standard input as a message. It prints how many were acknowledged. With --queue they are sent one after the
other, in the order of the lines; else up to 32 at once, each to the queue whose turn it is.

It ends with the first message that fails; nothing is sent twice. Exit code 3 and "outcome unknown": that message may be stored or
not.`,
		Example: `  seq 1000 | simrun mq send orders --dir /tmp/mq
  echo paid | simrun mq send orders --queue 2 --tag paid --key o-17 --key c-5 --socket /tmp/mq.sock`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := checkLeast("queue", int64(queue), messages.AnyQueue); err != nil {
				return err
			}
			if err := message.CheckTag(tag); err != nil {
				return asUsage(err)
			}
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				send := func(line []byte) error {
					_, err := client.Append(ctx, arguments[0], queue, messages.NewMessage{Body: append(wire.Bytes{}, line...), Tag: tag, Keys: keys})
					return err
				}
				atOnce := sendersAtOnce
				if queue != messages.AnyQueue {
					atOnce = 1
				}
				return a.sendLines(ctx, f.json, func(lines [][]byte) (int, error) { return sendEach(lines, atOnce, send) })
			})
		},
	}
	c.Flags().Int32Var(&queue, "queue", queue, "number of the queue; -1: each has its turn")
	c.Flags().StringVar(&tag, "tag", "", "of the messages; without ||, which stands between the tags of --tags")
	c.Flags().StringArrayVar(&keys, "key", nil, "of the messages; may be given several times")
	return c
}

// sendEach sends lines, so many at once, and returns how many were acknowledged, and the first failure.
func sendEach(lines [][]byte, atOnce int, send func([]byte) error) (acknowledged int, failed error) {
	settled := make(chan error, atOnce)
	underWay := 0
	settle := func() {
		underWay--
		if err := <-settled; err == nil {
			acknowledged++
		} else if failed == nil {
			failed = err
		}
	}
	for _, line := range lines {
		if underWay == atOnce {
			settle()
		}
		if failed != nil {
			break
		}
		underWay++
		go func() { settled <- send(line) }()
	}
	for underWay > 0 {
		settle()
	}
	return acknowledged, failed
}

// pullFlags say what is pulled.
type pullFlags struct {
	queue  int32
	offset int64
	tags   string
}

func (f *pullFlags) add(c *cobra.Command, standard int64, about string) {
	c.Flags().Int32Var(&f.queue, "queue", 0, "number of the queue")
	c.Flags().Int64Var(&f.offset, "offset", standard, about)
	c.Flags().StringVar(&f.tags, "tags", "*", "messages with these tags only: A || B")
}

func (f *pullFlags) check(leastOffset int64) error {
	if err := cmp.Or(checkLeast("queue", int64(f.queue), 0), checkLeast("offset", f.offset, leastOffset)); err != nil {
		return err
	}
	if _, err := messages.Expression(f.tags).Tags(); err != nil {
		return asUsage(err)
	}
	return nil
}

// beyond says that a queue ends before the offset that was asked for, which the store answers with the offset to go on at.
func (f *pullFlags) beyond(p *messages.Pulled) error {
	if f.offset > p.Max { // of an empty queue the status says no more than that
		return fmt.Errorf("%w: --offset %d: the queue ends at %d", campaign.ErrUsage, f.offset, p.Max)
	}
	return nil
}

func (a *app) mqPullCommand(f *messageFlags) *cobra.Command {
	var from pullFlags
	var count int
	c := &cobra.Command{
		Use:   "pull TOPIC",
		Short: "Print messages of a queue, in order",
		Long: `Print the bodies of a queue's messages, one after the other, up to its end. Messages that retention has removed are skipped. With
--json each message is one object on one line, with its offset, tag and keys.`,
		Example: `  simrun mq pull orders --queue 0 --dir /tmp/mq
  simrun mq pull orders --queue 2 --offset 100 --count 10 --json --url http://127.0.0.1:8081
  simrun mq pull orders --tags 'paid || refused' --socket /tmp/mq.sock`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := cmp.Or(from.check(0), checkLeast("count", int64(count), 0)); err != nil {
				return err
			}
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				left := count
				for offset := from.offset; ; {
					pulled, err := client.Pull(ctx, arguments[0], from.queue, offset, messages.PullOptions{Tags: messages.Expression(from.tags)})
					if err == nil {
						err = from.beyond(&pulled)
					}
					if err != nil {
						return err
					}
					if count > 0 && len(pulled.Messages) > left {
						pulled.Messages = pulled.Messages[:left]
					}
					if err := a.printBodies(f.json, pulled.Messages); err != nil {
						return err
					}
					left -= len(pulled.Messages)
					if offset = pulled.Next; offset >= pulled.Max || count > 0 && left <= 0 {
						return nil
					}
				}
			})
		},
	}
	from.add(c, 0, "of the first message")
	c.Flags().IntVar(&count, "count", 0, "at most so many; 0: all that are there")
	return c
}

func (a *app) printBodies(asJSON bool, all []messages.Message) error {
	for _, m := range all {
		var err error
		if asJSON {
			err = a.printLine(m)
		} else {
			_, err = fmt.Fprintf(a.out, "%s\n", bytes.TrimSuffix(m.Body, []byte("\n")))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) mqTailCommand(f *messageFlags) *cobra.Command {
	var from pullFlags
	c := &cobra.Command{
		Use:   "tail TOPIC",
		Short: "Print messages of a queue as they come, until interrupted",
		Long: `Print messages of a queue from now on, or from --offset, as soon as consumers may see them, until the command is interrupted,
which is exit code 3.`,
		Example: `  simrun mq tail orders --queue 0 --url http://127.0.0.1:8081
  simrun mq tail orders --queue 1 --offset 0 --tags paid --json --socket /tmp/mq.sock`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := from.check(-1); err != nil {
				return err
			}
			topic := arguments[0]
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				at, err := client.Pull(ctx, topic, from.queue, max(from.offset, 0), messages.PullOptions{Count: 1})
				if err == nil {
					err = from.beyond(&at)
				}
				if err != nil {
					return err
				}
				offset := from.offset
				if offset < 0 {
					offset = at.Max
				}
				for {
					o := messages.PullOptions{Tags: messages.Expression(from.tags), Wait: tailWait}
					pulled, err := client.Pull(ctx, topic, from.queue, offset, o)
					if err == nil {
						err = a.printBodies(f.json, pulled.Messages)
					}
					if err != nil {
						return err
					}
					offset = pulled.Next
				}
			})
		},
	}
	from.add(c, -1, "of the first message; -1: the next one to come")
	return c
}

func (a *app) mqQueryCommand(f *messageFlags) *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:   "query TOPIC KEY",
		Short: "Print messages that have a key, the newest first",
		Long:  `Print the bodies of messages that were sent with a key, the newest first. With --json each message is one object on one line.`,
		Example: `  simrun mq query orders o-17 --dir /tmp/mq
  simrun mq query orders c-5 --limit 3 --json --url http://127.0.0.1:8081`,
		Args: func(c *cobra.Command, arguments []string) error {
			if len(arguments) != 2 {
				return fmt.Errorf("%s takes the name of a topic and a key, not %d arguments", c.CommandPath(), len(arguments))
			}
			return nil
		},
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := checkLeast("limit", int64(limit), 0); err != nil {
				return err
			}
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				all, err := client.Query(ctx, arguments[0], arguments[1], time.Time{}, time.Time{}, limit)
				if err != nil {
					return err
				}
				return a.printBodies(f.json, all)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "at most so many; 0: as many as the server gives at once")
	return c
}

func (a *app) mqOffsetCommand(f *messageFlags) *cobra.Command {
	var queue int32
	at, upper := "", false
	c := &cobra.Command{
		Use:   "offset TOPIC",
		Short: "Print the offset of a message by the time at which it was stored",
		Long: `Print the offset of a queue's first message that was stored at a time or later, and the end of the queue if there is none; with
--upper that of the last one that was stored then or earlier.`,
		Example: `  simrun mq offset orders --queue 0 --time 2026-01-31T12:00:00Z --dir /tmp/mq
  simrun mq offset orders --time 2026-01-31T12:00:00Z --upper --url http://127.0.0.1:8081`,
		Args: oneName("the name of a topic"),
		RunE: func(c *cobra.Command, arguments []string) error {
			moment, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				return fmt.Errorf("%w: --time %q: want a time such as 2026-01-31T12:00:00Z", campaign.ErrUsage, at)
			}
			if moment.UnixMilli() < 0 {
				return fmt.Errorf("%w: --time %q: nothing was stored before 1970", campaign.ErrUsage, at)
			}
			if err := checkLeast("queue", int64(queue), 0); err != nil {
				return err
			}
			boundary := messages.Lower
			if upper {
				boundary = messages.Upper
			}
			return a.withMessages(c, f, func(ctx context.Context, client *messages.Client) error {
				offset, err := client.OffsetByTime(ctx, arguments[0], queue, moment, boundary)
				if err != nil || f.json {
					return orJSON(a, messages.Position{Offset: offset}, err)
				}
				_, err = fmt.Fprintln(a.out, offset)
				return err
			})
		},
	}
	c.Flags().Int32Var(&queue, "queue", 0, "number of the queue")
	c.Flags().StringVar(&at, "time", "", "of storing, such as 2026-01-31T12:00:00Z")
	c.Flags().BoolVar(&upper, "upper", false, "the last message of then or earlier")
	return c
}
