package experiments

import (
	"sync"
	"sync/atomic"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/host"
)

// limit is what a bookie's journal device on this machine is made to be like. It may be changed while the bookie runs.
type limit struct {
	factor atomic.Int64 // a sync takes so many times as long; 0 and 1: as long as it takes
	rate   atomic.Int64 // bytes a second that a sync brings to the device; 0: as many as it takes

	mutex sync.Mutex
	free  time.Time     // when the device has written what it was given
	stuck chan struct{} // closed when syncs go on; nil: they do
}

// stick has syncs that begin from now on not return until release.
func (l *limit) stick() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.stuck == nil {
		l.stuck = make(chan struct{})
	}
}

func (l *limit) release() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.stuck != nil {
		close(l.stuck)
		l.stuck = nil
	}
}

// sync carries out a sync of a file to which bytes were written since its last one.
func (l *limit) sync(bytes int64, really func() error) error {
	l.mutex.Lock()
	stuck := l.stuck
	l.mutex.Unlock()
	if stuck != nil {
		<-stuck
	}
	began, written := time.Now(), l.written(bytes)
	err := really()
	if factor := l.factor.Load(); factor > 1 {
		time.Sleep(time.Duration(factor-1) * time.Since(began))
	}
	time.Sleep(time.Until(written))
	return err
}

// written is when a device of this rate would have written so many bytes more.
func (l *limit) written(bytes int64) time.Time {
	rate := l.rate.Load()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if rate == 0 {
		l.free = time.Time{}
		return l.free
	}
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / float64(rate) * float64(time.Second)))
	return l.free
}

// limited is a host whose journal volume is limited.
type limited struct {
	host.Host
	limit *limit
}

// Disk wraps the journal's volume.
func (h limited) Disk(volume string) (host.Dir, error) {
	dir, err := h.Host.Disk(volume)
	if err != nil || volume != bookie.JournalVolume {
		return dir, err
	}
	return limitedDir{dir, h.limit}, nil
}

type limitedDir struct {
	host.Dir
	limit *limit
}

func (d limitedDir) Sub(name string) (host.Dir, error) {
	dir, err := d.Dir.Sub(name)
	if err != nil {
		return nil, err
	}
	return limitedDir{dir, d.limit}, nil
}

func (d limitedDir) Create(name string) (host.File, error) { return d.wrap(d.Dir.Create(name)) }

func (d limitedDir) Open(name string) (host.File, error) { return d.wrap(d.Dir.Open(name)) }

func (d limitedDir) wrap(f host.File, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return &limitedFile{File: f, limit: d.limit}, nil
}

// limitedFile counts what was written since the last sync. It offers neither mappings nor early writeback: the journal
// asks for none.
type limitedFile struct {
	host.File
	limit    *limit
	unsynced atomic.Int64
}

// WriteBuffersAt does not count the zeros that a new file is filled with: they would take the rate from groups until a
// trimmed file can be used again, and then no more. A group begins with a magic number.
func (f *limitedFile) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	n, err := f.File.WriteBuffersAt(b, off)
	if len(b) > 0 && len(b[0]) > 0 && b[0][0] != 0 {
		f.unsynced.Add(n)
	}
	return n, err
}

func (f *limitedFile) Sync() error { return f.limit.sync(f.unsynced.Swap(0), f.File.Sync) }
