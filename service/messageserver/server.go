package messageserver

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/service"
	"lakebed/service/messages"
	"lakebed/service/wire"
)

// server answers requests from one store.
type server struct {
	store   *commitlog.Store
	config  Config
	service *service.Service
}

// New makes the service of a store. It does not own the store.
func New(store *commitlog.Store, config Config) (*service.Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("server of a commit log: %w", err)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	s := &server{store: store, config: config}
	made, err := service.New(config.Service, info(), s.routes(), config.Logger)
	s.service = made
	return made, err
}

func (s *server) append(r *service.Request) (any, error) {
	topic, err := r.Text("topic", service.InPath)
	if err != nil {
		return nil, err
	}
	queue, named, err := r.OptionalNumber("queue", service.InQuery)
	if err != nil {
		return nil, err
	}
	if !named {
		queue = int64(commitlog.AnyQueue)
	}
	asked, err := s.sent(r)
	if err != nil {
		return nil, err
	}
	born := s.config.Now().UnixMilli()
	if asked.BornMillis != nil {
		born = *asked.BornMillis
	}
	m := message.Message{Topic: []byte(topic), Queue: int32(queue), Flag: asked.Flag, BornTimestamp: born, Body: asked.Body}
	if m.Properties, err = properties(&asked); err != nil {
		return nil, classified(err)
	}
	if err := s.fits(&m); err != nil {
		return nil, err
	}
	comesFrom(&m, r.Peer())
	placed, err := s.store.Append(m)
	if err != nil {
		return nil, s.placeless(topic, int32(queue), fmt.Errorf("append to topic %s: %w", topic, err))
	}
	return messages.Placed{Topic: topic, Queue: placed.Queue, Offset: placed.QueueOffset, Physical: placed.Physical, StoredMillis: placed.Stored}, nil
}

// fits says of a message that is too large that it is: the store has one class for all that it refuses.
func (s *server) fits(m *message.Message) error {
	switch {
	case len(m.Body) > s.config.MessageBytesMax:
		return wire.NewProblem(wire.TooLarge, fmt.Errorf("body of %d bytes, more than %d", len(m.Body), s.config.MessageBytesMax))
	case len(m.Properties) > s.config.PropertiesMax:
		return wire.NewProblem(wire.TooLarge, fmt.Errorf("tag, keys and properties of %d bytes, more than %d", len(m.Properties), s.config.PropertiesMax))
	}
	return nil
}

// placeless gives an error its class, and of a queue that is not there tells whether its topic is.
func (s *server) placeless(topic string, queue int32, err error) error {
	if !errors.Is(err, commitlog.ErrNoQueue) {
		return classified(err)
	}
	queues := s.store.Queues(topic)
	if queues == 0 {
		return wire.NewProblem(wire.NotFound, fmt.Errorf("topic %s: no such topic", topic))
	}
	return wire.NewProblem(wire.NotFound, fmt.Errorf("queue %d of topic %s, which has %d: no such queue", queue, topic, queues))
}

// sent is the message of a request, in one of two forms.
func (s *server) sent(r *service.Request) (m messages.NewMessage, err error) {
	tag, err := r.Text("tag", service.InQuery)
	if err != nil {
		return m, err
	}
	keys := r.Texts("key")
	body, mediaType, err := r.Body()
	if err != nil {
		return m, err
	}
	if mediaType == octetsType {
		return messages.NewMessage{Body: append(wire.Bytes{}, body...), Tag: tag, Keys: keys}, nil
	}
	if tag != "" || len(keys) > 0 {
		return m, wire.NewProblem(wire.Invalid, fmt.Errorf("parameters tag and key go with %s: in JSON they are members of the message", octetsType))
	}
	return decodeMessage(body)
}

// queueOf is the queue that a request names.
func queueOf(r *service.Request) (topic string, queue int32, err error) {
	if topic, err = r.Text("topic", service.InPath); err != nil {
		return "", 0, err
	}
	number, err := r.Number("queue", service.InPath)
	return topic, int32(number), err
}

