package stores

import (
	"errors"
	"fmt"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
)

func commitlogStore() Store {
	return Store{
		Name: "commitlog", Kind: Ours, Cannot: everywhere, Open: openCommitlog,
		How: "engine/commitlog in this process, default settings, mode group or never; a partition is a queue",
	}
}

type commitLog struct {
	machine machine
	store   *commitlog.Store
	topic   []byte
	queues  int
}

func openCommitlog(p Place) (Log, error) {
	m, err := newMachine(p.Dir, commitlog.StoreVolume, p.Seed)
	if err != nil {
		return nil, err
	}
	config := commitlog.DefaultConfig()
	config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = diskRatio, diskRatio, diskRatio
	config.Flush = commitlog.FlushNever
	if p.Point.Synced {
		config.Flush = commitlog.FlushGroup
	}
	store, err := commitlog.Open(m, m.Root(), config)
	if err != nil {
		return nil, m.end(fmt.Errorf("open the commit log in %s: %w", p.Dir, err))
	}
	if err = store.CreateTopic(topicName, int32(p.Point.Partitions)); err != nil {
		return nil, m.end(errors.Join(fmt.Errorf("make a topic of %d queues: %w", p.Point.Partitions, err), store.Close()))
	}
	return &commitLog{machine: m, store: store, topic: []byte(topicName), queues: p.Point.Partitions}, nil
}

func (l *commitLog) Append(queue int, payload []byte) error {
	_, err := l.store.Append(message.Message{Topic: l.topic, Queue: int32(queue), BornTimestamp: nowMillis(), Body: payload})
	return err
}

// Read pulls every queue to its end, which is behind the log's as long as the store is not settled.
func (l *commitLog) Read(visit func([]byte)) error {
	for queue := range int32(l.queues) {
		for at := int64(0); ; {
			r, err := l.store.Pull(commitlog.PullRequest{Topic: topicName, Queue: queue, Offset: at})
			if err != nil {
				return fmt.Errorf("pull queue %d at %d: %w", queue, at, err)
			}
			if r.Status != commitlog.Found {
				break
			}
			for i := range r.Messages {
				visit(r.Messages[i].Body)
			}
			at = r.Next
		}
	}
	return nil
}

// Settled says whether everything that was appended can be read: queues are made behind the log.
func (l *commitLog) Settled() bool {
	s := l.store.Stats()
	return s.Dispatched >= s.Written
}

func (l *commitLog) Close() error { return l.machine.end(l.store.Close()) }
