package message

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"

	"lakebed/engine/protobuf"
)

// ErrMalformed means that bytes are no LogGroupList.
var ErrMalformed = errors.New("malformed log group list")

// ErrCompression means that a group's payload cannot be unpacked: a code that is not known, bytes that are not of that
// kind, or more than the caller takes.
var ErrCompression = errors.New("payload cannot be unpacked")

// Time is a group's time stamp, in the unit that the users of a store agree on.
type Time uint64

// Compression is the code of how a group's payload is packed.
type Compression uint32

// The codes.
const (
	Plain   Compression = 0
	Deflate Compression = 1
)

// Column describes one column of a group's log lines. What a type means is the users'.
type Column struct {
	Name []byte
	Type uint32
}

// Group is one log group: lines of one source.
type Group struct {
	Time        Time
	Source      []byte
	Columns     []Column
	Compression Compression
	Payload     []byte
	Topic       string // optional; empty: not written
}

// Numbers of fields.
const (
	fieldName, fieldType                                     = 1, 2
	fieldTime, fieldSource, fieldColumns                     = 1, 2, 3
	fieldCompression, fieldPayload, fieldTopic, fieldOfGroup = 4, 5, 6, 1
)

// Append appends a LogGroupList. Lengths are computed first, so that nothing is copied twice: payloads are long.
func Append(b []byte, groups []Group) []byte {
	total := 0
	for i := range groups {
		total += protobuf.SizeOfBytes(fieldOfGroup, groups[i].size())
	}
	b = slices.Grow(b, total)
	for i := range groups {
		g := &groups[i]
		b = protobuf.AppendLength(b, fieldOfGroup, g.size())
		b = protobuf.AppendFixed64(b, fieldTime, uint64(g.Time))
		b = protobuf.AppendBytes(b, fieldSource, g.Source)
		for _, c := range g.Columns {
			b = protobuf.AppendLength(b, fieldColumns, c.size())
			b = protobuf.AppendBytes(b, fieldName, c.Name)
			b = protobuf.AppendInt(b, fieldType, int64(c.Type))
		}
		b = protobuf.AppendInt(b, fieldCompression, int64(g.Compression))
		b = protobuf.AppendBytes(b, fieldPayload, g.Payload)
		if g.Topic != "" {
			b = protobuf.AppendBytes(b, fieldTopic, g.Topic)
		}
	}
	return b
}

// size is the length of what stands for the group in its list, without the field's head.
func (g *Group) size() int {
	n := protobuf.SizeOfFixed64(fieldTime) + protobuf.SizeOfBytes(fieldSource, len(g.Source))
	for _, c := range g.Columns {
		n += protobuf.SizeOfBytes(fieldColumns, c.size())
	}
	n += protobuf.SizeOfInt(fieldCompression, int64(g.Compression)) + protobuf.SizeOfBytes(fieldPayload, len(g.Payload))
	if g.Topic != "" {
		n += protobuf.SizeOfBytes(fieldTopic, len(g.Topic))
	}
	return n
}

func (c *Column) size() int {
	return protobuf.SizeOfBytes(fieldName, len(c.Name)) + protobuf.SizeOfInt(fieldType, int64(c.Type))
}

// Parse decodes a LogGroupList. What it returns aliases b.
func Parse(b []byte) ([]Group, error) {
	var groups []Group
	err := eachGroup(b, func(raw []byte) error {
		g, err := parseGroup(raw)
		groups = append(groups, g)
		return err
	})
	if err != nil {
		return nil, err
	}
	return groups, nil
}

// NewestTime is the largest time of a list's groups, which is the message's. It checks as much of the list as Parse
// does, and keeps nothing of it.
func NewestTime(b []byte) (Time, error) {
	var newest Time
	count := 0
	err := eachGroup(b, func(raw []byte) error {
		t, err := checkGroup(raw)
		newest = max(newest, t)
		count++
		return err
	})
	if err == nil && count == 0 {
		err = fmt.Errorf("no group: %w", ErrMalformed)
	}
	return newest, err
}

func eachGroup(b []byte, f func(raw []byte) error) error {
	for count := 1; len(b) > 0; {
		field, rest, err := protobuf.Next(b)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		b = rest
		if field.Number != fieldOfGroup {
			continue // of a later version
		}
		raw, err := field.Raw()
		if err == nil {
			err = f(raw)
		}
		if err != nil {
			return fmt.Errorf("log group %d: %w: %w", count, ErrMalformed, err)
		}
		count++
	}
	return nil
}

