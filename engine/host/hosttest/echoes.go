package hosttest

import (
	"bytes"
	"errors"
	"fmt"

	"lakebed/engine/echo"
	"lakebed/engine/host"
)

// echoServer runs the echo service until its node is stopped.
func echoServer(config echo.Config) Talk {
	return func(h host.Host, address string) error {
		memory := h.Memory().InUse()
		server, err := echo.Serve(h, h.Root(), address, config)
		if err != nil {
			return must("serve", err)
		}
		host.AwaitStop(h.Root())
		server.Close()
		return errors.Join(equal("sessions after the close", server.Sessions(), 0),
			equal("bytes in use after the close", h.Memory().InUse(), memory))
	}
}

// echoClient runs talk with a client of the echo service, and closes it.
func echoClient(config echo.Config, talk func(h host.Host, c *echo.Client) error) Talk {
	return func(h host.Host, address string) error {
		first, err := dialPatiently(h, address) // waits for the server
		if err != nil {
			return err
		}
		first.Close()
		memory := h.Memory().InUse()
		c, err := echo.Dial(h, h.Root(), address, host.Within(h, h.Root(), patience), config)
		if err != nil {
			return must("dial", err)
		}
		err = talk(h, c)
		c.Close()
		return errors.Join(err, equal("bytes in use after the close", h.Memory().InUse(), memory))
	}
}

func echoes() []Contract {
	small := echo.Config{QueueFrames: 4, Connections: 3}
	return []Contract{
		between("AServiceAnswersManyTasksOverManyConnections", echoServer(small), echoClient(small, echoMany)),
		between("AServiceThatDoesNotAnswerTimesOut", serving(silent),
			echoClient(echo.Config{RequestTimeout: 5 * moment}, echoTimesOut)),
		between("CloseAnswersWhatIsOutstanding", serving(silent), echoClient(small, echoCloses)),
		between("AServiceThatEndsIsNoticed", serving(hangUp), echoClient(small, echoEnds)),
		between("AFrameThatIsTooLongBreaksItsConnectionOnly", echoServer(echo.Config{FrameBytesMax: 1000}),
			echoClient(echo.Config{Connections: 2}, echoTooLong)),
	}
}

func echoMany(h host.Host, c *echo.Client) error {
	g := h.Root().New("callers")
	failed := newShared[error](h, "failed")
	for caller := range 10 {
		g.Go("caller", func() {
			for i := range 20 {
				want := pattern(caller*i*30, byte(caller+i))
				got, err := c.Echo(want)
				if err == nil && !bytes.Equal(got, want) {
					err = fmt.Errorf("%d bytes came back for %d, or others", len(got), len(want))
				}
				if err != nil {
					failed.change(func(all *error) { *all = errors.Join(*all, err) })
					return
				}
			}
		})
	}
	g.Wait()
	return failed.get()
}

func echoTimesOut(h host.Host, c *echo.Client) error {
	var err error
	waited := took(h, func() { _, err = c.Echo([]byte("hello")) })
	_, again := c.Echo([]byte("hello"))
	return errors.Join(
		fails("echo", err, host.ErrTimeout), that(waited >= 5*moment, "timed out after %v", waited),
		fails("echo on the broken connection", again, host.ErrTimeout))
}

// echoCloses has more callers than the queues take, so that some wait for room when the client is closed.
func echoCloses(h host.Host, c *echo.Client) error {
	g := h.Root().New("callers")
	closed, other := newShared[int](h, "closed"), newShared[error](h, "other")
	for range 40 {
		g.Go("caller", func() {
			_, err := c.Echo(pattern(100, 1))
			if errors.Is(err, host.ErrClosed) {
				closed.change(func(n *int) { *n++ })
			} else {
				other.change(func(e *error) { *e = err })
			}
		})
	}
	h.Root().Sleep(moment)
	c.Close()
	g.Wait()
	return errors.Join(equal("calls that failed as closed", closed.get(), 40), other.get())
}

func echoEnds(h host.Host, c *echo.Client) error {
	for range 6 {
		if _, err := c.Echo([]byte("hello")); err == nil {
			return errors.New("a server that hung up answered")
		} else if err := ended("echo", err); err != nil {
			return err
		}
	}
	return nil
}

func echoTooLong(h host.Host, c *echo.Client) error {
	_, err := c.Echo(make([]byte, 1001))
	got, goodErr := c.Echo(make([]byte, 1000))
	return errors.Join(
		refused("echo of a frame longer than the server takes", err),
		must("echo over the other connection", goodErr), equal("bytes that came back", len(got), 1000))
}
