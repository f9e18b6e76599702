package client

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// errOf is the class of a code.
func errOf(code wire.Code) error {
	switch code {
	case wire.Illegal:
		return commitlog.ErrIllegal
	case wire.NoQueue:
		return commitlog.ErrNoQueue
	case wire.OutcomeUnknown:
		return commitlog.ErrOutcomeUnknown
	case wire.Failed:
		return commitlog.ErrFailed
	case wire.Stopped:
		return commitlog.ErrStopped
	case wire.Corrupt:
		return commitlog.ErrCorrupt
	case wire.NoSpace:
		return host.ErrNoSpace
	}
	return host.ErrIO
}

// done takes the code off an answer, and makes an error of it if it is one.
func done(body []byte) ([]byte, error) {
	code, text, rest, err := wire.ParseCode(body)
	if err != nil {
		return nil, err
	}
	if code != wire.Done {
		return nil, fmt.Errorf("the commit log says: %s: %w", text, errOf(code))
	}
	return rest, nil
}

// Append stores a message and returns when it is as safe as the store's flush mode says. Hosts of the message are not sent.
func (c *Client) Append(m message.Message) (commitlog.Placed, error) {
	if err := m.Check(); err != nil {
		return commitlog.Placed{}, err
	}
	body, err := c.call(0, func(sequence wire.Sequence) []byte {
		return wire.AppendProduce(nil, sequence, &wire.Produce{
			Queue: m.Queue, Flag: m.Flag, SysFlag: m.SysFlag, Born: m.BornTimestamp, Topic: m.Topic, Properties: m.Properties, Body: m.Body,
		})
	})
	if errors.Is(err, errTorn) {
		return commitlog.Placed{}, fmt.Errorf("append to topic %s: %w: %w", m.Topic, commitlog.ErrOutcomeUnknown, err)
	}
	var placed wire.Placed
	if err == nil {
		if body, err = done(body); err == nil {
			placed, err = wire.ParsePlaced(body)
		}
		if errors.Is(err, wire.ErrFrame) { // the server did something, and nobody knows what
			err = fmt.Errorf("%w: %w", commitlog.ErrOutcomeUnknown, err)
		}
	}
	if err != nil {
		return commitlog.Placed{}, fmt.Errorf("append to topic %s: %w", m.Topic, err)
	}
	return commitlog.Placed{Queue: placed.Queue, QueueOffset: placed.QueueOffset, Physical: placed.Physical, Stored: placed.Stored}, nil
}

// Pull returns messages of a queue from an offset on, as Store.Pull does. Waiting of the request is not looked at.
func (c *Client) Pull(r commitlog.PullRequest) (commitlog.PullResult, error) {
	if len(r.Tags) > wire.TagsMax || len(r.Topic) > message.TopicMax {
		return commitlog.PullResult{}, fmt.Errorf("pull with %d tags from a topic with a name of %d bytes: %w", len(r.Tags), len(r.Topic), commitlog.ErrIllegal)
	}
	result, err := c.pull(&r, false)
	if errors.Is(err, errTorn) && !errors.Is(err, ErrClosed) || errors.Is(err, errRefuted) {
		// Either way the server may have met bytes that nobody has looked at: now it has to.
		c.h.Probe().Mark(host.Event{Name: PointRechecked, A: r.Offset})
		r.Suspend = 0
		result, err = c.pull(&r, true)
	}
	if err != nil {
		return commitlog.PullResult{}, fmt.Errorf("pull from queue %d of topic %s at %d: %w", r.Queue, r.Topic, r.Offset, err)
	}
	return result, nil
}

// errRefuted marks an answer with bytes that are not what they should be.
var errRefuted = errors.New("what was sent is not the message")

func (c *Client) pull(r *commitlog.PullRequest, checked bool) (commitlog.PullResult, error) {
	body, err := c.call(r.Suspend, func(sequence wire.Sequence) []byte {
		p := wire.Pull{
			Checked: checked, Queue: r.Queue, Offset: r.Offset, Count: uint32(r.Count), Bytes: uint32(min(max(r.Bytes, 0), 1<<32-1)),
			SuspendMillis: uint32(r.Suspend / time.Millisecond), Topic: []byte(r.Topic),
		}
		for _, tag := range r.Tags {
			p.Tags = append(p.Tags, []byte(tag))
		}
		return wire.AppendPull(nil, sequence, &p)
	})
	if err == nil {
		body, err = done(body)
	}
	if err != nil {
		return commitlog.PullResult{}, err
	}
	pulled, data, err := wire.ParsePulled(body)
	if err != nil {
		return commitlog.PullResult{}, err
	}
	result := commitlog.PullResult{Status: commitlog.Status(pulled.Status), Next: pulled.Next, Min: pulled.Low, Max: pulled.High}
	result.Messages, err = c.verified(r, &pulled, data)
	return result, err
}

// verified takes the messages out of an answer. None is believed to be what the answer says.
func (c *Client) verified(r *commitlog.PullRequest, p *wire.Pulled, data []byte) ([]message.Message, error) {
	messages := make([]message.Message, 0, len(p.Places))
	var at wire.Position
	next := r.Offset
	for _, place := range p.Places {
		where := commitlog.Place{Offset: place.Offset, Physical: place.Physical, Size: int32(min(place.Size, 1<<31-1))}
		m, err := where.Decode(r.Topic, r.Queue, p.Bytes(place, data, &at))
		if err == nil && (place.Offset < next || place.Offset >= p.Next || len(r.Tags) == 0 && place.Offset != next) {
			err = fmt.Errorf("message %d was not the next one behind %d: %w", place.Offset, next-1, commitlog.ErrCorrupt)
		}
		if err != nil {
			c.h.Probe().Mark(host.Event{Name: PointRefuted, A: place.Physical})
			return nil, fmt.Errorf("%w: %w", errRefuted, err)
		}
		next = place.Offset + 1
		messages = append(messages, m)
	}
	return messages, nil
}
