package commitlog

import (
	"fmt"
	"path"
	"strconv"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
)

// topic is a topic with its queues.
type topic struct {
	name   string
	queues []*queue
	named  int // of these queues the directories are durable
	turn   int // of the queue that the next message of AnyQueue goes to
}

// queue is one queue of a topic.
type queue struct {
	topic   *topic
	id      int32
	units   *consumequeue.Queue
	next    int64 // offset of the next message: guarded by the lock of the open group
	looked  int64 // where the log began when the first unit was looked for, as nothing is gone from 0 on; guarded by the store's mutex
	removed int64 // files of units below the one of this number are gone; owned by the checkpoint
}

func (q *queue) String() string { return fmt.Sprintf("queue %d of topic %s", q.id, q.topic.name) }

// checkTopic says what is wrong with a topic's name. It is a directory's name, so nothing else is let in than upstream does.
func checkTopic(name string) error {
	if len(name) == 0 || len(name) > topicBytesMax {
		return fmt.Errorf("topic's name of %d bytes, want 1 to %d: %w", len(name), topicBytesMax, ErrIllegal)
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '%', c == '|':
		default:
			return fmt.Errorf("topic's name %q: letters, digits and -_%%| make a name: %w", name, ErrIllegal)
		}
	}
	return nil
}

// find returns a topic, or nil.
func (s *Store) find(name string) *topic {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.topics[name]
}

// findQueue returns a queue of a topic, or nil.
func (s *Store) findQueue(name string, id int32) *queue {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := s.topics[name]
	if t == nil || id < 0 || int(id) >= len(t.queues) {
		return nil
	}
	return t.queues[id]
}

// ensure returns a topic with at least so many queues, and makes what is missing.
func (s *Store) ensure(name string, queues int32) (*topic, error) {
	s.creating.Lock()
	defer s.creating.Unlock()
	t := s.find(name)
	have := 0
	if t != nil {
		have = len(t.queues)
	}
	if have >= int(queues) {
		return t, nil
	}
	if s.queueCount+int(queues)-have > s.config.QueuesMax {
		return nil, fmt.Errorf("topic %s with %d queues: the store has %d, and may have %d: %w",
			name, queues, s.queueCount, s.config.QueuesMax, ErrIllegal)
	}
	if t == nil {
		t = &topic{name: name}
	}
	made, err := s.makeQueues(t, int32(have), queues)
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t.queues = append(t.queues, made...)
	s.queueCount += len(made)
	s.topics[name] = t
	return t, nil
}

// makeQueues makes the directories of a topic's queues. Their names become durable with the next checkpoint.
func (s *Store) makeQueues(t *topic, from, to int32) (made []*queue, err error) {
	for id := from; id < to; id++ {
		q, err := s.makeQueue(t, id, consumequeue.State{})
		if err != nil {
			return nil, err
		}
		made = append(made, q)
	}
	return made, nil
}

func (s *Store) makeQueue(t *topic, id int32, state consumequeue.State) (*queue, error) {
	topicDir, err := s.queues.Sub(t.name)
	if err != nil {
		return nil, err
	}
	dir, err := topicDir.Sub(strconv.Itoa(int(id)))
	if err != nil {
		return nil, err
	}
	units := consumequeue.Open(s.h, consumequeue.Options{
		Dir: dir, Above: []host.Dir{topicDir, s.queues}, Files: s.files, Owner: path.Join(queuesDirectory, t.name, strconv.Itoa(int(id))), FileUnits: s.config.QueueFileUnits, State: state,
	})
	return &queue{topic: t, id: id, units: units, next: state.Next()}, nil
}

// CreateTopic makes a topic with so many queues, or gives it more, durably. A topic never loses queues.
func (s *Store) CreateTopic(name string, queues int32) error {
	if err := checkTopic(name); err != nil {
		return err
	}
	if queues < 1 {
		return fmt.Errorf("topic %s with %d queues: %w", name, queues, ErrIllegal)
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	if err := s.Failed(); err != nil {
		return err
	}
	if _, err := s.ensure(name, queues); err != nil {
		return err
	}
	return s.checkpointOrFail(false)
}

// Topics are the names of all topics, sorted.
func (s *Store) Topics() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return host.SortedKeys(s.topics)
}

// Queues is the number of a topic's queues; zero if there is no such topic.
func (s *Store) Queues(name string) int32 {
	if t := s.find(name); t != nil {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return int32(len(t.queues))
	}
	return 0
}

// allQueues are the queues of all topics, by topic and id.
func (s *Store) allQueues() []*queue {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := make([]*queue, 0, s.queueCount)
	for _, name := range host.SortedKeys(s.topics) {
		all = append(all, s.topics[name].queues...)
	}
	return all
}
