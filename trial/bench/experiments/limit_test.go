package experiments

import (
	"testing"
	"time"

	"lakebed/engine/host"
)

// TestALimitSlowsSyncs: by a factor, by a rate, and for ever until it is released.
func TestALimitSlowsSyncs(t *testing.T) {
	const took = 5 * time.Millisecond
	really := func() error { time.Sleep(took); return nil }
	elapsed := func(l *limit, bytes int64) time.Duration {
		began := time.Now()
		if err := l.sync(bytes, really); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	l := &limit{}
	l.factor.Store(10)
	if d := elapsed(l, 0); d < 10*took {
		t.Errorf("ten times %v take %v", took, d)
	}
	l.factor.Store(1)
	l.rate.Store(1 << 20)
	if d := elapsed(l, 100<<10); d < 90*time.Millisecond {
		t.Errorf("100 KiB at 1 MiB a second take %v", d)
	}
	l.rate.Store(0)
	l.stick()
	done := make(chan time.Duration)
	go func() { done <- elapsed(l, 0) }()
	select {
	case d := <-done:
		t.Errorf("a stuck sync returned after %v", d)
	case <-time.After(50 * time.Millisecond):
	}
	l.release()
	<-done
	l.release() // again
}

// TestAFillIsNotCountedAsGroups: zeros go ahead of the groups, which begin with a magic number.
func TestAFillIsNotCountedAsGroups(t *testing.T) {
	f := &limitedFile{File: nowhere{}, limit: &limit{}}
	for _, b := range [][][]byte{{make([]byte, 100)}, {{'L', 'K'}, make([]byte, 50)}, {}} {
		if _, err := f.WriteBuffersAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.unsynced.Load(); n != 52 {
		t.Errorf("%d bytes are counted", n)
	}
	if err := f.Sync(); err != nil || f.unsynced.Load() != 0 {
		t.Errorf("%d bytes after a sync, %v", f.unsynced.Load(), err)
	}
}

// nowhere takes all writes.
type nowhere struct{ host.File }

func (nowhere) Sync() error { return nil }

func (nowhere) WriteBuffersAt(b [][]byte, _ int64) (n int64, err error) {
	for _, one := range b {
		n += int64(len(one))
	}
	return n, nil
}
