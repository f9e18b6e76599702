package message_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"lakebed/engine/commitlog/message"
)

func sample() message.Message {
	properties, err := message.AppendProperties(nil,
		message.Property{Name: message.PropertyTags, Value: "blue"}, message.Property{Name: message.PropertyKeys, Value: "k1 k2"})
	if err != nil {
		panic(err)
	}
	return message.Message{
		Topic: []byte("orders"), Queue: 3, Flag: 7, QueueOffset: 11, PhysicalOffset: 4096, SysFlag: message.FlagMultiTags,
		BornTimestamp: 1_555_553_312_000, BornHost: message.Address{IP: [16]byte{10, 0, 0, 1}, Port: 5000},
		StoreTimestamp: 1_555_553_312_001, StoreHost: message.Address{IP: [16]byte{10, 0, 0, 2}, Port: 10911},
		ReconsumeTimes: 1, PreparedOffset: 99, Body: []byte("body"), Properties: properties,
	}
}

// variants are messages that take every form the layout has.
func variants() []message.Message {
	plain := sample()
	six := sample()
	six.SysFlag |= message.FlagBornHostIPv6 | message.FlagStoreHostIPv6
	six.BornHost.IP[15], six.StoreHost.IP[15] = 1, 2
	long := sample()
	long.Topic = []byte(strings.Repeat("t", 128))
	edge := sample()
	edge.Topic = []byte(strings.Repeat("t", 127))
	bare := message.Message{Topic: []byte("t")}
	return []message.Message{plain, six, long, edge, bare}
}

// TestTheBytesOfARecordStayAsTheyAre: the layout is a promise to whoever reads the files.
func TestTheBytesOfARecordStayAsTheyAre(t *testing.T) {
	const want = "0000007adaa320a778d198b00000000300000007000000000000000b000000000000100000000002"
	m := sample()
	got := message.Append(nil, &m)
	if len(got) != m.Size() || len(got) != message.FixedBytes+len("body")+len("orders")+len(m.Properties) {
		t.Fatalf("%d bytes, size %d", len(got), m.Size())
	}
	if text := hex.EncodeToString(got[:40]); text != want {
		t.Errorf("first bytes %s, want %s", text, want)
	}
	if !bytes.Equal(got[88:92], []byte("body")) || got[92] != 6 || string(got[93:99]) != "orders" {
		t.Errorf("body and topic: %q", got[88:99])
	}
	if blank := hex.EncodeToString(message.AppendBlank(nil, 4096, 300)); blank != "0000012ccbd431940000000000001000d5047214" {
		t.Errorf("blank %s", blank)
	}
}

// TestWhatWasEncodedIsDecoded in every form of the layout.
func TestWhatWasEncodedIsDecoded(t *testing.T) {
	for i, m := range variants() {
		p := message.Append([]byte("before"), &m)[len("before"):]
		if len(p) != m.Size() {
			t.Errorf("variant %d: %d bytes, size %d", i, len(p), m.Size())
		}
		got, err := message.Decode(p, m.PhysicalOffset)
		if err != nil {
			t.Errorf("variant %d: %v", i, err)
		}
		if m.Body == nil {
			m.Body, m.Properties = []byte{}, []byte{}
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("variant %d: %+v became %+v", i, m, got)
		}
	}
}

// TestEveryFlippedBitIsFound, in the header as in the body, which upstream's checksum of the body alone does not find.
func TestEveryFlippedBitIsFound(t *testing.T) {
	for _, m := range variants() {
		p := message.Append(nil, &m)
		for bit := range len(p) * 8 {
			p[bit/8] ^= 1 << (bit % 8)
			if _, err := message.Decode(p, m.PhysicalOffset); !errors.Is(err, message.ErrCorrupt) {
				t.Fatalf("bit %d flipped: %v", bit, err)
			}
			p[bit/8] ^= 1 << (bit % 8)
		}
		for n := range len(p) {
			if _, err := message.Decode(p[:n], m.PhysicalOffset); !errors.Is(err, message.ErrCorrupt) {
				t.Fatalf("cut to %d of %d: %v", n, len(p), err)
			}
		}
	}
}

// TestARecordOfAnotherOffsetIsToldApart: a file that is used again holds whole records of its former life.
func TestARecordOfAnotherOffsetIsToldApart(t *testing.T) {
	m := sample()
	if _, err := message.Decode(message.Append(nil, &m), m.PhysicalOffset+1<<30); !errors.Is(err, message.ErrElsewhere) {
		t.Errorf("got %v", err)
	}
}

