package wire

import (
	"encoding/binary"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
)

// Lengths of request packets. AddOverheadBytes is what an add's frame has besides the stored entry.
const (
	masterKeyBytes   = len(ledger.MasterKey{})
	addPrefixBytes   = headerBytes + masterKeyBytes
	readBytes        = 20
	batchReadBytes   = 40
	AddOverheadBytes = lengthBytes + addPrefixBytes
)

// Request is a request of any operation.
type Request struct {
	Version      Version
	Operation    Operation
	Flags        Flags
	HasMasterKey bool // of reads; adds always have one
	MasterKey    ledger.MasterKey
	Ledger       ledger.ID
	Entry        ledger.EntryID // of a batch read the first; ledger.NoEntry in a read asks for the last

	// Of batch reads.
	RequestID int64
	MaxCount  int32 // zero or less: no bound
	MaxSize   int64 // of the answer's frame in bytes

	Body []byte // of an add the stored entry, of an auth the AuthMessage
}

// Decode reads a packet. Body aliases it. On ErrMalformed the request holds what was understood, and is not to be used.
func (r *Request) Decode(packet []byte) error {
	*r = Request{}
	var err error
	if r.Version, r.Operation, r.Flags, err = header(packet); err != nil {
		return err
	}
	switch r.Operation {
	case Add:
		return r.decodeAdd(packet)
	case Read:
		err = shape(packet, Read, readBytes, readBytes+masterKeyBytes)
	case BatchRead:
		err = shape(packet, BatchRead, batchReadBytes, batchReadBytes+masterKeyBytes)
	case Auth:
		r.Body = packet[headerBytes:]
		return nil
	}
	if err != nil {
		return err
	}
	r.decodeRead(packet)
	return nil
}

func (r *Request) decodeAdd(packet []byte) error {
	if len(packet) < addPrefixBytes+ledger.ShortestBytes {
		return fmt.Errorf("add of %d bytes is too short to name its entry: %w", len(packet), ErrMalformed)
	}
	copy(r.MasterKey[:], packet[headerBytes:])
	r.HasMasterKey = true
	r.Body = packet[addPrefixBytes:]
	var err error
	r.Ledger, r.Entry, err = ledger.Key(r.Body)
	return err
}

func (r *Request) decodeRead(packet []byte) {
	r.Ledger = ledger.ID(binary.BigEndian.Uint64(packet[4:]))
	r.Entry = ledger.EntryID(binary.BigEndian.Uint64(packet[12:]))
	rest := packet[readBytes:]
	if r.Operation == BatchRead {
		r.RequestID = int64(binary.BigEndian.Uint64(packet[20:]))
		r.MaxCount = int32(binary.BigEndian.Uint32(packet[28:]))
		r.MaxSize = int64(binary.BigEndian.Uint64(packet[32:]))
		rest = packet[batchReadBytes:]
	}
	// Older versions and plain reads may carry a key that means nothing, as in BookKeeper's own decoder.
	if len(rest) > 0 && r.Flags&Fencing != 0 && r.Version >= VersionCurrent {
		copy(r.MasterKey[:], rest)
		r.HasMasterKey = true
	}
}

// packetBytes is the length of the packet that r encodes to.
func (r *Request) packetBytes() int {
	key := 0
	if r.HasMasterKey {
		key = masterKeyBytes
	}
	switch r.Operation {
	case Add:
		return addPrefixBytes + len(r.Body)
	case Read:
		return readBytes + key
	case BatchRead:
		return batchReadBytes + key
	default:
		return headerBytes + len(r.Body)
	}
}

// FrameBytes is the length of the frame that r encodes to.
func (r *Request) FrameBytes() int { return lengthBytes + r.packetBytes() }

// Append appends the frame of r to b. The ledger and entry of an add are those in its body.
func (r *Request) Append(b []byte) []byte {
	b, packet := grow(b, r.packetBytes())
	putHeader(packet, r.Version, r.Operation, r.Flags)
	switch r.Operation {
	case Add:
		copy(packet[headerBytes:], r.MasterKey[:])
		copy(packet[addPrefixBytes:], r.Body)
	case Read, BatchRead:
		r.putRead(packet)
	default:
		copy(packet[headerBytes:], r.Body)
	}
	return b
}

func (r *Request) putRead(packet []byte) {
	binary.BigEndian.PutUint64(packet[4:], uint64(r.Ledger))
	binary.BigEndian.PutUint64(packet[12:], uint64(r.Entry))
	rest := packet[readBytes:]
	if r.Operation == BatchRead {
		binary.BigEndian.PutUint64(packet[20:], uint64(r.RequestID))
		binary.BigEndian.PutUint32(packet[28:], uint32(r.MaxCount))
		binary.BigEndian.PutUint64(packet[32:], uint64(r.MaxSize))
		rest = packet[batchReadBytes:]
	}
	if r.HasMasterKey {
		copy(rest, r.MasterKey[:])
	}
}
