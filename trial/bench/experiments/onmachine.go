package experiments

import (
	"context"
	"errors"
	"path/filepath"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// onThisMachine has f be a process with one volume below dir.
func onThisMachine(ctx context.Context, r *run, dir, volume string, f func(h host.Host) error) error {
	config := oshost.Config{Volumes: map[string]string{volume: filepath.Join(dir, volume)}, Seed: r.Seed, Logger: r.Logger}
	err := oshost.Run(ctx, config, f)
	return errors.Join(ctx.Err(), err)
}

// fillers is how many tasks write at once what an experiment reads later.
const fillers = 64

// appendMany stores so many messages with bodies of so many bytes, the queues of a topic in turn.
func appendMany(h host.Host, s *commitlog.Store, topic string, queues int32, messages, body int) error {
	if err := s.CreateTopic(topic, queues); err != nil {
		return err
	}
	tasks := h.Root().New("fillers")
	failed := make([]error, fillers)
	for i := range fillers {
		tasks.Go("filler", func() {
			content := make([]byte, body)
			for n := i; n < messages && failed[i] == nil; n += fillers {
				_, failed[i] = s.Append(message.Message{Topic: []byte(topic), Queue: int32(n) % queues, Body: content})
			}
		})
	}
	tasks.Wait()
	return errors.Join(failed...)
}
