package seglog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog/partition"
)

// Store is a node's segment log.
type Store struct {
	h      host.Host
	config Config
	parent host.Group // that Open was given
	tasks  host.Group
	files  *openfiles.Cache

	volumes []*volume    // as configured
	writers host.Counter // partitions that take appends

	mutex   host.Mutex
	idle    host.Cond // the last call under way has ended
	topics  map[string]*topic
	calls   int  // under way
	horizon Time // messages up to it are not too far ahead of the clock
	closing bool
	making  host.Mutex // one topic is made or changed at a time
}

// topic is one kind of data. Its members are fixed when it is made.
type topic struct {
	name     string
	settings settings // guarded by the store's mutex
	members  []*member
	turn     int // of balanced appends; guarded by the store's mutex
}

// Open opens the data directories. One that cannot be opened is ejected from the start, and looked at again like any
// other. The store's tasks start in a group of its own below g.
func Open(h host.Host, g host.Group, config Config) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("open segment log: %w", err)
	}
	config.Partition.TimeUnit = config.TimeUnit
	if config.Partition.Committer == partition.CommitterDefault {
		config.Partition.Committer = committerFor(len(config.Volumes))
	}
	tasks := g.New("seglog")
	s := &Store{
		h: h, config: config, parent: g, tasks: tasks,
		files:   openfiles.New(h, g.New("seglog-files"), config.FilesMax), // lasts until the last partition is closed
		writers: h.NewCounter("seglog-writers"),
		mutex:   h.NewMutex("seglog"), making: h.NewMutex("seglog-topics"), topics: map[string]*topic{},
	}
	s.idle = tasks.NewCond(s.mutex)
	for _, name := range config.Volumes {
		v := &volume{store: s, name: name, upkeep: h.NewMutex("upkeep"), changed: tasks.NewCond(s.mutex)}
		s.volumes = append(s.volumes, v)
	}
	for _, v := range s.volumes {
		err := v.open()
		if errors.Is(err, host.ErrLocked) {
			return nil, errors.Join(fmt.Errorf("open volume %s: %w", v.name, err), s.unlock())
		}
		if err != nil {
			v.eject(fmt.Errorf("open: %w", err))
		}
	}
	for _, v := range s.volumes {
		if v.dir == nil {
			continue
		}
		err := s.discover(v)
		if err == nil {
			err = v.checkSpace() // what is there is read and removed; before the first append, not after it
		}
		if err != nil {
			v.eject(err)
		}
	}
	s.startTasks()
	return s, nil
}

// committerFor is who commits unless told: appenders themselves where there is one directory. With several, one that hangs
// must not keep the appenders that the others are to serve.
func committerFor(directories int) partition.Committer {
	if directories == 1 {
		return partition.ByAppender
	}
	return partition.ByTask
}

func (s *Store) startTasks() {
	for _, v := range s.volumes {
		s.tasks.Go("keep-"+v.name, v.keep)
		if s.config.Partition.Sync == partition.SyncInterval {
			s.tasks.Go("sync-"+v.name, v.syncAtIntervals)
		}
	}
	s.tasks.Go("watch", s.watch)
}

// watch finds commits that hang. It asks nothing of any disk.
func (s *Store) watch() {
	for s.tasks.Sleep(s.config.WatchInterval) {
		for _, v := range s.volumes {
			for _, m := range s.membersOf(v) {
				if m.log != nil {
					m.log.Overdue(s.config.CommitPatience)
				}
			}
		}
	}
}

// discover takes up what a volume holds: topics that were not known, and partitions that were not opened.
func (s *Store) discover(v *volume) error {
	entries, err := v.dir.List()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, e := range entries {
		if !e.Dir || checkTopicName(e.Name) != nil {
			continue
		}
		dir, err := v.dir.Sub(e.Name)
		if err != nil {
			return fmt.Errorf("topic %s: %w", e.Name, err)
		}
		if err := s.files.Reserve(1); err != nil {
			return err
		}
		found, ok, err := readSettings(dir, e.Name)
		s.files.Give(1)
		if err != nil {
			return err
		}
		if ok {
			if _, err := s.adopt(found); err != nil {
				return err
			}
		}
	}
	s.mutex.Lock()
	v.seen = true
	s.mutex.Unlock()
	var missing []*member
	for _, m := range s.membersOf(v) {
		if m.log == nil {
			missing = append(missing, m.member)
		}
	}
	for _, err := range s.openMembers(missing) {
		if err != nil {
			return err
		}
	}
	return nil
}

// adopt takes up a topic's settings if they are newer than what is known.
func (s *Store) adopt(found settings) (*topic, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := s.topics[found.Name]
	if t != nil {
		if !slices.Equal(found.Volumes, t.settings.Volumes) {
			return nil, fmt.Errorf("two topics are called %s, one in volumes %q and one in %q: %w", found.Name, found.Volumes, t.settings.Volumes, ErrCorrupt)
		}
		if found.Version > t.settings.Version {
			t.settings = found
		}
		return t, nil
	}
	t = &topic{name: found.Name, settings: found}
	for number, name := range found.Volumes {
		m := &member{topic: t, number: number, volume: s.volumeOf(name)}
		t.members = append(t.members, m)
	}
	s.topics[found.Name] = t
	return t, nil
}

