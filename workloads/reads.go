package workloads

import (
	"errors"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
)

// isEnd reports whether an error means that the bookie has stopped.
func isEnd(err error) bool { return errors.Is(err, bookie.ErrStopped) }

// read asks for an entry that was sent, or for one near by that was not.
func (c *Client) read() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	return c.readEntry(b.id, b.some(c.rand), false)
}

func (c *Client) readEntry(id ledger.ID, entry ledger.EntryID, final bool) bool {
	op := modelOp(model.Read, c.number, id, entry)
	op.Final = final
	token := c.lab.Recorder.Begin(op)
	e, err := c.store.Read(id, entry)
	sum := digest(e.Body)
	e.Release()
	c.lab.Recorder.End(token, outcomeOf(model.Read, err), func(op *model.Op) {
		if err == nil {
			op.Digest = sum
		}
	})
	return c.goesOn(err)
}

func (c *Client) readRange() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	limits := bookie.Limits{Entries: 1 + c.rand.IntN(20), Bytes: int64(c.rand.IntN(4000))}
	op := modelOp(model.ReadRange, c.number, b.id, b.some(c.rand))
	op.MaxCount, op.MaxBytes = int32(limits.Entries), limits.Bytes
	token := c.lab.Recorder.Begin(op)
	entries, err := c.store.ReadRange(b.id, ledger.EntryID(op.Entry), limits)
	items := make([]model.Item, len(entries))
	for i := range entries {
		_, entry, _ := ledger.Key(entries[i].Body)
		items[i] = model.Item{Entry: model.EntryID(entry), Digest: digest(entries[i].Body), Bytes: int64(len(entries[i].Body))}
		entries[i].Release()
	}
	c.lab.Recorder.EndRange(token, outcomeOf(model.ReadRange, err), items)
	return c.goesOn(err)
}

func (c *Client) lastEntry() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	token := c.lab.Recorder.Begin(modelOp(model.LastEntry, c.number, b.id, 0))
	e, err := c.store.LastEntry(b.id)
	sum, entry := digest(e.Body), e.Entry
	e.Release()
	c.lab.Recorder.End(token, outcomeOf(model.LastEntry, err), func(op *model.Op) {
		if err == nil {
			op.Entry, op.Digest = model.EntryID(entry), sum
		}
	})
	return c.goesOn(err)
}

func (c *Client) list() bool {
	token := c.lab.Recorder.Begin(modelOp(model.List, c.number, 0, 0))
	ids, err := c.store.List()
	var ledgers []model.LedgerID
	if err == nil { // an incomplete list is no answer
		for _, id := range ids {
			ledgers = append(ledgers, model.LedgerID(id))
		}
	}
	c.lab.Recorder.EndList(token, outcomeOf(model.List, err), ledgers)
	return c.goesOn(err)
}

func (c *Client) fence() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	b.askedFor(true, false)
	token := c.lab.Recorder.Begin(modelOp(model.Fence, c.number, b.id, 0))
	err := c.store.Fence(b.id, masterKey())
	c.lab.Recorder.End(token, outcomeOf(model.Fence, err), nil)
	return c.goesOn(err)
}

func (c *Client) deleteLedger() bool {
	b := c.lab.pick(c.rand)
	if b == nil {
		return true
	}
	b.askedFor(false, true)
	token := c.lab.Recorder.Begin(modelOp(model.Delete, c.number, b.id, 0))
	err := c.store.Delete(b.id)
	c.lab.Recorder.End(token, outcomeOf(model.Delete, err), nil)
	return c.goesOn(err)
}

// flush asks for a checkpoint. It is no operation of a client's history: it must not change any answer.
func (c *Client) flush() bool { return c.goesOn(c.store.Flush()) }

// Verify reads everything that was ever sent, as final reads: the world is healed by now. Then it tries to add to every
// ledger that was to be fenced or deleted, which must not work where that was acknowledged. It goes on as long as the
// bookie does.
func (c *Client) Verify() bool {
	books := c.lab.all()
	for _, b := range books {
		for _, entry := range b.ids() {
			if !c.readEntry(b.id, entry, true) {
				return false
			}
		}
	}
	for _, b := range books {
		if b.ended() && !c.send(b, b.append(c.rand), false) {
			return false
		}
	}
	return c.list()
}
