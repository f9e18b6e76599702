package service

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// ServerConfig bounds a server.
type ServerConfig struct {
	Limits            memory.Limits
	ConnectionsMax    int           // further ones are closed
	InputBufferBytes  int           // of each connection
	OutputBytesMax    int           // answers that a connection has not taken; then it is not read from. Soft by one answer
	SessionTimeoutMin time.Duration // what clients ask for is brought into these bounds
	SessionTimeoutMax time.Duration
	HelloTimeout      time.Duration // until all of a connection's first request is there
	WriteStall        time.Duration // a client that takes no byte for so long is left
	PeerLog           host.LogBound // log lines that clients can cause
}

// DefaultServerConfig is for a cluster of some thousand clients.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		Limits: memory.DefaultLimits(), ConnectionsMax: 4096, InputBufferBytes: 4 << 10, OutputBytesMax: 1 << 20,
		SessionTimeoutMin: time.Second, SessionTimeoutMax: time.Minute,
		HelloTimeout: 5 * time.Second, WriteStall: 10 * time.Second, PeerLog: host.DefaultLogBound(),
	}
}

// Validate says what is wrong with a configuration.
func (c *ServerConfig) Validate() error {
	l := &c.Limits
	switch {
	case min(c.ConnectionsMax, c.InputBufferBytes, c.OutputBytesMax, l.KeysMax, l.NamesBytesMax, l.SessionsMax, l.WatchesMax) < 1,
		min(l.BytesMax, l.WatchesBytesMax) < 1:
		return fmt.Errorf("bounds must be positive: %+v", *c)
	case l.NamesBytesMax > ResponseBytesMax-1024:
		return fmt.Errorf("a list of %d bytes does not fit into a response of %d", l.NamesBytesMax, ResponseBytesMax)
	case min(c.SessionTimeoutMin, c.HelloTimeout, c.WriteStall) <= 0, c.SessionTimeoutMax < c.SessionTimeoutMin,
		c.SessionTimeoutMax > timeoutMax:
		return fmt.Errorf("timeouts must be positive and in order: %+v", *c)
	}
	if err := c.PeerLog.Validate(); err != nil {
		return fmt.Errorf("log of clients: %w", err)
	}
	return nil
}

// ClientConfig says where the servers are and bounds a client.
type ClientConfig struct {
	Addresses        []string      // tried in turn
	SessionTimeout   time.Duration // asked for; the server decides
	RequestsMax      int           // on the wire
	OutputBytesMax   int           // in one write. Soft by one request
	WatchesMax       int           // keys
	InputBufferBytes int
	ConnectTimeout   time.Duration // of dialling, and until all of the answer to Hello is there
	WriteStall       time.Duration
	ReconnectMin     time.Duration
	ReconnectMax     time.Duration
	CloseTimeout     time.Duration // Close waits so long for the server to end the session
	// GiveUpRefused: a client that has had no session yet fails its calls as soon as every address has refused it, instead
	// of waiting for a server until their scopes end. For programs that somebody sits in front of.
	GiveUpRefused bool
}

// DefaultClientConfig is for a client of the server at an address.
func DefaultClientConfig(addresses ...string) ClientConfig {
	return ClientConfig{
		Addresses: addresses, SessionTimeout: 10 * time.Second, RequestsMax: 256, OutputBytesMax: 1 << 20, WatchesMax: 16 << 10,
		InputBufferBytes: 4 << 10, ConnectTimeout: 3 * time.Second, WriteStall: 5 * time.Second,
		ReconnectMin: 100 * time.Millisecond, ReconnectMax: 2 * time.Second, CloseTimeout: 2 * time.Second,
	}
}

// Validate says what is wrong with a configuration.
func (c *ClientConfig) Validate() error {
	switch {
	case len(c.Addresses) == 0:
		return fmt.Errorf("no address of a metadata server")
	case min(c.RequestsMax, c.OutputBytesMax, c.WatchesMax, c.InputBufferBytes) < 1:
		return fmt.Errorf("bounds must be positive: %+v", *c)
	case c.SessionTimeout < 3*time.Millisecond, c.SessionTimeout > timeoutMax, min(c.ConnectTimeout, c.WriteStall, c.ReconnectMin, c.CloseTimeout) <= 0,
		c.ReconnectMax < c.ReconnectMin:
		return fmt.Errorf("timeouts must be positive and in order: %+v", *c)
	}
	return nil
}
