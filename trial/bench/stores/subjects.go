package stores

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/commitlog"
	commitmessage "lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/seglog"
	segmessage "lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

const (
	segmentVolume  = "disk0"
	topicName      = "bench"
	batchBytes     = 256 << 10
	batchMessages  = 1000
	commitLogBytes = 256 << 20 // of a file: two lie ready, and a bench has little room
	journalBytes   = 64 << 20  // of a file: they are filled with zeros first
)

// segments is a segment log: each partition is a directory.
type segments struct {
	h      host.Host
	store  *seglog.Store
	opened int64 // ms
}

func openSegments(h host.Host, policy Policy, partitions int) (subject, error) {
	config := seglog.DefaultConfig()
	config.Volumes, config.FilesMax = []string{segmentVolume}, FilesMax
	config.Partition.Sync = partition.SyncMode(policy.Mode)
	if config.Partition.GroupWait = policy.Wait; policy.Wait > 0 {
		config.Partition.GroupBytesMax = WaitingBytesMax
	}
	config.TimeUnit, config.FutureMax, config.FreeBytesMin = time.Millisecond, 0, 0
	store, err := seglog.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	err = store.CreateTopic(topicName, seglog.TopicConfig{Partitions: partitions})
	if err != nil && !errors.Is(err, seglog.ErrTopicExists) {
		return nil, errors.Join(err, store.Close())
	}
	return &segments{h: h, store: store, opened: millisNow(h)}, nil
}

func millisNow(h host.Host) int64 { return int64(h.Now()) / int64(time.Millisecond) }

func (s *segments) close() error { return s.store.Close() }

type segmentAppender struct {
	*segments
	content []byte
	payload []byte
}

func (s *segments) appender(number, payload int) appender {
	return &segmentAppender{segments: s, content: content(number, payload)}
}

func (a *segmentAppender) append(number int) error {
	a.payload = segmessage.Append(a.payload[:0], []segmessage.Group{{Time: segmessage.Time(millisNow(a.h)), Payload: a.content}})
	_, err := a.store.Append(topicName, number, a.payload)
	return err
}

func (s *segments) read(number int, from int64) (messages int, bytes, next int64, err error) {
	b, err := s.store.Read(topicName, number, seglog.Cursor(from), seglog.Limits{Messages: batchMessages, Bytes: batchBytes})
	if err != nil {
		return 0, 0, 0, err
	}
	defer b.Release()
	for _, e := range b.Entries {
		bytes += int64(len(e.Payload))
	}
	return len(b.Entries), bytes, int64(b.Next), nil
}

func (s *segments) times() (first, last int64) { return s.opened, millisNow(s.h) }

func (s *segments) seek(number int, at int64) (int64, error) {
	c, err := s.store.Seek(topicName, number, seglog.Time(at))
	return int64(c), err
}

// messages is a commit log: each partition is a queue.
type messages struct {
	h      host.Host
	store  *commitlog.Store
	opened int64 // ms
}

func openMessages(h host.Host, policy Policy, partitions int) (subject, error) {
	config := commitlog.DefaultConfig()
	config.Flush, config.OpenFilesMax, config.FileBytes = commitlog.FlushMode(policy.Mode), FilesMax-100, commitLogBytes
	if config.GroupWait = policy.Wait; policy.Wait > 0 {
		config.GroupBytesMax = WaitingBytesMax
	}
	config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1 // however full this disk is
	store, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	if err := store.CreateTopic(topicName, int32(partitions)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &messages{h: h, store: store, opened: millisNow(h)}, nil
}

func (m *messages) close() error { return m.store.Close() }

type messageAppender struct {
	*messages
	message commitmessage.Message
}

func (m *messages) appender(number, payload int) appender {
	return &messageAppender{m, commitmessage.Message{Topic: []byte(topicName), Body: content(number, payload)}}
}

func (a *messageAppender) append(number int) error {
	a.message.Queue, a.message.BornTimestamp = int32(number), millisNow(a.h)
	_, err := a.store.Append(a.message)
	return err
}

func (m *messages) read(number int, from int64) (count int, bytes, next int64, err error) {
	r, err := m.store.Pull(commitlog.PullRequest{Topic: topicName, Queue: int32(number), Offset: from, Count: batchMessages, Bytes: batchBytes})
	if err != nil {
		return 0, 0, 0, err
	}
	for i := range r.Messages {
		bytes += int64(len(r.Messages[i].Body))
	}
	return len(r.Messages), bytes, r.Next, nil
}

func (m *messages) times() (first, last int64) { return m.opened, millisNow(m.h) }

func (m *messages) seek(number int, at int64) (int64, error) {
	return m.store.OffsetByTime(topicName, int32(number), at, commitlog.Lower)
}

// entries is a bookie: each partition is a ledger.
type entries struct {
	h     host.Host
	store *bookie.Store
	next  []counter // entry ids of each ledger
}

func openBookie(h host.Host, policy Policy, partitions int) (subject, error) {
	config := bookie.DefaultConfig()
	config.Journal.FileBytes = journalBytes
	config.Journal.Sync = journal.SyncMode(policy.Mode)
	if config.Journal.GroupWait = policy.Wait; policy.Wait > 0 {
		config.Journal.GroupBytesMax = WaitingBytesMax
	}
	config.Journal.SyncInterval = 500 * time.Millisecond // as the others
	store, err := bookie.Open(h, h.Root(), config)
	if err != nil {
		return nil, err
	}
	e := &entries{h: h, store: store, next: make([]counter, partitions)}
	for number := range e.next {
		last, err := store.LastEntry(ledgerOf(number))
		if err == nil {
			e.next[number].n.Store(int64(last.Entry) + 1)
			last.Release()
		} else if !errors.Is(err, bookie.ErrNoLedger) && !errors.Is(err, bookie.ErrNoEntry) {
			return nil, errors.Join(err, store.Close())
		}
	}
	return e, nil
}

func ledgerOf(number int) ledger.ID { return ledger.ID(number + 1) }

func (e *entries) close() error { return e.store.Close() }

type entryAppender struct {
	*entries
	body []byte
	add  bookie.Add
}

func (e *entries) appender(number, payload int) appender {
	return &entryAppender{entries: e, body: append(make([]byte, ledger.HeaderBytes), content(number, payload)...)}
}

// append gives an entry the next id of its ledger. Entries of several appenders may come to the bookie in another order, as
// from connections.
func (a *entryAppender) append(number int) error {
	id := ledger.EntryID(a.next[number].take())
	ledger.PutHeader(a.body, ledgerOf(number), id, id-1, int64(id+1)*int64(len(a.body)-ledger.HeaderBytes))
	a.add.Body = a.body
	if err := a.store.AddOne(&a.add); err != nil {
		return fmt.Errorf("add entry %d of ledger %d: %w", id, ledgerOf(number), err)
	}
	return nil
}

func (e *entries) read(number int, from int64) (count int, bytes, next int64, err error) {
	if from >= e.next[number].count() {
		return 0, 0, from, nil
	}
	var r bookie.Range
	defer r.Release()
	if err := e.store.ReadInto(&r, ledgerOf(number), ledger.EntryID(from), bookie.Limits{Entries: batchMessages, Bytes: batchBytes}); err != nil {
		return 0, 0, 0, err
	}
	for _, body := range r.Bodies {
		bytes += int64(len(body) - ledger.HeaderBytes)
	}
	return len(r.Bodies), bytes, from + int64(len(r.Bodies)), nil
}

func (e *entries) times() (first, last int64) { return 0, 0 }

func (e *entries) seek(int, int64) (int64, error) { return 0, errors.New("a bookie knows no times") }
