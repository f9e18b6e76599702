package seglog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
)

// TopicConfig says what a topic is to be.
type TopicConfig struct {
	Partitions int       // zero: one for each directory in service
	Retention  Retention // zero: the store's
}

// CreateTopic makes a topic. Its partitions are spread over the directories in service. If it fails the topic may be there
// after a restart; to make it again with the same name is safe.
func (s *Store) CreateTopic(name string, c TopicConfig) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.making.Lock()
	defer s.making.Unlock()
	volumes, err := s.placesFor(name, &c)
	if err != nil {
		return err
	}
	made := settings{
		Name: name, Version: 1, RetentionNanos: int64(c.Retention.Period), RetentionBytes: c.Retention.BytesMax,
	}
	for i := range c.Partitions {
		made.Volumes = append(made.Volumes, volumes[i%len(volumes)].name)
	}
	for _, v := range volumes {
		if err := v.makeDirs(&made); err != nil {
			err = fmt.Errorf("make directories of topic %s in %s: %w", name, v.name, err)
			v.eject(err)
			return err
		}
	}
	if err := s.writeSettings(&made, volumes); err != nil {
		return err
	}
	t, err := s.adopt(made)
	if err != nil {
		return err
	}
	failures := s.openMembers(t.members)
	s.h.Probe().Mark(host.Event{Name: PointTopicMade, A: int64(c.Partitions)})
	return errors.Join(failures...)
}

// placesFor checks what is asked for, fills in what was left open, and says where the partitions go: the directories in
// service, those with the fewest partitions first.
func (s *Store) placesFor(name string, c *TopicConfig) ([]*volume, error) {
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	if c.Retention == (Retention{}) {
		c.Retention = s.config.Retention
	}
	if err := c.Retention.validate(&s.config); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.topics[name] != nil {
		return nil, fmt.Errorf("topic %s: %w", name, ErrTopicExists)
	}
	if len(s.topics) >= s.config.TopicsMax {
		return nil, fmt.Errorf("%d topics are the most there may be: %w", s.config.TopicsMax, ErrInvalid)
	}
	if unseen := s.unseenLocked(); unseen != nil {
		return nil, fmt.Errorf("topic %s may exist in volume %s: %w: %w", name, unseen.name, ErrUnavailable, unseen.ejected)
	}
	load := map[*volume]int{}
	for _, other := range host.SortedKeys(s.topics) {
		for _, m := range s.topics[other].members {
			load[m.volume]++
		}
	}
	var volumes []*volume
	for _, v := range s.volumes {
		if v.ejected == nil {
			volumes = append(volumes, v)
		}
	}
	slices.SortStableFunc(volumes, func(a, b *volume) int { return load[a] - load[b] })
	if c.Partitions == 0 {
		c.Partitions = len(volumes)
	}
	switch {
	case len(volumes) == 0:
		return nil, noneOf(s.volumes)
	case c.Partitions < 1 || c.Partitions > s.config.PartitionsMax:
		return nil, fmt.Errorf("%d partitions: want 1 to %d: %w", c.Partitions, s.config.PartitionsMax, ErrInvalid)
	}
	return volumes[:min(len(volumes), c.Partitions)], nil
}

// unseenLocked is a volume whose topics are not known yet. The mutex is held.
func (s *Store) unseenLocked() *volume {
	for _, v := range s.volumes {
		if !v.seen {
			return v
		}
	}
	return nil
}

// makeDirs makes the directories of a topic's partitions in this volume, durably.
func (v *volume) makeDirs(made *settings) error {
	dir, err := subDir(v.dir, made.Name)
	for number, name := range made.Volumes {
		if err == nil && name == v.name {
			_, err = dir.Sub(strconv.Itoa(number))
		}
	}
	if err != nil {
		return err
	}
	return dir.SyncDir()
}

// writeSettings writes a topic's file into these volumes. The first that is written decides.
func (s *Store) writeSettings(made *settings, volumes []*volume) error {
	content, err := made.encode()
	if err != nil {
		return err
	}
	for i, v := range volumes {
		dir, err := v.dir.Sub(made.Name)
		if err == nil {
			err = s.files.Reserve(1)
		}
		if err == nil {
			err = host.ReplaceFile(dir, topicFileName, content)
			s.files.Give(1)
		}
		if err != nil {
			err = fmt.Errorf("write the file of topic %s in %s: %w", made.Name, v.name, err)
			v.eject(err)
			if i == 0 && errors.Is(err, host.ErrNoSpace) && s.isUnchanged(dir, made) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
	}
	return nil
}

// volumesOf lists the volumes of a topic of which something holds. The store's mutex is held.
func volumesOf(t *topic, holds func(v *volume) bool) (all []*volume) {
	for _, m := range t.members {
		if holds(m.volume) && !slices.Contains(all, m.volume) {
			all = append(all, m.volume)
		}
	}
	return all
}

// isUnchanged reports whether a topic's file is for sure not what was to be written.
func (s *Store) isUnchanged(dir host.Dir, made *settings) bool {
	if dir == nil || s.files.Reserve(1) != nil {
		return false
	}
	defer s.files.Give(1)
	found, ok, err := readSettings(dir, made.Name)
	return err == nil && (!ok || found.Version != made.Version)
}

// SetRetention changes how long a topic's messages stay.
func (s *Store) SetRetention(name string, r Retention) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := r.validate(&s.config); err != nil {
		return err
	}
	s.making.Lock()
	defer s.making.Unlock()
	t, err := s.topic(name)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	changed := t.settings
	volumes := volumesOf(t, func(v *volume) bool { return v.ejected == nil })
	if len(volumes) == 0 { // to keep less may be what makes room again
		volumes = volumesOf(t, func(v *volume) bool { return v.dir != nil && errors.Is(v.ejected, host.ErrNoSpace) })
	}
	s.mutex.Unlock()
	if len(volumes) == 0 {
		return fmt.Errorf("topic %s: %w", name, ErrNoDirectory)
	}
	changed.Version++
	changed.RetentionNanos, changed.RetentionBytes = int64(r.Period), r.BytesMax
	if err := s.writeSettings(&changed, volumes); err != nil {
		return err
	}
	_, err = s.adopt(changed)
	return err
}

