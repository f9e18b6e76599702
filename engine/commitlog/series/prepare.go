package series

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lakebed/engine/host"
)

const (
	spareSuffix = ".spare"
	pageBytes   = 4096
	fillPages   = 256 // zero-filled at a time
)

// Points of the series. B is the offset of the file's first byte.
const (
	PointPrepared host.Point = "commitlog.file-prepared"
	PointRecycled host.Point = "commitlog.file-recycled"
	PointRemoved  host.Point = "commitlog.file-removed"
	PointCut      host.Point = "commitlog.cut" // A is the offset of the cut
)

// Has reports whether the file that off lies in is there, and asks for the one behind it.
func (s *Series) Has(off int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.want(off)
	return off < s.limit()
}

func (s *Series) want(off int64) {
	if next := s.baseOf(off) + s.config.FileBytes; next > s.wanted {
		s.wanted = next
		s.changed.Broadcast()
	}
}

// Await waits until the file that off lies in is there. It gives up with the reason if it cannot be made for now:
// host.ErrNoSpace, mostly. The attempts go on.
func (s *Series) Await(off int64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.want(off)
	for off >= s.limit() {
		if s.refused != nil {
			return s.refused
		}
		if !s.changed.Wait() {
			return host.ErrStopping
		}
	}
	return nil
}

// AwaitFor is Await that gives up after so long, without a reason.
func (s *Series) AwaitFor(off int64, patience time.Duration) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.want(off)
	for end := s.h.Elapsed() + patience; off >= s.limit() && s.refused == nil; {
		left := end - s.h.Elapsed()
		if left <= 0 || s.changed.WaitFor(left) == host.TimedOut {
			return nil
		}
		if s.tasks.Stopping() {
			return host.ErrStopping
		}
	}
	if off >= s.limit() {
		return s.refused
	}
	return nil
}

// Refused is why the file that is wanted could not be made when that was last tried, or nil.
func (s *Series) Refused() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.refused
}

// prepare makes the files that are wanted. A failure is told at ever longer distances, so that a full disk does not fill
// the log's too.
func (s *Series) prepare() {
	for failures := 0; ; {
		base, ok := s.missing()
		if !ok {
			return
		}
		f, err := s.create(base)
		s.mutex.Lock()
		if err == nil {
			s.files = append(s.files, f)
		}
		s.refused = err
		s.changed.Broadcast()
		s.mutex.Unlock()
		if err == nil {
			s.h.Probe().Mark(host.Event{Name: PointPrepared, B: base})
			failures = 0
			continue
		}
		if failures++; failures&(failures-1) == 0 {
			s.h.Log(host.Warn, "cannot prepare a log file; appends that need it are refused", host.F("attempts", failures), host.F("error", err))
		}
		if !s.tasks.Sleep(s.config.RetryPause) {
			return
		}
	}
}

// missing waits until a file has to be made, and returns where it begins.
func (s *Series) missing() (int64, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(s.files) > 0 && s.wanted < s.limit() {
		if !s.changed.Wait() {
			return 0, false
		}
	}
	if len(s.files) == 0 {
		return s.wanted - s.config.FileBytes, !s.tasks.Stopping()
	}
	return s.limit(), !s.tasks.Stopping()
}

// create makes a file that is ready to be written. It gets its name only when it is filled and synced.
func (s *Series) create(base int64) (*file, error) {
	if name, ok := s.takeSpare(); ok {
		f, err := s.recycle(base, name)
		if f != nil || err != nil {
			return f, err
		}
	}
	fresh := FileName(base) + host.UnfinishedSuffix
	f, err := host.CreateFresh(s.dir, fresh)
	if err != nil {
		return nil, fmt.Errorf("create log file %s: %w", FileName(base), err)
	}
	return s.finish(&file{File: f, base: base}, fresh, s.fill(f, 0))
}

