package commitlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
)

// checkpoint is what a start can rely on. Big-endian:
//
//	 0  4  magic "LCC2"
//	 4  4  CRC32C of all bytes from 8 on
//	 8  8  sequence number: of two checkpoints that of the higher one counts
//	16  8  synced: the log is durable below
//	24  8  dispatched: below, each message has its durable unit
//	32  8  store timestamp of the last message, ms
//	40  4  flags: bit 0 the store was closed cleanly; the others are zero
//	44  4  length of what the key index stores about itself, and its bytes
//	    4  number of queues, and for each, sorted by topic and id:
//	       2 length of the topic, topic, 4 queue id, 8 first unit, 8 count of units in files,
//	       2 number of units that follow those, and the units
//
// The directories of all queues that it names are durable. One with the magic "LCCP" lacks the sequence number, which is 0 then,
// and says nothing of directories: earlier versions wrote it.
type checkpoint struct {
	sequence   uint64
	synced     int64
	dispatched int64
	stored     int64
	clean      bool
	index      []byte
	queues     []queueRecord

	first int64 // of the log, when it was made: not stored
}

// queueRecord is the state of one queue. Units of a queue may be counted that lie behind dispatched: they are durable, and
// so are their messages.
type queueRecord struct {
	topic string
	id    int32
	state consumequeue.State
}

const (
	checkpointMagic     = 0x4c434332 // "LCC2"
	formerMagic         = 0x4c434350 // "LCCP"
	checkpointHeadBytes = 8
	flagClean           = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // only ever read

func (c *checkpoint) encode() []byte {
	order := binary.BigEndian
	p := order.AppendUint32(nil, checkpointMagic)
	p = order.AppendUint32(p, 0)
	p = order.AppendUint64(p, c.sequence)
	p = order.AppendUint64(p, uint64(c.synced))
	p = order.AppendUint64(p, uint64(c.dispatched))
	p = order.AppendUint64(p, uint64(c.stored))
	flags := uint32(0)
	if c.clean {
		flags |= flagClean
	}
	p = order.AppendUint32(p, flags)
	p = order.AppendUint32(p, uint32(len(c.index)))
	p = append(p, c.index...)
	p = order.AppendUint32(p, uint32(len(c.queues)))
	for i := range c.queues {
		q := &c.queues[i]
		p = order.AppendUint16(p, uint16(len(q.topic)))
		p = append(p, q.topic...)
		p = order.AppendUint32(p, uint32(q.id))
		p = order.AppendUint64(p, uint64(q.state.First))
		p = order.AppendUint64(p, uint64(q.state.Count))
		p = order.AppendUint16(p, uint16(len(q.state.Rest)/consumequeue.UnitBytes))
		p = append(p, q.state.Rest...)
	}
	order.PutUint32(p[4:], crc32.Checksum(p[checkpointHeadBytes:], castagnoli))
	return p
}

// fields takes fixed parts off the front of bytes; once they do not suffice everything is zero.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) take(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.rest, f.short = nil, true
		return make([]byte, min(n, 8))
	}
	taken := f.rest[:n:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) uint16() uint16 { return binary.BigEndian.Uint16(f.take(2)) }
func (f *fields) uint32() uint32 { return binary.BigEndian.Uint32(f.take(4)) }
func (f *fields) int64() int64   { return int64(binary.BigEndian.Uint64(f.take(8))) }

// indexStateMax is more than the key index ever says about itself: a few sectors.
const indexStateMax = 1 << 20

// body takes what follows the checksum. bad: what was taken makes no sense, whatever follows.
func (f *fields) body(magic uint32) (c checkpoint, bad bool) {
	if magic == checkpointMagic {
		c.sequence = uint64(f.int64())
	}
	c.synced, c.dispatched, c.stored = f.int64(), f.int64(), f.int64()
	flags := f.uint32()
	c.clean = flags&flagClean != 0
	indexBytes := f.uint32()
	c.index = f.take(uint64(indexBytes))
	bad = flags&^flagClean != 0 || c.synced < 0 || c.dispatched < 0 || c.dispatched > c.synced || indexBytes > indexStateMax
	for n := f.uint32(); n > 0 && !f.short && !bad; n-- {
		topic := string(f.take(uint64(f.uint16())))
		id, state := int32(f.uint32()), consumequeue.State{First: f.int64(), Count: f.int64()}
		state.Rest = f.take(uint64(f.uint16()) * consumequeue.UnitBytes)
		c.queues = append(c.queues, queueRecord{topic: topic, id: id, state: state})
		bad = !f.short && (id < 0 || state.First < 0 || state.Count < 0 || state.First > state.Next() || checkTopic(topic) != nil)
	}
	return c, bad
}

func decodeCheckpoint(p []byte) (c checkpoint, err error) {
	f := fields{rest: p}
	magic, sum := f.uint32(), f.uint32()
	if f.short || magic != checkpointMagic && magic != formerMagic || sum != crc32.Checksum(f.rest, castagnoli) {
		return c, fmt.Errorf("checkpoint of %d bytes has a bad checksum: %w", len(p), ErrCorrupt)
	}
	c, bad := f.body(magic)
	if bad || f.short || len(f.rest) > 0 {
		return checkpoint{}, fmt.Errorf("checkpoint of %d bytes makes no sense: %w", len(p), ErrCorrupt)
	}
	return c, nil
}

// unfinished reports whether bytes are the front of a checkpoint of which more may follow.
func unfinished(p []byte) bool {
	f := fields{rest: p}
	magic, _ := f.uint32(), f.uint32()
	if magic != checkpointMagic && magic != formerMagic {
		return false
	}
	_, bad := f.body(magic)
	return f.short && !bad
}

// readAtFirst is how much of a file is read before anything of it is looked at; then as much again, and so on.
const readAtFirst = 256 << 10

// readCheckpoint reads a checkpoint that is all of a file. The file's length is not believed: each part is read only if what comes before it
// calls for it.
func readCheckpoint(f host.File) (checkpoint, error) {
	size, err := f.Size()
	if err != nil {
		return checkpoint{}, err
	}
	var p []byte
	for read, more := int64(0), true; more; more = read < size {
		next := min(max(2*read, readAtFirst), size)
		p = slices.Grow(p, int(next-read))[:next]
		if _, err := host.ReadFull(f, p[read:], read); err != nil {
			return checkpoint{}, err
		}
		if read = next; read < size && !unfinished(p) {
			return checkpoint{}, fmt.Errorf("%d bytes, and what they begin with is no checkpoint of that length: %w", size, ErrCorrupt)
		}
	}
	return decodeCheckpoint(p)
}