// TestABlankProvesWhereItLies: not one bit of it is another, it is whole, and it was written for this very offset.
func TestABlankProvesWhereItLies(t *testing.T) {
	const at = 5 << 30
	p := message.AppendBlank(nil, at, 300)
	if kind, reach := message.Peek(p); kind != message.Blank || reach != 300 || len(p) != message.BlankBytes {
		t.Fatalf("%d bytes: kind %d, reach %d", len(p), kind, reach)
	}
	if err := message.CheckBlank(p, at); err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []int64{0, at - 1, at + 1<<30} {
		if err := message.CheckBlank(p, elsewhere); !errors.Is(err, message.ErrElsewhere) {
			t.Errorf("at %d: %v", elsewhere, err)
		}
	}
	for bit := range len(p) * 8 {
		p[bit/8] ^= 1 << (bit % 8)
		if err := message.CheckBlank(p, at); !errors.Is(err, message.ErrCorrupt) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
		p[bit/8] ^= 1 << (bit % 8)
	}
	for n := range len(p) {
		if err := message.CheckBlank(p[:n], at); !errors.Is(err, message.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// TestHashesAreThoseOfJava: consumers of upstream compute them too. "Aa" and "BB" collide.
func TestHashesAreThoseOfJava(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "a": 97, "Aa": 2112, "BB": 2112, "TagA": 2598919, "polygenelubricants": -2147483648, "é": 233, "\U0001F600": 1772899,
	} {
		if got := message.TagHash([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := message.KeyHash([]byte("polygenelubrican"), []byte("ts")); got < 0 {
		t.Errorf("negative hash %d", got)
	}
	a, b := sample(), sample()
	a.Properties, _ = message.AppendProperties(nil, message.Property{Name: "TAGS", Value: "Aa"})
	b.Properties, _ = message.AppendProperties(nil, message.Property{Name: "TAGS", Value: "BB"})
	if message.TagHash(a.Tag()) != message.TagHash(b.Tag()) || a.HasTag("BB") || !b.HasTag("BB") {
		t.Error("colliding tags are told apart by the tag itself")
	}
}

// TestPropertiesAndKeysAreFound, and a separator in one is refused.
func TestPropertiesAndKeysAreFound(t *testing.T) {
	m := sample()
	m.Properties, _ = message.AppendProperties(m.Properties, message.Property{Name: message.PropertyUniqueKey, Value: "u"})
	var keys []string
	m.Keys(func(key []byte) { keys = append(keys, string(key)) })
	if !reflect.DeepEqual(keys, []string{"u", "k1", "k2"}) {
		t.Errorf("keys %q", keys)
	}
	if _, ok := m.Property("TAG"); ok {
		t.Error("a property that nobody set")
	}
	if _, err := message.AppendProperties(nil, message.Property{Name: "a", Value: "b\x02c"}); !errors.Is(err, message.ErrIllegal) {
		t.Errorf("separator: %v", err)
	}
}

// TestATagThatNobodyCanAskForIsRefused: || stands between the tags of a subscription. One stroke is a part of a tag.
func TestATagThatNobodyCanAskForIsRefused(t *testing.T) {
	for tag, refused := range map[string]bool{"": false, "a": false, "a|b": false, "||": true, "a||b": true, "a |||": true} {
		m := sample()
		m.Properties, _ = message.AppendProperties(nil, message.Property{Name: message.PropertyTags, Value: tag})
		if err := m.Check(); errors.Is(err, message.ErrIllegal) != refused || refused && !strings.Contains(err.Error(), "separates the tags") {
			t.Errorf("%q: %v", tag, err)
		}
	}
}

// FuzzDecode: arbitrary bytes are an error or a message that encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, m := range variants() {
		f.Add(message.Append(nil, &m), m.PhysicalOffset)
	}
	f.Add(message.AppendBlank(nil, 0, 100), int64(0))
	f.Fuzz(func(t *testing.T, p []byte, physical int64) {
		message.Peek(p)
		if err := message.CheckBlank(p, physical); err == nil {
			if _, reach := message.Peek(p); !bytes.Equal(message.AppendBlank(nil, physical, reach), p) {
				t.Fatalf("%x is taken for a blank at %d", p, physical)
			}
		}
		if len(p) >= message.FixedBytes { // a right checksum, or the fuzzer never gets past it
			message.SetChecksum(p)
		}
		m, err := message.Decode(p, physical)
		if err != nil {
			if !errors.Is(err, message.ErrCorrupt) && !errors.Is(err, message.ErrElsewhere) {
				t.Fatal(err)
			}
			return
		}
		if got := message.Append(nil, &m); !bytes.Equal(got, p) {
			t.Fatalf("%x became %x", p, got)
		}
		m.Keys(func([]byte) {})
	})
}

// TestAnEarlyChecksumIsThatOfTheRecord: computed in two parts or at once, of every form and of bodies around the length
// at which it is computed early.
func TestAnEarlyChecksumIsThatOfTheRecord(t *testing.T) {
	early := 0
	for i, m := range variants() {
		for _, n := range []int{0, 1, 380, 400, 420, 440, 460, 480, 500, 3990, 4000, 4040, 4060, 4080, 4096, 5000, 16_384, 16_385, 100_003} {
			m.Body = bytes.Repeat([]byte{byte(n), byte(i), 7}, n/3+1)[:n]
			rest := message.RestOf(&m)
			if rest != (message.Rest{}) {
				early++
			}
			if got, want := message.AppendWith([]byte("x"), &m, rest), message.Append([]byte("x"), &m); !bytes.Equal(got, want) {
				t.Fatalf("form %d with a body of %d bytes: the records differ", i, n)
			}
		}
	}
	if early < 20 {
		t.Errorf("only %d checksums were computed early", early)
	}
}

// BenchmarkAppend is what an append does under the lock of the open group: with the whole checksum, and with the rest of it
// computed before.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 1 << 10, 16 << 10} {
		m := sample()
		m.Body = make([]byte, n)
		rest := message.RestOf(&m)
		buffer := make([]byte, 0, m.Size())
		b.Run(fmt.Sprintf("whole/%d", n), func(b *testing.B) {
			for range b.N {
				message.Append(buffer, &m)
			}
		})
		b.Run(fmt.Sprintf("early/%d", n), func(b *testing.B) {
			for range b.N {
				message.AppendWith(buffer, &m, rest)
			}
		})
		b.Run(fmt.Sprintf("before/%d", n), func(b *testing.B) {
			for range b.N {
				message.RestOf(&m)
			}
		})
	}
}
