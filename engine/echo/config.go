package echo

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds both ends. The zero value of a field stands for its default.
type Config struct {
	FrameBytesMax  int           // longest payload; 1 MiB
	QueueFrames    int           // frames waiting for the writer of one connection; 64
	ConnectionsMax int           // connections of a server, further ones are closed; 256
	Connections    int           // connections of a client; 1
	ReadIdle       time.Duration // a server closes a connection that is silent for so long; one minute
	WriteStall     time.Duration // either end gives up on a peer that takes no byte for so long; 10 seconds
	RequestTimeout time.Duration // a client waits so long for an answer; 10 seconds
}

// ErrFrame says that the peer sent what cannot be a frame: too long, or out of order.
var ErrFrame = errors.New("malformed frame")

func (c Config) withDefaults() (Config, error) {
	orInt := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orInt(&c.FrameBytesMax, 1<<20)
	orInt(&c.QueueFrames, 64)
	orInt(&c.ConnectionsMax, 256)
	orInt(&c.Connections, 1)
	orDuration(&c.ReadIdle, time.Minute)
	orDuration(&c.WriteStall, 10*time.Second)
	orDuration(&c.RequestTimeout, 10*time.Second)
	if min(c.FrameBytesMax, c.QueueFrames, c.ConnectionsMax, c.Connections) < 0 {
		return c, fmt.Errorf("echo: a negative bound in %+v", c)
	}
	if min(c.ReadIdle, c.WriteStall, c.RequestTimeout) < 0 {
		return c, fmt.Errorf("echo: a negative limit in %+v", c)
	}
	return c, nil
}
