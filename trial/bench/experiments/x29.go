package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumer"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/reports"
)

// a long poll asks less often than a short one and delivers as soon as a push.

const (
	polledTopic     = "polled"
	polledIdle      = time.Minute
	polledLength    = 3 * time.Second
	polledSenders   = 64
	polledPermits   = 1000
	polledFew       = 100     // permits of the slow consumer
	polledUnbounded = 1 << 20 // permits that are in effect none
	polledSlowness  = 100 * time.Millisecond
	polledSlowRate  = 1000
)

const (
	figureAsked     = "requests a second and consumer"
	figureParked    = "pulls that wait in the store, at most"
	figureUnderWay  = "messages sent and not taken, at most"
	figureDelivered = "messages delivered"
)

// polledArm is a way of delivery under a load.
type polledArm struct {
	world     string
	delivery  consumer.Delivery
	permits   int
	consumers int
	rate      int // messages a second, to all consumers together
	slow      bool
}

func (a polledArm) cell() string {
	name := fmt.Sprintf("%s/%s/%d consumers/%d a second", a.world, a.delivery, a.consumers, a.rate)
	if a.slow {
		name = fmt.Sprintf("%s/slow/%s/%d permits", a.world, a.delivery, a.permits)
	}
	return name
}

func deliveries() []consumer.Delivery {
	return []consumer.Delivery{consumer.LongPoll, consumer.ShortPoll, consumer.Push}
}

func polledConsumers() []int { return []int{1, 100, 1000} }

func polledRates() []int { return []int{0, 10, 1000, 10_000} }

func slowPolls() []polledArm {
	return []polledArm{
		{slowVirtual, consumer.LongPoll, polledFew, 1, polledSlowRate, true},
		{slowVirtual, consumer.Push, polledFew, 1, polledSlowRate, true},
		{slowVirtual, consumer.Push, polledUnbounded, 1, polledSlowRate, true},
	}
}

const (
	polledRealConsumers = 10
	polledRealRate      = 100
)

func measurePolls(ctx context.Context, r *run) error {
	var arms []polledArm
	for _, consumers := range polledConsumers() {
		for _, rate := range polledRates() {
			for _, d := range deliveries() {
				arms = append(arms, polledArm{slowVirtual, d, polledPermits, consumers, rate, false})
			}
		}
	}
	if r.Quick {
		arms = arms[:6] // one consumer
	}
	for seed := range either(r, uint64(2), 1) {
		for _, a := range append(arms, slowPolls()...) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p := &polled{run: r, arm: a}
			if err := inLives(r.Seed+seed, nil, func(_ *lone, h host.Host) error { return p.course(h) }); err != nil {
				return fmt.Errorf("%s: %w", a.cell(), err)
			}
			p.sample()
		}
		r.say("every arm in the simulator, seed %d", r.Seed+seed)
	}
	for round := range either(r, 5, 1) {
		for _, d := range deliveries() {
			p := &polled{run: r, arm: polledArm{slowReal, d, polledPermits, polledRealConsumers, polledRealRate, false}}
			err := r.inScratch(ctx, func(ctx context.Context, dir string) error {
				return onThisMachine(ctx, r, dir, commitlog.StoreVolume, p.course)
			})
			if err != nil {
				return err
			}
			p.sample()
		}
		r.say("round %d on this machine", round+1)
	}
	r.lines(r.Seed, reports.Plot{
		Name: "delivery", Title: "From append to consumer, p99 (virtual time)",
		X: reports.Axis{Label: "messages a second", Unit: "1/s", Log: true}, Y: reports.Axis{Label: "p99", Unit: "ms", Log: true},
	}, polledGroup(slowVirtual, false), quantity{name: "p99"}, "delivery and consumers", func(labels map[string]string) float64 {
		x, _ := strconv.ParseFloat(labels["messages/s"], 64) // a label of ours
		return x
	})
	return nil
}

// polled is one world or round: consumers of their own queues, and senders.
type polled struct {
	*run
	arm polledArm

	mutex     sync.Mutex // of what consumers know; on this machine they are goroutines
	latencies []float64
	requests  int64
	underWay  int
	parked    int
	length    time.Duration
}

