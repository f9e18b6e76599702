package stores

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

func seglogStore() Store {
	return Store{
		Name: "seglog", Kind: Ours, Cannot: everywhere, Open: openSeglog,
		How: "engine/seglog in this process, default settings, mode group or never; a message is a LogGroupList of one group, which the appender encodes and the reader parses",
	}
}

type segmentLog struct {
	machine    machine
	store      *seglog.Store
	partitions int
	lists      sync.Pool // *[]byte, an appender's encoded list
}

func openSeglog(p Place) (Log, error) {
	config := seglog.DefaultConfig()
	m, err := newMachine(p.Dir, config.Volumes[0], p.Seed)
	if err != nil {
		return nil, err
	}
	config.Partition.Sync = partition.SyncNever
	if p.Point.Synced {
		config.Partition.Sync = partition.SyncGroup
	}
	store, err := seglog.Open(m, m.Root(), config)
	if err != nil {
		return nil, m.end(fmt.Errorf("open the segment log in %s: %w", p.Dir, err))
	}
	if err = store.CreateTopic(topicName, seglog.TopicConfig{Partitions: p.Point.Partitions}); err != nil {
		return nil, m.end(errors.Join(fmt.Errorf("make a topic of %d partitions: %w", p.Point.Partitions, err), store.Close()))
	}
	return &segmentLog{
		machine: m, store: store, partitions: p.Point.Partitions,
		lists: sync.Pool{New: func() any { return new([]byte) }},
	}, nil
}

var segmentSource = []byte("peers")

func (l *segmentLog) Append(number int, payload []byte) error {
	list := l.lists.Get().(*[]byte)
	groups := [1]message.Group{{Time: message.Time(time.Now().Unix()), Source: segmentSource, Payload: payload}}
	*list = message.Append((*list)[:0], groups[:])
	_, err := l.store.Append(topicName, number, *list)
	l.lists.Put(list)
	return err
}

// What one read of ours asks for: as much as the others' clients fetch at once.
const (
	readMessages = 4096
	readBytes    = 1 << 20
)

func (l *segmentLog) Read(visit func([]byte)) error {
	for number := range l.partitions {
		_, end, err := l.store.Bounds(topicName, number)
		if err != nil {
			return err
		}
		for at := seglog.Cursor(0); at < end; {
			batch, err := l.store.Read(topicName, number, at, seglog.Limits{Messages: readMessages, Bytes: readBytes})
			if err != nil {
				return fmt.Errorf("read partition %d at %d: %w", number, at, err)
			}
			if err = visitLists(batch.Entries, visit); err != nil {
				return fmt.Errorf("parse a message of partition %d behind %d: %w", number, at, err)
			}
			at = batch.Next
			batch.Release()
		}
	}
	return nil
}

func visitLists(entries []seglog.Entry, visit func([]byte)) error {
	for _, e := range entries {
		groups, err := message.Parse(e.Payload)
		if err != nil {
			return err
		}
		for i := range groups {
			visit(groups[i].Payload)
		}
	}
	return nil
}

func (l *segmentLog) Close() error { return l.machine.end(l.store.Close()) }
