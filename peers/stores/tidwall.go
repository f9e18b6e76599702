package stores

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tidwall/wal"
)

func tidwallStore() Store {
	return Store{
		Name: "tidwall/wal", Kind: Peer, Cannot: everywhere, Open: openTidwall,
		How: "default settings, NoSync where unsynced, NoCopy; it has no partitions: a log for each; WriteBatch for each group of waiting appenders. Its records have no checksum",
	}
}

// tidwallLog is a log for each partition: the library has no partitions.
type tidwallLog struct{ parts []*tidwallPart }

type tidwallPart struct {
	committer
	log   *wal.Log
	last  uint64
	batch wal.Batch
}

func openTidwall(p Place) (Log, error) {
	l := &tidwallLog{}
	for i := range p.Point.Partitions {
		options := *wal.DefaultOptions
		options.NoSync, options.NoCopy = !p.Point.Synced, true
		log, err := wal.Open(filepath.Join(p.Dir, fmt.Sprint(i)), &options)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open log %d: %w", i, err), l.Close())
		}
		part := &tidwallPart{log: log}
		part.write = part.writeGroup
		l.parts = append(l.parts, part)
	}
	return l, nil
}

func (t *tidwallPart) writeGroup(entries [][]byte) error {
	if len(entries) == 1 {
		t.last++
		return t.log.Write(t.last, entries[0])
	}
	t.batch.Clear()
	for _, e := range entries {
		t.last++
		t.batch.Write(t.last, e)
	}
	return t.log.WriteBatch(&t.batch)
}

func (l *tidwallLog) Append(partition int, payload []byte) error {
	return l.parts[partition].append(payload)
}

func (l *tidwallLog) Read(visit func([]byte)) error {
	for n, t := range l.parts {
		for i := uint64(1); i <= t.last; i++ {
			data, err := t.log.Read(i)
			if err != nil {
				return fmt.Errorf("read entry %d of log %d: %w", i, n, err)
			}
			visit(data)
		}
	}
	return nil
}

func (l *tidwallLog) Close() (err error) {
	for _, t := range l.parts {
		err = errors.Join(err, t.log.Close())
	}
	return err
}
