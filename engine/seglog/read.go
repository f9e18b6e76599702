package seglog

import (
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
)

// with calls f with a partition.
func (s *Store) with(name string, number int, f func(*partition.Partition) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	log, err := s.log(name, number)
	if err != nil {
		return err
	}
	return f(log)
}

// Read returns messages of a partition from a cursor on; see partition.Read. The batch must be released.
func (s *Store) Read(name string, number int, from Cursor, limits Limits) (b Batch, err error) {
	err = s.with(name, number, func(log *partition.Partition) error {
		b, err = log.Read(from, limits)
		return err
	})
	return b, err
}

// Seek returns the cursor of a partition's first message with that time or a later one; see partition.Seek.
func (s *Store) Seek(name string, number int, t Time) (c Cursor, err error) {
	err = s.with(name, number, func(log *partition.Partition) error {
		c, err = log.Seek(t)
		return err
	})
	return c, err
}

// Bounds returns the cursors of a partition's first message and of the next one to come.
func (s *Store) Bounds(name string, number int) (first, next Cursor, err error) {
	err = s.with(name, number, func(log *partition.Partition) error {
		first, next, err = log.Bounds()
		return err
	})
	return first, next, err
}

// Await waits until a partition has a message at this cursor, for so long at most, and reports whether it has.
func (s *Store) Await(name string, number int, c Cursor, patience time.Duration) (there bool, err error) {
	return s.AwaitIn(nil, name, number, c, patience)
}

// AwaitIn is Await that ends also when a group stops, as that of NewWait.
func (s *Store) AwaitIn(g host.Group, name string, number int, c Cursor, patience time.Duration) (there bool, err error) {
	err = s.with(name, number, func(log *partition.Partition) error {
		there = log.Await(g, c, patience)
		return nil
	})
	return there, err
}

// NewWait makes a group for AwaitIn, for callers that have none: its Stop ends one wait, and nothing else. Stopping it once that has
// returned does no harm.
func (s *Store) NewWait() host.Group { return s.tasks.New("seglog-wait") }
