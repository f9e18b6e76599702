package experiments

import (
	"encoding/binary"
	"errors"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/seglog"
	segmessage "lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/trial/bench/stores"
)

const (
	cutBatch  = 64 << 10 // of a read
	cutTopic  = "acknowledged"
	cutLedger = ledger.ID(1)
)

// cutStore is what the course needs of a store.
type cutStore interface {
	append(number int) error
	// held tells which messages can be read.
	held() (map[int]bool, error)
	close() error
}

// open opens the store with files that no run fills, in buffers that keep worlds small.
func (c *cutOff) open(h host.Host) (cutStore, error) {
	switch c.kind {
	case stores.SegmentLog:
		return openCutSegments(h, c.policy)
	case stores.CommitLog:
		return openCutMessages(h, c.policy)
	}
	return openCutEntries(h, c.policy)
}

func withNumber(payload []byte, number int) []byte {
	binary.BigEndian.PutUint64(payload, uint64(number))
	return payload
}

func numberOf(payload []byte) int { return int(binary.BigEndian.Uint64(payload)) }

type cutSegments struct {
	h     host.Host
	store *seglog.Store
}

func openCutSegments(h host.Host, policy stores.Policy) (cutStore, error) {
	config := smallSegments()
	config.Partition.SegmentBytes, config.Partition.IndexItemsMax = 16<<20, 64<<10
	config.Partition.Sync, config.SyncInterval = partition.SyncMode(policy.Mode), policyInterval
	config.Partition.GroupWait = policy.Wait
	s, err := seglog.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	err = s.CreateTopic(cutTopic, seglog.TopicConfig{Partitions: 1})
	if err != nil && !errors.Is(err, seglog.ErrTopicExists) {
		return nil, errors.Join(err, s.Close())
	}
	return &cutSegments{h, s}, nil
}

func (s *cutSegments) append(number int) error {
	group := segmessage.Group{
		Time: seglog.Time(int64(s.h.Now()) / int64(time.Millisecond)), Source: []byte("source"), Payload: withNumber(make([]byte, cutPayload), number),
	}
	_, err := s.store.Append(cutTopic, 0, segmessage.Append(nil, []segmessage.Group{group}))
	return err
}

func (s *cutSegments) held() (map[int]bool, error) {
	held := map[int]bool{}
	for from := seglog.Cursor(0); ; {
		b, err := s.store.Read(cutTopic, 0, from, seglog.Limits{Messages: 1000, Bytes: cutBatch})
		if err != nil {
			return nil, err
		}
		if len(b.Entries) == 0 {
			b.Release()
			return held, nil
		}
		for _, e := range b.Entries {
			groups, malformed := segmessage.Parse(e.Payload)
			if malformed != nil {
				b.Release()
				return nil, malformed
			}
			held[numberOf(groups[0].Payload)] = true
		}
		from = b.Next
		b.Release()
	}
}

func (s *cutSegments) close() error { return s.store.Close() }

type cutMessages struct{ store *commitlog.Store }

func openCutMessages(h host.Host, policy stores.Policy) (cutStore, error) {
	config := queuedConfig(commitlog.FlushMode(policy.Mode))
	config.FileBytes, config.FlushInterval, config.GroupWait = 16<<20, policyInterval, policy.Wait
	config.CheckpointInterval, config.CheckpointBytes = time.Minute, 64<<20
	s, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	if err := s.CreateTopic(cutTopic, 1); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &cutMessages{s}, nil
}

func (s *cutMessages) append(number int) error {
	_, err := s.store.Append(message.Message{Topic: []byte(cutTopic), Body: withNumber(make([]byte, cutPayload), number)})
	return err
}

func (s *cutMessages) held() (map[int]bool, error) {
	held := map[int]bool{}
	for from := int64(0); ; {
		r, err := s.store.Pull(commitlog.PullRequest{Topic: cutTopic, Offset: from, Count: 1000, Bytes: cutBatch})
		if err != nil {
			return nil, err
		}
		if len(r.Messages) == 0 {
			return held, nil
		}
		for i := range r.Messages {
			held[numberOf(r.Messages[i].Body)] = true
		}
		from = r.Next
	}
}

func (s *cutMessages) close() error { return s.store.Close() }

type cutEntries struct{ store *bookie.Store }

func openCutEntries(h host.Host, policy stores.Policy) (cutStore, error) {
	config := virtualNode(0).Store
	config.Journal.Sync, config.Journal.SyncInterval = journal.SyncMode(policy.Mode), policyInterval
	config.Journal.GroupWait = policy.Wait
	s, err := bookie.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	return &cutEntries{s}, nil
}

func (s *cutEntries) append(number int) error {
	body := make([]byte, ledger.HeaderBytes+cutPayload)
	entry := ledger.EntryID(number)
	ledger.PutHeader(body, cutLedger, entry, entry-1, int64(number+1)*cutPayload)
	return s.store.AddOne(&bookie.Add{Body: body})
}

// held asks for each entry from the first on. Behind the last one that the bookie has it may say that it does not know.
func (s *cutEntries) held() (map[int]bool, error) {
	held := map[int]bool{}
	last, err := s.store.LastEntry(cutLedger)
	if err != nil {
		return held, gone(err)
	}
	defer last.Release()
	for entry := range last.Entry + 1 {
		e, err := s.store.Read(cutLedger, entry)
		if err != nil {
			if err = gone(err); err != nil {
				return nil, err
			}
			continue
		}
		held[int(entry)] = true
		e.Release()
	}
	return held, nil
}

// gone leaves of an error what does not say that something is not there, or may have been.
func gone(err error) error {
	if errors.Is(err, bookie.ErrNoEntry) || errors.Is(err, bookie.ErrNoLedger) || errors.Is(err, bookie.ErrUnknown) {
		return nil
	}
	return err
}

func (s *cutEntries) close() error { return s.store.Close() }
