package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/protobuf"
)

// MetadataBytesMax bounds a ledger's metadata, as ZooKeeper's default limit on a value does.
const MetadataBytesMax = 1 << 20

// formatName, a tab, the format's number and a line feed start all metadata.
const formatName = "BookieMetadataFormatVersion"

// Fields of LedgerMetadataFormat and of the messages in it.
const (
	fieldWriteQuorum protobuf.Number = 1
	fieldEnsemble    protobuf.Number = 2
	fieldLength      protobuf.Number = 3
	fieldLastEntry   protobuf.Number = 4
	fieldState       protobuf.Number = 5
	fieldFragment    protobuf.Number = 6
	fieldDigest      protobuf.Number = 7
	fieldPassword    protobuf.Number = 8
	fieldAckQuorum   protobuf.Number = 9
	fieldCreated     protobuf.Number = 10
	fieldCustom      protobuf.Number = 11
	fieldToken       protobuf.Number = 12

	fieldMember protobuf.Number = 1
	fieldFirst  protobuf.Number = 2

	fieldKey   protobuf.Number = 1
	fieldValue protobuf.Number = 2
)

// Append appends the metadata's bytes in format 3 to b.
func (m Metadata) Append(b []byte) []byte {
	message := m.appendMessage(nil)
	b = append(append(b, formatName...), "\t3\n"...)
	b = binary.AppendUvarint(b, uint64(len(message)))
	return append(b, message...)
}

// appendMessage appends the fields in the order of their numbers, as upstream's library does.
func (m Metadata) appendMessage(b []byte) []byte {
	b = protobuf.AppendInt(b, fieldWriteQuorum, int64(m.Quorum.Write))
	b = protobuf.AppendInt(b, fieldEnsemble, int64(m.Quorum.Ensemble))
	b = protobuf.AppendInt(b, fieldLength, m.Length)
	b = protobuf.AppendInt(b, fieldLastEntry, int64(m.LastEntry))
	b = protobuf.AppendInt(b, fieldState, int64(m.State))
	var part []byte
	for _, f := range m.Fragments {
		part = part[:0]
		for _, bookie := range f.Ensemble {
			part = protobuf.AppendBytes(part, fieldMember, bookie)
		}
		b = protobuf.AppendBytes(b, fieldFragment, protobuf.AppendInt(part, fieldFirst, int64(f.First)))
	}
	if m.Digest != DigestUnstored {
		b = protobuf.AppendInt(b, fieldDigest, int64(m.Digest))
		b = protobuf.AppendBytes(b, fieldPassword, m.Password)
	}
	b = protobuf.AppendInt(b, fieldAckQuorum, int64(m.Quorum.Ack))
	if m.Created != 0 {
		b = protobuf.AppendInt(b, fieldCreated, m.Created)
	}
	for _, c := range m.Custom {
		part = protobuf.AppendBytes(part[:0], fieldKey, c.Key)
		b = protobuf.AppendBytes(b, fieldCustom, protobuf.AppendBytes(part, fieldValue, c.Value))
	}
	if m.Token != 0 {
		b = protobuf.AppendInt(b, fieldToken, m.Token)
	}
	return b
}

// DecodeMetadata reads metadata of formats 1, 2 and 3. What it returns is valid and shares nothing with b.
func DecodeMetadata(b []byte) (Metadata, error) {
	if len(b) > MetadataBytesMax {
		return Metadata{}, fmt.Errorf("%w: %d bytes", ErrMetadata, len(b))
	}
	head, body, _ := bytes.Cut(b, []byte("\n"))
	name, format, _ := strings.Cut(string(head[:min(len(head), len(formatName)+8)]), "\t")
	if name != formatName {
		return Metadata{}, fmt.Errorf("%w: starts with %.40q", ErrMetadata, head)
	}
	decode := map[string]func([]byte) (found, error){"1": decodeLines, "2": decodeText, "3": decodeBinary}[format]
	if decode == nil {
		return Metadata{}, fmt.Errorf("%w: format %q is not known", ErrMetadata, format)
	}
	f, err := decode(body)
	if err != nil {
		return Metadata{}, fmt.Errorf("%w: format %s: %w", ErrMetadata, format, err)
	}
	m, err := f.settle()
	if err != nil {
		return Metadata{}, fmt.Errorf("format %s: %w", format, err)
	}
	return m, nil
}

// found is what a decoder has read so far: some fields have a meaning by being absent.
type found struct {
	Metadata
	quorum, ensemble, length, state bool // required
	ack, digest, password           bool
}

// settle fills in what absence means, checks the whole, and puts it into the one form that Metadata has.
func (f found) settle() (Metadata, error) {
	m := f.Metadata
	if !f.quorum || !f.ensemble || !f.length || !f.state {
		return m, fmt.Errorf("%w: quorum, ensemble size, length or state is missing", ErrMetadata)
	}
	if !f.ack {
		m.Quorum.Ack = m.Quorum.Write
	}
	switch {
	case !f.password: // a type alone says nothing: upstream takes it from the application, too
		m.Digest = DigestUnstored
	case !f.digest:
		m.Digest = CRC32 // the enum's first value is what an absent one means
	}
	if m.State != Closed { // what upstream writes here it does not read either
		m.LastEntry, m.Length = NoEntry, 0
	}
	if len(m.Custom) == 0 {
		m.Custom = nil
	}
	slices.SortFunc(m.Custom, func(a, b CustomValue) int { return strings.Compare(a.Key, b.Key) })
	return m, m.Validate()
}

