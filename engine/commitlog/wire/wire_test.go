package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"lakebed/engine/commitlog/wire"
)

func produce() wire.Produce {
	return wire.Produce{Queue: -1, Flag: 3, SysFlag: 1, Born: 0x0102030405, Topic: []byte("orders"), Properties: []byte("TAGS\x01red\x02"), Body: []byte("body")}
}

func pull() wire.Pull {
	return wire.Pull{
		Checked: true, Queue: 2, Offset: 7, Count: 32, Bytes: 1 << 20, SuspendMillis: 20_000, Topic: []byte("orders"),
		Tags: [][]byte{[]byte("red"), {}},
	}
}

func pulled() wire.Pulled {
	return wire.Pulled{
		Status: 1, Next: 9, Low: 3, High: 12, Spans: []wire.Span{{Physical: 4096, Length: 6}, {Physical: 9000, Length: 4}},
		Places: []wire.Place{{Offset: 7, Physical: 4097, Size: 5}, {Offset: 8, Physical: 9000, Size: 4}},
	}
}

// body takes a frame apart that must be one.
func body(t *testing.T, frame []byte) []byte {
	t.Helper()
	n, err := wire.FrameLength(frame, 1<<20)
	if err != nil || n != len(frame)-wire.LengthBytes {
		t.Fatalf("length %d of a frame of %d bytes: %v", n, len(frame), err)
	}
	_, _, rest := wire.ParseHead(frame[wire.LengthBytes:])
	return rest
}

// TestFramesHaveTheBytesOfTheirDescription: what other clients are built on does not change by accident.
func TestFramesHaveTheBytesOfTheirDescription(t *testing.T) {
	p, q, r := produce(), pull(), pulled()
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"produce": {wire.AppendProduce(nil, 5, &p),
			"00000038 01 0000000000000005 ffffffff 00000003 00000001 0000000102030405 0006 6f7264657273 0009 54414753 01 726564 02 00000004 626f6479"},
		"placed": {wire.AppendPlaced(nil, 5, wire.Placed{Queue: 1, QueueOffset: 2, Physical: 3, Stored: 4}),
			"00000026 01 0000000000000005 00 00000001 0000000000000002 0000000000000003 0000000000000004"},
		"pull": {wire.AppendPull(nil, 6, &q),
			"00000032 02 0000000000000006 01 00000002 0000000000000007 00000020 00100000 00004e20 0006 6f7264657273 02 0003 726564 0000"},
		"pulled": {wire.AppendPulled(nil, 6, &r),
			"00000075 02 0000000000000006 00 01 0000000000000009 0000000000000003 000000000000000c" +
				"00000002 0000000000001000 00000006 0000000000002328 00000004" +
				"00000002 0000000000000007 0000000000001001 00000005 0000000000000008 0000000000002328 00000004"},
		"error": {wire.AppendError(nil, wire.OpPull, 6, wire.Corrupt, "bad"), "0000000f 02 0000000000000006 06 0003 626164"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.frame, want) {
			t.Errorf("%s:\ngot  %x\nwant %x", name, c.frame, want)
		}
	}
}

// TestFramesComeBackAsTheyWere, and no other bytes do: neither shorter ones nor longer.
func TestFramesComeBackAsTheyWere(t *testing.T) {
	p, q, r := produce(), pull(), pulled()
	data := []byte("xABCDEwxyz")
	parsers := []struct {
		body  []byte
		parse func(b []byte) (any, error)
		want  any
	}{
		{body(t, wire.AppendProduce(nil, 5, &p)), func(b []byte) (any, error) { return wire.ParseProduce(b) }, p},
		{body(t, wire.AppendPull(nil, 5, &q)), func(b []byte) (any, error) { return wire.ParsePull(b) }, q},
		{body(t, append(wire.AppendPulled(nil, 5, &r), data...))[1:], func(b []byte) (any, error) { got, _, err := wire.ParsePulled(b); return got, err }, r},
		{body(t, wire.AppendPlaced(nil, 5, wire.Placed{Queue: 1}))[1:], func(b []byte) (any, error) { return wire.ParsePlaced(b) }, wire.Placed{Queue: 1}},
	}
	for i, c := range parsers {
		if got, err := c.parse(c.body); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("parser %d: got %+v, %v, want %+v", i, got, err, c.want)
		}
		for n := range c.body {
			if _, err := c.parse(c.body[:n]); !errors.Is(err, wire.ErrFrame) {
				t.Errorf("parser %d takes %d of %d bytes: %v", i, n, len(c.body), err)
			}
		}
		if _, err := c.parse(append(bytes.Clone(c.body), 0)); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("parser %d takes a byte too many: %v", i, err)
		}
	}
}

