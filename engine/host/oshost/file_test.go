package oshost

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// newTestFile makes a file in a new volume of a new host.
func newTestFile(t testing.TB) *file {
	t.Helper()
	h, err := New(Config{Volumes: map[string]string{"v": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("v")
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f.(*file)
}

// TestAGatherWriteOfAnyCountIsOneRun tries counts on both sides of the kernel's limit, with empty buffers between. The
// contract suite reads back as well; here the count of a single call must be whole, which no short write excuses.
func TestAGatherWriteOfAnyCountIsOneRun(t *testing.T) {
	f := newTestFile(t)
	for _, count := range []int{1, 2, 8, 9, vectorsMax - 1, vectorsMax, vectorsMax + 1, 2*vectorsMax + 3} {
		var buffers [][]byte
		for i := range count {
			buffers = append(buffers, []byte{byte(i), byte(i >> 8)}, nil)
		}
		want := bytes.Join(buffers, nil)
		n, err := f.WriteBuffersAt(buffers, 11)
		if err != nil || n != int64(len(want)) {
			t.Fatalf("%d buffers: wrote %d of %d bytes, error %v", count, n, len(want), err)
		}
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, 11); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d buffers came back changed, error %v", count, err)
		}
	}
}

// TestPooledVectorsKeepNoBufferAlive: the pool lives as long as the host.
func TestPooledVectorsKeepNoBufferAlive(t *testing.T) {
	f := newTestFile(t)
	vectors := new([vectorsMax]unix.Iovec)
	f.host.vectors.pool.Put(vectors)
	for range 10 {
		if _, err := f.WriteBuffersAt([][]byte{{1}, {2}, {3}}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range vectors {
		if vectors[i].Base != nil {
			t.Fatalf("vector %d still points to a buffer", i)
		}
	}
}

// TestCloseWaitsForCallsInsideTheFile: writers that race with Close either write or hear ErrClosed. Another file is
// opened at once to take over the descriptor; none of their bytes may land there.
func TestCloseWaitsForCallsInsideTheFile(t *testing.T) {
	for range 50 {
		f := newTestFile(t)
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for {
					if _, err := f.WriteBuffersAt([][]byte{{1}, {2}}, 0); err != nil {
						if !errors.Is(err, host.ErrClosed) {
							t.Errorf("write: %v", err)
						}
						return
					}
				}
			})
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		next := newTestFile(t)
		writers.Wait()
		if size, err := next.Size(); size != 0 || err != nil {
			t.Fatalf("a file opened after the close has %d bytes, error %v", size, err)
		}
		next.Close()
	}
}

// TestAllocateWithoutTheKernelsHelpWritesZeros tests what file systems get that cannot reserve space.
func TestAllocateWithoutTheKernelsHelpWritesZeros(t *testing.T) {
	f := newTestFile(t)
	if err := host.WriteFullAt(f, []byte("data"), 10); err != nil {
		t.Fatal(err)
	}
	used := bytes.Repeat([]byte{0xEE}, zeroChunkBytes) // the chunk of zeros may come from here
	f.host.memory.Put(append(f.host.memory.Get(zeroChunkBytes)[:0], used...))
	const end = 2*zeroChunkBytes + 5
	if err := f.writeZeros(end); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, end+1)
	n, err := f.ReadAt(got, 0)
	if n != end || err != io.EOF {
		t.Fatalf("the file has %d bytes, want %d; error %v", n, end, err)
	}
	want := make([]byte, end)
	copy(want[10:], "data")
	if !bytes.Equal(got[:end], want) {
		t.Error("the file does not hold its data and zeros")
	}
	if err := f.writeZeros(20); err != nil {
		t.Fatal(err)
	}
	if size, _ := f.Size(); size != end {
		t.Errorf("the fallback changed the size to %d", size)
	}
	if f.host.memory.InUse() != 0 {
		t.Error("the chunk of zeros was kept")
	}
}

func TestAllocateRefusesWhatIsNegative(t *testing.T) {
	f := newTestFile(t)
	if err := f.Allocate(-1, 5); err == nil {
		t.Error("a negative offset was accepted")
	}
	if err := f.Allocate(5, -1); err == nil {
		t.Error("a negative count was accepted")
	}
	if err := f.Allocate(5, 0); err != nil {
		t.Errorf("nothing to allocate: %v", err)
	}
}

// TestVolumesAreMadeWithTheirParents: the first start on a machine finds nothing.
func TestVolumesAreMadeWithTheirParents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "journal")
	h, err := New(Config{Volumes: map[string]string{"journal": path}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Disk("journal"); err != nil {
			t.Fatal(err)
		}
	}
	if !isDirectory(path) {
		t.Error("the directory of the volume was not made")
	}
	if _, err := h.Disk("other"); !errors.Is(err, host.ErrNotExist) {
		t.Errorf("a volume that is not configured: error %v", err)
	}
}

