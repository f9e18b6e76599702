package segmentserver

import (
	"bytes"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/segments"
	"lakebed/service/wire"
)

// server answers requests from one store.
type server struct {
	store   *seglog.Store
	config  Config
	service *service.Service
}

// New makes the service of a store. It does not own the store.
func New(store *seglog.Store, config Config) (*service.Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("server of a segment log: %w", err)
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
	number, named, err := r.OptionalNumber("partition", service.InQuery)
	if err != nil {
		return nil, err
	}
	if !named {
		number = seglog.Balanced
	}
	body, mediaType, err := r.Body()
	if err != nil {
		return nil, err
	}
	messages := [][]byte{body}
	if mediaType == segments.LinesType {
		now := uint64(s.config.Now().UnixNano() / int64(s.config.TimeUnit))
		if messages, err = decodeLines(body, s.config.AppendMessagesMax, now); err != nil {
			return nil, err
		}
	}
	placed, err := s.store.Append(topic, int(number), messages...)
	if err != nil {
		return nil, classified(fmt.Errorf("append to topic %s: %w", topic, err))
	}
	return segments.Placed{Topic: topic, Partition: placed.Partition, First: int64(placed.First), Count: len(messages)}, nil
}

// place is the partition that a request names.
type place struct {
	topic  string
	number int
}

func (p place) String() string { return fmt.Sprintf("partition %d of topic %s", p.number, p.topic) }

func placeOf(r *service.Request) (p place, err error) {
	if p.topic, err = r.Text("topic", service.InPath); err != nil {
		return p, err
	}
	number, err := r.Number("partition", service.InPath)
	p.number = int(number)
	return p, err
}

func (s *server) fetch(r *service.Request) (any, error) {
	p, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	form, err := r.Text("form", service.InQuery)
	if err != nil {
		return nil, err
	}
	from, err := s.begin(r, p)
	if err != nil {
		return nil, err
	}
	var bounds [3]int64
	for i, name := range []string{"messages", "bytes", "wait_ms"} {
		if bounds[i], err = r.Number(name, service.InQuery); err != nil {
			return nil, err
		}
	}
	limits := seglog.Limits{Messages: int(bounds[0]), Bytes: bounds[1]}
	patience := time.Duration(bounds[2]) * time.Millisecond
	batch, err := s.read(p, from, limits, form == formRaw)
	if err != nil || len(batch.Messages) > 0 || patience == 0 {
		return batch, err
	}
	wait := s.store.NewWait() // of this one request: it ends when its client leaves
	there, over, err := service.Await(r, wait.Stop, func() (bool, error) {
		return s.store.AwaitIn(wait, p.topic, p.number, from, patience)
	})
	if err != nil || over && !there {
		return batch, classified(err)
	}
	return s.read(p, from, limits, form == formRaw)
}

// begin is the cursor that a fetch begins at.
func (s *server) begin(r *service.Request, p place) (seglog.Cursor, error) {
	cursor, byCursor, err := r.OptionalNumber("cursor", service.InQuery)
	if err != nil {
		return 0, err
	}
	at, byTime, err := r.OptionalNumber("time", service.InQuery)
	switch {
	case err != nil:
		return 0, err
	case byCursor && byTime:
		return 0, wire.NewProblem(wire.Invalid, fmt.Errorf("fetch from cursor %d and time %d: want one of them", cursor, at))
	case byCursor:
		return seglog.Cursor(cursor), nil
	case byTime:
		c, err := s.store.Seek(p.topic, p.number, seglog.Time(at))
		return c, classified(err)
	}
	first, _, err := s.store.Bounds(p.topic, p.number)
	return first, classified(err)
}

func (s *server) read(p place, from seglog.Cursor, limits seglog.Limits, raw bool) (segments.Batch, error) {
	answer := segments.Batch{Topic: p.topic, Partition: p.number, Messages: []segments.Message{}}
	batch, err := s.store.Read(p.topic, p.number, from, limits)
	if err != nil {
		return answer, classified(fmt.Errorf("fetch from %v: %w", p, err))
	}
	defer batch.Release()
	answer.Next = int64(batch.Next)
	for _, e := range batch.Entries {
		m := segments.Message{Cursor: int64(e.Cursor)}
		if raw {
			m.List = bytes.Clone(e.Payload)
		} else if m.Groups, err = groupsOf(e.Payload); err != nil {
			return answer, wire.NewProblem(wire.Corrupt, fmt.Errorf("message %d of %v: %w", e.Cursor, p, err))
		}
		answer.Messages = append(answer.Messages, m)
	}
	return answer, nil
}

func (s *server) seek(r *service.Request) (any, error) {
	p, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	at, err := r.Number("time", service.InQuery)
	if err != nil {
		return nil, err
	}
	c, err := s.store.Seek(p.topic, p.number, seglog.Time(at))
	return segments.Position{Cursor: int64(c)}, classified(err)
}

func (s *server) ejected() []segments.Ejected {
	all := []segments.Ejected{}
	ejected := s.store.Ejected()
	for _, volume := range host.SortedKeys(ejected) {
		all = append(all, segments.Ejected{Volume: volume, Why: ejected[volume].Error()})
	}
	return all
}
