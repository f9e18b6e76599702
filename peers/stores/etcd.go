package stores

import (
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// manyLogsSegmentBytes replaces etcd's 64 MB where there are many logs: it preallocates two segments for each, and a thousand
// would take 128 GB.
const (
	manyLogs             = 8
	manyLogsSegmentBytes = 1 << 20
)

func etcdStore() Store {
	return Store{
		Name: "etcd wal", Kind: Peer, Cannot: everywhere, Open: openEtcd,
		How: "storage/wal, Save for each group of waiting appenders, SetUnsafeNoFsync where unsynced; it has no partitions: a log for each, and then with segments of 1 MiB instead of 64 MB, since it preallocates two a log. " +
			"It reads a whole log at once, into memory",
	}
}

type etcdLog struct{ parts []*etcdPart }

type etcdPart struct {
	committer
	dir   string
	wal   *wal.WAL
	index uint64
	term  uint64
}

func openEtcd(p Place) (Log, error) {
	if p.Point.Partitions >= manyLogs {
		wal.SegmentSizeBytes = manyLogsSegmentBytes
	}
	l := &etcdLog{}
	for i := range p.Point.Partitions {
		part := &etcdPart{dir: filepath.Join(p.Dir, fmt.Sprint(i)), term: 1}
		w, err := wal.Create(zap.NewNop(), part.dir, nil)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make log %d: %w", i, err), l.Close())
		}
		if !p.Point.Synced {
			w.SetUnsafeNoFsync()
		}
		part.wal, part.write = w, part.writeGroup
		l.parts = append(l.parts, part)
	}
	return l, nil
}

func (e *etcdPart) writeGroup(payloads [][]byte) error {
	entries := make([]raftpb.Entry, len(payloads))
	indexes := make([]uint64, len(payloads))
	pointers := make([]*raftpb.Entry, len(payloads))
	for i, p := range payloads {
		e.index++
		indexes[i] = e.index
		entries[i].Term, entries[i].Index, entries[i].Data = &e.term, &indexes[i], p
		pointers[i] = &entries[i]
	}
	return e.wal.Save(nil, pointers)
}

func (l *etcdLog) Append(partition int, payload []byte) error {
	return l.parts[partition].append(payload)
}

func (l *etcdLog) Read(visit func([]byte)) error {
	for n, part := range l.parts {
		if err := part.read(visit); err != nil {
			return fmt.Errorf("read log %d: %w", n, err)
		}
	}
	return nil
}

// read opens the log a second time, for reading: one that is appended to cannot be read.
func (e *etcdPart) read(visit func([]byte)) error {
	w, err := wal.OpenForRead(zap.NewNop(), e.dir, &walpb.Snapshot{})
	if err != nil {
		return err
	}
	_, _, entries, err := w.ReadAll()
	for _, entry := range entries {
		visit(entry.GetData())
	}
	_ = w.Close() // of one that was opened for reading it always fails, after it has closed everything
	return err
}

func (l *etcdLog) Close() (err error) {
	for _, part := range l.parts {
		err = errors.Join(err, part.wal.Close())
	}
	return err
}
