package partition_test

import (
	"bytes"
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const volume = "disk0"

// smallConfig has segments of a few messages.
func smallConfig() partition.Config {
	c := partition.DefaultConfig()
	c.PadBytes, c.ZeroAheadBytes = 0, 0 // these tests count bytes; trials draw them
	c.GroupBytesMax, c.BatchBytesMax, c.MessageBytesMax = 300, 900, 400
	c.SegmentBytes, c.IndexItemsMax, c.IndexBytes = 1800, 60, 150
	c.ReadChunkBytes = 256
	c.UnsealedMax, c.CheckpointBytes, c.CheckpointBytesMin = 1, 500, 100
	return c
}

// sent is a message that was appended, or tried.
type sent struct {
	number  int
	at      partition.Time
	payload []byte
	cursor  partition.Cursor
	acked   bool
}

// log is what a sequential writer knows of a partition. It outlives the partition's lives.
type log struct {
	all    []*sent
	acked  map[partition.Cursor]*sent
	floor  partition.Cursor // retention may have removed what is before
	prefix bool             // acknowledged messages may be lost from the end
	shown  partition.Cursor // behind the last message that a read has shown
}

func newLog() *log { return &log{acked: map[partition.Cursor]*sent{}} }

// make makes the next message: times go up and back by turns, and several share one.
func (l *log) make() (*sent, partition.Message) {
	n := len(l.all)
	at := message.Time(100 + n/3*2 - n%7)
	s := &sent{number: n, at: at, cursor: -1}
	s.payload = message.Append(nil, []message.Group{
		{Time: at, Source: fmt.Appendf(nil, "message %d", n), Payload: bytes.Repeat([]byte{byte(n)}, n*37%170)},
		{Time: at - 3, Source: []byte("older")},
	})
	l.all = append(l.all, s)
	m, err := partition.NewMessage(s.payload)
	if err != nil || m.Time != at {
		panic(fmt.Sprintf("time %d of a message of time %d: %v", m.Time, at, err))
	}
	return s, m
}

// append appends so many messages at once. An error that says that nothing was stored is returned too.
func (l *log) append(p *partition.Partition, count int) error {
	var batch []*sent
	var messages []partition.Message
	for range count {
		s, m := l.make()
		batch, messages = append(batch, s), append(messages, m)
	}
	first, err := p.Append(messages)
	if err != nil {
		if !errors.Is(err, partition.ErrOutcomeUnknown) {
			for _, s := range batch {
				s.number = -1 // must never be seen
			}
		}
		return err
	}
	for i, s := range batch {
		s.cursor, s.acked = first+partition.Cursor(i), true
		if other := l.acked[s.cursor]; other != nil && !l.prefix {
			return fmt.Errorf("cursor %d was given to message %d and to %d", s.cursor, other.number, s.number)
		}
		l.acked[s.cursor] = s
	}
	return nil
}

// read returns all that is there, from the first message on.
func read(p *partition.Partition) (first partition.Cursor, payloads [][]byte, err error) {
	first, end, err := p.Bounds()
	if err != nil {
		return first, nil, err
	}
	for c := first; c < end; {
		b, err := p.Read(c, partition.Limits{Messages: 5, Bytes: 300})
		if err != nil {
			return first, nil, err
		}
		if len(b.Entries) == 0 || b.Entries[0].Cursor != c {
			return first, nil, fmt.Errorf("read of cursor %d returns %d messages up to %d", c, len(b.Entries), b.Next)
		}
		for _, e := range b.Entries {
			if e.Cursor != first+partition.Cursor(len(payloads)) {
				return first, nil, fmt.Errorf("cursor %d comes where %d should", e.Cursor, int(first)+len(payloads))
			}
			payloads = append(payloads, bytes.Clone(e.Payload))
		}
		c = b.Next
		b.Release()
	}
	return first, payloads, nil
}

// check reads everything and compares it with what is known; looks up each time there is; and asks beyond both ends.
func (l *log) check(p *partition.Partition) error {
	first, payloads, err := read(p)
	if err != nil {
		return err
	}
	end := first + partition.Cursor(len(payloads))
	if first > l.floor {
		return fmt.Errorf("it begins at %d, and retention removed up to %d", first, l.floor)
	}
	var there []*sent
	last := -1
	for i, payload := range payloads {
		c := first + partition.Cursor(i)
		s := l.find(payload)
		switch {
		case s == nil:
			return fmt.Errorf("cursor %d holds what was never sent", c)
		case s.number <= last:
			return fmt.Errorf("cursor %d holds message %d behind message %d", c, s.number, last)
		case l.acked[c] != nil && l.acked[c] != s && !l.prefix:
			return fmt.Errorf("cursor %d holds message %d, and was acknowledged as %d", c, s.number, l.acked[c].number)
		case s.acked && s.cursor != c && !l.prefix:
			return fmt.Errorf("message %d is at cursor %d, acknowledged at %d", s.number, c, s.cursor)
		}
		last = s.number
		there = append(there, s)
	}
	if !l.prefix {
		for c := range l.acked {
			if c >= end {
				return fmt.Errorf("message %d at cursor %d was acknowledged, and it ends at %d", l.acked[c].number, c, end)
			}
		}
		if end < l.shown {
			return fmt.Errorf("messages up to %d were shown, and it ends at %d", l.shown, end)
		}
	}
	l.shown = end
	return checkLookUps(p, first, end, there)
}

func (l *log) find(payload []byte) *sent {
	for _, s := range l.all {
		if s.number >= 0 && bytes.Equal(s.payload, payload) {
			return s
		}
	}
	return nil
}

// checkLookUps compares every look-up by time and cursor with a scan of what is there.
func checkLookUps(p *partition.Partition, first, end partition.Cursor, there []*sent) error {
	for _, at := range timesToAsk(there) {
		want := end
		for i, s := range there {
			if s.at >= at {
				want = first + partition.Cursor(i)
				break
			}
		}
		if got, err := p.Seek(at); err != nil || got != want {
			return fmt.Errorf("time %d is found at %d, want %d: %w", at, got, want, err)
		}
	}
	for i, s := range there {
		if len(there) > 20 && i%4 != int(end)%4 {
			continue
		}
		c := first + partition.Cursor(i)
		b, err := p.Read(c, partition.Limits{Messages: 1})
		if err != nil || len(b.Entries) != 1 || b.Entries[0].Cursor != c || !bytes.Equal(b.Entries[0].Payload, s.payload) {
			return fmt.Errorf("message %d at cursor %d: %w", s.number, c, err)
		}
		b.Release()
	}
	if b, err := p.Read(end, partition.Limits{Messages: 1}); err != nil || len(b.Entries) > 0 || b.Next != end {
		return fmt.Errorf("a read at the end %d: %d messages, %w", end, len(b.Entries), err)
	}
	if _, err := p.Read(end+1, partition.Limits{Messages: 1}); !errors.Is(err, partition.ErrBeyond) {
		return fmt.Errorf("a read behind the end: %w", err)
	}
	if first > 0 {
		if _, err := p.Read(first-1, partition.Limits{Messages: 1}); !errors.Is(err, partition.ErrTrimmed) {
			return fmt.Errorf("a read of what was removed: %w", err)
		}
	}
	return nil
}

// timesToAsk are times before, at, between and behind those of messages; of many, some.
func timesToAsk(there []*sent) []partition.Time {
	times := []partition.Time{0, 1, 1 << 62}
	for i, s := range there {
		if i%5 == len(there)%5 {
			times = append(times, s.at, s.at+1)
		}
	}
	return times
}

// retain removes what is older than a time, and knows what it may remove.
func (l *log) retain(p *partition.Partition, keep partition.Keep) (int, error) {
	segments := p.Segments()
	total := int64(0)
	for _, s := range segments {
		total += s.Bytes
	}
	for i := 0; i < len(segments)-1 && (segments[i].Newest < keep.From || total > keep.BytesMax && keep.BytesMax > 0); i++ {
		total -= segments[i].Bytes
		l.floor = max(l.floor, segments[i].Next)
	}
	return p.Retain(keep)
}

// life is one life of a partition in a world.
type life struct {
	h     host.Host
	dir   host.Dir
	p     *partition.Partition
	files *openfiles.Cache
}

func begin(h host.Host, config partition.Config) (*life, error) {
	d, err := h.Disk(volume)
	if err != nil {
		return nil, err
	}
	dir, err := d.Sub("0")
	if err != nil {
		return nil, err
	}
	if err := d.SyncDir(); err != nil {
		return nil, err
	}
	l := &life{h: h, dir: dir, files: openfiles.New(h, h.Root(), 3)}
	l.p = partition.Open(h, h.Root(), partition.Place{Name: "0", Dir: dir, Files: l.files, Failed: func(error) {}}, config)
	return l, l.p.Err()
}

func (l *life) end() error {
	err := l.p.Close()
	if closed := l.files.Close(); err == nil {
		err = closed
	}
	if n := l.h.Memory().InUse(); err == nil && n != 0 {
		err = fmt.Errorf("%d bytes of buffers are left", n)
	}
	return err
}

// world makes a world with one node. A disk that spoils synced bytes of a torn sector is survived by padding alone.
func world(seed uint64, config partition.Config) (*sim.World, *sim.Node) {
	w := sim.New(sim.Config{Seed: seed})
	n := w.NewNode("node")
	n.Disk(volume).Format(disk.Config{Capacity: 1 << 30, SparesSynced: config.PadBytes == 0})
	return w, n
}