// course runs the load against a store of its own.
func (p *polled) course(h host.Host) error {
	config := queuedConfig(commitlog.FlushGroup)
	config.FileBytes, config.QueuesMax, config.OpenFilesMax = 8<<20, 2000, 100
	config.PullBytesMax = 1 << 20
	s, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		return err
	}
	if err := s.CreateTopic(polledTopic, int32(p.arm.consumers)); err != nil {
		return errors.Join(err, s.Close())
	}
	receivers := h.Root().New("receivers")
	var consumers []*consumer.Consumer
	var failed error
	for id := range p.arm.consumers {
		settings := consumer.DefaultConfig()
		settings.Delivery, settings.Permits = p.arm.delivery, p.arm.permits
		if p.arm.slow {
			settings.Count = 1
		}
		c, err := consumer.Open(h, receivers, s, consumer.Queue{Topic: polledTopic, ID: int32(id)}, settings)
		if failed = errors.Join(failed, err); err != nil {
			break
		}
		consumers = append(consumers, c)
		receivers.Go("receiver", func() { p.receive(h, receivers, c) })
	}
	began := h.Elapsed()
	if failed == nil {
		failed = p.send(h, s)
	}
	p.parked = s.Stats().Suspended
	p.length = h.Elapsed() - began
	for _, c := range consumers {
		p.requests += c.Stats().Requests
		p.underWay = max(p.underWay, c.Stats().WaitingMax)
	}
	failed = errors.Join(failed, s.Close()) // ends the pulls that wait
	receivers.Stop()
	for _, c := range consumers {
		c.Close()
	}
	receivers.Wait()
	return failed
}

// receive takes messages until the store or the group ends. A body begins with the time of its sending.
func (p *polled) receive(h host.Host, g host.Group, c *consumer.Consumer) {
	for {
		found, err := c.Receive()
		if err != nil {
			return // the store has been closed
		}
		now := h.Elapsed()
		p.mutex.Lock()
		for i := range found {
			if sent, err := strconv.ParseInt(string(found[i].Body[:sentDigits]), 10, 64); err == nil {
				p.latencies = append(p.latencies, millis(now-time.Duration(sent)))
			}
		}
		p.mutex.Unlock()
		if p.arm.slow && !g.Sleep(polledSlowness) {
			return
		}
	}
}

// sentDigits is how long the time of sending is in a message's body.
const sentDigits = 20

// send keeps the rate, or waits where it is zero.
func (p *polled) send(h host.Host, s *commitlog.Store) error {
	if p.arm.rate == 0 {
		h.Root().Sleep(either(p.run, polledIdle, polledIdle/2))
		return nil
	}
	length := either(p.run, polledLength, polledLength/10)
	senders := h.Root().New("senders")
	began, each := h.Elapsed(), time.Second/time.Duration(p.arm.rate)
	failed := make([]error, polledSenders)
	for sender := range polledSenders {
		senders.Go("sender", func() {
			for n := sender; time.Duration(n)*each < length && failed[sender] == nil; n += polledSenders {
				if wait := began + time.Duration(n)*each - h.Elapsed(); wait > 0 && !senders.Sleep(wait) {
					return
				}
				body := fmt.Appendf(nil, "%0*d%80s", sentDigits, int64(h.Elapsed()), "")
				_, failed[sender] = s.Append(message.Message{Topic: []byte(polledTopic), Queue: int32(n % p.arm.consumers), Body: body})
			}
		})
	}
	senders.Wait()
	h.Root().Sleep(1100 * time.Millisecond) // for the last poll of a second
	return errors.Join(failed...)
}

func polledGroup(world string, slow bool) string {
	switch {
	case slow:
		return "A slow consumer, virtual time"
	case world == slowReal:
		return "On this machine, wall clock"
	}
	return "In the simulator, virtual time"
}

// sample adds what was found to the arm.
func (p *polled) sample() {
	a := p.arm
	labels := []string{"delivery", string(a.delivery), "consumers", strconv.Itoa(a.consumers), "messages/s", strconv.Itoa(a.rate),
		"delivery and consumers", fmt.Sprintf("%s, %d", a.delivery, a.consumers)}
	if a.slow {
		labels = []string{"delivery", string(a.delivery), "permits", strconv.Itoa(a.permits)}
	}
	c := p.group(polledGroup(a.world, a.slow), "Latency is from the call of append until the consumer has the message. Requests are pulls, or grants of permits.").
		cell(a.cell(), labels...)
	clock := clockOf(a.world)
	c.sample(quantity{figureAsked, "1/s", clock, reports.LowerBetter}, float64(p.requests)/p.length.Seconds()/float64(a.consumers))
	c.sample(count(figureParked, reports.LowerBetter), float64(p.parked))
	c.sample(count(figureUnderWay, reports.LowerBetter), float64(p.underWay))
	c.sample(count(figureDelivered, reports.NeitherBetter), float64(len(p.latencies)))
	if len(p.latencies) > 0 {
		c.sample(quantity{"p50", "ms", clock, reports.LowerBetter}, reports.Quantile(p.latencies, 0.5))
		c.sample(quantity{"p99", "ms", clock, reports.LowerBetter}, reports.Quantile(p.latencies, 0.99))
	}
}

