package service

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
)

// Bounds on frames, with their lengths.
const (
	RequestBytesMax  = metadata.ValueBytesMax + metadata.KeyBytesMax + 64
	ResponseBytesMax = 8 << 20 // a list is the longest: memory.Limits.NamesBytesMax and the header must fit
)

const (
	protocolVersion = 1
	lengthBytes     = 4
	nameBytesMin    = 2 + 1 // on the wire, with its length
	timeoutMax      = 365 * 24 * time.Hour
)

// Request is one request. Fields that its operation does not have are zero.
type Request struct {
	Operation Operation
	Sequence  int64
	Session   metadata.SessionID
	Timeout   time.Duration // whole milliseconds
	Seen      memory.Index
	Kind      metadata.Kind
	Expected  metadata.Version
	Key       string
	Data      []byte
}

// Append appends the request's frame to b.
func (r *Request) Append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, byte(r.Operation))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Sequence))
	switch r.Operation {
	case Hello:
		b = append(b, protocolVersion)
		b = binary.BigEndian.AppendUint64(b, uint64(r.Session))
		b = binary.BigEndian.AppendUint64(b, uint64(r.Timeout.Milliseconds()))
		b = binary.BigEndian.AppendUint64(b, uint64(r.Seen))
	case Get, List, Watch, Unwatch:
		b = appendName(b, r.Key)
	case Create:
		b = append(b, byte(r.Kind))
		b = appendName(b, r.Key)
		b = appendValue(b, r.Data)
	case Put:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Expected))
		b = appendName(b, r.Key)
		b = appendValue(b, r.Data)
	case Delete:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Expected))
		b = appendName(b, r.Key)
	}
	return seal(b, start)
}

// DecodeRequest reads the packet of a frame. It keeps nothing of it.
func DecodeRequest(packet []byte) (Request, error) {
	in := cursor{rest: packet}
	r := Request{Operation: Operation(in.u8()), Sequence: in.i64()}
	switch r.Operation {
	case Hello:
		in.must(in.u8() == protocolVersion, "protocol version")
		r.Session = metadata.SessionID(in.i64())
		r.Timeout = in.milliseconds()
		r.Seen = memory.Index(in.i64())
	case Get, List, Watch, Unwatch:
		r.Key = in.key()
	case Create:
		r.Kind = metadata.Kind(in.u8())
		in.must(r.Kind == metadata.Persistent || r.Kind == metadata.Ephemeral, "kind")
		r.Key, r.Data = in.key(), in.value()
	case Put:
		r.Expected = metadata.Version(in.i64())
		r.Key, r.Data = in.key(), in.value()
	case Delete:
		r.Expected = metadata.Version(in.i64())
		r.Key = in.key()
	case Ping, Bye, Sync:
	default:
		in.must(false, "operation")
	}
	if err := in.end(); err != nil {
		return Request{}, fmt.Errorf("request %s: %w", r.Operation, err)
	}
	return r, nil
}

// Response is one response, or a notice.
type Response struct {
	Operation Operation
	Sequence  int64
	Code      Code
	Index     memory.Index
	Session   metadata.SessionID
	Timeout   time.Duration // whole milliseconds
	Version   metadata.Version
	Data      []byte
	Names     []string
	Key       string
}

// Append appends the response's frame to b.
func (r *Response) Append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, byte(r.Operation))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Sequence))
	b = append(b, byte(r.Code))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Index))
	if r.Code != OK {
		return seal(b, start)
	}
	switch r.Operation {
	case Hello:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Session))
		b = binary.BigEndian.AppendUint64(b, uint64(r.Timeout.Milliseconds()))
	case Get:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Version))
		b = appendValue(b, r.Data)
	case Create, Put:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Version))
	case List:
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Names)))
		for _, name := range r.Names {
			b = appendName(b, name)
		}
	case Notice:
		b = appendName(b, r.Key)
	}
	return seal(b, start)
}

