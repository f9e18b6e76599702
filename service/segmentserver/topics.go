package segmentserver

import (
	"fmt"
	"math"
	"time"

	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/segments"
	"lakebed/service/wire"
)

func (s *server) topics(*service.Request) (any, error) {
	all, err := s.store.Topics()
	if err != nil {
		return nil, classified(err)
	}
	answer := segments.Topics{Topics: []segments.Topic{}}
	for _, t := range all {
		answer.Topics = append(answer.Topics, told(t))
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

func (s *server) describe(name string) (any, error) {
	t, err := s.store.Topic(name)
	if err != nil {
		return nil, classified(fmt.Errorf("describe topic %s: %w", name, err))
	}
	return told(t), nil
}

func told(t seglog.TopicStats) segments.Topic {
	answer := segments.Topic{
		Name: t.Name, RetentionSeconds: int64(t.Retention.Period / time.Second), RetentionBytes: t.Retention.BytesMax,
		Partitions: make([]segments.Partition, len(t.Partitions)),
	}
	for i, p := range t.Partitions {
		one := segments.Partition{Number: i, Volume: p.Volume, First: int64(p.First), Next: int64(p.Next), Segments: len(p.Segments)}
		if p.Ejected != nil {
			one.Trouble = p.Ejected.Error()
		}
		for _, segment := range p.Segments {
			one.Bytes += segment.Bytes
		}
		answer.Partitions[i] = one
	}
	return answer
}

func (s *server) create(r *service.Request) (any, error) {
	var asked segments.NewTopic
	if err := r.JSON(&asked); err != nil {
		return nil, err
	}
	retention, err := retentionOf(asked.RetentionSeconds, asked.RetentionBytes)
	if err != nil {
		return nil, err
	}
	if err := s.store.CreateTopic(asked.Name, seglog.TopicConfig{Partitions: asked.Partitions, Retention: retention}); err != nil {
		return nil, classified(fmt.Errorf("create topic %s: %w", asked.Name, err))
	}
	return s.describe(asked.Name)
}

func (s *server) alter(r *service.Request) (any, error) {
	name, err := r.Text("topic", service.InPath)
	if err != nil {
		return nil, err
	}
	var asked struct { // a retention whose members must both be there: one that is left out is no zero
		Seconds *int64 `json:"retention_seconds"`
		Bytes   *int64 `json:"retention_bytes"`
	}
	if err := r.JSON(&asked); err != nil {
		return nil, err
	}
	if asked.Seconds == nil || asked.Bytes == nil {
		return nil, wire.NewProblem(wire.Invalid, fmt.Errorf("alter topic %s: want retention_seconds and retention_bytes", name))
	}
	retention, err := retentionOf(*asked.Seconds, *asked.Bytes)
	if err != nil {
		return nil, err
	}
	if err := s.store.SetRetention(name, retention); err != nil {
		return nil, classified(fmt.Errorf("alter topic %s: %w", name, err))
	}
	return s.describe(name)
}

func retentionOf(seconds, bytes int64) (seglog.Retention, error) {
	if seconds > math.MaxInt64/int64(time.Second) || seconds < 0 || bytes < 0 {
		return seglog.Retention{}, wire.NewProblem(wire.Invalid, fmt.Errorf("retention of %d seconds and %d bytes", seconds, bytes))
	}
	return seglog.Retention{Period: time.Duration(seconds) * time.Second, BytesMax: bytes}, nil
}

func (s *server) stats(*service.Request) (any, error) {
	all, err := s.store.Topics()
	if err != nil {
		return nil, classified(err)
	}
	answer := segments.Stats{Sync: s.config.Sync, TimeUnitNanos: int64(s.config.TimeUnit), Topics: len(all), Ejected: s.ejected()}
	answer.Requests, answer.Waits = s.service.Load()
	for _, t := range all {
		one := told(t)
		answer.Partitions += len(one.Partitions)
		for _, p := range one.Partitions {
			answer.Segments += p.Segments
			answer.Messages += p.Next - p.First
			answer.Bytes += p.Bytes
		}
	}
	return answer, nil
}

func (s *server) health(*service.Request) (any, error) {
	answer := segments.Health{Status: "ok", Ejected: s.ejected()}
	switch {
	case len(answer.Ejected) >= s.config.Volumes:
		return nil, wire.NewProblem(wire.Unavailable, fmt.Errorf("no directory is in service: %v", answer.Ejected))
	case len(answer.Ejected) > 0:
		answer.Status = "degraded"
	}
	return answer, nil
}
