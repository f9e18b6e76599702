package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// The magics, as upstream has them.
const (
	magicV1    = 0xDAA320A7
	magicV2    = 0xDAA320AB
	magicBlank = 0xCBD43194
)

// BlankBytes is the length of what is written of a blank.
const BlankBytes = 8

// FixedBytes is the length of a V1 record between IPv4 hosts without body, topic and properties.
const FixedBytes = 91

// Bounds of the format.
const (
	topicV1Max    = 127
	TopicMax      = math.MaxInt16
	PropertiesMax = math.MaxInt16
	headBytes     = 88
	checksumAt    = 8
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
	// ErrElsewhere says that the record is whole and belongs to another offset: it is of the file's former life.
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
	start := len(dst)
	order := binary.BigEndian
	magic := uint32(magicV1)
	if len(m.Topic) > topicV1Max {
		magic = magicV2
	}
	dst = order.AppendUint32(dst, uint32(m.Size()))
	dst = order.AppendUint32(dst, magic)
	dst = order.AppendUint32(dst, 0) // the checksum
	dst = order.AppendUint32(dst, uint32(m.Queue))
	dst = order.AppendUint32(dst, uint32(m.Flag))
	dst = order.AppendUint64(dst, uint64(m.QueueOffset))
	dst = order.AppendUint64(dst, uint64(m.PhysicalOffset))
	dst = order.AppendUint32(dst, uint32(m.SysFlag))
	dst = order.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendAddress(dst, &m.BornHost, m.SysFlag&FlagBornHostIPv6 != 0)
	dst = order.AppendUint64(dst, uint64(m.StoreTimestamp))
	dst = appendAddress(dst, &m.StoreHost, m.SysFlag&FlagStoreHostIPv6 != 0)
	dst = order.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = order.AppendUint64(dst, uint64(m.PreparedOffset))
	dst = order.AppendUint32(dst, uint32(len(m.Body)))
	head := len(dst)
	dst = append(dst, m.Body...)
	if magic == magicV2 {
		dst = order.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = order.AppendUint16(dst, uint16(len(m.Properties)))
	dst = append(dst, m.Properties...)
	sum := uint32(0)
	if rest == (Rest{}) {
		sum = checksum(dst[start:])
	} else {
		sum = rest.with(dst[start:head])
	}
	order.PutUint32(dst[start+checksumAt:], sum)
	return dst
}

func appendAddress(dst []byte, a *Address, ipv6 bool) []byte {
	bytes := addressBytesV4
	if ipv6 {
		bytes = addressBytesV6
	}
	dst = append(dst, a.IP[:bytes]...)
	return binary.BigEndian.AppendUint32(dst, uint32(a.Port))
}

// checksum is that of a record, whatever stands in its own field.
func checksum(record []byte) uint32 {
	var zeros [4]byte
	sum := crc32.Update(0, castagnoli, record[:checksumAt])
	sum = crc32.Update(sum, castagnoli, zeros[:])
	return crc32.Update(sum, castagnoli, record[checksumAt+len(zeros):])
}

// AppendBlank appends a blank that reaches this far, at least BlankBytes.
func AppendBlank(dst []byte, reach int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(reach))
	return binary.BigEndian.AppendUint32(dst, magicBlank)
}