func (s *server) pull(r *service.Request) (any, error) {
	topic, queue, err := queueOf(r)
	if err != nil {
		return nil, err
	}
	expression, err := r.Text("tags", service.InQuery)
	if err != nil {
		return nil, err
	}
	tags, err := messages.Expression(expression).Tags()
	if err != nil {
		return nil, wire.NewProblem(wire.Invalid, err)
	}
	var bounds [4]int64
	for i, name := range []string{"offset", "count", "bytes", "wait_ms"} {
		if bounds[i], err = r.Number(name, service.InQuery); err != nil {
			return nil, err
		}
	}
	request := commitlog.PullRequest{Topic: topic, Queue: queue, Offset: bounds[0], Count: int(bounds[1]), Bytes: bounds[2], Tags: tags}
	result, err := s.store.Pull(request)
	if err != nil {
		return nil, s.placeless(topic, queue, err)
	}
	if bounds[3] > 0 && worthWaiting(&result) {
		request.Suspend = time.Duration(bounds[3]) * time.Millisecond
		if result.Status == commitlog.NoMatchedMessage {
			request.Offset = result.Next // what was looked at stays behind
		}
		request.Waiting = s.store.NewWait() // of this one request: it ends when its client leaves
		later, over, err := service.Await(r, request.Waiting.Stop, func() (commitlog.PullResult, error) { return s.store.Pull(request) })
		if err != nil {
			return nil, classified(err)
		}
		if over {
			result = later
		}
	}
	return toldPull(&result), nil
}

// worthWaiting says of which answers the next message of the queue may make others.
func worthWaiting(r *commitlog.PullResult) bool {
	switch r.Status {
	case commitlog.NoMessageInQueue, commitlog.OffsetOverflowOne:
		return true
	case commitlog.NoMatchedMessage:
		return r.Next == r.Max
	}
	return false
}

func toldPull(r *commitlog.PullResult) messages.Pulled {
	return messages.Pulled{Status: r.Status.String(), Messages: toldAll(r.Messages), Next: r.Next, Min: r.Min, Max: r.Max}
}

func toldAll(all []message.Message) []messages.Message {
	answer := make([]messages.Message, len(all))
	for i := range all {
		answer[i] = told(&all[i])
	}
	return answer
}

func (s *server) query(r *service.Request) (any, error) {
	topic, err := r.Text("topic", service.InPath)
	if err != nil {
		return nil, err
	}
	key, err := r.Text("key", service.InQuery)
	if err != nil {
		return nil, err
	}
	from, err := r.Number("from_ms", service.InQuery)
	if err != nil {
		return nil, err
	}
	to, there, err := r.OptionalNumber("to_ms", service.InQuery)
	if err != nil {
		return nil, err
	}
	if !there {
		to = math.MaxInt64
	}
	limit, err := r.Number("limit", service.InQuery)
	if err != nil {
		return nil, err
	}
	if s.store.Queues(topic) == 0 {
		return nil, s.placeless(topic, 0, commitlog.ErrNoQueue)
	}
	all, err := s.store.Query(topic, key, from, to, int(limit))
	if err != nil {
		return nil, classified(err)
	}
	return messages.Found{Messages: toldAll(all)}, nil
}

func (s *server) offset(r *service.Request) (any, error) {
	topic, queue, err := queueOf(r)
	if err != nil {
		return nil, err
	}
	at, err := r.Number("time_ms", service.InQuery)
	if err != nil {
		return nil, err
	}
	word, err := r.Text("boundary", service.InQuery)
	if err != nil {
		return nil, err
	}
	boundary := commitlog.Lower
	if word == string(messages.Upper) {
		boundary = commitlog.Upper
	}
	offset, err := s.store.OffsetByTime(topic, queue, at, boundary)
	if err != nil {
		return nil, s.placeless(topic, queue, err)
	}
	return messages.Position{Offset: offset}, nil
}