// TestMessagesAreFoundInTheirSpans, and nothing is where no span is.
func TestMessagesAreFoundInTheirSpans(t *testing.T) {
	r, data := pulled(), []byte("xABCDEwxyz")
	var at wire.Position
	for i, want := range []string{"ABCDE", "wxyz"} {
		if got := r.Bytes(r.Places[i], data, &at); string(got) != want {
			t.Errorf("message %d: %q", i, got)
		}
	}
	for _, wrong := range []wire.Place{{Physical: 4097, Size: 6}, {Physical: 4095, Size: 1}, {Physical: 9001, Size: 4}, {Physical: -1, Size: 1}, {Physical: 1 << 62, Size: 1 << 31}} {
		if got := r.Bytes(wrong, data, &wire.Position{}); got != nil {
			t.Errorf("%+v: %q", wrong, got)
		}
	}
}

// TestAFrameHasBounds: neither too short for its head nor longer than is taken.
func TestAFrameHasBounds(t *testing.T) {
	for n, ok := range map[byte]bool{0: false, 8: false, 9: true, 100: true, 101: false} {
		if _, err := wire.FrameLength([]byte{0, 0, 0, n}, 100); (err == nil) != ok || err != nil && !errors.Is(err, wire.ErrFrame) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if code, text, _, err := wire.ParseCode(body(t, wire.AppendError(nil, wire.OpPull, 1, wire.NoQueue, strings.Repeat("x", 1<<17)))); err != nil || code != wire.NoQueue || len(text) != 1<<10 {
		t.Errorf("a long error: code %d, %d bytes, %v", code, len(text), err)
	}
}

// FuzzParse: whatever the bytes, no parser panics, and what one takes is what would be sent.
func FuzzParse(f *testing.F) {
	p, q, r := produce(), pull(), pulled()
	f.Add(wire.AppendProduce(nil, 5, &p))
	f.Add(wire.AppendPull(nil, 5, &q))
	f.Add(append(wire.AppendPulled(nil, 5, &r), "xABCDEwxyz"...))
	f.Add(wire.AppendError(nil, wire.OpPull, 6, wire.Corrupt, "bad"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < wire.HeadBytes {
			return
		}
		_, sequence, rest := wire.ParseHead(frame[wire.LengthBytes:])
		if p, err := wire.ParseProduce(rest); err == nil && !bytes.Equal(wire.AppendProduce(nil, sequence, &p)[wire.HeadBytes:], rest) {
			t.Errorf("produce %+v", p)
		}
		if q, err := wire.ParsePull(rest); err == nil && !bytes.Equal(wire.AppendPull(nil, sequence, &q)[wire.HeadBytes:], rest) {
			t.Errorf("pull %+v", q)
		}
		code, _, answer, err := wire.ParseCode(rest)
		if err != nil || code != wire.Done {
			return
		}
		if placed, err := wire.ParsePlaced(answer); err == nil && !bytes.Equal(wire.AppendPlaced(nil, sequence, placed)[wire.HeadBytes:], rest) {
			t.Errorf("placed %+v", placed)
		}
		r, data, err := wire.ParsePulled(answer)
		if err != nil {
			return
		}
		if !bytes.Equal(append(wire.AppendPulled(nil, sequence, &r), data...)[wire.HeadBytes:], rest) {
			t.Errorf("pulled %+v", r)
		}
		var at wire.Position
		for _, place := range r.Places {
			if b := r.Bytes(place, data, &at); b != nil && len(b) != int(place.Size) {
				t.Errorf("%d bytes of a message of %d", len(b), place.Size)
			}
		}
	})
}
