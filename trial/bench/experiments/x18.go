package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/reports"
)

// packing log lines into one message raises the rate of lines.

const (
	packedLine      = 100 // bytes
	packedFew       = 1
	packedMany      = 100 // lines a message, of which the hypothesis speaks
	packedProducers = 4
	packedSenders   = 64
	packedRate      = 2000 // lines a second, open loop
	packedGain      = 1.2
)

const (
	figureLines     = "lines a second"
	figureLineBytes = "bytes of log by line"
	figureLineCPU   = "processor time by line"
	figureVisible   = "from first line to acknowledgement, p50"
	figureVisible99 = "from first line to acknowledgement, p99"
)

// packedArm is how lines make messages.
type packedArm struct {
	lines int
	code  message.Compression
}

func (a packedArm) words() string {
	if a.code == message.Deflate {
		return "deflated"
	}
	return "plain"
}

func (a packedArm) cell(how string) string {
	return fmt.Sprintf("%s/%d lines/%s", how, a.lines, a.words())
}

const (
	packedClosed = "closed"
	packedOpen   = "open"
)

func (r *run) packedArms() (arms []packedArm) {
	for _, lines := range either(r, []int{packedFew, 10, packedMany, 1000}, []int{packedFew, packedMany}) {
		for _, code := range []message.Compression{message.Plain, message.Deflate} {
			arms = append(arms, packedArm{lines, code})
		}
	}
	return arms
}

func measurePacking(ctx context.Context, r *run) error {
	err := r.inScratch(ctx, func(ctx context.Context, dir string) error {
		return onThisMachine(ctx, r, dir, datedVolume, func(h host.Host) error {
			config := seglog.DefaultConfig()
			config.Volumes, config.FreeBytesMin = []string{datedVolume}, 0
			return withSegments(h, config, func(s *seglog.Store) error {
				if err := s.CreateTopic(datedTopic, seglog.TopicConfig{Partitions: 1}); err != nil {
					return err
				}
				for round := range either(r, 5, 1) {
					for _, a := range r.packedArms() {
						if err := r.packedRound(ctx, h, s, a); err != nil {
							return fmt.Errorf("%s: %w", a.cell("round"), err)
						}
					}
					r.say("round %d", round+1)
				}
				return nil
			})
		})
	})
	r.lines(r.Seed, reports.Plot{
		Name: "lines", Title: "Lines stored a second (wall clock)",
		X: reports.Axis{Label: "lines a message", Unit: "1", Log: true}, Y: reports.Axis{Label: "lines a second", Unit: "1/s", Log: true},
	}, packedGroup(packedClosed), quantity{name: figureLines}, "payload", func(labels map[string]string) float64 {
		x, _ := strconv.ParseFloat(labels["lines"], 64) // a label of ours
		return x
	})
	return err
}

func packedGroup(how string) string {
	if how == packedClosed {
		return "Four producers as fast as they can"
	}
	return "2,000 lines a second"
}

func (r *run) packedCell(how string, a packedArm) *cell {
	return r.group(packedGroup(how), "Sync mode group. The message is packed by its producer, whose time counts.").
		cell(a.cell(how), "lines", strconv.Itoa(a.lines), "payload", a.words())
}

// pack makes a message of lines that no two messages share.
func (a packedArm) pack(h host.Host, number int) ([]byte, error) {
	text := make([]byte, 0, a.lines*packedLine)
	for line := range a.lines {
		begin := len(text)
		n := number*a.lines + line
		text = fmt.Appendf(text, "10.0.%d.%d GET /articles/%d/comments?page=%d HTTP/1.1 200 %d ", n%251, n%241, n*2654435761%100_003, n%17, n*40503%65_521)
		for len(text) < begin+packedLine-1 {
			text = append(text, "referer=https://example.org/ "[len(text)%29])
		}
		text = append(text[:begin+packedLine-1], '\n')
	}
	at := seglog.Time(int64(h.Now()) / int64(time.Second))
	group := message.Group{Time: at, Source: []byte("source"), Payload: text}
	if err := group.Pack(a.code); err != nil {
		return nil, err
	}
	return message.Append(nil, []message.Group{group}), nil
}

