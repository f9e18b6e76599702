package commitlog

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// tellCut says what of the log a start is about to cut off at the walker's place, and why. Nothing is said of what was never written, and
// of whole records of a file's former life: that is how a log ends. An error: the checkpoint that knew how far the log was durable is bad, and
// messages follow in later files, which says that it was durable here.
func (s *Store) tellCut(w *walker, c *found, why error) error {
	file := series.FileName(s.log.FileEnd(w.at) - s.config.FileBytes)
	if c.doubtful() && s.config.Flush.synced() {
		next, err := s.begunBehind(w.at)
		if err != nil {
			return err
		}
		if next > 0 {
			return fmt.Errorf("no record in log file %s at %d, and messages follow at %d, which may have been promised: %w: %w; bring the file back "+
				"from a copy, or move it and all that follow it away, and the store starts with what is before it", file, w.at, next, ErrCorrupt, why)
		}
	}
	if errors.Is(why, message.ErrElsewhere) {
		return nil
	}
	bytes, err := s.inked(w)
	if err != nil || bytes == 0 {
		return err
	}
	s.cut += bytes
	s.h.Log(host.Warn, "the end of the log is damaged and is cut off: messages in it that were not synced are gone",
		host.F("file", file), host.F("offset", w.at), host.F("bytes", bytes), host.F("reason", why))
	return nil
}

// lostBelow says that the log ends where it was durable.
func (s *Store) lostBelow(at, synced int64) error {
	return fmt.Errorf("no record in log file %s at %d, and the log was durable up to %d: %w; bring the file back from a copy, or move it and "+
		"all that follow it away and remove the files %s, and the store starts with what is before it",
		series.FileName(s.log.FileEnd(at)-s.config.FileBytes), at, synced, ErrCorrupt, strings.Join(CheckpointFiles(), " and "))
}

// begunBehind is the base of a file behind the one of an offset that begins with a record of another group; zero if there is none. A group is
// synced before the next one is written, so what lies before such a record has been durable.
func (s *Store) begunBehind(at int64) (base int64, err error) {
	for base = s.log.FileEnd(at); base < s.log.Present(); base += s.config.FileBytes {
		if base-at <= s.config.GroupBytesMax+s.config.recordBytesMax() {
			continue
		}
		if begun, err := s.begins(base); begun || err != nil {
			return base, err
		}
	}
	return 0, nil
}

// begins reports whether a whole record lies at the start of a file.
func (s *Store) begins(base int64) (bool, error) {
	w := walker{log: s.log, at: base, limit: s.log.Present(), chunk: s.config.DispatchBytes}
	_, err := w.next()
	if err == errWalked || noRecord(err) {
		return false, nil
	}
	return err == nil, err
}

// inked is how many bytes from the walker's place on were ever written, in the stretch that one group can take: zero if it is blank.
func (s *Store) inked(w *walker) (bytes int64, err error) {
	to := min(w.at+s.config.GroupBytesMax+s.config.recordBytesMax(), w.limit, s.log.FileEnd(w.at))
	err = eachPart(s.log, w.at, to, func(at int64, p []byte) error {
		if err := s.log.ReadAt(p, at); err != nil {
			return err
		}
		for i, b := range p {
			if b != 0 {
				bytes = at + int64(i) + 1 - w.at
			}
		}
		return nil
	})
	return bytes, err
}
