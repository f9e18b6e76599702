package commitlog_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// truth is what was promised: what was sent to each queue, what of it was acknowledged, and what consumers have seen.
type truth struct {
	durable bool // acknowledged messages survive power cuts, and so does what was seen
	queues  map[string]*queueTruth
	sent    int
}

type queueTruth struct {
	tried map[string]bool  // by body
	acked map[int64]string // by offset
	place map[int64]int64  // physical offsets of the acknowledged
	seen  map[int64]string
}

func newTruth(durable bool) *truth { return &truth{durable: durable, queues: map[string]*queueTruth{}} }

func (t *truth) of(name string) *queueTruth {
	q := t.queues[name]
	if q == nil {
		q = &queueTruth{tried: map[string]bool{}, acked: map[int64]string{}, place: map[int64]int64{}, seen: map[int64]string{}}
		t.queues[name] = q
	}
	return q
}

// append appends a message that no other is like, and notes what became of it.
func (t *truth) append(s *commitlog.Store, topic string, queue int32) error {
	t.sent++
	m := makeMessage(topic, queue, t.sent)
	m.Properties, _ = message.AppendProperties(m.Properties,
		message.Property{Name: message.PropertyUniqueKey, Value: fmt.Sprintf("unique%d", t.sent)})
	body := string(m.Body)
	q := t.of(queueName(topic, queue))
	q.tried[body] = true
	placed, err := s.Append(m)
	switch {
	case err == nil:
		q.acked[placed.QueueOffset], q.place[placed.QueueOffset] = body, placed.Physical
	case !errors.Is(err, commitlog.ErrOutcomeUnknown):
		delete(q.tried, body) // it says that it is not stored
	}
	return err
}

// see notes what a consumer was given, and compares it with what it may be.
func (t *truth) see(topic string, queue int32, m *message.Message) error {
	name := queueName(topic, queue)
	q := t.of(name)
	body := string(m.Body)
	if string(m.Topic) != topic || m.Queue != queue || !q.tried[body] {
		return fmt.Errorf("%s at %d gives %.40q of queue %d of topic %s, which was never sent there", name, m.QueueOffset, body, m.Queue, m.Topic)
	}
	if was, ok := q.seen[m.QueueOffset]; ok && was != body {
		return fmt.Errorf("%s at %d was %.40q and is %.40q", name, m.QueueOffset, was, body)
	}
	if acked, ok := q.acked[m.QueueOffset]; ok && acked != body {
		return fmt.Errorf("%s at %d is %.40q, and %.40q was acknowledged there", name, m.QueueOffset, body, acked)
	}
	for offset, other := range q.seen {
		if other == body && offset != m.QueueOffset {
			return fmt.Errorf("%s has %.40q at %d and at %d", name, body, offset, m.QueueOffset)
		}
	}
	q.seen[m.QueueOffset] = body
	return nil
}

// tail pulls what there is of a queue from an offset on, and returns where it ends.
func (t *truth) tail(s *commitlog.Store, topic string, queue int32, at int64) (int64, error) {
	for {
		r, err := s.Pull(commitlog.PullRequest{Topic: topic, Queue: queue, Offset: at})
		if err != nil {
			return at, err
		}
		for i := range r.Messages {
			if r.Messages[i].QueueOffset != at+int64(i) {
				return at, fmt.Errorf("%s: message %d where %d was asked for", queueName(topic, queue), r.Messages[i].QueueOffset, at+int64(i))
			}
			if err := t.see(topic, queue, &r.Messages[i]); err != nil {
				return at, err
			}
		}
		if r.Next == at {
			return at, nil
		}
		at = r.Next
	}
}

// check reads everything, and compares it with what was promised.
func (t *truth) check(s *commitlog.Store) error {
	if _, err := s.CheckAgreement(); err != nil {
		return err
	}
	var lost []int64 // physical offsets of acknowledged messages that are gone
	kept := int64(-1)
	for _, name := range host.SortedKeys(t.queues) {
		q := t.queues[name]
		topic, queue := name[:len(name)-2], int32(name[len(name)-1]-'0')
		if !t.durable {
			q.seen = map[int64]string{}
		}
		acked := q.acked
		if !t.durable {
			q.acked = map[int64]string{}
		}
		low, high, err := s.Bounds(topic, queue)
		if err != nil && !errors.Is(err, commitlog.ErrNoQueue) {
			return err
		}
		if high > 0 {
			if _, err := t.tail(s, topic, queue, low); err != nil {
				return err
			}
		}
		for offset, body := range acked {
			switch {
			case offset < low: // removed
			case offset < high && q.seen[offset] == body:
				kept = max(kept, q.place[offset])
			default:
				lost = append(lost, q.place[offset])
			}
		}
		for offset := range q.seen {
			if offset >= high {
				return fmt.Errorf("%s ends at %d, and its message %d was seen", name, high, offset)
			}
		}
		if err := t.checkKeys(s, topic, low, q); err != nil {
			return err
		}
	}
	slices.SortFunc(lost, cmp.Compare)
	if t.durable && len(lost) > 0 {
		return fmt.Errorf("acknowledged messages at %v of the log are lost", lost)
	}
	if len(lost) > 0 && lost[0] < kept {
		return fmt.Errorf("the acknowledged message at %d of the log is lost, and that at %d is there", lost[0], kept)
	}
	t.forget(s)
	return nil
}

// checkKeys looks for every message under its own key.
func (t *truth) checkKeys(s *commitlog.Store, topic string, low int64, q *queueTruth) error {
	for offset, body := range q.seen {
		if offset < low {
			continue
		}
		n := 0
		if _, err := fmt.Sscanf(body[len(topic):], "/%d message %d", new(int), &n); err != nil {
			return err
		}
		found, err := s.Query(topic, fmt.Sprintf("unique%d", n), 0, 1<<62, 10)
		if err != nil {
			return err
		}
		if len(found) != 1 || string(found[0].Body) != body {
			return fmt.Errorf("%.40q is found %d times by its key", body, len(found))
		}
	}
	return nil
}

// forget makes what there is the truth, where a power cut may take acknowledged messages.
func (t *truth) forget(*commitlog.Store) {
	for _, q := range t.queues {
		if !t.durable {
			q.acked = map[int64]string{}
			for offset, body := range q.seen {
				q.acked[offset] = body
				delete(q.place, offset)
			}
		}
	}
}
