package bench

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/record"
)

func newRaw(t *testing.T, fileBytes int64) *rawLine {
	t.Helper()
	r, err := newRawLine(t.TempDir(), fileBytes, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	return r
}

// TestTheRawLineWritesEveryByteOfEveryGroupInOrder, one group behind the other.
func TestTheRawLineWritesEveryByteOfEveryGroupInOrder(t *testing.T) {
	r := newRaw(t, 1<<20)
	groups := []int64{4096, 12288, 4096, 65536}
	done, err := r.replay(groups)
	if err != nil || done.bytes != 86016 || done.groups != 4 || done.elapsed <= 0 {
		t.Fatalf("replayed %+v, error %v", done, err)
	}
	content, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	want := newSource(sourceBytes, 1).bytes[:done.bytes]
	if !bytes.Equal(content[record.FileHeaderBytes:][:done.bytes], want) {
		t.Error("the file does not hold what the source gave")
	}
	if rest := content[record.FileHeaderBytes+done.bytes:]; !bytes.Equal(rest, make([]byte, len(rest))) {
		t.Error("bytes behind the groups were written")
	}
}

// TestTheRawLineOverwritesItsFileFromTheStart and never makes it longer or touches its header: blocks that were not
// written before would be slower.
func TestTheRawLineOverwritesItsFileFromTheStart(t *testing.T) {
	const fileBytes = 64 << 10
	r := newRaw(t, fileBytes)
	groups := []int64{24 << 10, 24 << 10, 20 << 10}
	if _, err := r.replay(groups); err != nil {
		t.Fatal(err)
	}
	if want := int64(record.FileHeaderBytes + 20<<10); r.offset != want {
		t.Errorf("the next group goes to %d, want %d", r.offset, want)
	}
	info, err := os.Stat(r.path)
	if err != nil || info.Size() != fileBytes {
		t.Errorf("the file has %d bytes, error %v", info.Size(), err)
	}
	page := make([]byte, record.FileHeaderBytes)
	if _, err := r.file.ReadAt(page, 0); err != nil {
		t.Fatal(err)
	}
	if h, err := record.DecodeFileHeader(page, journal.Kind()); err != nil || h.ID != 1 {
		t.Errorf("the header page is gone: %+v, %v", h, err)
	}
}

// TestARawRoundOfALengthGoesOnUntilItIsOver.
func TestARawRoundOfALengthGoesOnUntilItIsOver(t *testing.T) {
	r := newRaw(t, 1<<20)
	const length = 30 * time.Millisecond
	done, err := r.run([]int64{4096}, length)
	if err != nil || done.elapsed < length || done.groups < 2 || done.bytes != int64(done.groups)*4096 {
		t.Errorf("did %+v, error %v", done, err)
	}
}

// TestShortWritesGoOnWhereTheyStopped: what is left of the vectors, for every count the kernel may return.
func TestShortWritesGoOnWhereTheyStopped(t *testing.T) {
	for n := range 10 {
		left := after([][]byte{[]byte("abc"), []byte("defg"), []byte("hi")}, n)
		if got := string(bytes.Join(left, nil)); got != "abcdefghi"[n:] {
			t.Errorf("after %d bytes %q is left", n, got)
		}
	}
}

// TestAGroupWithoutAFileIsAnError of the call that failed, and no round without writes.
func TestAGroupWithoutAFileIsAnError(t *testing.T) {
	if n, err := rawWrite(-1, [][]byte{{1}}, 0); n != 0 || err != unix.EBADF {
		t.Errorf("wrote %d, error %v", n, err)
	}
	if err := rawSync(-1); err != unix.EBADF {
		t.Errorf("synced: %v", err)
	}
	r := newRaw(t, 1<<20)
	r.descriptor = -1
	if done, err := r.replay([]int64{4096}); !errors.Is(err, unix.EBADF) || done.bytes != 0 {
		t.Errorf("did %+v, error %v", done, err)
	}
}
