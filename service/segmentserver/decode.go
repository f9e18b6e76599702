package segmentserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"lakebed/engine/seglog/message"
	"lakebed/service/segments"
	"lakebed/service/wire"
)

// decodeLines makes messages of JSON values, one after the other. An object is a message of one log group, an array one of several.
// Groups without a time get this one.
func decodeLines(body []byte, messagesMax int, now uint64) ([][]byte, error) {
	if !utf8.Valid(body) {
		return nil, wire.NewProblem(wire.Invalid, errors.New("the lines are no UTF-8: send bytes that are no text as base64"))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var messages [][]byte
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(messages) == messagesMax {
			return nil, wire.NewProblem(wire.TooLarge, fmt.Errorf("more than %d messages in one append", messagesMax))
		}
		var groups []segments.Group
		if err == nil {
			groups, err = decodeGroups(value)
		}
		if err != nil {
			return nil, wire.NewProblem(wire.Invalid, fmt.Errorf("message %d: %w", len(messages), err))
		}
		messages = append(messages, encodeGroups(groups, now))
	}
	if len(messages) == 0 {
		return nil, wire.NewProblem(wire.Invalid, errors.New("there is no message in the body"))
	}
	return messages, nil
}

// decodeGroups decodes one line.
func decodeGroups(value json.RawMessage) (groups []segments.Group, err error) {
	if value[0] == '[' {
		err = strictly(value, &groups)
	} else {
		groups = make([]segments.Group, 1)
		err = strictly(value, &groups[0])
	}
	if err == nil && len(groups) == 0 {
		err = errors.New("it has no log group")
	}
	for i := range groups {
		if err == nil && groups[i].Payload == nil {
			err = fmt.Errorf("log group %d has no payload", i)
		}
		for _, c := range groups[i].Columns {
			if err == nil && c.Name == nil {
				err = fmt.Errorf("log group %d has a column without a name", i)
			}
		}
	}
	return groups, err
}

func strictly(value json.RawMessage, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}

// encodeGroups makes the LogGroupList of a message.
func encodeGroups(groups []segments.Group, now uint64) []byte {
	list := make([]message.Group, len(groups))
	for i, g := range groups {
		at := now
		if g.Time != nil {
			at = *g.Time
		}
		list[i] = message.Group{
			Time: message.Time(at), Source: g.Source, Compression: message.Compression(g.Compression), Payload: g.Payload, Topic: g.Topic,
		}
		for _, c := range g.Columns {
			list[i].Columns = append(list[i].Columns, message.Column{Name: c.Name, Type: c.Type})
		}
	}
	return message.Append(nil, list)
}

// groupsOf decodes a stored message. The groups are copies.
func groupsOf(payload []byte) ([]segments.Group, error) {
	list, err := message.Parse(payload)
	if err != nil {
		return nil, err
	}
	groups := make([]segments.Group, len(list))
	for i, g := range list {
		at := uint64(g.Time)
		groups[i] = segments.Group{
			Time: &at, Source: bytes.Clone(g.Source), Compression: uint32(g.Compression), Payload: copied(g.Payload), Topic: g.Topic,
		}
		for _, c := range g.Columns {
			groups[i].Columns = append(groups[i].Columns, segments.Column{Name: copied(c.Name), Type: c.Type})
		}
	}
	return groups, nil
}

// copied is a copy that is never nil: nothing is something.
func copied(b []byte) wire.Bytes { return append(wire.Bytes{}, b...) }
