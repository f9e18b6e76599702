package inspect

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The layout of a checkpoint, as package commitlog documents it.
const (
	checkpointMagic    = "LCC2"
	formerMagic        = "LCCP" // without a sequence number
	checkpointBytesMax = 1 << 30
	unitBytes          = 20
)

var errBadCheckpoint = errors.New("it is no checkpoint")

// unitsOf is the state of a queue: units from first to below count are in files, rest holds those that follow.
type unitsOf struct {
	topic        string
	id           int32
	first, count int64
	rest         []byte
}

func (u *unitsOf) next() int64 { return u.count + int64(len(u.rest)/unitBytes) }

// fields takes parts off the front of bytes; bad once they do not suffice.
type fields struct {
	p   []byte
	bad bool
}

func (f *fields) take(n int64) []byte {
	if n < 0 || n > int64(len(f.p)) {
		f.bad, f.p = true, nil
		return make([]byte, min(max(n, 0), 8))
	}
	taken := f.p[:n]
	f.p = f.p[n:]
	return taken
}

func (f *fields) number(bytes int64) (n int64) {
	for _, b := range f.take(bytes) {
		n = n<<8 | int64(b)
	}
	return n
}

// parseCheckpoint decodes a checkpoint. The state of the key index comes as bytes.
func parseCheckpoint(p []byte) (c Checkpoint, index []byte, queues []unitsOf, err error) {
	if len(p) < 8 || string(p[:4]) != checkpointMagic && string(p[:4]) != formerMagic || binary.BigEndian.Uint32(p[4:]) != crc32.Checksum(p[8:], crc32.MakeTable(crc32.Castagnoli)) {
		return c, nil, nil, errBadCheckpoint
	}
	f := fields{p: p[8:]}
	sequence := int64(0)
	if string(p[:4]) == checkpointMagic {
		sequence = f.number(8)
	}
	c = Checkpoint{Sequence: sequence, Synced: f.number(8), Dispatched: f.number(8), Stored: f.number(8), Clean: f.number(4)&1 != 0}
	index = f.take(f.number(4))
	for n := f.number(4); n > 0 && !f.bad; n-- {
		q := unitsOf{topic: string(f.take(f.number(2)))}
		q.id, q.first, q.count = int32(f.number(4)), f.number(8), f.number(8)
		q.rest = f.take(f.number(2) * unitBytes)
		queues = append(queues, q)
	}
	if f.bad || len(f.p) > 0 {
		return c, nil, nil, errBadCheckpoint
	}
	return c, index, queues, nil
}
