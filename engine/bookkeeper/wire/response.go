package wire

import (
	"encoding/binary"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
)

// Lengths of response packets and frames.
const (
	responseBytes      = 24
	batchResponseBytes = responseBytes + 8
	sizeBytes          = 4 // before each entry of a batch read's answer

	AddResponseFrameBytes      = lengthBytes + responseBytes
	BatchResponseOverheadBytes = lengthBytes + batchResponseBytes // besides the entries and their sizes
	BatchResponsePerEntryBytes = sizeBytes
	ReadResponseOverheadBytes  = lengthBytes + responseBytes
)

// Response is a response of any operation.
type Response struct {
	Version   Version
	Operation Operation
	Code      Code // OK for an auth, which has none
	Ledger    ledger.ID
	Entry     ledger.EntryID // the request's
	RequestID int64          // of a batch read

	// Body is what follows if the code is OK: of a read the stored entry, of a batch read the entries as NextEntry takes
	// them, of an auth the AuthMessage.
	Body []byte
}

// Decode reads a packet. Body aliases it. A batch read's entries are checked as they are taken, by NextEntry.
func (r *Response) Decode(packet []byte) error {
	*r = Response{}
	var err error
	if r.Version, r.Operation, _, err = header(packet); err != nil {
		return err
	}
	if r.Operation == Auth {
		r.Body = packet[headerBytes:]
		return nil
	}
	prefix := responseBytes
	if r.Operation == BatchRead {
		prefix = batchResponseBytes
	}
	if len(packet) < prefix || r.Operation == Add && len(packet) != prefix {
		return fmt.Errorf("answer to %s of %d bytes, want %d: %w", r.Operation, len(packet), prefix, ErrMalformed)
	}
	r.Code = Code(binary.BigEndian.Uint32(packet[4:]))
	r.Ledger = ledger.ID(binary.BigEndian.Uint64(packet[8:]))
	r.Entry = ledger.EntryID(binary.BigEndian.Uint64(packet[16:]))
	if r.Operation == BatchRead {
		r.RequestID = int64(binary.BigEndian.Uint64(packet[responseBytes:]))
	}
	if r.Code == OK && r.Operation != Add {
		r.Body = packet[prefix:]
	}
	return nil
}

// NextEntry cuts the first entry off the body of a batch read's answer.
func NextEntry(body []byte) (entry, rest []byte, err error) {
	if len(body) < sizeBytes {
		return nil, nil, fmt.Errorf("%d bytes where the size of an entry should be: %w", len(body), ErrMalformed)
	}
	size := binary.BigEndian.Uint32(body)
	body = body[sizeBytes:]
	if uint64(size) > uint64(len(body)) {
		return nil, nil, fmt.Errorf("entry of %d bytes where %d are left: %w", size, len(body), ErrMalformed)
	}
	return body[:size], body[size:], nil
}

// CountEntries is the number of entries in the body of a batch read's answer.
func CountEntries(body []byte) (int, error) {
	count := 0
	for len(body) > 0 {
		_, rest, err := NextEntry(body)
		if err != nil {
			return 0, err
		}
		body = rest
		count++
	}
	return count, nil
}

// AppendEntry appends an entry to the body of a batch read's answer.
func AppendEntry(body, entry []byte) []byte {
	return append(binary.BigEndian.AppendUint32(body, uint32(len(entry))), entry...)
}

// FrameBytes is the length of the frame that r encodes to if it has a body of this length.
func (r *Response) FrameBytes(bodyBytes int) int { return lengthBytes + r.prefixBytes() + bodyBytes }

func (r *Response) prefixBytes() int {
	switch r.Operation {
	case Auth:
		return headerBytes
	case BatchRead:
		return batchResponseBytes
	default:
		return responseBytes
	}
}

// AppendPrefix appends the frame of r without its body, which has bodyBytes and is to follow.
func (r *Response) AppendPrefix(b []byte, bodyBytes int) []byte {
	start := len(b)
	b, packet := grow(b, r.prefixBytes())
	binary.BigEndian.PutUint32(b[start:], uint32(r.prefixBytes()+bodyBytes))
	putHeader(packet, r.Version, r.Operation, 0)
	if r.Operation == Auth {
		return b
	}
	binary.BigEndian.PutUint32(packet[4:], uint32(r.Code))
	binary.BigEndian.PutUint64(packet[8:], uint64(r.Ledger))
	binary.BigEndian.PutUint64(packet[16:], uint64(r.Entry))
	if r.Operation == BatchRead {
		binary.BigEndian.PutUint64(packet[responseBytes:], uint64(r.RequestID))
	}
	return b
}

// Append appends the frame of r to b.
func (r *Response) Append(b []byte) []byte {
	return append(r.AppendPrefix(b, len(r.Body)), r.Body...)
}
