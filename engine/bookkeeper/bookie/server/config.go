package server

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// Config bounds a server.
type Config struct {
	ConnectionsMax int // further ones are closed at once

	FrameBytesMax    int // longest request, nettyMaxFrameSizeBytes
	InputBufferBytes int // of each connection, while no longer frame arrives

	BatchesMax      int   // handed to the store and not yet answered, for each connection
	BatchEntriesMax int   // adds that are handed over together
	BatchBytesMax   int64 // the same in bytes, journal framing included; a longer entry goes alone; the store must take so many

	ReadsMax         int   // accepted and not yet answered, for each connection; fencing ones included
	ReadTasks        int   // of the server, for plain reads
	FenceTasks       int   // of the server, for fencing reads
	AnswerBytesMax   int64 // read and not yet written, for each connection, soft by one answer a task
	AnswersBytesMax  int64 // the same for all connections together
	BatchReadMax     int   // entries of one batch read
	BatchReadBytes   int64 // frame of a batch read's answer, maxBatchReadSize
	OutputBytes      int   // of add answers that one write takes
	GatheredFrameMin int   // entries from here on are written from where they lie, shorter ones are copied

	Idle       time.Duration // without a request; zero: for ever
	FrameStall time.Duration // without a byte, in the middle of a request
	WriteStall time.Duration // without the peer taking a byte
	DrainMax   time.Duration // that Close waits for what is under way

	FirstFrameTimeout time.Duration // until all of a connection's first request is there
	FrameTimeout      time.Duration // until all of a later request is there, once a part of it is

	PeerLog host.LogBound // log lines that peers can cause

	// UnknownAnswer tells clients that the store cannot prove a negative: wire.UnknownLedgerState, or wire.IOError for
	// Java clients, which close the connection at the former.
	UnknownAnswer wire.Code
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		ConnectionsMax: 1024,
		FrameBytesMax:  wire.FrameBytesMax, InputBufferBytes: 128 << 10,
		BatchesMax: 64, BatchEntriesMax: 512, BatchBytesMax: 1 << 20,
		ReadsMax: 1024, ReadTasks: 8, FenceTasks: 8,
		AnswerBytesMax: 16 << 20, AnswersBytesMax: 256 << 20,
		BatchReadMax: 16 << 10, BatchReadBytes: wire.FrameBytesMax,
		OutputBytes: 64 << 10, GatheredFrameMin: 32 << 10,
		Idle: time.Hour, FrameStall: 30 * time.Second, WriteStall: 30 * time.Second, DrainMax: 5 * time.Second,
		FirstFrameTimeout: 30 * time.Second, FrameTimeout: 2 * time.Minute,
		PeerLog:       host.DefaultLogBound(),
		UnknownAnswer: wire.UnknownLedgerState,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if min(c.ConnectionsMax, c.BatchesMax, c.BatchEntriesMax, c.ReadsMax, c.ReadTasks, c.FenceTasks, c.BatchReadMax) < 1 {
		return fmt.Errorf("a bound below one in %+v: nothing could ever be served", c)
	}
	if c.FrameBytesMax < wire.InputBytesMin || c.FrameBytesMax > wire.FrameBytesMax {
		return fmt.Errorf("longest frame %d: must be %d to %d", c.FrameBytesMax, wire.InputBytesMin, wire.FrameBytesMax)
	}
	if c.InputBufferBytes < wire.InputBytesMin {
		return fmt.Errorf("input buffer of %d bytes: must be at least %d", c.InputBufferBytes, wire.InputBytesMin)
	}
	if min(c.BatchBytesMax, c.AnswerBytesMax, c.AnswersBytesMax, c.BatchReadBytes) < 1 || c.BatchReadBytes > wire.FrameBytesMax {
		return fmt.Errorf("bytes of batches %d, of answers %d and %d, of a batch read %d: must be positive, the last at most %d",
			c.BatchBytesMax, c.AnswerBytesMax, c.AnswersBytesMax, c.BatchReadBytes, wire.FrameBytesMax)
	}
	if need := c.BatchEntriesMax * wire.AddResponseFrameBytes; c.OutputBytes < need {
		return fmt.Errorf("output of %d bytes: must hold the answers to one batch, %d bytes", c.OutputBytes, need)
	}
	if min(c.Idle, c.FrameStall, c.WriteStall, c.DrainMax) < 0 {
		return fmt.Errorf("a negative time in %+v", c)
	}
	if min(c.FirstFrameTimeout, c.FrameTimeout) <= 0 {
		return fmt.Errorf("time for a first request %v, for a later one %v: must be positive", c.FirstFrameTimeout, c.FrameTimeout)
	}
	if err := c.PeerLog.Validate(); err != nil {
		return fmt.Errorf("log of peers: %w", err)
	}
	return nil
}
