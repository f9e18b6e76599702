package messages

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Log is what every client can reach, in the store's process or over the network.
type Log interface {
	Append(message.Message) (commitlog.Placed, error)
	Pull(commitlog.PullRequest) (commitlog.PullResult, error)
}

// Client is one sequential caller. What it does is what its agenda says.
type Client struct {
	agenda.Walk
	lab    *Lab
	h      host.Host
	group  host.Group
	log    Log
	store  *commitlog.Store // nil: the client is on another machine
	rand   *rand.Rand       // the walk's
	number int
	offset map[model.QueueID]int64  // of tailing
	seen   map[model.QueueID]bounds // of a client on another machine
}

// NewClient makes a client inside the store's process, whose tasks belong to g. pace is the mean time between two operations.
func NewClient(h host.Host, g host.Group, lab *Lab, store *commitlog.Store, number int, pace time.Duration) *Client {
	walk := lab.agenda.Walk(number, pace)
	return &Client{
		Walk: walk, lab: lab, h: h, group: g, store: store, rand: walk.Rand, number: number, offset: map[model.QueueID]int64{}, log: store,
	}
}

// NewRemote makes a client on another machine. It only sends and pulls, and goes on whatever happens to the store.
func NewRemote(h host.Host, g host.Group, lab *Lab, log Log, number int, pace time.Duration) *Client {
	c := NewClient(h, g, lab, nil, number, pace)
	c.log, c.seen = log, map[model.QueueID]bounds{}
	return c
}

// bounds are those of a queue, as the last answer told them.
type bounds struct{ low, high int64 }

// Run works until the group stops or the store does.
func (c *Client) Run() {
	for c.Next(c.group) && c.act() {
	}
}

// act does one step. False: the store has stopped.
func (c *Client) act() bool {
	m := &c.lab.mix
	action := func(weight int, do func() error) agenda.Action {
		return agenda.Weighted(weight, c.Single(func() bool { return !isEnd(do()) }))
	}
	if c.store == nil {
		return c.actRemote()
	}
	return c.Choose(
		action(m.Send, func() error { return c.send(commitlog.AnyQueue) }),
		action(m.SendTo, func() error { return c.send(c.queue().Queue) }),
		action(m.Pull, func() error { return c.pull(c.queue(), "") }),
		action(m.PullTag, func() error { return c.pull(c.queue(), tags[c.rand.IntN(len(tags))]) }),
		action(m.Tail, c.tail), action(m.Query, c.query), action(m.Time, c.time), action(m.Clean, c.clean),
	)
}

// actRemote does one step of a client on another machine, for which the store's end is none.
func (c *Client) actRemote() bool {
	m := &c.lab.mix
	action := func(weight int, do func() error) agenda.Action {
		return agenda.Weighted(weight, c.Single(func() bool { return do() == nil || !c.group.Stopping() }))
	}
	return c.Choose(
		action(m.Send, func() error { return c.send(commitlog.AnyQueue) }),
		action(m.SendTo, func() error { return c.send(c.queue().Queue) }),
		action(m.Pull, func() error { return c.pull(c.queue(), "") }),
		action(m.PullTag, func() error { return c.pull(c.queue(), tags[c.rand.IntN(len(tags))]) }),
		action(m.Tail, c.tail),
	)
}

// isEnd reports whether an error means that the store has stopped.
func isEnd(err error) bool {
	return errors.Is(err, commitlog.ErrStopped) || errors.Is(err, commitlog.ErrFailed)
}

// tags are those that messages have. Two of them have the same hash.
var tags = [...]string{"Aa", "BB", "red", "blue"}

// queue chooses a queue of any topic.
func (c *Client) queue() model.QueueID {
	m := &c.lab.mix
	return model.QueueID{Topic: topicName(c.rand.IntN(m.Topics)), Queue: c.rand.Int32N(m.Queues)}
}

func topicName(i int) string { return fmt.Sprintf("topic-%d", i) }

