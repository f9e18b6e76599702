package hosttest

import (
	"errors"
	"fmt"
	"io"
	"time"

	"lakebed/engine/host"
)

// serving is a server that gives each connection to handle, in a task of its own, until its node is stopped.
func serving(handle func(h host.Host, c host.Conn) error) Talk {
	return func(h host.Host, address string) error {
		listener, err := h.Net().Listen(address)
		if err != nil {
			return must("listen", err)
		}
		tasks := h.Root().New("server")
		open := newShared[[]host.Conn](h, "open")
		failed := newShared[error](h, "failed")
		tasks.Go("accept", func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				open.change(func(all *[]host.Conn) { *all = append(*all, c) })
				tasks.Go("handle", func() {
					err := handle(h, c)
					failed.change(func(all *error) { *all = errors.Join(*all, err) })
				})
			}
		})
		host.AwaitStop(h.Root())
		closeErr := listener.Close()
		for _, c := range open.get() {
			c.Close()
		}
		tasks.Wait()
		return errors.Join(must("stop listening", closeErr), failed.get())
	}
}

// silent is a server that neither reads nor writes.
func silent(h host.Host, c host.Conn) error { return nil }

// echoing is a server that sends back what it reads, as it comes.
func echoing(h host.Host, c host.Conn) error {
	buffer := make([]byte, 10_000)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return nil // how a connection ends is the client's business
		}
		if err := c.WriteBuffers([][]byte{buffer[:n]}); err != nil {
			return nil
		}
	}
}

// dialing is a client with one connection, which it closes at the end.
func dialing(talk func(h host.Host, c host.Conn) error) Talk {
	return func(h host.Host, address string) error {
		c, err := dialPatiently(h, address)
		if err != nil {
			return err
		}
		defer c.Close() // many contracts have closed it by then
		return talk(h, c)
	}
}

// dialPatiently dials until the server listens.
func dialPatiently(h host.Host, address string) (host.Conn, error) {
	end := h.Elapsed() + patience
	for {
		c, err := h.Net().Dial(address, &host.Scope{Deadline: end, Group: h.Root()})
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, host.ErrRefused) || h.Elapsed() > end {
			return nil, must("dial the server", err)
		}
		h.Root().Sleep(time.Millisecond)
	}
}

// receives says that exactly want must come next on c.
func receives(c host.Conn, want []byte) error {
	got := make([]byte, len(want))
	for done := 0; done < len(got); {
		n, err := c.Read(got[done:])
		if err != nil {
			return fmt.Errorf("read after %d of %d bytes: %w", done, len(got), err)
		}
		if n == 0 {
			return errors.New("a read returned neither a byte nor an error")
		}
		done += n
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of the stream: got %#x, want %#x", i, got[i], want[i])
		}
	}
	return nil
}

// endsWith says that c must end with class and give no further byte.
func endsWith(c host.Conn, class error) error {
	n, err := c.Read(make([]byte, 100))
	return errors.Join(fails("read", err, class), equal("bytes read at the end", n, 0))
}

// fill writes to a peer that does not read until the write fails, and returns its error. The bound is far above what
// any socket or link may hold.
func fill(c host.Conn) error {
	block := make([]byte, 1<<20)
	for range 256 {
		if err := c.WriteBuffers([][]byte{block}); err != nil {
			return err
		}
	}
	return errors.New("a peer that does not read took 256 MiB")
}

// ended says how a connection may look to its end once the other end has closed it while bytes were under way.
func ended(doing string, err error) error {
	if errors.Is(err, host.ErrReset) || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("%s: got error %v, want reset or end of file", doing, err)
}
