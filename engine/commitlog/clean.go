package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

const (
	dayHours       = 24
	hourMillis     = int64(time.Hour / time.Millisecond)
	millisecondsOf = int64(time.Millisecond)
)

// cleanAtIntervals is the task that removes old files, and that looks after the space of the volume. While appends are refused, and as long as
// it finds something to remove, it does not wait for its interval: a round removes so many files at most.
func (s *Store) cleanAtIntervals() {
	for s.awaitRound() {
		before := s.log.First()
		if err := s.Clean(); err != nil && !errors.Is(err, ErrStopped) {
			return
		}
		if s.isFull() && s.log.First() > before {
			s.wantRoom()
		}
	}
}

// awaitRound waits until it is time for a round of retention: after the interval, or as soon as something lacks room, with a pause between
// two of them. False: the store ends.
func (s *Store) awaitRound() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	begun := s.h.Elapsed()
	for s.failed == nil {
		pause := s.config.Retention.Interval
		if s.roomless {
			pause = min(pause, s.config.RetryPause)
		}
		left := pause - (s.h.Elapsed() - begun)
		if left <= 0 {
			s.roomless = false // who is refused from now on may have missed what this round sees
			return true
		}
		if s.clean.WaitFor(left) == host.Stopping {
			return false
		}
	}
	return false
}

// wantRoom has retention look at the volume soon: a full disk has refused something, or may have let go of what kept files.
func (s *Store) wantRoom() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.roomless = true
	s.clean.Signal()
	s.due.Broadcast() // the first file may wait for checkpoints
}

// pressure is how full the volume is.
type pressure uint8

const (
	roomy    pressure = iota
	tight             // expired files go at any hour
	pressing          // the oldest files go, expired or not
)

// Clean is one round of retention. After an error the store has failed, whoever called: nobody knows whether the name of a file is gone, and
// with the next one's gone for good there would be a gap if it were not.
func (s *Store) Clean() error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	s.cleaning.Lock() // else two might remove a file each, where one was to go
	defer s.cleaning.Unlock()
	if err := s.Failed(); err != nil {
		return err
	}
	err := s.removeOld()
	if err != nil {
		err = fmt.Errorf("remove old files: %w", err)
		s.fail(err)
	}
	return err
}

// removeOld removes the files that are to go in one round.
func (s *Store) removeOld() error {
	full, err := s.lookAtSpace()
	if err != nil {
		s.h.Log(host.Warn, "cannot tell how full the volume is", host.F("error", err))
		full = roomy
	}
	for range s.config.Retention.FilesMax {
		gone, err := s.removable(full)
		if err != nil || !gone {
			return err
		}
		if err := s.removeFirst(); err != nil {
			return err
		}
		if full, err = s.lookAtSpace(); err != nil {
			full = roomy
		}
	}
	return nil
}

// makeRoom has the oldest files go from a volume that is nearly full before a start writes to it: it needs room for a copy of the
// log's end and for a checkpoint, and a store that cannot start never removes anything. What an older checkpoint needs goes only when that
// has come up to the newer.
func (s *Store) makeRoom(older bool) error {
	for !s.log.Empty() && s.log.FileEnd(s.log.First()) < min(s.durable.dispatched, s.durable.synced) {
		full, err := s.lookAtSpace()
		if err != nil || full != pressing {
			return nil // how full it is cannot be told, or it is not
		}
		if older && s.log.FileEnd(s.log.First()) >= s.older.dispatched {
			if err := s.bringUpOlder(); err != nil {
				return fmt.Errorf("make room: %w", err)
			}
			older = false
		}
		if err := s.removeFirst(); err != nil {
			return fmt.Errorf("make room: %w", err)
		}
	}
	return nil
}