// send sends one message to a topic, and to a queue unless the store is to choose. A body says whose it is, and of which step.
func (c *Client) send(queue int32) error {
	topic := topicName(c.rand.IntN(c.lab.mix.Topics))
	digest := digestOf(c.number, c.Step())
	tag := tags[c.rand.IntN(len(tags))]
	body := fmt.Appendf(nil, "%016x", uint64(digest))
	for range c.rand.IntN(c.lab.mix.BodyMax) {
		body = append(body, byte(digest>>(len(body)%64)))
	}
	properties, err := message.AppendProperties(nil, message.Property{Name: message.PropertyTags, Value: tag},
		message.Property{Name: message.PropertyUniqueKey, Value: keyOf(digest)})
	if err != nil {
		return err
	}
	if queue == commitlog.AnyQueue { // the history names the queue of a send whose outcome it does not know
		queue = int32(c.Step()) % c.lab.mix.Queues
	}
	t := c.lab.beginSend(model.Send{
		Client: model.ClientID(c.number), Queue: model.QueueID{Topic: topic, Queue: queue}, Tag: tag, Digest: digest,
	}, c.store == nil)
	placed, err := c.log.Append(message.Message{Topic: []byte(topic), Queue: queue, Body: body, Properties: properties})
	outcome := model.OK
	if errors.Is(err, commitlog.ErrOutcomeUnknown) {
		outcome = model.Unknown
	} else if err != nil {
		outcome = model.Failed
	}
	c.lab.endSend(t, outcome, placed)
	return err
}

func digestOf(client, step int) model.Digest {
	return model.Digest((uint64(client)<<40 | uint64(step)) * 0x9e3779b97f4a7c15)
}

func keyOf(d model.Digest) string { return fmt.Sprintf("key-%016x", uint64(d)) }

// digestIn reads the digest out of a message's body; 0 if there is none.
func digestIn(m *message.Message) (d model.Digest) {
	if len(m.Body) < 16 {
		return 0
	}
	var n uint64
	if _, err := fmt.Sscanf(string(m.Body[:16]), "%x", &n); err != nil {
		return 0
	}
	for i := 16; i < len(m.Body); i++ {
		if m.Body[i] != byte(n>>(i%64)) {
			return 0
		}
	}
	return model.Digest(n)
}

// pull reads from anywhere in a queue.
func (c *Client) pull(q model.QueueID, tag string) error {
	low, high, err := c.bounds(q)
	if err != nil {
		return err
	}
	_, err = c.ask(q, low+c.rand.Int64N(high-low+2), tag, 0, false)
	return err
}

func (c *Client) bounds(q model.QueueID) (low, high int64, err error) {
	if c.store == nil {
		b := c.seen[q]
		return b.low, b.high, nil
	}
	return c.store.Bounds(q.Topic, q.Queue)
}

// tail goes on behind what this client has seen of a queue, and waits for more.
func (c *Client) tail() error {
	q := c.queue()
	next, err := c.ask(q, c.offset[q], "", time.Duration(c.lab.mix.TailMillis)*time.Millisecond, false)
	if err == nil {
		c.offset[q] = next
	}
	return err
}

// ask pulls, and records an answer. next is where to go on.
func (c *Client) ask(q model.QueueID, from int64, tag string, suspend time.Duration, final bool) (next int64, err error) {
	p := model.Pull{Client: model.ClientID(c.number), Call: c.lab.now(), Queue: q, From: from, Tag: tag, Final: final}
	r := commitlog.PullRequest{Topic: q.Topic, Queue: q.Queue, Offset: from, Suspend: suspend}
	if tag != "" {
		r.Tags = []string{tag}
	}
	answer, err := c.log.Pull(r)
	if err != nil {
		c.lab.count("pull error")
		return from, err
	}
	p.Low, p.High, p.Next = answer.Min, answer.Max, answer.Next
	if c.store == nil {
		c.seen[q] = bounds{answer.Min, answer.Max}
	} else {
		c.now() // the store's: a client on another machine has a clock of its own
	}
	for i := range answer.Messages {
		m := &answer.Messages[i]
		if tag != "" && !m.HasTag(tag) {
			continue
		}
		p.Items = append(p.Items, model.Pulled{
			Queue: model.QueueID{Topic: string(m.Topic), Queue: m.Queue}, Offset: m.QueueOffset, Physical: m.PhysicalOffset,
			Stored: m.StoreTimestamp, Tag: string(m.Tag()), Digest: digestIn(m),
		})
	}
	c.lab.endPull(p, "pull "+answer.Status.String())
	return answer.Next, nil
}

