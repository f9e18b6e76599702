package series

import (
	"fmt"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// RemoveFirst removes the first file, for good. It must not be the last. After a failure nobody knows whether its name is
// gone: the series must be opened anew before the next one goes.
func (s *Series) RemoveFirst() error {
	s.mutex.Lock()
	invariant.Check(len(s.files) > 1, "the last file stays")
	f := s.files[0]
	s.files = s.files[1:] // from here on readers are told that it is gone
	keep := s.config.Preallocation == Recycled && len(s.spares) < s.config.SparesMax
	s.mutex.Unlock()
	name := FileName(f.base)
	err := error(nil)
	if keep {
		// Whoever still reads it may find bytes of its next life; what a record says of its offset tells.
		err = s.dir.Rename(name, name+spareSuffix)
	} else {
		err = s.dir.Remove(name)
	}
	if err == nil {
		err = s.dir.SyncDir()
	}
	if err != nil {
		return fmt.Errorf("remove log file %s: %w", name, err)
	}
	if s.retire(f, keep) {
		_ = s.shut(f)
	}
	s.h.Probe().Mark(host.Event{Name: PointRemoved, B: f.base})
	return nil
}

// retire notes that a file is gone. It reports whether nobody uses it; else who uses it last closes it. A spare may be used
// again only now, when its old name is gone for good.
func (s *Series) retire(f *file, spare bool) (idle bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if spare {
		s.spares = append(s.spares, FileName(f.base)+spareSuffix)
	}
	f.gone = true
	return f.users == 0
}

// Cut ends the range at end, before Start. Files behind it go, the last one first and each for good before the next. What lies
// behind end in its file is cut off and synced before the file gets its size back, so that it reads as zeros for ever: else
// a later record that happens to end where an old one began would bring the old ones back.
func (s *Series) Cut(end int64) error {
	for len(s.files) > 0 && s.files[len(s.files)-1].base > s.baseOf(end) {
		last := s.files[len(s.files)-1]
		_ = last.Close()
		s.files = s.files[:len(s.files)-1]
		if err := s.dir.Remove(FileName(last.base)); err != nil {
			return fmt.Errorf("cut the log at %d: remove file %s: %w", end, FileName(last.base), err)
		}
		if err := s.dir.SyncDir(); err != nil {
			return fmt.Errorf("cut the log at %d: %w", end, err)
		}
	}
	if end >= s.limit() {
		return nil // at the end of a whole file, or there is none
	}
	f := s.files[len(s.files)-1]
	err := f.Truncate(end - f.base)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = s.regrow(f, end-f.base)
	}
	if err != nil {
		return fmt.Errorf("cut the log at %d in file %s: %w", end, FileName(f.base), err)
	}
	s.short = false
	s.h.Probe().Mark(host.Event{Name: PointCut, A: end, B: f.base})
	return nil
}

// regrow gives a file that was cut its size back. The rest is not filled again, whatever the preallocation: that would keep a
// start waiting for the length of a file.
func (s *Series) regrow(f *file, from int64) error {
	err := error(nil)
	if s.config.Preallocation == Sparse {
		err = f.Truncate(s.config.FileBytes)
	} else {
		err = f.Allocate(from, s.config.FileBytes-from)
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}
