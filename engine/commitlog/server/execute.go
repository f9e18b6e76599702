package server

import (
	"errors"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// codeOf is the class of an error, for clients.
func codeOf(err error) wire.Code {
	for _, class := range []struct {
		is   error
		code wire.Code
	}{
		{commitlog.ErrOutcomeUnknown, wire.OutcomeUnknown}, // before what made it unknown
		{commitlog.ErrIllegal, wire.Illegal}, {commitlog.ErrNoQueue, wire.NoQueue}, {commitlog.ErrCorrupt, wire.Corrupt},
		{commitlog.ErrFailed, wire.Failed}, {commitlog.ErrStopped, wire.Stopped}, {host.ErrNoSpace, wire.NoSpace},
	} {
		if errors.Is(err, class.is) {
			return class.code
		}
	}
	return wire.Unreadable
}

func (c *connection) produce(r request) error {
	p, err := wire.ParseProduce(r.body)
	if err != nil {
		return err
	}
	placed, err := c.server.store.Append(message.Message{
		Topic: p.Topic, Queue: p.Queue, Flag: p.Flag, SysFlag: p.SysFlag, BornTimestamp: p.Born, Properties: p.Properties, Body: p.Body,
	})
	if err != nil {
		return c.refuse(r, err)
	}
	c.server.h.Probe().Mark(host.Event{Name: PointProduced, A: placed.Physical, Extra: c.conn.Peer()})
	return c.answer(wire.AppendPlaced(nil, r.sequence, wire.Placed{
		Queue: placed.Queue, QueueOffset: placed.QueueOffset, Physical: placed.Physical, Stored: placed.Stored,
	}))
}

func (c *connection) pull(r request) error {
	p, err := wire.ParsePull(r.body)
	if err != nil {
		return err
	}
	ask := commitlog.PullRequest{
		Topic: string(p.Topic), Queue: p.Queue, Offset: p.Offset, Count: int(min(p.Count, 1<<30)), Bytes: int64(p.Bytes),
		Suspend: time.Duration(p.SuspendMillis) * time.Millisecond, Waiting: c.polls,
	}
	for _, tag := range p.Tags {
		ask.Tags = append(ask.Tags, string(tag))
	}
	for {
		found, err := c.server.store.Locate(ask)
		if err != nil {
			return c.refuse(r, err)
		}
		err = c.send(r, &ask, &found, p.Checked)
		if !errors.Is(err, commitlog.ErrGone) {
			return err
		}
		// It was removed in between, and nothing has been sent: the bounds have moved, and Locate says so.
		c.server.h.Probe().Mark(host.Event{Name: PointMoved, Extra: c.conn.Peer()})
		ask.Suspend = 0
	}
}

// send answers with what was located. ErrGone: some of it is not there any more, and nothing was sent.
func (c *connection) send(r request, ask *commitlog.PullRequest, found *commitlog.Located, checked bool) error {
	b := body{connection: c, pieces: pieces(c.server.store, found.Places, int64(c.server.config.SpanGapMax))}
	defer b.release()
	if err := b.lend(); err != nil {
		return err
	}
	if checked || c.server.config.Verify {
		if err := b.check(ask.Topic, ask.Queue, found.Places); err != nil {
			if errors.Is(err, message.ErrElsewhere) { // its file is in its next life
				return c.refuseDamaged(r, ask, err)
			}
			return c.refuse(r, err)
		}
	}
	if len(found.Places) > 0 {
		c.follow(ask, found, &b)
	}
	head := wire.AppendPulled(nil, r.sequence, b.pulled(found))
	c.writing.Lock()
	defer c.writing.Unlock()
	first, err := b.first(checked)
	if err != nil {
		return c.conn.WriteBuffers([][]byte{wire.AppendError(nil, r.operation, r.sequence, codeOf(err), err.Error())})
	}
	err = b.write(head, first, checked)
	point := PointSent
	if err != nil {
		point = PointTorn
	}
	c.server.h.Probe().Mark(host.Event{Name: point, A: b.bytes, Extra: c.conn.Peer()})
	return err
}

// refuseDamaged tells whether what was looked at is damaged or was removed while it was looked at.
func (c *connection) refuseDamaged(r request, ask *commitlog.PullRequest, err error) error {
	low, _, failed := c.server.store.Bounds(ask.Topic, ask.Queue)
	if failed == nil && ask.Offset < low {
		return commitlog.ErrGone
	}
	return c.refuse(r, err)
}
