package message_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"lakebed/engine/seglog/message"
)

// TestGoldenRecord: the bytes on disk, field by field. The checksum was computed by another program.
func TestGoldenRecord(t *testing.T) {
	got := hex.EncodeToString(message.AppendRecord(nil, 0x0102030405060708, []byte("abc")))
	want := "0102030405060708" + "00000018" + "01" + "2a107ae5" + "00000003" + "616263"
	if got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// TestEveryFlippedBitOfARecordIsFound: the checksum covers all of it, header and payload.
func TestEveryFlippedBitOfARecordIsFound(t *testing.T) {
	record := message.AppendRecord(nil, 77, []byte("a payload"))
	if r, n, err := message.Decode(record); err != nil || n != int64(len(record)) || r.Cursor != 77 || string(r.Payload) != "a payload" || r.Filler {
		t.Fatalf("%+v, %d, %v", r, n, err)
	}
	for bit := range len(record) * 8 {
		bad := bytes.Clone(record)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := message.Decode(bad); !errors.Is(err, message.ErrCorrupt) {
			t.Errorf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
	for n := range record {
		if _, _, err := message.Decode(record[:n]); !errors.Is(err, message.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(record), err)
		}
	}
}

// TestFillersAreNoMessages, of the shortest length too.
func TestFillersAreNoMessages(t *testing.T) {
	for _, size := range []int{message.HeaderBytes, message.HeaderBytes + 1, 512} {
		b := message.AppendFiller([]byte("before"), 9, size)[6:]
		if r, n, err := message.Decode(b); err != nil || !r.Filler || r.Cursor != 9 || n != int64(size) {
			t.Errorf("%+v, %d, %v", r, n, err)
		}
	}
}

func groups() []message.Group {
	return []message.Group{
		{Time: 1555553312, Source: []byte("edge-7"), Columns: []message.Column{{Name: []byte("status"), Type: 3}}, Payload: []byte("200\n304\n")},
		{Time: 1555553311, Source: []byte{}, Payload: []byte{}, Topic: "access"},
	}
}

// goldenGroup is the encoding of one group, built by hand from the definition of the format.
const goldenGroup = "0a29" + "0920dcb75c00000000" + "1206656467652d37" + "1a0a" + "0a06737461747573" + "1003" + "2000" + "2a083230300a3330340a"

// TestGoldenLogGroupList: field numbers and types are those of the source.
func TestGoldenLogGroupList(t *testing.T) {
	if got := hex.EncodeToString(message.Append(nil, groups()[:1])); got != goldenGroup {
		t.Errorf("%s\n%s", got, goldenGroup)
	}
}

// TestLogGroupsComeBack, and the message's time is the largest of its groups, whatever their order.
func TestLogGroupsComeBack(t *testing.T) {
	b := message.Append(nil, groups())
	got, err := message.Parse(b)
	if err != nil || !reflect.DeepEqual(got, groups()) {
		t.Errorf("%+v, %v", got, err)
	}
	if newest, err := message.NewestTime(b); newest != 1555553312 || err != nil {
		t.Errorf("%d, %v", newest, err)
	}
}

// TestWhatIsNoListIsRefused: each required field is missed, unknown fields are not.
func TestWhatIsNoListIsRefused(t *testing.T) {
	group := goldenGroup[4:]
	list := func(body string) []byte {
		b, err := hex.DecodeString(body)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{0x0a, byte(len(b))}, b...)
	}
	cut := func(part string) string { return strings.Replace(group, part, "", 1) }
	for name, body := range map[string]string{
		"time": cut("0920dcb75c00000000"), "source": cut("1206656467652d37"), "compression": cut("2000"), "payload": cut("2a083230300a3330340a"),
		"name of column": strings.Replace(group, "1a0a0a067374617475731003", "1a021003", 1), "time as varint": strings.Replace(group, "0920dcb75c00000000", "0801", 1),
	} {
		_, err := message.NewestTime(list(body))
		if _, parsed := message.Parse(list(body)); !errors.Is(err, message.ErrMalformed) || !errors.Is(parsed, message.ErrMalformed) {
			t.Errorf("without %s: %v, %v", name, err, parsed)
		}
	}
	if newest, err := message.NewestTime(list(group + "3a0161")); err != nil || newest != 1555553312 {
		t.Errorf("with a field 7: %d, %v", newest, err)
	}
	if _, err := message.NewestTime(nil); !errors.Is(err, message.ErrMalformed) {
		t.Errorf("an empty list has no time: %v", err)
	}
}

// TestPackedPayloadsUnpackToTheSame, up to the bound of who unpacks, and a code that is not known is said to be so.
func TestPackedPayloadsUnpackToTheSame(t *testing.T) {
	plain := []byte(strings.Repeat("GET /index.html 200\n", 50))
	g := message.Group{Payload: plain}
	if err := g.Pack(message.Deflate); err != nil || g.Compression != message.Deflate || len(g.Payload) > len(plain)/4 {
		t.Fatalf("%v, code %d, %d bytes", err, g.Compression, len(g.Payload))
	}
	if got, err := g.Unpack(int64(len(plain))); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := g.Unpack(int64(len(plain)) - 1); !errors.Is(err, message.ErrCompression) {
		t.Errorf("one byte more than is taken: %v", err)
	}
	if err := g.Pack(message.Deflate); !errors.Is(err, message.ErrCompression) {
		t.Errorf("packed twice: %v", err)
	}
	for _, bad := range []message.Group{{Compression: 2}, {Compression: message.Deflate, Payload: []byte("\xff\xff\xff")}} {
		if _, err := bad.Unpack(100); !errors.Is(err, message.ErrCompression) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// FuzzDecode: any bytes are a record, or ErrCorrupt; a record encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add(message.AppendRecord(nil, 3, []byte("payload")))
	f.Add(message.AppendFiller(nil, 3, 40))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, size, err := message.Decode(b)
		if err != nil {
			if !errors.Is(err, message.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if r.Filler {
			return // its zeros are not looked at
		}
		if again := message.AppendRecord(nil, r.Cursor, r.Payload); !bytes.Equal(again, b[:size]) {
			t.Fatalf("%x decodes to %+v, which is %x", b[:size], r, again)
		}
	})
}

// FuzzParse: any bytes are a list, or ErrMalformed; Parse and NewestTime agree; a list that is written again is the same.
func FuzzParse(f *testing.F) {
	f.Add(message.Append(nil, groups()))
	f.Add([]byte("\x0a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := message.Parse(b)
		newest, timeErr := message.NewestTime(b)
		if err != nil {
			if !errors.Is(err, message.ErrMalformed) || timeErr == nil {
				t.Fatalf("%v, %v", err, timeErr)
			}
			return
		}
		if (timeErr == nil) != (len(parsed) > 0) {
			t.Fatalf("%d groups, time %d: %v", len(parsed), newest, timeErr)
		}
		again, err := message.Parse(message.Append(nil, parsed))
		if err != nil || len(again) != len(parsed) {
			t.Fatalf("%d groups become %d: %v", len(parsed), len(again), err)
		}
		for i := range parsed {
			if again[i].Time != parsed[i].Time || !bytes.Equal(again[i].Payload, parsed[i].Payload) || len(again[i].Columns) != len(parsed[i].Columns) {
				t.Fatalf("%+v becomes %+v", parsed[i], again[i])
			}
			_, _ = parsed[i].Unpack(1 << 16)
		}
	})
}
