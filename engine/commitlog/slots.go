package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/host"
)

// CheckpointFiles are the names of the files of a store's last two checkpoints. The older one is replaced, as a whole: whichever of the two
// goes bad, the other tells enough. Without them a start makes queues and key index anew.
func CheckpointFiles() []string { return []string{"checkpoint", "checkpoint-b"} }

// found is what a start has read of the slots.
type found struct {
	checkpoint
	slot  int         // in which it lies; -1: there is none that is good
	older *checkpoint // what the other slot has; nil: nothing that is good
	bad   []error     // of slots that are there and cannot be used
	set   []string    // aside, the names of those: not done yet
}

// doubtful reports whether there may have been a later checkpoint, or one at all: topics may have had more queues, and the log may
// have been durable further than is known.
func (f *found) doubtful() bool { return f.slot < 0 || len(f.bad) > 0 }

// readSlots reads the checkpoints, and takes the newer one of those that are good. It keeps the older: nothing that it needs may be removed.
func readSlots(dir host.Dir) (best found, err error) {
	best.slot = -1
	var unread error
	for slot, name := range CheckpointFiles() {
		c, err := readSlot(dir, name)
		switch {
		case errors.Is(err, host.ErrNotExist):
		case err != nil:
			best.bad, best.set = append(best.bad, err), append(best.set, name)
			if !errors.Is(err, ErrCorrupt) {
				unread = err
			}
		case best.slot < 0:
			best.checkpoint, best.slot = c, slot
		case c.sequence > best.sequence:
			older := best.checkpoint
			best.checkpoint, best.slot, best.older = c, slot, &older
		default:
			best.older = &c
		}
	}
	if best.slot < 0 && unread != nil { // a disk that does not read may read the next time: nothing is thrown away for it
		return best, unread
	}
	infos, err := dir.List()
	for _, info := range infos {
		if name, aside := strings.CutSuffix(info.Name, asideSuffix); aside && slices.Contains(CheckpointFiles(), name) {
			best.bad = append(best.bad, fmt.Errorf("%s was damaged when a start read it that has not come to its end: %w", name, ErrCorrupt))
		}
	}
	return best, err
}

// asideSuffix marks a checkpoint that a start found bad. It stays until that start, or one of the next, has made new ones: a start goes by
// the other checkpoint then, and changes what the bad one spoke of, so that it must not count again though it can be read the next time; and
// the next start must know that there was one.
const asideSuffix = ".bad"