// finish syncs a filled file and gives it its name.
func (s *Series) finish(f *file, fresh string, err error) (*file, error) {
	name := FileName(f.base)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		if err = s.dir.Rename(fresh, name); err == nil {
			err = s.dir.SyncDir()
		}
	}
	if err != nil {
		_ = f.Close()
		_ = s.dir.Remove(fresh) // it may hold all the space that was left
		return nil, fmt.Errorf("prepare log file %s: %w", name, err)
	}
	return s.advised(f), nil
}

// fill brings a file that ends at from to full size.
func (s *Series) fill(f host.File, from int64) error {
	if s.config.Preallocation == Sparse {
		return f.Truncate(s.config.FileBytes)
	}
	if err := s.roomFor(s.config.FileBytes - from); err != nil {
		return err
	}
	if s.config.Preallocation == Fallocated {
		return f.Allocate(from, s.config.FileBytes-from)
	}
	zeros := make([]byte, fillPages*pageBytes)
	for at := from; at < s.config.FileBytes; {
		n := min(s.config.FileBytes-at, int64(len(zeros)))
		if err := host.WriteFullAt(f, zeros[:n], at); err != nil {
			return err
		}
		host.StartWriteback(f, at, n)
		at += n
	}
	return nil
}

// roomFor refuses a file that the volume has no room for. Tried, it would take all the space that there is before it fails, and that again
// with each attempt, while others on the volume need some. Whoever takes the space meanwhile is found out by the attempt.
func (s *Series) roomFor(bytes int64) error {
	free, _, err := s.dir.Usage()
	if err == nil && free < bytes {
		return fmt.Errorf("%d bytes of the volume are free, %d are needed: %w", free, bytes, host.ErrNoSpace)
	}
	return nil // how much is free may be unknown
}

// recycle prepares a spare as the file that begins at base. Nil without an error: it is of no use. The old name is gone for
// good before the new one is made, so that a crash cannot leave the file under both.
func (s *Series) recycle(base int64, name string) (*file, error) {
	fresh := FileName(base) + host.UnfinishedSuffix
	if err := s.dir.Rename(name, fresh); err != nil {
		return nil, fmt.Errorf("recycle log file %s: %w", name, err)
	}
	if err := s.dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("recycle log file %s: %w", name, err)
	}
	f, err := s.dir.Open(fresh)
	if err != nil {
		return nil, fmt.Errorf("recycle log file %s: %w", name, err)
	}
	size, err := f.Size()
	if err != nil || size != s.config.FileBytes { // it was made under other settings
		_ = f.Close()
		return nil, errors.Join(err, s.dir.Remove(fresh))
	}
	err = host.WriteFullAt(f, make([]byte, min(pageBytes, size)), 0)
	made, err := s.finish(&file{File: f, base: base}, fresh, err)
	if err == nil {
		s.h.Probe().Mark(host.Event{Name: PointRecycled, B: base})
	}
	return made, err
}

func (s *Series) takeSpare() (string, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.spares) == 0 || s.config.Preallocation != Recycled {
		return "", false
	}
	name := s.spares[0]
	s.spares = s.spares[1:]
	return name, true
}

// adoptSpares looks for spares of earlier processes. A file that a crash left under both its names is not one: the other
// name still belongs to the log.
func (s *Series) adoptSpares(infos []host.Info) error {
	for _, info := range infos {
		name, spare := strings.CutSuffix(info.Name, spareSuffix)
		base, ok := ParseFileName(name)
		if !ok || !spare {
			continue
		}
		named := slices.ContainsFunc(s.files, func(f *file) bool { return f.base == base })
		if !named && s.config.Preallocation == Recycled && len(s.spares) < s.config.SparesMax && info.Size == s.config.FileBytes {
			s.spares = append(s.spares, info.Name)
			continue
		}
		if err := s.dir.Remove(info.Name); err != nil {
			return fmt.Errorf("remove spare log file %s: %w", info.Name, err)
		}
	}
	return nil
}
