package inspect

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
)

// queue is a queue, as the checkpoint counts it, and how far the log has gone through it.
type queue struct {
	unitsOf
	dir    host.Dir
	bases  []int64 // of its files, in units
	seen   bool    // a message of it
	wanted int64   // offset of its next message

	window []byte // units that were read together
	from   int64  // offset of the first
}

// unitsAtOnce is how many units are read together.
const unitsAtOnce = 512

func queueName(topic string, id int32) string { return path.Join(topic, strconv.Itoa(int(id))) }

func (q *queue) file() string { return path.Join(queuesDir, q.topic, strconv.Itoa(int(q.id))) }

// openQueues lists the files of the queues that count.
func (v *look) openQueues() {
	above, err := v.root.Sub(queuesDir)
	var topics []host.Info
	if err == nil {
		topics, err = above.List()
	}
	if err != nil {
		v.Found(inspection.Damage, Unreadable, queuesDir, 0, "%v", err)
		return
	}
	for _, topic := range topics {
		if !topic.Dir {
			v.Found(inspection.Note, Orphan, queuesDir+"/"+topic.Name, 0, "a file among the topics")
			continue
		}
		dir, err := above.Sub(topic.Name)
		var ids []host.Info
		if err == nil {
			ids, err = dir.List()
		}
		if err != nil {
			v.Found(inspection.Damage, Unreadable, queuesDir+"/"+topic.Name, 0, "%v", err)
			continue
		}
		for _, id := range ids {
			if q := v.queues[path.Join(topic.Name, id.Name)]; q != nil && id.Dir {
				v.openQueue(q, dir, id.Name)
			}
		}
	}
}

func (v *look) openQueue(q *queue, topic host.Dir, id string) {
	dir, err := topic.Sub(id)
	var infos []host.Info
	if err == nil {
		infos, err = dir.List()
	}
	if err != nil {
		v.Found(inspection.Damage, Unreadable, q.file(), 0, "%v", err)
		return
	}
	q.dir = dir
	for _, info := range infos {
		if offset, ok := parseName(info.Name); ok && offset%unitBytes == 0 {
			q.bases = append(q.bases, offset/unitBytes)
		}
	}
	slices.Sort(q.bases)
}

// unit is one unit. Not ok: there is none.
func (q *queue) unit(offset int64) (physical int64, size int32, tag int64, err error) {
	p := q.rest
	if at := offset - q.count; at >= 0 {
		p = p[at*unitBytes:]
	} else if p, err = q.read(offset); err != nil {
		return 0, 0, 0, err
	}
	return int64(binary.BigEndian.Uint64(p)), int32(binary.BigEndian.Uint32(p[8:])), int64(binary.BigEndian.Uint64(p[12:])), nil
}

// read returns units of a file from an offset on.
func (q *queue) read(offset int64) ([]byte, error) {
	if at := offset - q.from; at >= 0 && (at+1)*unitBytes <= int64(len(q.window)) {
		return q.window[at*unitBytes:], nil
	}
	i, exact := slices.BinarySearch(q.bases, offset)
	if !exact {
		i--
	}
	if i < 0 || q.dir == nil {
		return nil, fmt.Errorf("there is no file with unit %d: %w", offset, host.ErrNotExist)
	}
	end := q.count
	if i+1 < len(q.bases) {
		end = min(end, q.bases[i+1])
	}
	f, err := q.dir.Open(fmt.Sprintf("%0*d", nameDigits, q.bases[i]*unitBytes))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	q.window, q.from = make([]byte, min(end-offset, unitsAtOnce)*unitBytes), offset
	if _, err := host.ReadFull(f, q.window, (offset-q.bases[i])*unitBytes); err != nil {
		q.window = nil
		return nil, fmt.Errorf("unit %d: %w", offset, err)
	}
	return q.window, nil
}

// compareUnit compares a message with its unit.
func (v *look) compareUnit(m *message.Message) {
	if !v.known || !m.InQueue() {
		return
	}
	q := v.queues[queueName(string(m.Topic), m.Queue)]
	must := m.PhysicalOffset < v.Checkpoint.Dispatched
	if q == nil {
		if must {
			v.Found(inspection.Damage, MissingUnit, queuesDir, m.PhysicalOffset, "message %d of queue %d of topic %s: there is no such queue", m.QueueOffset, m.Queue, m.Topic)
		}
		return
	}
	if q.seen && m.QueueOffset != q.wanted {
		v.Found(inspection.Damage, Gap, q.file(), m.PhysicalOffset, "message %d follows on %d", m.QueueOffset, q.wanted-1)
	}
	q.seen, q.wanted = true, m.QueueOffset+1
	switch {
	case m.QueueOffset < q.first:
		return // removed from the queue, and soon from the log
	case m.QueueOffset >= q.next():
		if must {
			v.Found(inspection.Damage, MissingUnit, q.file(), m.PhysicalOffset, "message %d is in the log, the queue ends at %d", m.QueueOffset, q.next())
		}
		return
	}
	physical, size, tag, err := q.unit(m.QueueOffset)
	switch {
	case err != nil:
		v.Found(inspection.Damage, Missing, q.file(), m.QueueOffset*unitBytes, "%v", err)
	case physical != m.PhysicalOffset || int(size) != m.Size() || tag != message.TagHash(m.Tag()):
		v.Found(inspection.Damage, BadUnit, q.file(), m.QueueOffset*unitBytes, "unit %d leads to %d bytes at %d with tag hash %d; the message has %d bytes at %d",
			m.QueueOffset, size, physical, tag, m.Size(), m.PhysicalOffset)
	}
}

// endQueues looks for units that lead behind the log.
func (v *look) endQueues() {
	for _, name := range host.SortedKeys(v.queues) {
		q := v.queues[name]
		v.Queues = append(v.Queues, Queue{Topic: q.topic, Queue: q.id, First: q.first, Next: q.next(), Files: len(q.bases)})
		if q.next() <= q.first || q.seen && q.wanted >= q.next() {
			continue
		}
		physical, _, _, err := q.unit(q.next() - 1)
		switch {
		case err != nil:
			v.Found(inspection.Damage, Missing, q.file(), (q.next()-1)*unitBytes, "%v", err)
		case len(v.Files) > 0 && physical >= v.Files[0].Base:
			v.Found(inspection.Damage, BadUnit, q.file(), (q.next()-1)*unitBytes, "the last unit leads to %d, where the log has no message of the queue", physical)
		}
	}
}
