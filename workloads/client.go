package workloads

import (
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Client is one sequential caller inside the bookie's process.
type Client struct {
	caller
	store  *bookie.Store
	group  host.Group
	done   *host.Queue[*bookie.Batch]
	buffer []byte
}

// NewClient makes a client whose tasks belong to g. pace is the mean time between two of its operations.
func NewClient(h host.Host, g host.Group, lab *Lab, store *bookie.Store, number int, pace time.Duration) *Client {
	return &Client{
		caller: newCaller(lab, number, pace),
		store:  store, group: g,
		done: host.NewQueue[*bookie.Batch](h, g, clientName(number), 1),
	}
}

func clientName(number int) string { return "client-" + string(rune('a'+number)) }

// Run works until the group stops or the bookie does.
func (c *Client) Run() {
	for c.Next(c.group) {
		if !c.act() {
			return
		}
	}
}

// act does one step. False: the bookie has stopped.
func (c *Client) act() bool {
	m := &c.lab.mix
	return c.Choose(
		agenda.Weighted(m.Add, c.Single(c.add)), agenda.Weighted(m.AddBatch, c.addBatch), agenda.Weighted(m.Recover, c.Single(c.recoverEntry)),
		agenda.Weighted(m.Retry, c.Single(c.retry)), agenda.Weighted(m.Read, c.Single(c.read)), agenda.Weighted(m.ReadRange, c.Single(c.readRange)),
		agenda.Weighted(m.LastEntry, c.Single(c.lastEntry)), agenda.Weighted(m.Fence, c.Single(c.fence)), agenda.Weighted(m.Delete, c.Single(c.deleteLedger)),
		agenda.Weighted(m.List, c.Single(c.list)), agenda.Weighted(m.Flush, c.Single(c.flush)),
	)
}

func (c *Client) add() bool {
	b := c.ledger()
	return c.send(b, b.append(c.rand), false)
}

// retry sends an entry again, byte for byte, as a writer does that got no answer.
func (c *Client) retry() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	t, ok := b.sent(c.rand)
	return !ok || c.send(b, t, false)
}

// recoverEntry sends a new version of an entry that was sent before, or one behind the end, as recovery does.
func (c *Client) recoverEntry() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	t, ok := b.renew(c.rand)
	if !ok || c.rand.IntN(4) == 0 {
		t = b.append(c.rand)
	}
	return c.send(b, t, true)
}

func (c *Client) send(b *book, t tried, recovery bool) bool {
	a := bookie.Add{MasterKey: masterKey(), Recovery: recovery}
	c.buffer = content(c.buffer, b.id, t.entry, t.version, t.payload)
	a.Body = c.buffer
	token := c.lab.Recorder.Begin(c.addOp(b.id, t.entry, a.Body, recovery))
	err := c.store.AddOne(&a)
	c.lab.Recorder.End(token, outcomeOf(model.Add, err), nil)
	return c.goesOn(err)
}

func (c *Client) addOp(id ledger.ID, entry ledger.EntryID, body []byte, recovery bool) model.Op {
	op := modelOp(model.Add, c.number, id, entry)
	op.Digest, op.Recovery = digest(body), recovery
	return op
}

// addBatch submits several entries at once, as a connection does. Each is a part of the step.
func (c *Client) addBatch() bool {
	n := 1 + c.rand.IntN(c.lab.mix.BatchMax)
	batch := &bookie.Batch{Done: c.done}
	var tokens []Token
	b := c.ledger()
	for i := range n {
		if !c.Does(i + 1) {
			continue
		}
		t := b.append(c.rand)
		body := content(nil, b.id, t.entry, 0, t.payload)
		batch.Adds = append(batch.Adds, bookie.Add{MasterKey: masterKey(), Body: body})
		tokens = append(tokens, c.lab.Recorder.Begin(c.addOp(b.id, t.entry, body, false)))
	}
	if len(tokens) == 0 {
		return true
	}
	c.store.Submit(batch)
	taken, ok := c.done.Take(nil)
	if !ok {
		// The group stops while the batch is under way: the bookie still completes it.
		for _, token := range tokens {
			c.lab.Recorder.End(token, model.Unknown, nil)
		}
		return false
	}
	err := error(nil)
	for i := range taken[0].Adds {
		err = taken[0].Adds[i].Err
		c.lab.Recorder.End(tokens[i], outcomeOf(model.Add, err), nil)
	}
	return c.goesOn(err)
}

func (c *Client) goesOn(err error) bool { return !isEnd(err) }
