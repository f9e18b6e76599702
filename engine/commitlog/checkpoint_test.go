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