// topic finds a topic.
func (s *Store) topic(name string) (*topic, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.topicLocked(name)
}

// topicLocked is topic. The mutex is held.
func (s *Store) topicLocked(name string) (*topic, error) {
	if t := s.topics[name]; t != nil {
		return t, nil
	}
	if unseen := s.unseenLocked(); unseen != nil {
		return nil, fmt.Errorf("topic %s is not known, and volume %s was not seen: %w: %w", name, unseen.name, ErrUnavailable, unseen.ejected)
	}
	return nil, fmt.Errorf("topic %s: %w", name, ErrNoTopic)
}

// log finds a partition that can be asked.
func (s *Store) log(name string, number int) (*partition.Partition, error) {
	t, err := s.topic(name)
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= len(t.members) {
		return nil, fmt.Errorf("partition %d of topic %s, which has %d: %w", number, name, len(t.members), ErrNoPartition)
	}
	m := t.members[number]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if m.log == nil {
		return nil, s.absentLocked(m)
	}
	return m.log, nil
}

// absentLocked says why a partition cannot be asked. The mutex is held.
func (s *Store) absentLocked(m *member) error {
	switch {
	case m.lost != nil:
		return m.lost
	case m.volume.ejected != nil:
		return fmt.Errorf("partition %d of topic %s in volume %s: %w: %w", m.number, m.topic.name, m.volume.name, ErrUnavailable, m.volume.ejected)
	}
	return fmt.Errorf("partition %d of topic %s is not open yet: %w", m.number, m.topic.name, ErrUnavailable)
}

// TopicStats describes a topic.
type TopicStats struct {
	Name       string
	Retention  Retention
	Partitions []PartitionStats
}

// PartitionStats describes a partition.
type PartitionStats struct {
	Volume      string
	Ejected     error // why its directory is out of service, or nil
	First, Next Cursor
	Segments    []Segment
}

// Topics describes all topics, by name.
func (s *Store) Topics() ([]TopicStats, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.mutex.Lock()
	names := host.SortedKeys(s.topics)
	s.mutex.Unlock()
	var all []TopicStats
	for _, name := range names {
		t, err := s.topic(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s.describe(t))
	}
	return all, nil
}

// Topic describes one topic.
func (s *Store) Topic(name string) (TopicStats, error) {
	if err := s.enter(); err != nil {
		return TopicStats{}, err
	}
	defer s.leave()
	t, err := s.topic(name)
	if err != nil {
		return TopicStats{}, err
	}
	return s.describe(t), nil
}

func (s *Store) describe(t *topic) TopicStats {
	s.mutex.Lock()
	stats := TopicStats{Name: t.name, Retention: Retention{Period: t.settings.retention(), BytesMax: t.settings.RetentionBytes}}
	logs := make([]*partition.Partition, len(t.members))
	for i, m := range t.members {
		logs[i] = m.log
		one := PartitionStats{Volume: m.volume.name, Ejected: m.volume.ejected}
		if m.log == nil {
			one.Ejected = s.absentLocked(m)
		}
		stats.Partitions = append(stats.Partitions, one)
	}
	s.mutex.Unlock()
	for i, log := range logs {
		if log != nil {
			one := &stats.Partitions[i]
			one.First, one.Next, one.Ejected = bounds(log, one.Ejected)
			one.Segments = log.Segments()
		}
	}
	return stats
}

// bounds are a partition's, and why they are not known, or why its directory is out of service.
func bounds(log *partition.Partition, ejected error) (first, next Cursor, err error) {
	first, next, err = log.Bounds()
	return first, next, errors.Join(ejected, err)
}

// Ejected lists the directories that are out of service, with the reasons.
func (s *Store) Ejected() map[string]error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := map[string]error{}
	for _, v := range s.volumes {
		if v.ejected != nil {
			all[v.name] = v.ejected
		}
	}
	return all
}
