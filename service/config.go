package service

import (
	"fmt"
	"io/fs"
	"time"
)

// Config bounds a service.
type Config struct {
	ConnectionsMax int // at a time; others wait to be accepted
	RequestsMax    int // under way, without those that wait for messages
	WaitsMax       int // requests that wait for messages

	HeaderBytesMax int
	BodyBytesMax   int64
	HeaderPatience time.Duration // for a request's head
	BodyPatience   time.Duration // for its body
	AnswerPatience time.Duration // for a client to take its answer
	IdlePatience   time.Duration // for the next request of a connection
	DrainMax       time.Duration // for requests under way, when the service ends

	SocketMode fs.FileMode // of a unix socket's file
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		ConnectionsMax: 4096, RequestsMax: 64, WaitsMax: 1024,
		HeaderBytesMax: 64 << 10, BodyBytesMax: 8 << 20,
		HeaderPatience: 10 * time.Second, BodyPatience: 30 * time.Second, AnswerPatience: 30 * time.Second,
		IdlePatience: 2 * time.Minute, DrainMax: 30 * time.Second,
		SocketMode: 0o600,
	}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	for _, positive := range []struct {
		name  string
		value int64
	}{
		{"connections", int64(c.ConnectionsMax)}, {"requests", int64(c.RequestsMax)}, {"waits", int64(c.WaitsMax)},
		{"bytes of a head", int64(c.HeaderBytesMax)}, {"bytes of a body", c.BodyBytesMax},
		{"patience for heads", int64(c.HeaderPatience)}, {"patience for bodies", int64(c.BodyPatience)},
		{"patience for answers", int64(c.AnswerPatience)}, {"patience for the next request", int64(c.IdlePatience)},
		{"time to drain", int64(c.DrainMax)},
	} {
		if positive.value < 1 {
			return fmt.Errorf("%s %d: must be positive", positive.name, positive.value)
		}
	}
	return nil
}
