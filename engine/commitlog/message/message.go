package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"lakebed/internal/invariant"
)

// The magics, as upstream has them.
const (
	magicV1    = 0xDAA320A7
	magicV2    = 0xDAA320AB
	magicBlank = 0xCBD43194
)

// BlankBytes is the length of what is written of a blank, so that of the shortest one.
const BlankBytes = 20

// PeekBytes is how much of a record or a blank Peek reads.
const PeekBytes = 8

// FixedBytes is the length of a V1 record between IPv4 hosts without body, topic and properties.
const FixedBytes = 91

// Bounds of the format.
const (
	topicV1Max    = 127
	TopicMax      = math.MaxInt16
	PropertiesMax = math.MaxInt16
	headBytes     = 88
	checksumAt    = 8
	bornHostAt    = 48
)

// The bits of SysFlag that the codec looks at; transaction halves are not put into consume queues.
const (
	FlagCompressed        int32 = 1 << 0
	FlagMultiTags         int32 = 1 << 1
	FlagTransaction       int32 = 3 << 2
	FlagPrepared          int32 = 1 << 2
	FlagRollback          int32 = 3 << 2
	FlagBornHostIPv6      int32 = 1 << 4
	FlagStoreHostIPv6     int32 = 1 << 5
	addressBytesV4              = 4
	addressBytesV6              = 16
	addressBytesV6Surplus       = addressBytesV6 - addressBytesV4
)

var (
	// ErrCorrupt says that the bytes are no record: torn, rotten, or never written.
	ErrCorrupt = errors.New("no valid record")
	// ErrElsewhere says that the record, or the blank, is whole and belongs to another offset: it is of the file's former life.
	ErrElsewhere = errors.New("record of another offset")
	// ErrIllegal says that a message cannot be encoded.
	ErrIllegal = errors.New("illegal message")
)

// Address is an internet address with a port. Of an IPv4 address the first four bytes count.
type Address struct {
	IP   [addressBytesV6]byte
	Port int32
}

// Message is one message. After Decode, Topic, Body and Properties are parts of the decoded bytes.
type Message struct {
	Topic          []byte
	Queue          int32
	Flag           int32
	QueueOffset    int64
	PhysicalOffset int64
	SysFlag        int32
	BornTimestamp  int64 // ms
	BornHost       Address
	StoreTimestamp int64 // ms
	StoreHost      Address
	ReconsumeTimes int32
	PreparedOffset int64 // of the transaction's first half
	Body           []byte
	Properties     []byte // as EncodeProperties makes them
}

// InQueue reports whether the message belongs into its consume queue: halves of transactions that are open or were
// taken back do not.
func (m *Message) InQueue() bool {
	transaction := m.SysFlag & FlagTransaction
	return transaction != FlagPrepared && transaction != FlagRollback
}

// Size is the number of bytes of the record.
func (m *Message) Size() int {
	n := FixedBytes + len(m.Body) + len(m.Topic) + len(m.Properties)
	if len(m.Topic) > topicV1Max {
		n++
	}
	if m.SysFlag&FlagBornHostIPv6 != 0 {
		n += addressBytesV6Surplus
	}
	if m.SysFlag&FlagStoreHostIPv6 != 0 {
		n += addressBytesV6Surplus
	}
	return n
}

// Check reports what of the message cannot be encoded, and a tag that nobody could ask for.
func (m *Message) Check() error {
	switch {
	case len(m.Topic) == 0 || len(m.Topic) > TopicMax:
		return fmt.Errorf("topic of %d bytes: %w", len(m.Topic), ErrIllegal)
	case len(m.Properties) > PropertiesMax:
		return fmt.Errorf("properties of %d bytes, more than %d: %w", len(m.Properties), PropertiesMax, ErrIllegal)
	case len(m.Body) > math.MaxInt32-FixedBytes-TopicMax-PropertiesMax-2*addressBytesV6Surplus-1:
		return fmt.Errorf("body of %d bytes: %w", len(m.Body), ErrIllegal)
	}
	return CheckTag(m.Tag())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // only ever read

// Append appends the record of a message that Check has passed.
func Append(dst []byte, m *Message) []byte { return AppendWith(dst, m, Rest{}) }

// AppendWith is Append with what of the checksum was computed before: of the same body, topic and properties.
func AppendWith(dst []byte, m *Message, rest Rest) []byte {
	start, size := len(dst), m.Size()
	order := binary.BigEndian
	dst = slices.Grow(dst, size)[:start+size]
	p := dst[start:]
	magic := uint32(magicV1)
	if len(m.Topic) > topicV1Max {
		magic = magicV2
	}
	order.PutUint32(p, uint32(size))
	order.PutUint32(p[4:], magic)
	order.PutUint32(p[checksumAt:], 0)
	order.PutUint32(p[12:], uint32(m.Queue))
	order.PutUint32(p[16:], uint32(m.Flag))
	order.PutUint64(p[20:], uint64(m.QueueOffset))
	order.PutUint64(p[28:], uint64(m.PhysicalOffset))
	order.PutUint32(p[36:], uint32(m.SysFlag))
	order.PutUint64(p[40:], uint64(m.BornTimestamp))
	at := bornHostAt + putAddress(p[bornHostAt:], &m.BornHost, m.SysFlag&FlagBornHostIPv6 != 0)
	order.PutUint64(p[at:], uint64(m.StoreTimestamp))
	at += 8
	at += putAddress(p[at:], &m.StoreHost, m.SysFlag&FlagStoreHostIPv6 != 0)
	order.PutUint32(p[at:], uint32(m.ReconsumeTimes))
	order.PutUint64(p[at+4:], uint64(m.PreparedOffset))
	order.PutUint32(p[at+12:], uint32(len(m.Body)))
	head := at + 16
	at = head + copy(p[head:], m.Body)
	if magic == magicV2 {
		order.PutUint16(p[at:], uint16(len(m.Topic)))
		at += 2
	} else {
		p[at] = byte(len(m.Topic))
		at++
	}
	at += copy(p[at:], m.Topic)
	order.PutUint16(p[at:], uint16(len(m.Properties)))
	copy(p[at+2:], m.Properties)
	sum := uint32(0)
	if rest == (Rest{}) {
		sum = crc32.Checksum(p, castagnoli) // its own field is zero
	} else {
		sum = rest.with(p[:head])
	}
	order.PutUint32(p[checksumAt:], sum)
	return dst
}

// putAddress writes an address, and returns how long it is.
func putAddress(p []byte, a *Address, ipv6 bool) int {
	bytes := addressBytesV4
	if ipv6 {
		bytes = addressBytesV6
	}
	copy(p, a.IP[:bytes])
	binary.BigEndian.PutUint32(p[bytes:], uint32(a.Port))
	return bytes + 4
}

// checksum is that of a record, whatever stands in its own field.
func checksum(record []byte) uint32 {
	sum := ^crc32.Checksum(record[:checksumAt], castagnoli)
	for range 4 { // zeros, one by one: a slice of them would be made for each call
		sum = castagnoli[byte(sum)] ^ sum>>8
	}
	return crc32.Update(^sum, castagnoli, record[checksumAt+4:])
}

// AppendBlank appends a blank that lies at this physical offset and reaches this far, at least BlankBytes.
func AppendBlank(dst []byte, physical, reach int64) []byte {
	invariant.Check(reach >= BlankBytes, "a blank has room for its proof")
	start, order := len(dst), binary.BigEndian
	dst = order.AppendUint32(dst, uint32(reach))
	dst = order.AppendUint32(dst, magicBlank)
	dst = order.AppendUint64(dst, uint64(physical))
	return order.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}