// Bounds of the verdict on polls.
const (
	fewerPolls   = 10
	unboundTimes = 10
)

// judgePolls: idle long polls are ten times fewer, deliver no later, and permits bound what is under way.
func judgePolls(r *reports.Result) reports.Verdict {
	var j judgement
	for _, consumers := range polledConsumers() {
		arm := polledArm{slowVirtual, consumer.LongPoll, polledPermits, consumers, 0, false}
		short := arm
		short.delivery = consumer.ShortPoll
		j.times(r, fmt.Sprintf("idle requests of %d consumers, short by long poll,", consumers), figureAsked, short.cell(), arm.cell(), fewerPolls)
	}
	for _, consumers := range polledConsumers() {
		for _, rate := range polledRates()[1:] {
			j.noLater(r, polledArm{slowVirtual, consumer.LongPoll, polledPermits, consumers, rate, false})
		}
	}
	j.noLater(r, polledArm{slowReal, consumer.LongPoll, polledPermits, polledRealConsumers, polledRealRate, false})
	slow := slowPolls()
	left, ok := j.figureOf(r, slow[0].cell(), figureUnderWay)
	few, found := j.figureOf(r, slow[1].cell(), figureUnderWay)
	many, seen := j.figureOf(r, slow[2].cell(), figureUnderWay)
	switch {
	case !ok || !found || !seen:
	case left.High > 0:
		j.refute("a long poll has %s messages under way", short(left.High))
	case few.High > polledFew:
		j.refute("push with %d permits has %s messages under way", polledFew, short(few.High))
	case many.Low < unboundTimes*polledFew:
		j.leaveOpen("without a bound the slow consumer has only %s messages under way", short(many.Low))
	default:
		j.support("a slow consumer has %s messages under way with %d permits and %s without a bound", short(few.High), polledFew, short(many.Value))
	}
	return j.verdict()
}

// times wants a figure of one cell to be so many times that of another.
func (j *judgement) times(r *reports.Result, what, figure, part, whole string, times float64) {
	a, ok := j.figureOf(r, part, figure)
	b, found := j.figureOf(r, whole, figure)
	if !ok || !found {
		return
	}
	switch {
	case a.Low >= times*b.High:
		j.support("%s %s to %s", what, short(a.Value), short(b.Value))
	case a.High < times*b.Low:
		j.refute("%s %s to %s, the bound is %s times", what, short(a.Value), short(b.Value), short(times))
	default:
		j.leaveOpen("%s %s to %s, intervals overlap %s times", what, short(a.Value), short(b.Value), short(times))
	}
}

// noLater wants a long poll's p99 not to be above that of a short poll, or within what counts as equal.
func (j *judgement) noLater(r *reports.Result, long polledArm) {
	brief := long
	brief.delivery = consumer.ShortPoll
	a, ok := j.figureOf(r, long.cell(), "p99")
	b, found := j.figureOf(r, brief.cell(), "p99")
	what := fmt.Sprintf("p99 of long by short poll, %d consumers, %d a second, %s clock", long.consumers, long.rate, clockOf(long.world))
	switch {
	case !ok || !found:
	case long.world == slowReal && len(a.Samples) < roundsDecisive:
		j.leaveOpen("%s: %d rounds, and it takes %d", what, len(a.Samples), roundsDecisive)
	case a.Low > equalWithin*b.High:
		j.refute("%s: %s to %s ms", what, short(a.Value), short(b.Value))
	case a.High > equalWithin*b.Low:
		j.leaveOpen("%s: %s to %s ms, intervals overlap", what, short(a.Value), short(b.Value))
	default:
		j.support("%s: %s to %s ms", what, short(a.Value), short(b.Value))
	}
}