// setAside takes what is bad out of the slots, durably.
func (s *Store) setAside(names []string) error {
	for _, name := range names {
		if err := s.dir.Rename(name, name+asideSuffix); err != nil {
			return fmt.Errorf("set %s aside: %w", name, err)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return s.dir.SyncDir()
}

// dropAside removes what was set aside, when both slots are good again. If a crash brings it back, the next start takes longer.
func (s *Store) dropAside(c *found) error {
	if len(c.bad) == 0 {
		return nil
	}
	for _, name := range CheckpointFiles() {
		if err := s.dir.Remove(name + asideSuffix); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove %s%s: %w", name, asideSuffix, err)
		}
	}
	return nil
}

func readSlot(dir host.Dir, name string) (checkpoint, error) {
	f, err := dir.Open(name)
	if err != nil {
		return checkpoint{}, fmt.Errorf("open %s: %w", name, err)
	}
	c, err := readCheckpoint(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return c, fmt.Errorf("read %s: %w", name, err)
	}
	return c, nil
}

// storeCheckpoint writes a checkpoint over the older of the two. The lock of checkpoints is held.
func (s *Store) storeCheckpoint(c *checkpoint) error {
	c.sequence = s.durable.sequence + 1
	slot := (s.slot + 1) % len(CheckpointFiles())
	if err := host.ReplaceFile(s.dir, CheckpointFiles()[slot], c.encode()); err != nil {
		return fmt.Errorf("write %s: %w", CheckpointFiles()[slot], err)
	}
	s.slot, s.older, s.durable = slot, s.durable, *c
	if s.index != nil {
		s.index.Stored()
	}
	return nil
}

// wayOut is what an operator can do about checkpoints that lead nowhere.
func wayOut() string {
	return "bring the missing log files back; or remove the files " + strings.Join(CheckpointFiles(), " and ") +
		", and the next start makes queues and key index anew from the log that there is, with the queues whose directories are there"
}

// lastCheckpoint reads the checkpoint to begin at. A store without one is new, or to be made anew from its log: nothing but time is lost
// then, since queues have directories.
func (s *Store) lastCheckpoint() (found, error) {
	c, err := readSlots(s.dir)
	if err != nil {
		return c, err
	}
	first := s.log.First()
	lost := c.slot >= 0 && (s.log.Empty() && c.synced > 0 || !s.log.Empty() && (c.synced > s.log.Present() || c.dispatched < first))
	switch {
	case lost && len(c.bad) > 0 && !s.log.Empty() && c.dispatched < first: // the older one, which retention has passed
		c.bad = append(c.bad, fmt.Errorf("%s begins at %d of the log, which begins at %d", CheckpointFiles()[c.slot], c.dispatched, first))
		c.slot = -1
	case lost:
		// The file that synced lies in exists at any time; the log begins at 0 only if nothing was ever stored.
		return c, fmt.Errorf("%s says that the log is durable up to %d, and in queues up to %d; there are log files from %d to %d: %w; %s",
			CheckpointFiles()[c.slot], c.synced, c.dispatched, first, s.log.Present(), ErrCorrupt, wayOut())
	case c.slot < 0 && len(c.bad) > 0 && s.log.Empty():
		return c, fmt.Errorf("there are no log files, and whether there have been any is not known: %w: %w; %s", ErrCorrupt, errors.Join(c.bad...), wayOut())
	}
	for _, bad := range c.bad {
		s.h.Probe().Mark(host.Event{Name: PointBadCheckpoint})
		s.h.Log(host.Warn, "a checkpoint is damaged; the start takes longer", host.F("error", bad))
	}
	if err := s.setAside(c.set); err != nil || c.slot >= 0 {
		return c, err
	}
	if !s.log.Empty() {
		s.h.Probe().Mark(host.Event{Name: PointRebuilt, A: first})
		s.h.Log(host.Warn, "there is no checkpoint to go by: queues and key index are made anew from the log")
	}
	c.checkpoint, c.older = checkpoint{synced: first, dispatched: first}, nil
	return c, s.removeAllUnits()
}

// adoptDirectories gives topics the queues whose directories are there: a checkpoint that is bad may have told of more of them than what
// is left of checkpoints and log does.
func (s *Store) adoptDirectories() error {
	topics, err := s.queues.List()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, info := range topics {
		if !info.Dir || checkTopic(info.Name) != nil {
			continue
		}
		dir, err := s.queues.Sub(info.Name)
		if err != nil {
			return fmt.Errorf("open topic %s: %w", info.Name, err)
		}
		queues, err := dir.List()
		if err != nil {
			return fmt.Errorf("list queues of topic %s: %w", info.Name, err)
		}
		count := 0
		for _, queue := range queues {
			if id, err := strconv.Atoi(queue.Name); err == nil && queue.Dir && id >= 0 && id < s.config.QueuesMax && strconv.Itoa(id) == queue.Name {
				count = max(count, id+1)
			}
		}
		if err := s.adoptQueues(info.Name, count); err != nil {
			return err
		}
	}
	return nil
}

// adoptQueues gives a topic at least so many queues. New ones are empty.
func (s *Store) adoptQueues(name string, count int) error {
	t := s.topics[name]
	if t == nil && count > 0 {
		t = &topic{name: name}
		s.topics[name] = t
	}
	for t != nil && len(t.queues) < count {
		made, err := s.makeQueues(t, int32(len(t.queues)), int32(count))
		if err != nil {
			return fmt.Errorf("open queues of topic %s: %w", name, err)
		}
		t.queues = append(t.queues, made...)
		s.queueCount += len(made)
	}
	return nil
}

// nameQueues makes the directories of all queues durable that no checkpoint has named yet: how many queues a topic has must not be
// lost with a checkpoint.
func (s *Store) nameQueues() error {
	type naming struct {
		t      *topic
		queues int
	}
	var fresh []naming
	s.mutex.Lock()
	for _, name := range host.SortedKeys(s.topics) {
		if t := s.topics[name]; t.named < len(t.queues) {
			fresh = append(fresh, naming{t, len(t.queues)})
		}
	}
	s.mutex.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	for _, n := range fresh {
		dir, err := s.queues.Sub(n.t.name)
		if err == nil {
			err = dir.SyncDir()
		}
		if err != nil {
			return fmt.Errorf("%w: directory of topic %s: %w", errSync, n.t.name, err)
		}
	}
	if err := s.queues.SyncDir(); err != nil {
		return fmt.Errorf("%w: directory of topics: %w", errSync, err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, n := range fresh {
		n.t.named = n.queues
	}
	return nil
}
