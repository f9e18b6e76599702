package oshost

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// TestAMappingShowsTheFileFromAnyOffset: it begins on, before and after page boundaries.
func TestAMappingShowsTheFileFromAnyOffset(t *testing.T) {
	f := newTestFile(t)
	page := int64(os.Getpagesize())
	data := make([]byte, 3*page)
	for i := range data {
		data[i] = byte(i % 251)
	}
	if err := host.WriteFullAt(f, data, 0); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, 1, page - 1, page, page + 1, 3 * page} {
		m, err := f.Map(off, 3*page-off)
		if err != nil {
			t.Fatalf("map at %d: %v", off, err)
		}
		for a := host.AdviseNormal; a <= host.AdviseDontNeed; a++ {
			m.Advise(host.Span{Off: page - 1, Len: page}, a)
			m.Advise(host.Span{}, a)
			m.Advise(host.Span{Off: 5 * page, Len: 1}, a)
		}
		got := make([]byte, 3*page-off)
		if n, err := m.ReadAt(got, 0); n != len(got) || err != nil || !bytes.Equal(got, data[off:]) {
			t.Errorf("the mapping at %d shows other bytes than the file, or %d, %v", off, n, err)
		}
		if err := m.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

// cutFile is a mapped file of which a hole, its end and everything behind it are gone since.
func cutFile(t *testing.T) (m host.Mapping, page int64) {
	t.Helper()
	f := newTestFile(t)
	page = int64(os.Getpagesize())
	if err := errors.Join(host.WriteFullAt(f, bytes.Repeat([]byte("x"), int(8*page)), 0), f.Sync()); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(f.descriptor, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, page, page); err != nil {
		t.Skipf("the file system of the test's directory makes no holes: %v", err)
	}
	m, err := f.Map(0, 8*page)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Unmap() })
	if err := f.Truncate(3*page + 10); err != nil {
		t.Fatal(err)
	}
	return m, page
}

// TestAMappingOfAFileThatWasCutIsAnErrorAndNoSignal: without the guard this ends the process.
func TestAMappingOfAFileThatWasCutIsAnErrorAndNoSignal(t *testing.T) {
	m, page := cutFile(t)
	p := make([]byte, page)
	if _, err := m.ReadAt(p, 0); err != nil || p[0] != 'x' {
		t.Errorf("the part before the cut: %v", err)
	}
	if _, err := m.ReadAt(p, page); err != nil || !bytes.Equal(p, make([]byte, page)) {
		t.Errorf("a hole: %v", err)
	}
	if _, err := m.ReadAt(p, 3*page); err != nil || p[9] != 'x' || p[10] != 0 {
		t.Errorf("the page of the cut: %v", err)
	}
	for _, off := range []int64{4 * page, 7 * page, 3*page + 11} {
		if n, err := m.ReadAt(p, off); n != 0 || !errors.Is(err, host.ErrIO) || !errors.Is(err, unix.EFAULT) {
			t.Errorf("behind the cut at %d: %d bytes, %v", off, n, err)
		}
	}
	if n, err := m.ReadAt(p[:10], 8*page); n != 0 || err != io.EOF {
		t.Errorf("at the end of the mapping: %d bytes, %v", n, err)
	}
}

// pair is a connection of this package and its other end.
func pair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(raw.(*net.TCPConn))
	t.Cleanup(func() { c.Close(); other.Close() })
	return c, other
}

// TestSendingWhatWasCutBreaksTheConnection, in both ways of sending, and the peer does not take it for an end.
func TestSendingWhatWasCutBreaksTheConnection(t *testing.T) {
	m, page := cutFile(t)
	c, other := pair(t)
	err := c.SendMapped([][]byte{[]byte("head")}, m, []host.Span{{Off: 0, Len: 8 * page}})
	if !errors.Is(err, host.ErrIO) {
		t.Errorf("send a mapping: %v", err)
	}
	if got, err := io.ReadAll(other); err == nil || int64(len(got)) >= 8*page {
		t.Errorf("the peer read %d bytes and a clean end: %v", len(got), err)
	}
	f := newTestFile(t)
	if err := host.WriteFullAt(f, make([]byte, 1000), 0); err != nil {
		t.Fatal(err)
	}
	c, other = pair(t)
	if err := c.SendFile([][]byte{[]byte("head")}, f, []host.Span{{Off: 0, Len: 1001}}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("send a file that is too short: %v", err)
	}
	if got, err := io.ReadAll(other); err == nil {
		t.Errorf("the peer read %d bytes and a clean end", len(got))
	}
}

// TestUnmapWaitsForWhoSends: else other memory could be sent, or the process die. The race detector and the bytes tell.
func TestUnmapWaitsForWhoSends(t *testing.T) {
	f := newTestFile(t)
	want := bytes.Repeat([]byte("lakebed "), 1<<18) // more than sockets hold
	if err := host.WriteFullAt(f, want, 0); err != nil {
		t.Fatal(err)
	}
	m, err := f.Map(0, int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil { // the mapping outlives it
		t.Fatal(err)
	}
	c, other := pair(t)
	var tasks sync.WaitGroup
	sent := make(chan error, 1)
	tasks.Go(func() {
		sent <- c.SendMapped(nil, m, []host.Span{{Len: int64(len(want))}})
		c.Close()
	})
	first := make([]byte, 1)
	if _, err := io.ReadFull(other, first); err != nil {
		t.Fatal(err)
	}
	tasks.Go(func() { m.Unmap() })
	rest, err := io.ReadAll(other)
	tasks.Wait()
	if err != nil || <-sent != nil || !bytes.Equal(append(first, rest...), want) {
		t.Errorf("%d bytes of %d came, %v", 1+len(rest), len(want), err)
	}
	if _, err := m.ReadAt(first, 0); !errors.Is(err, host.ErrClosed) {
		t.Errorf("read what was unmapped: %v", err)
	}
	c, _ = pair(t)
	if err := c.SendMapped(nil, m, []host.Span{{Len: 1}}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("send what was unmapped: %v", err)
	}
}
