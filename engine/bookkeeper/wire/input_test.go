package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host/oshost"
)

// stream hands out its bytes in pieces, then ends with err.
type stream struct {
	bytes []byte
	piece int
	err   error
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.bytes) == 0 {
		return 0, s.err
	}
	n := copy(p[:min(len(p), s.piece)], s.bytes)
	s.bytes = s.bytes[n:]
	return n, nil
}

func frameOf(packet []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)
}

// drain reads packets until the stream ends.
func drain(in *wire.Input, s *stream) (packets [][]byte, err error) {
	for {
		packet, err := in.Next()
		if err != nil {
			return packets, err
		}
		if packet != nil {
			packets = append(packets, bytes.Clone(packet))
			continue
		}
		if err := in.Fill(s); err != nil {
			return packets, err
		}
	}
}

// TestPacketsComeWholeHoweverTheStreamIsSplit, with frames shorter and longer than the buffer, and all memory returned.
func TestPacketsComeWholeHoweverTheStreamIsSplit(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	var all []byte
	for i, size := range []int{4, 60, 61, 5, 1000, 4, 4, 124, 125, 7000, 8, 4} {
		packet := bytes.Repeat([]byte{byte(i + 1)}, size)
		want, all = append(want, packet), append(all, frameOf(packet)...)
	}
	for piece := 1; piece < 600; piece = piece + 1 + piece/8 {
		in := wire.NewInput(h.Memory(), 64, 8000)
		got, err := drain(in, &stream{bytes: all, piece: piece, err: io.EOF})
		if err != io.EOF || len(got) != len(want) {
			t.Fatalf("pieces of %d: %d packets, %v", piece, len(got), err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("pieces of %d: packet %d differs", piece, i)
			}
		}
		if in.Release(); h.Memory().InUse() != 0 {
			t.Fatalf("%d bytes were not returned", h.Memory().InUse())
		}
	}
}

// TestAStreamThatEndsInsideAFrameIsCut, at every byte.
func TestAStreamThatEndsInsideAFrameIsCut(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := append(frameOf([]byte("first")), frameOf([]byte("second"))...)
	for cut := range len(all) + 1 {
		in := wire.NewInput(h.Memory(), 64, 100)
		_, err := drain(in, &stream{bytes: all[:cut], piece: 7, err: io.EOF})
		want := io.ErrUnexpectedEOF
		if cut == 0 || cut == 9 || cut == len(all) {
			want = io.EOF
		}
		if err != want {
			t.Errorf("cut at %d: %v", cut, err)
		}
		in.Release()
	}
}

// TestLengthsNoFrameMayHaveAreRefused, exactly at the bounds.
func TestLengthsNoFrameMayHaveAreRefused(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		length uint32
		ok     bool
	}{{0, false}, {3, false}, {4, true}, {96, true}, {97, false}, {1 << 31, false}, {1<<32 - 1, false}, {1<<32 - 4, false}} {
		in := wire.NewInput(h.Memory(), 64, 100)
		_, err := drain(in, &stream{bytes: binary.BigEndian.AppendUint32(nil, c.length), piece: 100, err: io.EOF})
		if errors.Is(err, wire.ErrMalformed) == c.ok {
			t.Errorf("length %d: %v", c.length, err)
		}
		in.Release()
	}
}

// TestAClaimedLengthTakesNoMemory: the buffer grows with what has come, and shrinks when the long frame is gone.
func TestAClaimedLengthTakesNoMemory(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	const length = 4 << 20
	in := wire.NewInput(h.Memory(), 1024, wire.FrameBytesMax)
	s := &stream{bytes: binary.BigEndian.AppendUint32(nil, length), piece: 1 << 20, err: io.EOF}
	drain(in, s) //nolint:errcheck // it ends inside the frame, on purpose
	if used := h.Memory().InUse(); used > 2048 {
		t.Errorf("a claim of %d bytes took %d", length, used)
	}
	s.bytes = make([]byte, length/4)
	drain(in, s) //nolint:errcheck // as before
	if used := h.Memory().InUse(); used > length {
		t.Errorf("a quarter of %d bytes took %d", length, used)
	}
	s.bytes = append(make([]byte, length-length/4), frameOf(make([]byte, 2000))...)
	if got, err := drain(in, s); err != io.EOF || len(got) != 2 || len(got[0]) != length {
		t.Errorf("%d packets, %v", len(got), err)
	}
	s.bytes = frameOf([]byte("short"))
	drain(in, s) //nolint:errcheck // the memory is what matters
	if used := h.Memory().InUse(); used > 2048 {
		t.Errorf("%d bytes are kept after a long frame", used)
	}
	in.Release()
}
