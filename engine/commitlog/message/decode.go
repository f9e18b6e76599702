package message

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Kind says what stands at an offset of the log.
type Kind uint8

// What Peek finds.
const (
	Nothing Kind = iota // no magic: never written, or torn
	Record              // perhaps a record: Decode tells
	Blank               // perhaps nothing, as far as its size reaches: CheckBlank tells
)

// Peek reads the first PeekBytes of what stands at an offset: what it may be, and how long. The size of a record is at
// least FixedBytes and that of a blank BlankBytes, whatever the bytes are; whether it fits is for the caller to see.
func Peek(p []byte) (kind Kind, size int64) {
	if len(p) < PeekBytes {
		return Nothing, 0
	}
	size = int64(binary.BigEndian.Uint32(p))
	switch binary.BigEndian.Uint32(p[4:]) {
	case magicBlank:
		if size >= BlankBytes {
			return Blank, size
		}
	case magicV1, magicV2:
		if size >= FixedBytes {
			return Record, size
		}
	}
	return Nothing, 0
}

// CheckBlank reports whether the BlankBytes bytes of p are a blank that was written for this physical offset. Nothing may be passed
// over before it has said so: the size alone may be of the file's former life.
func CheckBlank(p []byte, physical int64) error {
	if kind, _ := Peek(p); kind != Blank || len(p) != BlankBytes {
		return fmt.Errorf("%d bytes at %d are no blank: %w", len(p), physical, ErrCorrupt)
	}
	if sum, want := crc32.Checksum(p[:blankSumAt], castagnoli), binary.BigEndian.Uint32(p[blankSumAt:]); sum != want {
		return fmt.Errorf("blank at %d has checksum %08x, its bytes %08x: %w", physical, want, sum, ErrCorrupt)
	}
	if at := int64(binary.BigEndian.Uint64(p[PeekBytes:])); at != physical {
		return fmt.Errorf("blank at %d says that it lies at %d: %w", physical, at, ErrElsewhere)
	}
	return nil
}

// blankSumAt is where the checksum of a blank lies, which is over what comes before it.
const blankSumAt = PeekBytes + 8

// Decode reads the record that p consists of, which lies at this physical offset.
func Decode(p []byte, physical int64) (m Message, err error) {
	kind, size := Peek(p)
	if kind != Record || size != int64(len(p)) {
		return m, fmt.Errorf("%d bytes at %d: %w", len(p), physical, ErrCorrupt)
	}
	if sum, want := checksum(p), binary.BigEndian.Uint32(p[checksumAt:]); sum != want {
		return m, fmt.Errorf("record at %d has checksum %08x, its bytes %08x: %w", physical, want, sum, ErrCorrupt)
	}
	err = parse(&m, p, physical)
	return m, err
}

// parse takes a record apart. A record whose parts do not sum up to its size is corrupt whatever its checksum says: it
// was not written by Append.
func parse(m *Message, p []byte, physical int64) error {
	order := binary.BigEndian
	m.Queue, m.Flag = int32(order.Uint32(p[12:])), int32(order.Uint32(p[16:]))
	m.QueueOffset, m.PhysicalOffset = int64(order.Uint64(p[20:])), int64(order.Uint64(p[28:]))
	m.SysFlag = int32(order.Uint32(p[36:]))
	m.BornTimestamp = int64(order.Uint64(p[40:]))
	c := cursor{rest: p[bornHostAt:]}
	m.BornHost = c.address(m.SysFlag&FlagBornHostIPv6 != 0)
	m.StoreTimestamp = int64(c.uint64())
	m.StoreHost = c.address(m.SysFlag&FlagStoreHostIPv6 != 0)
	m.ReconsumeTimes = int32(c.uint32())
	m.PreparedOffset = int64(c.uint64())
	m.Body = c.take(int64(c.uint32()))
	topic := int64(0)
	if binary.BigEndian.Uint32(p[4:]) == magicV2 {
		topic = int64(c.uint16())
		c.short = c.short || topic <= topicV1Max
	} else if b := c.take(1); len(b) == 1 {
		topic = int64(b[0])
		c.short = c.short || topic > topicV1Max
	}
	m.Topic = c.take(topic)
	m.Properties = c.take(int64(c.uint16()))
	if c.short || len(c.rest) > 0 || len(m.Topic) == 0 || len(m.Properties) > PropertiesMax || len(m.Topic) > TopicMax {
		*m = Message{}
		return fmt.Errorf("record at %d: its parts do not make up its size: %w", physical, ErrCorrupt)
	}
	if m.PhysicalOffset != physical {
		err := fmt.Errorf("record at %d says that it lies at %d: %w", physical, m.PhysicalOffset, ErrElsewhere)
		*m = Message{}
		return err
	}
	return nil
}

// cursor takes parts off the front of bytes. Once they do not suffice, everything is zero.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n int64) []byte {
	if n > int64(len(c.rest)) {
		c.short = true
		c.rest = nil
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) uint16() uint16 {
	if p := c.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if p := c.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if p := c.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

func (c *cursor) address(ipv6 bool) (a Address) {
	bytes := int64(addressBytesV4)
	if ipv6 {
		bytes = addressBytesV6
	}
	copy(a.IP[:], c.take(bytes))
	a.Port = int32(c.uint32())
	return a
}

// StoreTimestampOf reads the store timestamp from the first FixedBytes bytes of a record that is known to be good.
func StoreTimestampOf(p []byte) int64 {
	at := 56
	if int32(binary.BigEndian.Uint32(p[36:]))&FlagBornHostIPv6 != 0 {
		at += addressBytesV6Surplus
	}
	return int64(binary.BigEndian.Uint64(p[at:]))
}