// setNumber takes a field that holds a number, whichever format it came in.
func (f *found) setNumber(n protobuf.Number, value int64) error {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	switch n {
	case fieldWriteQuorum:
		f.Quorum.Write, f.quorum, most = int(value), true, math.MaxInt32
	case fieldEnsemble:
		f.Quorum.Ensemble, f.ensemble, most = int(value), true, math.MaxInt32
	case fieldAckQuorum:
		f.Quorum.Ack, f.ack, most = int(value), true, math.MaxInt32
	case fieldLength:
		f.Length, f.length = value, true
	case fieldLastEntry:
		f.LastEntry = EntryID(value)
	case fieldState:
		f.State, f.state, least, most = State(value), true, int64(Open), int64(Closed)
	case fieldDigest:
		f.Digest, f.digest, least, most = DigestType(value), true, int64(CRC32), int64(Dummy)
	case fieldCreated:
		f.Created = value
	case fieldToken:
		f.Token = value
	}
	if value < least || value > most {
		return fmt.Errorf("field %d is %d", n, value)
	}
	return nil
}

// decodeBinary reads format 3. A last entry that is absent from a closed ledger is 0, as upstream has it: a writer that
// leaves zeros out would else seem to have closed an empty ledger.
func decodeBinary(b []byte) (found, error) {
	var f found
	size, n := binary.Uvarint(b)
	if n <= 0 || size != uint64(len(b)-n) {
		return f, fmt.Errorf("message of %d bytes where %d are", size, len(b)-max(n, 0))
	}
	for b = b[n:]; len(b) > 0; {
		field, rest, err := protobuf.Next(b)
		if err != nil {
			return f, err
		}
		if err := f.setField(field); err != nil {
			return f, err
		}
		b = rest
	}
	return f, nil
}

func (f *found) setField(field protobuf.Field) error {
	if field.Number < fieldWriteQuorum || field.Number > fieldToken {
		return nil // of a later version
	}
	switch field.Number {
	case fieldFragment, fieldPassword, fieldCustom:
	default:
		value, err := field.Int64()
		if err != nil {
			return err
		}
		return f.setNumber(field.Number, value)
	}
	raw, err := field.Raw()
	if err != nil {
		return err
	}
	switch field.Number {
	case fieldPassword:
		f.Password, f.password = bytes.Clone(raw), true
	case fieldFragment:
		return f.addFragment(raw)
	case fieldCustom:
		return f.addCustom(raw)
	}
	return nil
}

func (f *found) addFragment(b []byte) error {
	fragment := Fragment{First: NoEntry}
	for len(b) > 0 {
		field, rest, err := protobuf.Next(b)
		if err != nil {
			return fmt.Errorf("fragment: %w", err)
		}
		switch field.Number {
		case fieldMember:
			raw, err := field.Raw()
			if err != nil {
				return fmt.Errorf("fragment: %w", err)
			}
			fragment.Ensemble = append(fragment.Ensemble, BookieID(raw))
		case fieldFirst:
			first, err := field.Int64()
			if err != nil {
				return fmt.Errorf("fragment: %w", err)
			}
			fragment.First = EntryID(first)
		}
		b = rest
	}
	f.Fragments = append(f.Fragments, fragment)
	return nil
}

func (f *found) addCustom(b []byte) error {
	c, named := CustomValue{}, false
	for len(b) > 0 {
		field, rest, err := protobuf.Next(b)
		if err != nil {
			return fmt.Errorf("custom value: %w", err)
		}
		if field.Number == fieldKey || field.Number == fieldValue {
			raw, err := field.Raw()
			if err != nil {
				return fmt.Errorf("custom value: %w", err)
			}
			if field.Number == fieldKey {
				c.Key, named = string(raw), true
			} else {
				c.Value = bytes.Clone(raw)
			}
		}
		b = rest
	}
	if !named {
		return fmt.Errorf("custom value without a key")
	}
	f.Custom = append(f.Custom, c)
	return nil
}

// inRecovery stands in format 1 where the last entry of a closed ledger stands.
const inRecovery = -102

// decodeLines reads format 1.
func decodeLines(body []byte) (found, error) {
	f := found{Metadata: Metadata{State: Open, LastEntry: NoEntry}, quorum: true, ensemble: true, length: true, state: true}
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if len(lines) < 3 {
		return f, fmt.Errorf("%d lines", len(lines))
	}
	for i, n := range []protobuf.Number{fieldWriteQuorum, fieldEnsemble, fieldLength} {
		value, err := strconv.ParseInt(lines[i], 10, 64)
		if err != nil {
			return f, fmt.Errorf("line %d is %.40q, want a number", i+1, lines[i])
		}
		if err := f.setNumber(n, value); err != nil {
			return f, err
		}
	}
	for i, line := range lines[3:] {
		words := strings.Split(line, "\t")
		number, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return f, fmt.Errorf("line %d starts with %.40q, want a number", i+4, words[0])
		}
		if len(words) == 2 && words[1] == "CLOSED" && i == len(lines)-4 {
			if f.State, f.LastEntry = Closed, EntryID(number); number == inRecovery {
				f.State, f.LastEntry = InRecovery, NoEntry
			}
			break
		}
		fragment := Fragment{First: EntryID(number)}
		for _, word := range words[1:] {
			fragment.Ensemble = append(fragment.Ensemble, BookieID(word))
		}
		f.Fragments = append(f.Fragments, fragment)
	}
	return f, nil
}
