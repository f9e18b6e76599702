package messageserver

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/service"
	"lakebed/service/messages"
	"lakebed/service/wire"
)

func (s *server) topics(*service.Request) (any, error) {
	answer := messages.Topics{Topics: []messages.Topic{}}
	for _, name := range s.store.Topics() {
		t, err := s.describe(name)
		if err != nil {
			return nil, err
		}
		answer.Topics = append(answer.Topics, t)
	}
	return answer, nil
}

func (s *server) topic(r *service.Request) (any, error) {
	name, err := r.Text("topic", service.InPath)
	if err != nil {
		return nil, err
	}
	return s.describe(name)
}

func (s *server) describe(name string) (messages.Topic, error) {
	t := messages.Topic{Name: name, Queues: make([]messages.Queue, s.store.Queues(name))}
	if len(t.Queues) == 0 {
		return t, wire.NewProblem(wire.NotFound, fmt.Errorf("topic %s: no such topic", name))
	}
	for i := range t.Queues {
		low, high, err := s.store.Bounds(name, int32(i))
		if err != nil {
			return t, classified(err)
		}
		t.Queues[i] = messages.Queue{Queue: int32(i), Min: low, Max: high}
	}
	return t, nil
}

func (s *server) create(r *service.Request) (any, error) {
	var asked messages.NewTopic
	if err := r.JSON(&asked); err != nil {
		return nil, err
	}
	if err := s.store.CreateTopic(asked.Name, asked.Queues); err != nil {
		return nil, classified(fmt.Errorf("create topic %s: %w", asked.Name, err))
	}
	return s.describe(asked.Name)
}

func (s *server) stats(*service.Request) (any, error) {
	told := s.store.Stats()
	answer := messages.Stats{
		Flush: s.config.Flush, First: told.First, Written: told.Written, Synced: told.Synced, Confirmed: told.Confirmed, Dispatched: told.Dispatched,
		Topics: told.Topics, Queues: told.Queues, OpenQueueFiles: told.OpenQueueFiles, Cut: told.Cut, DiskFull: told.DiskFull,
	}
	answer.Requests, answer.Waits = s.service.Load()
	return answer, nil
}

func (s *server) health(*service.Request) (any, error) {
	if err := s.store.Failed(); err != nil {
		return nil, wire.NewProblem(wire.Failed, err)
	}
	switch err := s.store.Full(); {
	case errors.Is(err, host.ErrNoSpace):
		return messages.Health{Status: "full", Why: err.Error()}, nil
	case err != nil:
		return nil, classified(err)
	}
	return messages.Health{Status: "ok"}, nil
}
