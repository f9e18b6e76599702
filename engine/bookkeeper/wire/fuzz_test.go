package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host/oshost"
)

// FuzzRequest: no packet makes the decoder panic, what is refused is malformed, and what is accepted encodes to a frame
// that decodes to the same.
func FuzzRequest(f *testing.F) {
	for _, c := range goldenRequests {
		f.Add(unhex(c.frame)[4:])
	}
	f.Add(unhex("0a04080310021800"))
	f.Add(unhex("02020001" + "00000000000000070000000000000003"))
	f.Add(unhex("02020000" + "00000000000000070000000000000003" + "850bf1071c5e3d8c24235676f8816ae0cbe2f14f"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		var first, second wire.Request
		if err := first.Decode(packet); err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("%v is not ErrMalformed", err)
			}
			return
		}
		frame := first.Append(nil)
		if len(frame) != first.FrameBytes() {
			t.Fatalf("frame of %d bytes, said %d", len(frame), first.FrameBytes())
		}
		if err := second.Decode(frame[4:]); err != nil {
			t.Fatalf("own encoding does not decode: %v", err)
		}
		first.Body, second.Body = emptyAsNil(first.Body), emptyAsNil(second.Body)
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v became %+v", first, second)
		}
		if first.Operation == wire.Auth {
			checkAuth(t, first.Body)
		}
	})
}

func checkAuth(t *testing.T, body []byte) {
	m, err := wire.DecodeAuth(body)
	if err != nil {
		return
	}
	again, err := wire.DecodeAuth(m.Append(nil))
	if err != nil || again.Plugin != m.Plugin || !bytes.Equal(again.Payload, m.Payload) {
		t.Fatalf("auth %+v became %+v, %v", m, again, err)
	}
}

// FuzzResponse is FuzzRequest for responses. What a batch read's answer holds takes no more room than it came with.
func FuzzResponse(f *testing.F) {
	for _, c := range goldenResponses {
		f.Add(unhex(c.frame)[4:])
	}
	f.Add(unhex("02070000" + "00000000" + "0000000000000001" + "0000000000000003" + "0000000000000009" + "ffffffff"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		var first, second wire.Response
		if err := first.Decode(packet); err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("%v is not ErrMalformed", err)
			}
			return
		}
		frame := first.Append(nil)
		if len(frame) != first.FrameBytes(len(first.Body)) {
			t.Fatalf("frame of %d bytes, said %d", len(frame), first.FrameBytes(len(first.Body)))
		}
		if err := second.Decode(frame[4:]); err != nil {
			t.Fatalf("own encoding does not decode: %v", err)
		}
		first.Body, second.Body = emptyAsNil(first.Body), emptyAsNil(second.Body)
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v became %+v", first, second)
		}
		if first.Operation == wire.BatchRead {
			checkEntries(t, first.Body)
		}
	})
}

func checkEntries(t *testing.T, body []byte) {
	count, err := wire.CountEntries(body)
	if err != nil {
		return
	}
	var again []byte
	for rest := body; len(rest) > 0; count-- {
		var entry []byte
		entry, rest, _ = wire.NextEntry(rest)
		again = wire.AppendEntry(again, entry)
	}
	if count != 0 || !bytes.Equal(again, body) {
		t.Fatalf("%d entries uncounted, %x became %x", count, body, again)
	}
}

// FuzzInput: however a stream is split, the packets are the same, and none is longer than allowed.
func FuzzInput(f *testing.F) {
	for _, c := range goldenRequests {
		f.Add(unhex(c.frame), 1)
		f.Add(append(unhex(c.frame), unhex(c.frame)...), 7)
	}
	f.Add([]byte{0, 0, 0, 3}, 2)
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3}, 3)
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input []byte, piece int) {
		const frameMax = 300
		read := func(piece int) ([][]byte, error) {
			in := wire.NewInput(h.Memory(), wire.InputBytesMin, frameMax)
			defer in.Release()
			return drain(in, &stream{bytes: input, piece: piece, err: io.EOF})
		}
		split, splitErr := read(1 + int(uint(piece)%200))
		whole, wholeErr := read(len(input) + 1)
		if fmt.Sprint(splitErr) != fmt.Sprint(wholeErr) || len(split) != len(whole) {
			t.Fatalf("%d packets and %v, but %d and %v", len(split), splitErr, len(whole), wholeErr)
		}
		for i := range whole {
			if !bytes.Equal(split[i], whole[i]) || len(whole[i]) > frameMax-4 {
				t.Fatalf("packet %d: %x and %x", i, split[i], whole[i])
			}
		}
		if h.Memory().InUse() != 0 {
			t.Fatalf("%d bytes are left in use", h.Memory().InUse())
		}
	})
}
