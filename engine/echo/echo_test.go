package echo_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"lakebed/engine/echo"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// onNode runs boot as a node of this machine. Tasks that are left over fail the test.
func onNode(t *testing.T, boot func(h host.Host) error) {
	t.Helper()
	config := oshost.Config{Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := oshost.Run(context.Background(), config, boot); err != nil {
		t.Error(err)
	}
}

// TestAServerAtItsBoundClosesFurtherConnections and takes new ones when others have gone. What it does within its
// bounds is in the contract suite, in both worlds.
func TestAServerAtItsBoundClosesFurtherConnections(t *testing.T) {
	onNode(t, func(h host.Host) error {
		server, err := echo.Serve(h, h.Root(), "127.0.0.1:0", echo.Config{ConnectionsMax: 2})
		if err != nil {
			return err
		}
		defer server.Close()
		inside, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{Connections: 2})
		if err != nil {
			return err
		}
		for range 4 { // both connections are in
			if _, err := inside.Echo([]byte("inside")); err != nil {
				return err
			}
		}
		outside, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{})
		if err != nil {
			return err
		}
		if _, err := outside.Echo([]byte("outside")); err == nil {
			t.Error("a third connection was served")
		}
		outside.Close()
		inside.Close()
		for server.Sessions() > 0 {
			h.Root().Sleep(time.Millisecond)
		}
		later, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{})
		if err != nil {
			return err
		}
		defer later.Close()
		_, err = later.Echo([]byte("later"))
		return err
	})
}

// TestASilentClientIsDisconnected when the server's idle limit has passed.
func TestASilentClientIsDisconnected(t *testing.T) {
	onNode(t, func(h host.Host) error {
		server, err := echo.Serve(h, h.Root(), "127.0.0.1:0", echo.Config{ReadIdle: 20 * time.Millisecond})
		if err != nil {
			return err
		}
		defer server.Close()
		c, err := h.Net().Dial(server.Addr(), nil)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v", err)
		}
		return nil
	})
}

// TestClosedEndsStayClosed: closing twice is closing, and a closed client says so.
func TestClosedEndsStayClosed(t *testing.T) {
	onNode(t, func(h host.Host) error {
		server, err := echo.Serve(h, h.Root(), "127.0.0.1:0", echo.Config{})
		if err != nil {
			return err
		}
		c, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{Connections: 2})
		if err != nil {
			return err
		}
		c.Close()
		c.Close()
		if _, err := c.Echo(nil); !errors.Is(err, host.ErrClosed) {
			t.Errorf("echo after the close: %v", err)
		}
		server.Close()
		server.Close()
		if _, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{}); !errors.Is(err, host.ErrRefused) {
			t.Errorf("dial after the close: %v", err)
		}
		return nil
	})
}

// TestAPayloadBeyondTheClientsBoundIsNotSent, and the connection goes on.
func TestAPayloadBeyondTheClientsBoundIsNotSent(t *testing.T) {
	onNode(t, func(h host.Host) error {
		server, err := echo.Serve(h, h.Root(), "127.0.0.1:0", echo.Config{})
		if err != nil {
			return err
		}
		defer server.Close()
		c, err := echo.Dial(h, h.Root(), server.Addr(), nil, echo.Config{FrameBytesMax: 10})
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Echo(make([]byte, 11)); !errors.Is(err, echo.ErrFrame) {
			t.Errorf("eleven bytes: %v", err)
		}
		_, err = c.Echo(make([]byte, 10))
		return err
	})
}