// DecodeResponse reads the packet of a frame. It keeps nothing of it.
func DecodeResponse(packet []byte) (Response, error) {
	in := cursor{rest: packet}
	r := Response{Operation: Operation(in.u8()), Sequence: in.i64(), Code: Code(in.u8()), Index: memory.Index(in.i64())}
	in.must(r.Operation >= Hello && r.Operation <= Notice, "operation")
	in.must(r.Code < codes, "code")
	in.must((r.Operation == Notice) == (r.Sequence == 0), "sequence")
	if r.Code == OK {
		in.body(&r)
	}
	if err := in.end(); err != nil {
		return Response{}, fmt.Errorf("response to %s: %w", r.Operation, err)
	}
	return r, nil
}

func (in *cursor) body(r *Response) {
	switch r.Operation {
	case Hello:
		r.Session = metadata.SessionID(in.i64())
		r.Timeout = in.milliseconds()
	case Get:
		r.Version = in.version()
		r.Data = in.value()
	case Create, Put:
		r.Version = in.version()
	case List:
		r.Names = in.names()
	case Notice:
		r.Key = in.key()
	}
}

func appendName(b []byte, name string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
	return append(b, name...)
}

func appendValue(b, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// seal writes the length of the frame that begins at start and ends with b.
func seal(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-lengthBytes))
	return b
}

// cursor reads a packet from front to back. The first thing that is wrong stays in bad; what is read then is zero.
type cursor struct {
	rest []byte
	bad  string
}

func (in *cursor) must(ok bool, what string) {
	if !ok && in.bad == "" {
		in.bad = what
		in.rest = nil
	}
}

func (in *cursor) take(n int) []byte {
	if n > len(in.rest) {
		in.must(false, "length")
		return nil
	}
	taken := in.rest[:n]
	in.rest = in.rest[n:]
	return taken
}

func (in *cursor) u8() uint8 {
	if b := in.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (in *cursor) i64() int64 {
	if b := in.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// version is the version of a key that exists. AnyVersion is none: a writer that took it over would expect anything.
func (in *cursor) version() metadata.Version {
	v := metadata.Version(in.i64())
	in.must(v != metadata.AnyVersion, "version")
	return v
}

// milliseconds bounds a timeout to what a Duration can hold without wrapping around.
func (in *cursor) milliseconds() time.Duration {
	n := in.i64()
	in.must(n >= 0 && n <= timeoutMax.Milliseconds(), "timeout")
	if in.bad != "" {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

func (in *cursor) text() string {
	b := in.take(2)
	if b == nil {
		return ""
	}
	return string(in.take(int(binary.BigEndian.Uint16(b))))
}

func (in *cursor) key() string {
	key := in.text()
	in.must(in.bad == "" && metadata.ValidateKey(key) == nil, "key")
	return key
}

// value returns a copy, nil for no bytes.
func (in *cursor) value() []byte {
	b := in.take(4)
	if b == nil {
		return nil
	}
	n := binary.BigEndian.Uint32(b)
	in.must(n <= metadata.ValueBytesMax, "length of the value")
	if in.bad != "" {
		return nil
	}
	return append([]byte(nil), in.take(int(n))...)
}

// names reads a list. Its count is bounded by the bytes that are there before anything is allocated for it.
func (in *cursor) names() []string {
	b := in.take(4)
	if b == nil {
		return nil
	}
	count := binary.BigEndian.Uint32(b)
	in.must(uint64(count)*nameBytesMin <= uint64(len(in.rest)), "count of names")
	if in.bad != "" || count == 0 {
		return nil
	}
	names := make([]string, 0, count)
	for range count {
		name := in.text()
		in.must(name != "" && len(name) < metadata.KeyBytesMax && !strings.Contains(name, "/"), "name")
		in.must(len(names) == 0 || names[len(names)-1] < name, "order of names")
		names = append(names, name)
	}
	return names
}

// end says what was wrong, or that something is left.
func (in *cursor) end() error {
	in.must(len(in.rest) == 0, "length")
	if in.bad != "" {
		return fmt.Errorf("%w: %s", ErrMalformed, in.bad)
	}
	return nil
}