// TakesAgain sends one message to a store that nothing disturbs any more. Why it was not taken: nil if it was, or if the store
// has stopped.
func (c *Client) TakesAgain() error {
	if err := c.send(commitlog.AnyQueue); err != nil && !isEnd(err) {
		return err
	}
	return nil
}

// query looks for one of this client's own messages by key.
func (c *Client) query() error {
	d, ok := c.lab.anySent(c.number, c.rand)
	if !ok {
		return nil
	}
	topic := topicName(c.rand.IntN(c.lab.mix.Topics))
	found, err := c.store.Query(topic, keyOf(d), 0, math.MaxInt64, 4)
	c.lab.count(fmt.Sprintf("query %d", len(found)))
	return err
}

// now is the store's clock in ms, which the record is told.
func (c *Client) now() int64 {
	now := int64(c.h.Now()) / int64(time.Millisecond)
	c.lab.Clock(uint64(now))
	return now
}

// time looks for a message by the time at which it was stored: mostly some time that has passed, sometimes one to come.
func (c *Client) time() error {
	return c.search(c.queue(), c.now()+c.rand.Int64N(100)-c.rand.Int64N(1000), c.rand.IntN(2) == 0, false)
}

// search looks for a message by time. A final search asks where the queue begins besides: retention goes on while the last look is taken.
func (c *Client) search(q model.QueueID, millis int64, upper, final bool) error {
	s := model.Search{Client: model.ClientID(c.number), Call: c.lab.now(), Queue: q, Time: millis, Upper: upper}
	boundary := commitlog.Lower
	if upper {
		boundary = commitlog.Upper
	}
	found, err := c.store.OffsetByTime(q.Topic, q.Queue, millis, boundary)
	if err == nil && final {
		s.Low, _, err = c.store.Bounds(q.Topic, q.Queue)
	}
	if err != nil {
		c.lab.count("search by time error")
		return err
	}
	s.Found = found
	c.lab.endSearch(s)
	return nil
}

// clean has old files removed at once. Only one client does.
func (c *Client) clean() error {
	if c.number != 0 {
		return nil
	}
	c.lab.count("clean")
	return c.store.Clean()
}

// Verify reads every queue from its first message to its end, and looks for each message by its key, in a world that is whole
// again. False: the store stopped meanwhile. problem is what is wrong with the store as such.
func (c *Client) Verify() (problem string, ok bool) {
	if err := c.agreement(); err != nil {
		return err.Error(), !isEnd(err)
	}
	for topic := range c.lab.mix.Topics {
		for queue := range c.lab.mix.Queues {
			if err := c.verifyQueue(model.QueueID{Topic: topicName(topic), Queue: queue}); err != nil {
				return err.Error(), !isEnd(err)
			}
		}
	}
	return c.verifyKeys()
}

// agreement compares log, queues and index. Retention goes on in a world that is whole, and what it removes meanwhile is looked for anew.
func (c *Client) agreement() error {
	for {
		first := c.store.Stats().First
		if _, err := c.store.CheckAgreement(); err == nil || c.store.Stats().First == first {
			return err
		}
	}
}

// verifyQueue reads a queue from its first message to its end, and looks for times at the edges of what it has read. One that
// is not there has none.
func (c *Client) verifyQueue(q model.QueueID) error {
	low, high, err := c.store.Bounds(q.Topic, q.Queue)
	if errors.Is(err, commitlog.ErrNoQueue) {
		c.lab.endPull(model.Pull{Client: model.ClientID(c.number), Call: c.lab.now(), Queue: q, Final: true}, "pull no queue")
		return nil
	}
	for at := low; err == nil; {
		if at, err = c.ask(q, at, "", 0, true); at >= high {
			break
		}
	}
	if err != nil {
		return err
	}
	return c.verifyTimes(q)
}

