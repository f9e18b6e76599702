package segments

import (
	"errors"
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/partition"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Client is one sequential caller inside the store's process: a producer, and a consumer with a place in each partition.
// What it does is what its agenda says.
type Client struct {
	agenda.Walk
	lab    *Lab
	h      host.Host
	group  host.Group
	store  *seglog.Store
	unit   time.Duration
	rand   *rand.Rand // the walk's
	number int
	pace   time.Duration
	at     []seglog.Cursor
}

// NewClient makes a client whose tasks belong to g. pace is the mean time between two of its operations, unit that of
// messages' times.
func NewClient(h host.Host, g host.Group, lab *Lab, store *seglog.Store, number int, pace, unit time.Duration) *Client {
	walk := lab.agenda.Walk(number, pace)
	return &Client{
		Walk: walk, lab: lab, h: h, group: g, store: store, unit: unit, rand: walk.Rand, number: number, pace: pace,
		at: make([]seglog.Cursor, lab.partitions),
	}
}

// Run works until the group stops or the store does.
func (c *Client) Run() {
	for c.Next(c.group) && c.act() {
	}
}

// act does one step. False: the store has stopped.
func (c *Client) act() bool {
	m := &c.lab.mix
	action := func(weight int, do func() error) agenda.Action {
		return agenda.Weighted(weight, c.Single(func() bool { return !errors.Is(do(), seglog.ErrClosed) }))
	}
	return c.Choose(
		action(m.Append, c.append), action(m.Read, c.readSome), action(m.Tail, c.tail), action(m.Seek, c.seek),
		action(m.Bounds, c.bounds), action(m.Look, c.store.Retain),
	)
}

// now is the store's clock, which the record is told.
func (c *Client) now() seglog.Time {
	now := uint64(int64(c.h.Now()) / int64(c.unit))
	c.lab.Clock(now)
	return seglog.Time(now)
}

func (c *Client) append() error {
	m := &c.lab.mix
	number := seglog.Balanced
	if m.NamedOneIn > 0 && c.rand.IntN(m.NamedOneIn) == 0 {
		number = c.rand.IntN(c.lab.partitions)
	}
	var values []uint64
	var payloads [][]byte
	for range 1 + c.rand.IntN(m.BatchMax) {
		at := c.now() - seglog.Time(c.rand.IntN(m.SkewMax+1))
		size := c.rand.IntN(m.PayloadBytesMax + 1)
		if c.rand.IntN(3) > 0 {
			size = min(size, 100)
		}
		d := c.lab.draft(at, size, 1+c.rand.IntN(m.GroupsMax))
		values, payloads = append(values, d.value), append(payloads, d.payload)
	}
	_, err := c.send(number, values, payloads)
	return err
}

func (c *Client) send(number int, values []uint64, payloads [][]byte) (seglog.Placed, error) {
	token := c.lab.begin(model.SegmentOp{Kind: model.SegmentAppend, Client: model.ClientID(c.number), Partition: number, Values: values})
	placed, err := c.store.Append(Topic, number, payloads...)
	outcome := model.SegmentRefused
	switch {
	case err == nil:
		outcome = model.SegmentOK
	case errors.Is(err, seglog.ErrOutcomeUnknown):
		outcome = model.SegmentUnknown
	}
	c.lab.end(token, outcome, func(op *model.SegmentOp) {
		if err == nil {
			op.Partition, op.Cursor = placed.Partition, int64(placed.First)
		}
	})
	return placed, err
}

// readSome reads a few messages somewhere.
func (c *Client) readSome() error {
	number := c.rand.IntN(c.lab.partitions)
	at := c.at[number]
	switch c.rand.IntN(4) {
	case 0:
		at = seglog.Cursor(c.rand.Int64N(int64(at) + 3))
	case 1:
		at = max(at-seglog.Cursor(c.rand.IntN(10)), 0)
	}
	next, _, err := c.read(number, at)
	c.at[number] = max(c.at[number], next)
	return err
}

// tail waits for the next messages of a partition, and reads them.
func (c *Client) tail() error {
	number := c.rand.IntN(c.lab.partitions)
	if there, err := c.store.Await(Topic, number, c.at[number], 3*c.pace); !there || err != nil {
		return err
	}
	next, _, err := c.read(number, c.at[number])
	c.at[number] = max(c.at[number], next)
	return err
}

// read reads from a cursor on, and returns where to go on and how many there were.
func (c *Client) read(number int, from seglog.Cursor) (next seglog.Cursor, count int, err error) {
	limits := seglog.Limits{Messages: 1 + c.rand.IntN(20), Bytes: int64(c.rand.IntN(3000))}
	token := c.lab.begin(model.SegmentOp{Kind: model.SegmentRead, Client: model.ClientID(c.number), Partition: number, Cursor: int64(from)})
	batch, err := c.store.Read(Topic, number, from, limits)
	var values []uint64
	for _, e := range batch.Entries {
		value := c.lab.valueOf(e.Payload)
		if e.Cursor != from+seglog.Cursor(len(values)) {
			value = strange
		}
		values = append(values, value)
	}
	next = batch.Next
	batch.Release()
	c.now()
	c.lab.end(token, readOutcome(err), func(op *model.SegmentOp) { op.Values = values })
	if errors.Is(err, seglog.ErrTrimmed) {
		first, _, bounds := c.boundsOf(number)
		return first, 0, bounds
	}
	return next, len(values), err
}

func readOutcome(err error) model.SegmentOutcome {
	switch {
	case err == nil:
		return model.SegmentOK
	case errors.Is(err, seglog.ErrTrimmed):
		return model.SegmentTrimmed
	case errors.Is(err, seglog.ErrBeyond):
		return model.SegmentBeyond
	}
	return model.SegmentError
}

func (c *Client) seek() error {
	number := c.rand.IntN(c.lab.partitions)
	at := c.now()
	if c.rand.IntN(5) > 0 {
		at -= min(at, seglog.Time(c.rand.IntN(2000)))
	}
	return c.seekTime(number, at)
}

func (c *Client) seekTime(number int, at seglog.Time) error {
	token := c.lab.begin(model.SegmentOp{Kind: model.SegmentSeek, Client: model.ClientID(c.number), Partition: number, Time: uint64(at)})
	found, err := c.store.Seek(Topic, number, at)
	c.now()
	c.lab.end(token, readOutcome(err), func(op *model.SegmentOp) { op.Cursor = int64(found) })
	return err
}

func (c *Client) bounds() error {
	_, _, err := c.boundsOf(c.rand.IntN(c.lab.partitions))
	return err
}

func (c *Client) boundsOf(number int) (first, next seglog.Cursor, err error) {
	token := c.lab.begin(model.SegmentOp{Kind: model.SegmentBounds, Client: model.ClientID(c.number), Partition: number})
	first, next, err = c.store.Bounds(Topic, number)
	c.now()
	c.lab.end(token, readOutcome(err), func(op *model.SegmentOp) { op.Cursor, op.Next = int64(first), int64(next) })
	return first, next, err
}

// TakesAgain appends to each partition of a store that nothing disturbs any more. Why one did not take it: nil if all did.
func (c *Client) TakesAgain() error {
	for number := range c.lab.partitions {
		d := c.lab.draft(c.now(), 10, 1)
		if _, err := c.send(number, []uint64{d.value}, [][]byte{d.payload}); err != nil && !errors.Is(err, seglog.ErrClosed) {
			return err
		}
	}
	return nil
}

// Verify reads everything there is, looks up times all over it, and appends to each partition: in a store that nothing
// disturbs all of it must succeed.
func (c *Client) Verify() error {
	for number := range c.lab.partitions {
		if err := c.verify(number); err != nil {
			return err
		}
	}
	return nil
}

// VerifyDamaged does the same with media that have lost bytes: errors tell of it, and what lies behind is looked at.
func (c *Client) VerifyDamaged() {
	for number := range c.lab.partitions {
		first, next, err := c.boundsOf(number)
		for at := first; err == nil && at < next; {
			behind, _, failed := c.read(number, at)
			at = max(at+1, behind)
			if errors.Is(failed, seglog.ErrClosed) {
				return
			}
		}
		_ = c.verify(number) // what it gets is recorded
	}
}

func (c *Client) verify(number int) error {
	first, next, err := c.boundsOf(number)
	for at, count := first, 1; err == nil && count > 0; {
		at, count, err = c.read(number, at)
		if errors.Is(err, partition.ErrTrimmed) {
			err = nil // retention goes on
		}
	}
	for i := 0; err == nil && i < 8; i++ {
		err = c.seekTime(number, c.now()-seglog.Time(min(int64(c.now()), int64(i*i*i*10))))
	}
	if err != nil {
		return err
	}
	if next > 0 {
		if _, _, err := c.read(number, next-1); err != nil {
			return err
		}
	}
	d := c.lab.draft(c.now(), 10, 1)
	if _, err := c.send(number, []uint64{d.value}, [][]byte{d.payload}); err != nil {
		return err
	}
	return nil
}
