package echo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// script is a connection that delivers bytes in pieces of at most chunk, and then ends. Only reading is there.
type script struct {
	host.Conn
	bytes []byte
	chunk int
	err   error
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.bytes) == 0 {
		return 0, s.err
	}
	n := copy(p[:min(len(p), s.chunk)], s.bytes)
	s.bytes = s.bytes[n:]
	return n, nil
}

func (s *script) Peer() string { return "script" }

func newMemory(t testing.TB) host.Memory {
	t.Helper()
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return h.Memory()
}

// TestFramesHaveTheseBytes fixes the format, since both ends could otherwise change it together.
func TestFramesHaveTheseBytes(t *testing.T) {
	got := newFrame(newMemory(t), 0x0102030405060708, []byte("payload"))
	want := "\x00\x00\x00\x07\x01\x02\x03\x04\x05\x06\x07\x08payload"
	if string(got) != want {
		t.Errorf("got %q, want %q", []byte(got), want)
	}
}

// stream is three frames one after the other, the middle one longer than the input's buffer.
func stream(memory host.Memory) (flat []byte, payloads [][]byte) {
	payloads = [][]byte{[]byte("first"), bytes.Repeat([]byte("long"), inputBytes/3), {}}
	for i, payload := range payloads {
		flat = append(flat, newFrame(memory, uint64(i), payload)...)
	}
	return flat, payloads
}

// TestFramesComeWholeHoweverTheStreamIsSplit, in order, and the end between frames is a plain EOF.
func TestFramesComeWholeHoweverTheStreamIsSplit(t *testing.T) {
	memory := newMemory(t)
	flat, payloads := stream(memory)
	for _, chunk := range []int{1, 2, 11, 12, 13, 17, inputBytes - 1, inputBytes, 1 << 20} {
		in := newInput(&script{bytes: flat, chunk: chunk, err: io.EOF}, memory, 1<<20)
		for i, want := range payloads {
			f, err := in.next()
			if err != nil {
				t.Fatalf("pieces of %d, frame %d: %v", chunk, i, err)
			}
			if f.sequence() != uint64(i) || !bytes.Equal(f.payload(), want) {
				t.Errorf("pieces of %d: frame %d came back changed", chunk, i)
			}
			memory.Put(f)
		}
		if _, err := in.next(); err != io.EOF {
			t.Errorf("pieces of %d: got %v at the end", chunk, err)
		}
		in.release()
	}
}

// TestAStreamCutInsideAFrameSaysSo at every byte of a frame, and keeps no buffer.
func TestAStreamCutInsideAFrameSaysSo(t *testing.T) {
	memory := newMemory(t)
	whole := newFrame(memory, 3, []byte("payload"))
	before := memory.InUse()
	for cut := range len(whole) + 1 {
		in := newInput(&script{bytes: whole[:cut], chunk: 5, err: io.EOF}, memory, 100)
		f, err := in.next()
		want := io.ErrUnexpectedEOF
		switch cut {
		case 0:
			want = io.EOF
		case len(whole):
			want = nil
			memory.Put(f)
		}
		if err != want {
			t.Errorf("cut after %d bytes: got %v, want %v", cut, err, want)
		}
		in.release()
	}
	if memory.InUse() != before {
		t.Errorf("%d bytes of buffers were kept", memory.InUse()-before)
	}
}

// TestAPayloadAtTheBoundIsTakenAndOneBeyondIsNot, before any space is set aside for it.
func TestAPayloadAtTheBoundIsTakenAndOneBeyondIsNot(t *testing.T) {
	memory := newMemory(t)
	for length, want := range map[int]error{99: nil, 100: nil, 101: ErrFrame} {
		in := newInput(&script{bytes: newFrame(memory, 0, make([]byte, length)), chunk: 1000, err: io.EOF}, memory, 100)
		before := memory.InUse()
		if _, err := in.next(); !errors.Is(err, want) {
			t.Errorf("payload of %d bytes: got %v, want %v", length, err, want)
		} else if want != nil && memory.InUse() != before {
			t.Error("space was set aside for a frame that is refused")
		}
	}
}

// FuzzInput: whatever arrives, in whatever pieces, gives whole frames within the bound or an error, and no buffer is
// lost.
func FuzzInput(f *testing.F) {
	memory := newMemory(f)
	flat, _ := stream(memory)
	f.Add(flat, 100)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1)
	f.Add([]byte{0, 0, 0, 0}, 3)
	f.Fuzz(func(t *testing.T, sent []byte, chunk int) {
		const bound = 1000
		before := memory.InUse()
		in := newInput(&script{bytes: sent, chunk: max(chunk, 1), err: io.EOF}, memory, bound)
		var again []byte
		for {
			got, err := in.next()
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, ErrFrame) {
					t.Fatalf("an error of no class: %v", err)
				}
				break
			}
			if len(got.payload()) > bound {
				t.Fatalf("a payload of %d bytes", len(got.payload()))
			}
			again = append(again, got...)
			memory.Put(got)
		}
		in.release()
		if !bytes.HasPrefix(sent, again) {
			t.Fatal("the frames are not what was sent")
		}
		if memory.InUse() != before {
			t.Fatalf("%d bytes of buffers were lost", memory.InUse()-before)
		}
	})
}

func TestConfigurationHasDefaultsAndRefusesNegativeBounds(t *testing.T) {
	config, err := Config{QueueFrames: 7}.withDefaults()
	if err != nil || config.QueueFrames != 7 || config.FrameBytesMax != 1<<20 || config.RequestTimeout == 0 {
		t.Errorf("got %+v, %v", config, err)
	}
	for _, bad := range []Config{{FrameBytesMax: -1}, {QueueFrames: -1}, {Connections: -1}, {ConnectionsMax: -1},
		{ReadIdle: -1}, {WriteStall: -1}, {RequestTimeout: -1}} {
		if _, err := bad.withDefaults(); err == nil {
			t.Errorf("%s was accepted", fmt.Sprintf("%+v", bad))
		}
	}
}