// timesOfQueue bounds the times of one queue that the last look searches for.
const timesOfQueue = 6

// verifyTimes searches for times of a queue's messages, and for those just beside them.
func (c *Client) verifyTimes(q model.QueueID) error {
	times := c.lab.storedIn(q)
	for range min(timesOfQueue, len(times)) {
		at := times[c.rand.IntN(len(times))] + c.rand.Int64N(3) - 1
		if err := c.search(q, at, c.rand.IntN(2) == 0, true); err != nil {
			return err
		}
	}
	return nil
}

// VerifyDamaged reads every queue, as Verify does, from media that have lost bytes: whatever is not given must be told. Errors
// other than such words end it; they are told, too.
func (c *Client) VerifyDamaged() {
	for topic := range c.lab.mix.Topics {
		for queue := range c.lab.mix.Queues {
			c.verifyDamaged(model.QueueID{Topic: topicName(topic), Queue: queue})
		}
	}
}

func (c *Client) verifyDamaged(q model.QueueID) {
	low, high, err := c.store.Bounds(q.Topic, q.Queue)
	if err != nil {
		return
	}
	for at := low; at < high; {
		next, err := c.ask(q, at, "", 0, true)
		if isEnd(err) {
			return
		}
		if err != nil {
			c.lab.endPull(model.Pull{Client: model.ClientID(c.number), Call: c.lab.now(), Queue: q, From: at, Final: true, Told: true}, "pull told of damage")
			next = at + 1
		}
		at = next
	}
}

// Bounds of the keys that the last look searches for. A search reads the files of the index that have its time, and where there are few slots
// all entries of them: for every message, at any time, that would be as much work as the square of their number.
const (
	keysAtTheirTime = 1000
	keysAtAnyTime   = 50
)

// verifyKeys looks for what the final pulls have found, or for some of it if it is much: for each at the time at which it was stored, and for a
// few at any time.
func (c *Client) verifyKeys() (problem string, ok bool) {
	final, total := c.lab.finalPulls(), 0
	for _, p := range final {
		total += len(p.Items)
	}
	for _, p := range final {
		for i := range p.Items {
			from, to := p.Items[i].Stored, p.Items[i].Stored
			switch drawn := c.rand.IntN(total); {
			case drawn < keysAtAnyTime:
				from, to = 0, math.MaxInt64
			case drawn >= keysAtTheirTime:
				continue
			}
			if problem, ok := c.verifyKey(p.Queue, &p.Items[i], from, to); problem != "" {
				return problem, ok
			}
		}
	}
	return "", true
}

// verifyKey looks for one message by its key, between two times.
func (c *Client) verifyKey(q model.QueueID, item *model.Pulled, from, to int64) (problem string, ok bool) {
	found, err := c.store.Query(q.Topic, keyOf(item.Digest), from, to, 4)
	if err != nil {
		return err.Error(), !isEnd(err)
	}
	if len(found) == 0 && item.Physical < c.store.Stats().First {
		return "", true // retention has removed it since it was pulled
	}
	if len(found) != 1 || digestIn(&found[0]) != item.Digest {
		return fmt.Sprintf("message %016x at %d of %v, at %d of the log is found %d times by its key", uint64(item.Digest), item.Offset, q, item.Physical, len(found)), true
	}
	return "", true
}

// storedIn are the store timestamps of a queue's messages that final pulls have found.
func (l *Lab) storedIn(q model.QueueID) (times []int64) {
	for _, p := range l.finalPulls() {
		for _, item := range p.Items {
			if p.Queue == q {
				times = append(times, item.Stored)
			}
		}
	}
	return times
}

// StoredAt is the store timestamp of the message at an offset of the log, if a final pull has found it.
func (l *Lab) StoredAt(physical int64) (millis int64, found bool) {
	for _, p := range l.finalPulls() {
		for _, item := range p.Items {
			if item.Physical == physical {
				return item.Stored, true
			}
		}
	}
	return 0, false
}

func (l *Lab) finalPulls() (final []model.Pull) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, p := range l.history.Pulls {
		if p.Final {
			final = append(final, p)
		}
	}
	return final
}