// bringUpOlder puts a copy of the newer checkpoint in the place of the older. Where there is no room even for that, the older one goes, before
// anything that it needs: it must not lead a start to what is not there, and the start makes another.
func (s *Store) bringUpOlder() error {
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	c := s.durable
	err := s.storeCheckpoint(&c)
	if !errors.Is(err, host.ErrNoSpace) {
		return err
	}
	name := CheckpointFiles()[(s.slot+1)%len(CheckpointFiles())]
	s.h.Log(host.Warn, "the volume has no room for a checkpoint; the older one is removed", host.F("file", name))
	if err := s.dir.Remove(name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	s.older = checkpoint{}
	return s.dir.SyncDir()
}

// removeFirst removes the first file of the log, and the files of the key index that are only about it.
func (s *Store) removeFirst() error {
	if err := s.log.RemoveFirst(); err != nil {
		return err
	}
	if s.index == nil {
		return nil
	}
	s.checkpointing.Lock()
	needed := keyindex.Filling(s.older.index)
	s.checkpointing.Unlock()
	return s.index.RemoveBelow(s.log.First(), needed)
}

// roomPatience is how long Full waits for a file that is being made.
const roomPatience = 5 * time.Second

// Full is why a message, at least a long one, would be refused now for lack of room, an ErrNoSpace; nil: it would not. It looks at the
// volume, and at the log file that the longest message would need.
func (s *Store) Full() error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	s.mutex.Lock()
	end, full := s.written+s.config.recordBytesMax()+message.BlankBytes, s.diskFull
	s.mutex.Unlock()
	if err := s.log.AwaitFor(end-1, roomPatience); err != nil {
		return stoppedBy(err)
	}
	free, total, err := s.dir.Usage()
	if err != nil || total <= 0 {
		return err
	}
	if level := s.config.Retention.DiskWarning; full || 1-float64(free)/float64(total) > level {
		return fmt.Errorf("%d of %d bytes of the volume are free, and messages are refused while more than %.0f %% are used: %w", free, total, 100*level, host.ErrNoSpace)
	}
	return nil
}

// lookAtSpace finds out how full the volume is, and refuses or lets in appends accordingly.
func (s *Store) lookAtSpace() (pressure, error) {
	free, total, err := s.dir.Usage()
	if err != nil || total <= 0 {
		return roomy, err
	}
	used := 1 - float64(free)/float64(total)
	r := &s.config.Retention
	s.mutex.Lock()
	s.diskFull = used > r.DiskWarning
	if s.diskFull {
		s.due.Broadcast()
	}
	s.mutex.Unlock()
	// In a small volume the file that comes next may not fit though its levels are not reached.
	noFile := free < s.config.FileBytes && errors.Is(s.log.Refused(), host.ErrNoSpace)
	switch {
	case (noFile || used > r.DiskForcibly) && r.CleanForcibly:
		return pressing, nil
	case used > r.DiskMaxUsed:
		return tight, nil
	}
	return roomy, nil
}

// removable reports whether the first file may go. It must be followed by one that has messages, which tells how old its own
// are at most, and all of its messages must have durable units, by both checkpoints: upstream removes messages that nobody could have seen.
func (s *Store) removable(full pressure) (bool, error) {
	first := s.log.First()
	next := s.log.FileEnd(first)
	s.mutex.Lock()
	covered := s.covered > next && s.confirmed > next
	s.mutex.Unlock()
	if !covered {
		return false, nil
	}
	if full == pressing {
		return true, nil
	}
	if full == roomy && !slices.Contains(s.config.Retention.DeleteHours, s.hour()) {
		return false, nil
	}
	head := make([]byte, message.FixedBytes)
	if err := s.log.ReadAt(head, next); err != nil {
		return false, err
	}
	now := s.nowMillis()
	s.h.Probe().Mark(host.Event{Name: PointLooking, A: now})
	return message.StoreTimestampOf(head)+int64(s.config.Retention.Age)/millisecondsOf <= now, nil
}

func (s *Store) nowMillis() int64 { return int64(s.h.Now()) / millisecondsOf }

// hour is the hour of the day where the store's clock zone is.
func (s *Store) hour() int {
	hours := (s.nowMillis() + int64(s.config.ClockZone)/millisecondsOf) / hourMillis
	return int((hours%dayHours + dayHours) % dayHours)
}
