package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FrameBytesMax is the longest frame, its length field included: nettyMaxFrameSizeBytes.
const FrameBytesMax = 5 << 20

// lengthBytes is the field before each packet, headerBytes the start of each packet.
const (
	lengthBytes = 4
	headerBytes = 4
)

// ErrMalformed says that bytes are no packet of this protocol. Nothing that follows them on the connection can be
// trusted.
var ErrMalformed = errors.New("malformed packet")

// Version is the protocol version of a packet.
type Version uint8

// The versions that a version 2 connection may carry.
const (
	VersionOldest  Version = 0
	VersionCurrent Version = 2
)

// Supported reports whether requests of this version are understood; others are answered with CodeBadVersion.
func (v Version) Supported() bool { return v <= VersionCurrent }

// version3First begins every request of version 3: the protobuf tag of its header.
const version3First = 0x0A

// IsVersion3 reports whether the first packet of a connection is protobuf of version 3. A connection keeps the version
// it began with.
func IsVersion3(packet []byte) bool { return len(packet) > 0 && packet[0] == version3First }

// Operation says what a packet asks or answers.
type Operation uint8

// The operations that exist on the wire. The numbers between them were reserved and never decoded by any bookie.
const (
	Add       Operation = 1
	Read      Operation = 2
	Auth      Operation = 3
	BatchRead Operation = 7
)

func (o Operation) String() string {
	switch o {
	case Add:
		return "add"
	case Read:
		return "read"
	case Auth:
		return "auth"
	case BatchRead:
		return "batch read"
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

func (o Operation) known() bool { return o == Add || o == Read || o == Auth || o == BatchRead }

// Flags change what a request means.
type Flags uint16

// The flags that exist.
const (
	Fencing      Flags = 1 // of reads: fence the ledger first
	RecoveryAdd  Flags = 2 // of adds: store although the ledger is fenced
	HighPriority Flags = 4
)

// putHeader writes the header of a packet into the first bytes of b.
func putHeader(b []byte, v Version, o Operation, f Flags) {
	word := uint32(v)<<24 | uint32(o)<<16 | uint32(f)
	if v == 0 {
		word = uint32(o)
	}
	binary.BigEndian.PutUint32(b, word)
}

// header takes the header of a packet apart. Version 0 has no flags.
func header(packet []byte) (Version, Operation, Flags, error) {
	if len(packet) < headerBytes {
		return 0, 0, 0, fmt.Errorf("packet of %d bytes holds no header: %w", len(packet), ErrMalformed)
	}
	word := binary.BigEndian.Uint32(packet)
	v, o, f := Version(word>>24), Operation(word>>16), Flags(word)
	if v == 0 {
		o, f = Operation(word), 0
	}
	if !o.known() {
		return v, o, f, fmt.Errorf("header %08x: %s is not known: %w", word, o, ErrMalformed)
	}
	return v, o, f, nil
}

// shape is the check that a packet has one of the lengths its operation allows.
func shape(packet []byte, o Operation, lengths ...int) error {
	for _, length := range lengths {
		if len(packet) == length {
			return nil
		}
	}
	return fmt.Errorf("%s of %d bytes, want one of %v: %w", o, len(packet), lengths, ErrMalformed)
}

// grow returns b with a frame of this many packet bytes appended, the length field already written, and the packet.
func grow(b []byte, packetBytes int) (all, packet []byte) {
	start := len(b)
	end := start + lengthBytes + packetBytes
	for cap(b) < end {
		b = append(b[:cap(b)], 0)
	}
	b = b[:end]
	binary.BigEndian.PutUint32(b[start:], uint32(packetBytes))
	return b, b[start+lengthBytes:]
}