func parseGroup(b []byte) (g Group, err error) {
	var field protobuf.Field
	seen := 0
	for len(b) > 0 {
		if b, err = field.Cut(b); err != nil {
			return g, err
		}
		if field.Number <= fieldTopic {
			seen |= 1 << field.Number
			if err := g.set(&field); err != nil {
				return g, err
			}
		}
	}
	return g, complete(seen)
}

// checkGroup is parseGroup that only remembers the time.
func checkGroup(b []byte) (t Time, err error) {
	var field protobuf.Field
	seen := 0
	for len(b) > 0 {
		if b, err = field.Cut(b); err != nil {
			return 0, err
		}
		switch field.Number {
		case fieldTime:
			var number uint64
			number, err = field.Uint64()
			t = Time(number)
		case fieldSource, fieldPayload, fieldTopic:
			_, err = field.Raw()
		case fieldCompression:
			_, err = field.Uint32()
		case fieldColumns:
			_, err = parseColumn(&field)
		default:
			continue // of a later version
		}
		if err != nil {
			return 0, err
		}
		seen |= 1 << field.Number
	}
	return t, complete(seen)
}

// complete looks that the fields of a group which are required are among those that were seen.
func complete(seen int) error {
	const required = 1<<fieldTime | 1<<fieldSource | 1<<fieldCompression | 1<<fieldPayload
	if seen&required != required {
		return fmt.Errorf("a required field is missing: %w", protobuf.ErrMalformed)
	}
	return nil
}

// set takes over one field. Of one that comes twice the last counts, as in all of protocol buffers.
func (g *Group) set(f *protobuf.Field) (err error) {
	var number uint64
	var code uint32
	var raw []byte
	switch f.Number {
	case fieldTime:
		number, err = f.Uint64()
		g.Time = Time(number)
	case fieldSource:
		g.Source, err = f.Raw()
	case fieldColumns:
		var c Column
		c, err = parseColumn(f)
		g.Columns = append(g.Columns, c)
	case fieldCompression:
		code, err = f.Uint32()
		g.Compression = Compression(code)
	case fieldPayload:
		g.Payload, err = f.Raw()
	case fieldTopic:
		raw, err = f.Raw()
		g.Topic = string(raw)
	}
	return err
}

func parseColumn(f *protobuf.Field) (c Column, err error) {
	b, err := f.Raw()
	named, typed := false, false
	for err == nil && len(b) > 0 {
		var field protobuf.Field
		if field, b, err = protobuf.Next(b); err != nil {
			break
		}
		switch field.Number {
		case fieldName:
			c.Name, err = field.Raw()
			named = true
		case fieldType:
			c.Type, err = field.Uint32()
			typed = true
		}
	}
	if err == nil && !(named && typed) {
		err = fmt.Errorf("a column without name or type: %w", protobuf.ErrMalformed)
	}
	return c, err
}

// Pack packs a group's payload with this code.
func (g *Group) Pack(code Compression) error {
	if g.Compression != Plain {
		return fmt.Errorf("payload is packed already, with code %d: %w", g.Compression, ErrCompression)
	}
	switch code {
	case Plain:
		return nil
	case Deflate:
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.BestSpeed)
		if err == nil {
			_, err = w.Write(g.Payload)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return fmt.Errorf("deflate: %w: %w", ErrCompression, err)
		}
		g.Payload, g.Compression = packed.Bytes(), Deflate
		return nil
	}
	return fmt.Errorf("code %d: %w", code, ErrCompression)
}

// Unpack returns a group's payload as it was before it was packed, if that is at most bytesMax long.
func (g *Group) Unpack(bytesMax int64) ([]byte, error) {
	switch g.Compression {
	case Plain:
		if int64(len(g.Payload)) > bytesMax {
			return nil, fmt.Errorf("%d bytes, more than %d: %w", len(g.Payload), bytesMax, ErrCompression)
		}
		return g.Payload, nil
	case Deflate:
		plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(g.Payload)), bytesMax+1))
		if err != nil {
			return nil, fmt.Errorf("inflate: %w: %w", ErrCompression, err)
		}
		if int64(len(plain)) > bytesMax {
			return nil, fmt.Errorf("more than %d bytes: %w", bytesMax, ErrCompression)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("code %d: %w", g.Compression, ErrCompression)
}