// volumeOf is the volume of this name. One that is not configured any more counts as one that is out of service.
func (s *Store) volumeOf(name string) *volume {
	for _, v := range s.volumes {
		if v.name == name {
			return v
		}
	}
	return &volume{store: s, name: name, ejected: errors.New("it is not configured")}
}

// listed is a topic's directory in one volume, with the names of the partitions that are there.
type listed struct {
	dir  host.Dir
	have []string // sorted
}

// listings are those that one look at partitions has made: a topic may have thousands, and is listed once.
type listings map[string]listed

// of lists a member's topic in its volume.
func (l listings) of(m *member) (listed, error) {
	key := m.volume.name + "/" + m.topic.name
	if found, ok := l[key]; ok {
		return found, nil
	}
	dir, err := m.volume.dir.Sub(m.topic.name)
	if err != nil {
		return listed{}, fmt.Errorf("topic %s: %w", m.topic.name, err)
	}
	entries, err := dir.List()
	if err != nil {
		return listed{}, fmt.Errorf("list partitions of topic %s: %w", m.topic.name, err)
	}
	found := listed{dir: dir}
	for _, e := range entries {
		if e.Dir {
			found.have = append(found.have, e.Name)
		}
	}
	slices.Sort(found.have)
	l[key] = found
	return found, nil
}

// openMember opens a partition. Its directory must be there: one that is missing was lost with what it held.
func (s *Store) openMember(m *member, there listed) error {
	number := strconv.Itoa(m.number)
	if _, ok := slices.BinarySearch(there.have, number); !ok {
		s.mutex.Lock()
		m.lost = fmt.Errorf("directory of partition %s is missing: what it held is lost: %w", m.name(), ErrUnavailable)
		s.mutex.Unlock()
		s.h.Log(host.Error, "partition is lost", host.F("partition", m.name()))
		return nil
	}
	own, err := there.dir.Sub(number)
	if err != nil {
		return fmt.Errorf("partition %s: %w", m.name(), err)
	}
	log := partition.Open(s.h, s.tasks, partition.Place{Name: m.name(), Dir: own, Files: s.files, Writers: s.writers, Failed: m.volume.eject}, s.config.Partition)
	s.mutex.Lock()
	m.log = log
	s.mutex.Unlock()
	return log.Err()
}

// opened is a member with its log at that moment.
type opened struct {
	*member
	log *partition.Partition
}

// membersOf lists a volume's partitions, by topic and number.
func (s *Store) membersOf(v *volume) []opened {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []opened
	for _, name := range host.SortedKeys(s.topics) {
		for _, m := range s.topics[name].members {
			if m.volume == v {
				all = append(all, opened{m, m.log})
			}
		}
	}
	return all
}

// keepOf is what retention leaves of a topic now.
func (s *Store) keepOf(t *topic) partition.Keep {
	now := s.h.Now()
	s.h.Probe().Mark(host.Event{Name: PointLooking, A: int64(now)})
	s.mutex.Lock()
	defer s.mutex.Unlock()
	keep := partition.Keep{BytesMax: t.settings.RetentionBytes}
	if period := t.settings.RetentionNanos; period > 0 {
		if oldest := int64(now) - period; oldest > 0 {
			keep.From = Time(oldest / int64(s.config.TimeUnit))
		}
	}
	return keep
}

// Retain has retention look at once at every directory.
func (s *Store) Retain() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	var all []error
	for _, v := range s.volumes {
		all = append(all, v.retain())
	}
	return errors.Join(all...)
}

// enter begins a call. Leave must follow, unless it fails.
func (s *Store) enter() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closing {
		return ErrClosed
	}
	s.calls++
	return nil
}

func (s *Store) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.calls--; s.calls == 0 && s.closing {
		s.idle.Broadcast()
	}
}

// Close ends the store: calls under way end, appends that have not begun are refused, open segments are sealed. It waits
// for a disk that hangs.
func (s *Store) Close() error {
	s.mutex.Lock()
	s.closing = true
	for _, v := range s.volumes {
		v.changed.Broadcast()
	}
	s.mutex.Unlock()
	s.eachLog(func(log *partition.Partition) { log.Stop() })
	s.mutex.Lock()
	for s.calls > 0 {
		s.idle.WaitFor(time.Hour) // the group is not stopped yet: a call that ends wakes
	}
	s.mutex.Unlock()
	s.tasks.Stop()
	s.tasks.Wait()
	all := append(s.closeLogs(), s.files.Close(), s.unlock())
	return errors.Join(all...)
}

func (s *Store) eachLog(f func(*partition.Partition)) {
	for _, v := range s.volumes {
		for _, m := range s.membersOf(v) {
			if m.log != nil {
				f(m.log)
			}
		}
	}
}

func (s *Store) unlock() error {
	for _, v := range s.volumes {
		if v.unlock != nil {
			v.unlock()
			v.unlock = nil
		}
	}
	return nil
}
