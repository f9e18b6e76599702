package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"slices"
	"testing"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
)

func sampleCheckpoint() checkpoint {
	return checkpoint{
		synced: 4096, dispatched: 2048, stored: 77, clean: true, index: []byte("index"),
		queues: []queueRecord{
			{topic: "a", id: 0, state: consumequeue.State{First: 1, Count: 128, Rest: make([]byte, 40)}},
			{topic: "b", id: 3, state: consumequeue.State{Rest: []byte{}}},
		},
	}
}

// TestACheckpointReadsAsItWasWritten, and one with a flipped bit or a missing end does not read.
func TestACheckpointReadsAsItWasWritten(t *testing.T) {
	want := sampleCheckpoint()
	p := want.encode()
	if got, err := decodeCheckpoint(p); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v became %+v, %v", want, got, err)
	}
	for bit := range len(p) * 8 {
		p[bit/8] ^= 1 << (bit % 8)
		if _, err := decodeCheckpoint(p); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
		p[bit/8] ^= 1 << (bit % 8)
	}
	for n := range len(p) {
		if _, err := decodeCheckpoint(p[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d: %v", n, len(p), err)
		}
	}
}

// claimedFile is a file of which the length is a lie: behind its bytes all is one value.
type claimedFile struct {
	host.File
	bytes []byte
	rest  byte
	size  int64
	read  int64 // bytes that were asked for
}

func (f *claimedFile) Size() (int64, error) { return f.size, nil }

func (f *claimedFile) ReadAt(p []byte, off int64) (int, error) {
	f.read += int64(len(p))
	n := 0
	if off < int64(len(f.bytes)) {
		n = copy(p, f.bytes[off:])
	}
	if n < len(p) {
		p[n] = f.rest
		for done := 1; n+done < len(p); done *= 2 {
			copy(p[n+done:], p[n:n+done])
		}
	}
	return len(p), nil
}

// TestTheLengthOfACheckpointsFileIsNotBelieved: whatever it says, no more is read than a few queues could have, and the slot is bad.
func TestTheLengthOfACheckpointsFileIsNotBelieved(t *testing.T) {
	sample := sampleCheckpoint()
	whole := sample.encode()
	changed := func(at int, value byte) []byte {
		p := slices.Clone(whole)
		for i := range 4 {
			p[at+i] = value
		}
		return p
	}
	const indexLength, indexBytes, most = 44, 5, 4 << 20 // the units of one queue may have 1.3 MB
	for name, begin := range map[string][]byte{
		"nothing": nil, "whole": whole, "half": whole[:len(whole)/2], "index of 4 GiB": changed(indexLength, 0xff),
		"queues without end": changed(indexLength+4+indexBytes, 0xff), "magic only": whole[:4],
	} {
		for _, rest := range []byte{0, 0x5a, 0xff} {
			for _, size := range []int64{readAtFirst + 1, 1 << 62} {
				f := &claimedFile{bytes: begin, rest: rest, size: size}
				if _, err := readCheckpoint(f); !errors.Is(err, ErrCorrupt) || f.read > most {
					t.Errorf("%s, then %#x up to %d bytes: %d were read, %v", name, rest, size, f.read, err)
				}
			}
		}
	}
}

// TestALongCheckpointIsReadInParts: thousands of queues do not fit into the first.
func TestALongCheckpointIsReadInParts(t *testing.T) {
	want := sampleCheckpoint()
	for id := range int32(12_000) {
		state := consumequeue.State{First: 1, Count: 128, Rest: make([]byte, int(id%5)*consumequeue.UnitBytes)}
		want.queues = append(want.queues, queueRecord{topic: "long", id: id, state: state})
	}
	p := want.encode()
	f := &claimedFile{bytes: p, size: int64(len(p))}
	got, err := readCheckpoint(f)
	if err != nil || !reflect.DeepEqual(got, want) || f.read != f.size || f.size < 2*readAtFirst {
		t.Errorf("%d of %d bytes were read, %d queues, %v", f.read, f.size, len(got.queues), err)
	}
	f.size++
	if _, err := readCheckpoint(f); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with a byte more: %v", err)
	}
}

// FuzzCheckpoint: arbitrary bytes are an error or a checkpoint that encodes to the same bytes; to the same checkpoint, where
// an earlier version wrote them.
func FuzzCheckpoint(f *testing.F) {
	c := sampleCheckpoint()
	p := c.encode()
	f.Add(p)
	f.Add(slices.Concat(binary.BigEndian.AppendUint32(nil, formerMagic), p[4:8], p[16:]))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) >= checkpointHeadBytes { // a right checksum, or the fuzzer never gets past it
			binary.BigEndian.PutUint32(p[4:], crc32.Checksum(p[checkpointHeadBytes:], castagnoli))
		}
		c, err := decodeCheckpoint(p)
		if err != nil {
			return
		}
		again := c.encode()
		if binary.BigEndian.Uint32(p) == checkpointMagic {
			if !bytes.Equal(again, p) {
				t.Fatalf("%x became %x", p, again)
			}
			return
		}
		if same, err := decodeCheckpoint(again); err != nil || !reflect.DeepEqual(same, c) {
			t.Fatalf("%x became %+v, and not %+v: %v", p, same, c, err)
		}
	})
}
