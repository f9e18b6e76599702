package ledger

import (
	"fmt"
	"strconv"

	"lakebed/engine/protobuf"
)

// textNumber returns the number of the field that has this name in text and holds a number; 0 if there is none.
func textNumber(name string) protobuf.Number {
	switch name {
	case "quorumSize":
		return fieldWriteQuorum
	case "ensembleSize":
		return fieldEnsemble
	case "length":
		return fieldLength
	case "lastEntryId":
		return fieldLastEntry
	case "ackQuorumSize":
		return fieldAckQuorum
	case "ctime":
		return fieldCreated
	case "cToken":
		return fieldToken
	}
	return 0
}

// decodeText reads format 2.
func decodeText(body []byte) (found, error) {
	var f found // a last entry that is absent is 0, as in format 3
	fields, err := protobuf.ParseText(body)
	if err != nil {
		return f, err
	}
	for _, field := range fields {
		if err := f.setTextField(field); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *found) setTextField(field protobuf.TextField) error {
	switch field.Name {
	case "segment":
		return f.addTextFragment(field)
	case "customMetadata":
		return f.addTextCustom(field)
	case "password":
		raw, err := field.Raw()
		f.Password, f.password = raw, true
		return err
	case "state":
		return f.setTextEnum(fieldState, field, Open.String(), InRecovery.String(), Closed.String())
	case "digestType":
		return f.setTextEnum(fieldDigest, field, CRC32.String(), MAC.String(), CRC32C.String(), Dummy.String())
	}
	number := textNumber(field.Name)
	if number == 0 { // text does not tell what may be passed over: upstream refuses it, too
		return fmt.Errorf("field %.40q is not known", field.Name)
	}
	value, err := field.Int64()
	if err != nil {
		return err
	}
	return f.setNumber(number, value)
}

// setTextEnum takes the name of an enum's value, or its number. Numbers start at 1.
func (f *found) setTextEnum(number protobuf.Number, field protobuf.TextField, names ...string) error {
	for i, name := range names {
		if field.Word == name || field.Word == strconv.Itoa(i+1) {
			return f.setNumber(number, int64(i+1))
		}
	}
	return fmt.Errorf("%s is %.40q", field.Name, field.Word)
}

func (f *found) addTextFragment(field protobuf.TextField) error {
	fragment := Fragment{First: NoEntry}
	for _, part := range field.Message {
		switch part.Name {
		case "ensembleMember":
			raw, err := part.Raw()
			if err != nil {
				return err
			}
			fragment.Ensemble = append(fragment.Ensemble, BookieID(raw))
		case "firstEntryId":
			first, err := part.Int64()
			if err != nil {
				return err
			}
			fragment.First = EntryID(first)
		default:
			return fmt.Errorf("field %.40q of a segment is not known", part.Name)
		}
	}
	f.Fragments = append(f.Fragments, fragment)
	return nil
}

func (f *found) addTextCustom(field protobuf.TextField) error {
	c, named := CustomValue{}, false
	for _, part := range field.Message {
		raw, err := part.Raw()
		if err != nil {
			return err
		}
		switch part.Name {
		case "key":
			c.Key, named = string(raw), true
		case "value":
			c.Value = raw
		default:
			return fmt.Errorf("field %.40q of custom metadata is not known", part.Name)
		}
	}
	if !named {
		return fmt.Errorf("custom value without a key")
	}
	f.Custom = append(f.Custom, c)
	return nil
}