// packedRound measures one arm in both loops.
func (r *run) packedRound(ctx context.Context, h host.Host, s *seglog.Store, a packedArm) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before, cpu := heldBytes(s), 0.0
	length := either(r, 400*time.Millisecond, 30*time.Millisecond)
	cpu, err := cpuMicros()
	if err != nil {
		return err
	}
	began := time.Now()
	messages, err := r.packClosed(h, s, a, length)
	took := time.Since(began)
	used, failed := cpuMicros()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	lines := float64(messages * a.lines)
	c := r.packedCell(packedClosed, a)
	c.sample(quantity{figureLines, "1/s", reports.ClockWall, reports.HigherBetter}, lines/took.Seconds())
	c.sample(quantity{figureLineCPU, "µs", reports.ClockCPU, reports.LowerBetter}, (used-cpu)/lines)
	c.sample(quantity{figureLineBytes, "B", reports.ClockNone, reports.LowerBetter}, float64(heldBytes(s)-before)/lines)
	latencies, err := r.packOpen(h, s, a)
	if err != nil {
		return err
	}
	c = r.packedCell(packedOpen, a)
	c.sample(quantity{figureVisible, "ms", reports.ClockWall, reports.LowerBetter}, reports.Quantile(latencies, 0.5))
	c.sample(quantity{figureVisible99, "ms", reports.ClockWall, reports.LowerBetter}, reports.Quantile(latencies, 0.99))
	return nil
}

func heldBytes(s *seglog.Store) (bytes int64) {
	topics, err := s.Topics()
	if err != nil {
		return 0
	}
	for _, one := range topics[0].Partitions[0].Segments {
		bytes += one.Bytes
	}
	return bytes
}

func (r *run) packClosed(h host.Host, s *seglog.Store, a packedArm, length time.Duration) (messages int, err error) {
	producers := h.Root().New("producers")
	sent, failed := make([]int, packedProducers), make([]error, packedProducers)
	until := h.Elapsed() + length
	for i := range packedProducers {
		producers.Go("producer", func() {
			for failed[i] == nil && (sent[i] == 0 || h.Elapsed() < until) {
				var payload []byte
				if payload, failed[i] = a.pack(h, sent[i]*packedProducers+i); failed[i] == nil {
					_, failed[i] = s.Append(datedTopic, 0, payload)
					sent[i]++
				}
			}
		})
	}
	producers.Wait()
	for _, n := range sent {
		messages += n
	}
	return messages, errors.Join(failed...)
}

// packOpen has lines come at their rate. A message goes when its last line has come; what counts is how long its first waits.
func (r *run) packOpen(h host.Host, s *seglog.Store, a packedArm) (latencies []float64, err error) {
	messages := max(either(r, 1000, 50)/a.lines, 2)
	line := time.Second / packedRate
	senders := h.Root().New("senders")
	began := h.Elapsed()
	var mutex sync.Mutex
	for sender := range min(packedSenders, messages) {
		senders.Go("sender", func() {
			for n := sender; n < messages; n += packedSenders {
				first, due := began+time.Duration(n*a.lines)*line, began+time.Duration((n+1)*a.lines)*line
				if wait := due - h.Elapsed(); wait > 0 && !senders.Sleep(wait) {
					return
				}
				payload, failed := a.pack(h, n)
				if failed == nil {
					_, failed = s.Append(datedTopic, 0, payload)
				}
				mutex.Lock()
				latencies, err = append(latencies, millis(h.Elapsed()-first)), errors.Join(err, failed)
				mutex.Unlock()
			}
		})
	}
	senders.Wait()
	return latencies, err
}

// judgePacking: a hundred lines a message give more than 1.2 times the lines a second.
func judgePacking(r *reports.Result) reports.Verdict {
	var j judgement
	many, ok := j.figureOf(r, packedArm{packedMany, message.Plain}.cell(packedClosed), figureLines)
	few, found := j.figureOf(r, packedArm{packedFew, message.Plain}.cell(packedClosed), figureLines)
	if ok && found {
		what := "lines a second, a hundred a message by one,"
		if i, ok := j.ratio(what, &many, &few); ok {
			j.above(what, i, packedGain)
		}
	}
	return j.verdict()
}
