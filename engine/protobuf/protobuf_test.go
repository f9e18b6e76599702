package protobuf_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"lakebed/engine/protobuf"
)

// TestGoldenFields: the examples that the format's definition gives, and negative numbers.
func TestGoldenFields(t *testing.T) {
	for want, got := range map[string][]byte{
		"089601":                         protobuf.AppendInt(nil, 1, 150),
		"120774657374696e67":             protobuf.AppendBytes(nil, 2, "testing"),
		"1800":                           protobuf.AppendInt(nil, 3, 0),
		"20ffffffffffffffffff01":         protobuf.AppendInt(nil, 4, -1),
		"8006ffffffffffffffff7f":         protobuf.AppendInt(nil, 96, math.MaxInt64),
		"310807060504030201":             protobuf.AppendFixed64(nil, 6, 0x0102030405060708),
		"2a00":                           protobuf.AppendBytes(nil, 5, []byte(nil)),
		"f8ffffff0f80808080f8ffffffff01": protobuf.AppendInt(nil, 1<<29-1, -1<<31),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("%x, want %s", got, want)
		}
	}
}

// TestFieldsComeBack, in order, with those of kinds that have no value passed over.
func TestFieldsComeBack(t *testing.T) {
	b := protobuf.AppendInt(nil, 1, math.MinInt64)
	b = append(b, "\x1112345678"...)
	b = protobuf.AppendBytes(b, 3, "text")
	b = append(b, "\x251234"...)
	b = protobuf.AppendInt(b, 1<<29-1, math.MaxInt32)
	var got []protobuf.Field
	for rest := b; len(rest) > 0; {
		f, after, err := protobuf.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		got, rest = append(got, f), after
	}
	want := []protobuf.Field{
		{Number: 1, Kind: protobuf.Varint, Value: 1 << 63}, {Number: 2, Kind: protobuf.Fixed64, Value: 0x3837363534333231},
		{Number: 3, Kind: protobuf.Bytes, Data: []byte("text")}, {Number: 4, Kind: protobuf.Fixed32},
		{Number: 1<<29 - 1, Kind: protobuf.Varint, Value: math.MaxInt32},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if v, err := got[0].Int64(); v != math.MinInt64 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if v, err := got[1].Uint64(); v != 0x3837363534333231 || err != nil {
		t.Errorf("%x, %v", v, err)
	}
	if v, err := got[4].Uint32(); v != math.MaxInt32 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := got[0].Uint32(); !errors.Is(err, protobuf.ErrMalformed) {
		t.Errorf("2^63 in 32 bits: %v", err)
	}
	if _, err := got[0].Uint64(); !errors.Is(err, protobuf.ErrMalformed) {
		t.Errorf("a varint as 8 bytes: %v", err)
	}
	if v, err := got[4].Int32(); v != math.MaxInt32 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	_, narrow := got[0].Int32()
	_, number := got[2].Int64()
	_, raw := got[0].Raw()
	for _, err := range []error{narrow, number, raw} {
		if !errors.Is(err, protobuf.ErrMalformed) {
			t.Errorf("%v, %v, %v", narrow, number, raw)
		}
	}
}

// TestWhatIsNoFieldIsRefused.
func TestWhatIsNoFieldIsRefused(t *testing.T) {
	for name, b := range map[string]string{
		"nothing": "", "number 0": "\x00\x00", "number too large": "\x80\x80\x80\x80\x10\x00", "no value": "\x08",
		"endless varint": "\x08" + strings.Repeat("\x80", 11), "varint of 65 bits": "\x08" + strings.Repeat("\xff", 9) + "\x02",
		"short bytes": "\x12\x02x", "huge bytes": "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "short fixed": "\x11123", "group": "\x0b",
		"kind 7": "\x0f",
	} {
		if f, _, err := protobuf.Next([]byte(b)); !errors.Is(err, protobuf.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestTextIsReadInAllItsForms.
func TestTextIsReadInAllItsForms(t *testing.T) {
	got, err := protobuf.ParseText([]byte(`
# a comment
number: -12, hex: 0x10; state: OPEN
text: "a\tb\"\101\x41\\\'\?" 'and "more"'
first { deep { x: 1 } }
second: < y: "" >
`))
	want := []protobuf.TextField{
		{Name: "number", Word: "-12"}, {Name: "hex", Word: "0x10"}, {Name: "state", Word: "OPEN"},
		{Name: "text", Quoted: true, Text: []byte("a\tb\"AA\\'?and \"more\"")},
		{Name: "first", Nested: true, Message: []protobuf.TextField{
			{Name: "deep", Nested: true, Message: []protobuf.TextField{{Name: "x", Word: "1"}}}}},
		{Name: "second", Nested: true, Message: []protobuf.TextField{{Name: "y", Quoted: true, Text: []byte{}}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for i, n := range []int64{-12, 16} {
		if v, err := got[i].Int64(); v != n || err != nil {
			t.Errorf("%d, %v, want %d", v, err, n)
		}
	}
	_, word := got[2].Int64()
	_, raw := got[2].Raw()
	if !errors.Is(word, protobuf.ErrMalformed) || !errors.Is(raw, protobuf.ErrMalformed) {
		t.Errorf("%v, %v", word, raw)
	}
}

// TestWhatIsNoTextIsRefused.
func TestWhatIsNoTextIsRefused(t *testing.T) {
	deep := strings.Repeat("a{", protobuf.DepthMax)
	if _, err := protobuf.ParseText([]byte(deep + strings.Repeat("}", protobuf.DepthMax))); err != nil {
		t.Errorf("the deepest message that is allowed: %v", err)
	}
	for name, text := range map[string]string{
		"no colon": "a 1", "no value": "a:", "no name": ": 1", "open message": "a {", "open string": `a: "b`, "wrong end": "a { b: 1 >",
		"line end in string": "a: \"b\n\"", "unknown escape": `a: "\q"`, "large octal": `a: "\777"`, "no hex": `a: "\xg"`,
		"escape at the end": `a: "\`, "end without start": "}", "too deep": deep + "a{" + strings.Repeat("}", protobuf.DepthMax+1),
	} {
		if f, err := protobuf.ParseText([]byte(text)); !errors.Is(err, protobuf.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestAnyStringComesBackFromText, and is written in printable characters.
func TestAnyStringComesBackFromText(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text := protobuf.AppendText(nil, "name", all)
	for _, c := range text[:len(text)-1] {
		if c < ' ' || c > '~' {
			t.Errorf("byte %d is written as it is", c)
		}
	}
	got, err := protobuf.ParseText(text)
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Text, all) {
		t.Errorf("%+v, %v", got, err)
	}
	if got := string(protobuf.AppendText(nil, "dirs", "1\tledger")); got != `dirs: "1\tledger"`+"\n" {
		t.Errorf("%s", got)
	}
}

// FuzzNext: any bytes are fields or are refused, and each field takes at least a byte.
func FuzzNext(f *testing.F) {
	f.Add(protobuf.AppendBytes(protobuf.AppendInt(nil, 1, -1), 2, "text"))
	f.Add([]byte("\x11123456780\x251234"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			_, rest, err := protobuf.Next(b)
			if err != nil {
				if !errors.Is(err, protobuf.ErrMalformed) {
					t.Fatal(err)
				}
				return
			}
			if len(rest) >= len(b) {
				t.Fatalf("%d bytes left of %d", len(rest), len(b))
			}
			b = rest
		}
	})
}

// FuzzParseText: any text is a message or is refused, and a string in it comes back from what is written of it.
func FuzzParseText(f *testing.F) {
	f.Add([]byte("a: 1 b { c: \"x\\001\" 'y' } # end\n"))
	f.Add([]byte("a < b: -0x1f, >;"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := protobuf.ParseText(b)
		if err != nil {
			if !errors.Is(err, protobuf.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		for _, field := range fields {
			if !field.Quoted {
				continue
			}
			again, err := protobuf.ParseText(protobuf.AppendText(nil, field.Name, field.Text))
			if err != nil || len(again) != 1 || !bytes.Equal(again[0].Text, field.Text) {
				t.Fatalf("%q came back as %+v, %v", field.Text, again, err)
			}
		}
	})
}
