package echo

import (
	"fmt"

	"lakebed/engine/host"
)

// Client sends frames over a fixed number of connections. Any number of tasks may call it.
type Client struct {
	group host.Group
	turn  host.Counter
	links []*link
}

// Dial opens all connections of a client, or none. Its tasks are in a child of parent.
func Dial(h host.Host, parent host.Group, addr string, s *host.Scope, config Config) (*Client, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{group: parent.New("echo client"), turn: h.NewCounter("echo.turn")}
	for range config.Connections {
		conn, err := h.Net().Dial(addr, s)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("echo: %w", err)
		}
		conn.Limits(0, config.WriteStall) // silence is judged by the oldest request, not by the connection
		c.links = append(c.links, startLink(h, c.group, conn, config))
	}
	return c, nil
}

// Echo sends payload over the next unbroken connection in turn, and returns what comes back. It keeps nothing of
// payload. After host.ErrTimeout, host.ErrReset, io.EOF or host.ErrClosed it is unknown whether the server had it.
func (c *Client) Echo(payload []byte) ([]byte, error) {
	first := uint64(c.turn.Add(1))
	var err error
	for i := range uint64(len(c.links)) {
		l := c.links[(first+i)%uint64(len(c.links))]
		if err = l.cause(); err == nil {
			return l.echo(payload)
		}
	}
	return nil, err
}

// Close fails what is outstanding with host.ErrClosed and returns when no task is left. It may be called again.
func (c *Client) Close() {
	for _, l := range c.links {
		l.fail(host.ErrClosed)
	}
	c.group.Stop()
	c.group.Wait()
}
