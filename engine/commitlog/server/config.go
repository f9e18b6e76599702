package server

import (
	"fmt"
	"time"

	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/host"
)

// Sender says how the bytes of messages come from the log to the connection.
type Sender string

// The senders; the package's comment tells them apart.
const (
	ReadWrite Sender = "read+write"
	HeapCopy  Sender = "heap-copy"
	MapWrite  Sender = "mmap+write"
	SendFile  Sender = "sendfile"
)

// Senders are all of them.
func Senders() []Sender { return []Sender{ReadWrite, HeapCopy, MapWrite, SendFile} }

// Prefetch says how bytes are fetched ahead.
type Prefetch string

// The ways of fetching.
const (
	PrefetchOff    Prefetch = "off"
	PrefetchRead   Prefetch = "read"   // a background task reads them
	PrefetchAdvise Prefetch = "advise" // the kernel is told that they will be needed
)

// Config bounds and chooses.
type Config struct {
	Sender Sender // transferMsgByHeap in more detail
	Verify bool   // look at every message before it is sent

	ConnectionsMax int // further ones are closed
	ProducesMax    int // of one connection under way
	PullsMax       int // of one connection under way, waiting ones among them
	PullsAhead     int // bytes of pulls of one connection that were read and wait for one under way to end
	FrameBytesMax  int // the longest request
	InputBuffer    int // bytes read at once
	SendBuffer     int // bytes of messages in hand of a connection
	SpanGapMax     int // bytes between two messages that are rather sent than left out: a group of the log begins in a sector

	Idle         time.Duration // a connection that sends nothing for so long and waits for nothing is ended
	FrameTimeout time.Duration // a frame has to be there so long after its first byte
	WriteStall   time.Duration // a peer that takes no byte for so long is given up

	Prefetch      Prefetch
	ReadAhead     readahead.Config // of each consumer
	StreamsMax    int              // consumers of a connection whose reading is followed; the one that was quiet longest goes
	PrefetchTasks int
	PrefetchQueue int           // fetches that may wait; others are left out
	PrefetchChunk int           // bytes fetched at once
	PeerLog       host.LogBound // of lines that peers can cause
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		Sender: SendFile, ConnectionsMax: 1024, ProducesMax: 16, PullsMax: 8, PullsAhead: 16 << 10, FrameBytesMax: 8 << 20, InputBuffer: 32 << 10,
		SendBuffer: 256 << 10, SpanGapMax: 512, Idle: 2 * time.Minute, FrameTimeout: 30 * time.Second, WriteStall: 10 * time.Second,
		Prefetch: PrefetchOff, ReadAhead: readahead.Config{Min: 16 << 10, Max: 1 << 20}, StreamsMax: 64, PrefetchTasks: 2,
		PrefetchQueue: 64, PrefetchChunk: 128 << 10, PeerLog: host.DefaultLogBound(),
	}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch c.Sender {
	case ReadWrite, HeapCopy, MapWrite, SendFile:
	default:
		return fmt.Errorf("sender %q: want one of %q", c.Sender, Senders())
	}
	switch c.Prefetch {
	case PrefetchOff, PrefetchRead, PrefetchAdvise:
	default:
		return fmt.Errorf("prefetch %q: want off, read or advise", c.Prefetch)
	}
	for _, positive := range []struct {
		name  string
		value int64
	}{
		{"connections", int64(c.ConnectionsMax)}, {"produces of a connection", int64(c.ProducesMax)}, {"pulls of a connection", int64(c.PullsMax)},
		{"bytes of a frame", int64(c.FrameBytesMax)}, {"bytes read at once", int64(c.InputBuffer)}, {"bytes sent at once", int64(c.SendBuffer)},
		{"idle time", int64(c.Idle)}, {"time of a frame", int64(c.FrameTimeout)}, {"time of a write", int64(c.WriteStall)},
		{"streams", int64(c.StreamsMax)}, {"prefetching tasks", int64(c.PrefetchTasks)}, {"waiting fetches", int64(c.PrefetchQueue)},
		{"bytes fetched at once", int64(c.PrefetchChunk)},
	} {
		if positive.value < 1 {
			return fmt.Errorf("%s %d: must be positive", positive.name, positive.value)
		}
	}
	if c.PullsAhead < 0 || c.SpanGapMax < 0 || c.ReadAhead.Min < 0 || c.ReadAhead.Max < 0 {
		return fmt.Errorf("pulls of %d bytes read ahead, gap %d and read-ahead %+v: must not be negative", c.PullsAhead, c.SpanGapMax, c.ReadAhead)
	}
	return c.PeerLog.Validate()
}