// TestAVolumeThatIsAFileIsRefused and leaves the file alone.
func TestAVolumeThatIsAFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, volume := range []string{path, filepath.Join(path, "below")} {
		h, err := New(Config{Volumes: map[string]string{"v": volume}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Disk("v"); err == nil {
			t.Errorf("%s was accepted as a directory", volume)
		}
	}
}

// TestWritebackThatWasStartedChangesNothing: bytes and errors are those of a file without it, also beyond the end and
// after Close.
func TestWritebackThatWasStartedChangesNothing(t *testing.T) {
	f := newTestFile(t)
	want := bytes.Repeat([]byte("lakebed "), 10_000)
	for at := 0; at < len(want); at += 20_000 {
		if _, err := f.WriteBuffersAt([][]byte{want[at : at+20_000]}, int64(at)); err != nil {
			t.Fatal(err)
		}
		host.StartWriteback(f, int64(at), 20_000)
	}
	host.StartWriteback(f, 1<<20, 1<<20)
	host.StartWriteback(f, -1, 1)
	got := make([]byte, len(want))
	if _, err := host.ReadFull(f, got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file reads differently: %v", err)
	}
	if size, err := f.Size(); err != nil || size != int64(len(want)) {
		t.Errorf("size %d, %v", size, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Error(err)
	}
	host.StartWriteback(f, 0, 1)
}

// TestWritesPastTheCacheLeaveNothingInIt: mincore sees no page of what went past, and all of what did not. Without a file system
// that can do so, such as one in memory, the file says no and works as before.
func TestWritesPastTheCacheLeaveNothingInIt(t *testing.T) {
	const bytesOfAll = 64 * directAlign
	f := newTestFile(t)
	resident := func() int {
		m, err := f.Map(0, bytesOfAll)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Unmap()
		data := m.(*mapping).data
		pages := make([]byte, bytesOfAll/os.Getpagesize())
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
			uintptr(unsafe.Pointer(unsafe.SliceData(pages)))); errno != 0 {
			t.Fatal(errno)
		}
		count := 0
		for _, p := range pages {
			count += int(p & 1)
		}
		return count
	}
	past := f.WritePastCache()
	if !past {
		t.Skip("the file system of the test's directory knows no direct writes")
	}
	want := bytes.Repeat([]byte("lakebed "), bytesOfAll/8)
	if err := host.WriteFullAt(f, want, 0); err != nil {
		t.Fatal(err)
	}
	if n := resident(); n != 0 {
		t.Errorf("%d pages are in the cache", n)
	}
	if err := host.WriteFullAt(f, want[:directAlign-1], 0); err != nil {
		t.Fatal(err)
	}
	if n := resident(); n == 0 {
		t.Error("a write that goes through the cache left nothing there: the test sees nothing")
	}
	got := make([]byte, len(want))
	if _, err := host.ReadFull(f, got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file reads differently: %v", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Error(err)
	}
	if f.WritePastCache() == false { // after Close it stays what it was; there is nothing left to write
		t.Error("a closed file forgot how it was written")
	}
}

// TestANameThatIsAnothersIsNotWritten: the second descriptor must lead to the same file.
func TestANameThatIsAnothersIsNotWritten(t *testing.T) {
	f := newTestFile(t)
	if err := errors.Join(os.Rename(f.path, f.path+".old"), os.WriteFile(f.path, []byte("other"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if f.WritePastCache() {
		t.Error("the file would write into another")
	}
	page := make([]byte, directAlign)
	if err := errors.Join(host.WriteFullAt(f, page, 0), f.Close()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(f.path); err != nil || string(got) != "other" {
		t.Errorf("the other file holds %q, %v", got, err)
	}
}

// TestAWriteThatTheDeviceRefusesGoesThroughTheCache: a file may be opened for direct writes and refuse one all the same, as on
// sectors of 16 KiB. Here it is one at an offset that no device takes. All bytes are written, and no other write is tried.
func TestAWriteThatTheDeviceRefusesGoesThroughTheCache(t *testing.T) {
	f := newTestFile(t)
	if !f.WritePastCache() {
		t.Skip("the file system of the test's directory knows no direct writes")
	}
	want := bytes.Repeat([]byte("lakebed "), 2*directAlign/8)
	if _, err := f.writePast([][]byte{want[1 : 1+directAlign]}, 1); !errors.Is(err, unix.EINVAL) {
		t.Skipf("the file system takes direct writes of any place: %v", err)
	}
	n, err := f.tryPast([][]byte{want[1:100], want[100 : 1+directAlign]}, 1)
	if n != directAlign || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if f.goesPast([][]byte{want[:directAlign]}, 0) {
		t.Error("the next one is tried again")
	}
	err = errors.Join(host.WriteFullAt(f, want[:1], 0), host.WriteFullAt(f, want[1+directAlign:], 1+directAlign), f.Sync())
	got := make([]byte, len(want))
	if _, failed := host.ReadFull(f, got, 0); err != nil || failed != nil || !bytes.Equal(got, want) {
		t.Errorf("the file reads differently: %v, %v", err, failed)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadsPastTheCacheSeeWhatWasWritten at any offset and length, also what is not yet on the device, and the end of the file.
func TestReadsPastTheCacheSeeWhatWasWritten(t *testing.T) {
	f := newTestFile(t)
	content := make([]byte, directBytes+3*directAlign+100)
	for i := range content {
		content[i] = byte(i * 7 >> 3)
	}
	if err := host.WriteFullAt(f, content, 0); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int{0, 1, 511, directAlign - 1, directAlign, directBytes - 5, len(content) - 50} {
		for _, n := range []int{1, 64, directAlign, directAlign + 1, directBytes + 2} {
			p := make([]byte, n)
			got := 0
			for got < n {
				k, err := f.ReadPastCache(p[got:], int64(off+got))
				got += k
				if err == io.EOF && off+got == len(content) {
					break
				}
				if err != nil {
					t.Fatalf("%d bytes at %d: %v after %d", n, off, err, got)
				}
			}
			if !bytes.Equal(p[:got], content[off:min(off+n, len(content))]) {
				t.Errorf("%d bytes at %d differ", n, off)
			}
		}
	}
	if n, err := f.ReadPastCache(make([]byte, 10), int64(len(content)+7)); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}
