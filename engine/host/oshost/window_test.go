package oshost

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// throughMemory is a file of so many bytes that is asked to be written through memory.
func throughMemory(t *testing.T, size int64) *file {
	t.Helper()
	f := newTestFile(t)
	if err := f.Allocate(0, size); err != nil {
		t.Fatal(err)
	}
	if !f.WriteThroughMemory() {
		t.Fatal("the file cannot be written through memory")
	}
	return f
}

// TestShortWritesGoThroughTheWindow, which follows them; long ones and those behind the end do not.
func TestShortWritesGoThroughTheWindow(t *testing.T) {
	f := throughMemory(t, 3*windowBytes+100)
	page := int64(os.Getpagesize())
	for _, c := range []struct {
		name    string
		off, n  int64
		mapped  bool
		from    int64 // where the window is then
		through int64
	}{
		{"the first", 10, 100, true, 0, windowBytes},
		{"the longest", 0, mappedBytesMax, true, 0, windowBytes},
		{"one too long", 0, mappedBytesMax + 1, false, 0, windowBytes},
		{"up to the end of the window", windowBytes - 5, 5, true, 0, windowBytes},
		{"over it", windowBytes - 5, 6, true, windowBytes - page, 2*windowBytes - page},
		{"before it", 10, 5, false, windowBytes - page, 2*windowBytes - page},
		{"the last of the file", 3*windowBytes + 90, 10, true, 3 * windowBytes, 3*windowBytes + 100},
		{"over its end", 3*windowBytes + 90, 11, false, 3 * windowBytes, 3*windowBytes + 100},
		{"before it", -1, 1, false, 3 * windowBytes, 3*windowBytes + 100},
		{"nothing", 3*windowBytes + 100, 0, true, 3 * windowBytes, 3*windowBytes + 100},
	} {
		n, mapped := f.writeMapped([][]byte{make([]byte, c.n)}, c.off)
		if mapped != c.mapped || mapped && n != c.n {
			t.Errorf("%s: mapped %v, %d bytes", c.name, mapped, n)
		}
		if from, through := f.window.from, f.window.from+int64(len(f.window.pages)); from != c.from || through != c.through {
			t.Errorf("%s: the window is from %d to %d, want %d to %d", c.name, from, through, c.from, c.through)
		}
	}
	if err := f.Truncate(5); err != nil || f.window.pages != nil {
		t.Errorf("behind a cut the window is left: %v, %v", f.window.pages == nil, err)
	}
}

// TestPagesAreMadeReadyBeforeTheyAreWritten, some ahead, and anew when a sync has written them out, or time.
func TestPagesAreMadeReadyBeforeTheyAreWritten(t *testing.T) {
	f := throughMemory(t, 3*readyBytes)
	w := &f.window
	write := func(off int64) {
		t.Helper()
		if _, mapped := f.writeMapped([][]byte{make([]byte, 100)}, off); !mapped || !w.isReady(off, off+100) {
			t.Errorf("at %d: mapped %v, ready from %d to %d", off, mapped, w.readyFrom, w.readyTo)
		}
	}
	write(10)
	if !w.isReady(0, readyBytes) || w.isReady(0, readyBytes+1) {
		t.Errorf("ready from %d to %d, want the first %d", w.readyFrom, w.readyTo, int64(readyBytes))
	}
	write(readyBytes - 50) // over the end of what is ready
	write(3*readyBytes - 100)
	for name, stale := range map[string]func(){
		"a sync":       func() { _ = f.Sync() },
		"a write-back": func() { f.StartWriteback(0, 3*readyBytes) },
		"time":         func() { w.readyAt = w.readyAt.Add(-readyFor) },
	} {
		if stale(); w.isReady(w.readyFrom, w.readyTo) {
			t.Errorf("pages are taken for ready after %s", name)
		}
		write(3*readyBytes - 100)
	}
}

// TestAPageThatCannotBeHadIsTheKernelsToWrite: the process would be killed by a signal otherwise. The pages are gone here because the
// file was cut behind the back of its owner; a device that fails, or has no room for a hole, shows itself in the same way: to the call that
// makes pages ready, or to the copy.
func TestAPageThatCannotBeHadIsTheKernelsToWrite(t *testing.T) {
	for _, ready := range []bool{false, true} {
		f := throughMemory(t, windowBytes)
		page := int64(os.Getpagesize())
		if err := host.WriteFullAt(f, []byte("before"), 0); err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(f.descriptor, page); err != nil {
			t.Fatal(err)
		}
		if !ready {
			f.window.readyTo = 0
		}
		if _, mapped := f.writeMapped([][]byte{[]byte("x")}, 9*page); mapped || f.window.pages != nil {
			t.Fatalf("ready %v: a page that is gone was written: %v", ready, mapped)
		}
		if err := host.WriteFullAt(f, []byte("behind"), 9*page); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 9*page+6)
		if _, err := host.ReadFull(f, p, 0); err != nil || !bytes.Equal(p[:6], []byte("before")) || !bytes.Equal(p[9*page:], []byte("behind")) {
			t.Errorf("ready %v: it reads %q and %q, %v", ready, p[:6], p[9*page:], err)
		}
	}
}

// TestManyWriteThroughMemoryAtOnce: writers ahead of and behind one another, readers and syncs, and a Close in the middle. Nothing is lost,
// and nobody touches pages that are gone.
func TestManyWriteThroughMemoryAtOnce(t *testing.T) {
	const writers, each, length = 4, 3000, 200
	f := throughMemory(t, writers*each*length)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				off := int64((n*writers + w) * length)
				if err := host.WriteFullAt(f, bytes.Repeat([]byte{byte(off/length%251) + 1}, length), off); err != nil {
					t.Errorf("write at %d: %v", off, err)
					return
				}
				if n%500 == 499 {
					if err := f.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	p := make([]byte, writers*each*length)
	if _, err := host.ReadFull(f, p, 0); err != nil {
		t.Fatal(err)
	}
	for i, b := range p {
		if b != byte(i/length%251)+1 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	for range writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, 2))
			for {
				err := host.WriteFullAt(f, p[:length], random.Int64N(int64(len(p)-length)))
				if errors.Is(err, host.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// BenchmarkAppend100B is what an append costs with a call of the kernel and without one.
func BenchmarkAppend100B(b *testing.B) {
	for name, mapped := range map[string]bool{"kernel": false, "memory": true} {
		b.Run(name, func(b *testing.B) {
			const size = 256 << 20
			f := newTestFile(b)
			if err := f.Allocate(0, size); err != nil {
				b.Fatal(err)
			}
			f.window.asked.Store(mapped)
			p := [][]byte{make([]byte, 100)}
			at := int64(0)
			for b.Loop() {
				if _, err := f.WriteBuffersAt(p, at); err != nil {
					b.Fatal(err)
				}
				if at += 100; at > size-100 {
					at = 0
				}
			}
		})
	}
}
