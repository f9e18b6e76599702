package wire

import (
	"encoding/binary"
	"fmt"
)

// AuthDisabled is the plug-in name with which either side says that it asks for no authentication.
const AuthDisabled = "AuthDisabledPlugin"

// AuthMessage is the body of auth requests and answers, a protobuf message: field 1 the plug-in's name, field 2 its
// payload, both required.
type AuthMessage struct {
	Plugin  string
	Payload []byte
}

// Tags of protobuf fields that hold bytes.
const (
	pluginTag  = 1<<3 | lengthDelimited
	payloadTag = 2<<3 | lengthDelimited
)

// Wire types of protobuf. Groups (3 and 4) are refused: no message of this protocol ever had one.
const (
	varint          = 0
	fixed64         = 1
	lengthDelimited = 2
	fixed32         = 5
)

// Append appends the message's bytes to b.
func (m AuthMessage) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, pluginTag), uint64(len(m.Plugin)))
	b = append(b, m.Plugin...)
	b = binary.AppendUvarint(append(b, payloadTag), uint64(len(m.Payload)))
	return append(b, m.Payload...)
}

// DecodeAuth reads an auth message. Payload aliases body. Fields it does not know are passed over, and of a field that
// comes twice the last counts, as protobuf has it.
func DecodeAuth(body []byte) (AuthMessage, error) {
	var m AuthMessage
	named, paid := false, false
	for len(body) > 0 {
		tag, value, rest, err := nextField(body)
		if err != nil {
			return AuthMessage{}, err
		}
		switch tag {
		case pluginTag:
			m.Plugin, named = string(value), true
		case payloadTag:
			m.Payload, paid = value, true
		}
		body = rest
	}
	if !named || !paid {
		return AuthMessage{}, fmt.Errorf("auth message without plug-in or payload: %w", ErrMalformed)
	}
	return m, nil
}

// nextField cuts one protobuf field off b. The value is set for fields that hold bytes.
func nextField(b []byte) (tag uint64, value, rest []byte, err error) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag>>3 == 0 {
		return 0, nil, nil, fmt.Errorf("auth message: bad field tag: %w", ErrMalformed)
	}
	b = b[n:]
	size := uint64(0)
	switch tag & 7 {
	case varint:
		if _, n = binary.Uvarint(b); n <= 0 {
			return 0, nil, nil, fmt.Errorf("auth message: bad number: %w", ErrMalformed)
		}
		size = uint64(n)
	case fixed64:
		size = 8
	case fixed32:
		size = 4
	case lengthDelimited:
		if size, n = binary.Uvarint(b); n <= 0 {
			return 0, nil, nil, fmt.Errorf("auth message: bad length: %w", ErrMalformed)
		}
		b = b[n:]
	default:
		return 0, nil, nil, fmt.Errorf("auth message: wire type %d: %w", tag&7, ErrMalformed)
	}
	if size > uint64(len(b)) {
		return 0, nil, nil, fmt.Errorf("auth message: field of %d bytes where %d are left: %w", size, len(b), ErrMalformed)
	}
	return tag, b[:size], b[size:], nil
}
