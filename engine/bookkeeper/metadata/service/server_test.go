package service_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// raw is a connection on which a test says what it likes.
type raw struct {
	conn host.Conn
	in   *wire.Input
}

func dial(h host.Host) (*raw, error) {
	h.Root().Sleep(10 * time.Millisecond) // until the server listens
	conn, err := h.Net().Dial(addr, nil)
	if err != nil {
		return nil, err
	}
	return &raw{conn, wire.NewInput(h.Memory(), 128, service.ResponseBytesMax)}, nil
}

func (r *raw) close() {
	_ = r.conn.Close()
	r.in.Release()
}

func (r *raw) send(requests ...service.Request) error {
	var b []byte
	for _, each := range requests {
		b = each.Append(b)
	}
	return r.conn.WriteBuffers([][]byte{b})
}

func (r *raw) next() (service.Response, error) {
	for {
		packet, err := r.in.Next()
		if err != nil {
			return service.Response{}, err
		}
		if packet != nil {
			return service.DecodeResponse(packet)
		}
		if err := r.in.Fill(r.conn); err != nil {
			return service.Response{}, err
		}
	}
}

func hello(session metadata.SessionID) service.Request {
	return service.Request{Operation: service.Hello, Sequence: 1, Session: session, Timeout: 10 * time.Second}
}

// TestWhoBreaksTheProtocolIsCut, each in one way, and the server goes on.
func TestWhoBreaksTheProtocolIsCut(t *testing.T) {
	welcome := hello(0)
	get := service.Request{Operation: service.Get, Sequence: 2, Key: "/a"}
	for name, bytes := range map[string][]byte{
		"no hello":            get.Append(nil),
		"hello twice":         welcome.Append(welcome.Append(nil)),
		"garbage":             []byte("GET / HTTP/1.1\r\n\r\n"),
		"a frame of 2 GiB":    {0x7f, 0xff, 0xff, 0xff, 1},
		"an empty frame":      {0, 0, 0, 0},
		"half a frame, ended": welcome.Append(nil)[:10],
	} {
		worlds(t, func(w *sim.World, h host.Host) error {
			r, err := dial(h)
			if err != nil {
				return err
			}
			defer r.close()
			if err := r.conn.WriteBuffers([][]byte{bytes}); err != nil {
				return err
			}
			for err == nil { // what came before may be answered
				_, err = r.next()
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, host.ErrReset) {
				return fmt.Errorf("%s: %w", name, err)
			}
			c, err := connected(h)
			if err != nil {
				return err
			}
			return c.Close()
		})
	}
}

// TestASessionBelongsToItsLastConnection: the one before is cut.
func TestASessionBelongsToItsLastConnection(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		first, err := dial(h)
		if err != nil {
			return err
		}
		defer first.close()
		if err := first.send(hello(0)); err != nil {
			return err
		}
		welcome, err := first.next()
		if err != nil {
			return err
		}
		second, err := dial(h)
		if err != nil {
			return err
		}
		defer second.close()
		if err := second.send(hello(welcome.Session)); err != nil {
			return err
		}
		again, err := second.next()
		if err != nil || again.Session != welcome.Session {
			return fmt.Errorf("session %d became %d: %w", welcome.Session, again.Session, err)
		}
		if r, err := first.next(); err == nil {
			return fmt.Errorf("the first connection got %+v", r)
		}
		return nil
	})
}

// TestAServerThatIsBehindRefuses a session that has seen more; a client without a session there gets a new one.
func TestAServerThatIsBehindRefuses(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		r, err := dial(h)
		if err != nil {
			return err
		}
		defer r.close()
		if err := r.send(hello(0)); err != nil {
			return err
		}
		welcome, err := r.next()
		if err != nil {
			return err
		}
		for _, c := range []struct {
			session metadata.SessionID
			ahead   bool
			want    service.Code
		}{{welcome.Session, true, service.Behind}, {welcome.Session, false, service.OK}, {welcome.Session + 1, true, service.OK}} {
			next, err := dial(h)
			if err != nil {
				return err
			}
			request := hello(c.session)
			if request.Seen = welcome.Index; c.ahead {
				request.Seen += 100
			}
			err = next.send(request)
			response, nextErr := next.next()
			next.close()
			if err = errors.Join(err, nextErr); err != nil || response.Code != c.want {
				return fmt.Errorf("%+v: got %+v, %w", c, response, err)
			}
		}
		return nil
	})
}

// TestAClientThatTakesNoAnswersIsNotReadFrom: what the server holds for it is bounded, others are served, and it is left
// when it has taken nothing for long enough.
func TestAClientThatTakesNoAnswersIsNotReadFrom(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		if _, err := c.Create("/big", make([]byte, 100<<10), metadata.Persistent, nil); err != nil {
			return err
		}
		r, err := dial(h)
		if err != nil {
			return err
		}
		defer r.close()
		r.conn.Limits(0, time.Minute)
		if err := r.send(hello(0)); err != nil {
			return err
		}
		sent := 0
		for err == nil {
			var batch []service.Request
			for range 1000 {
				sent++
				batch = append(batch, service.Request{Operation: service.Get, Sequence: int64(sent + 1), Key: "/big"})
			}
			err = r.send(batch...)
			if _, get := c.Get("/big", nil); get != nil {
				return get
			}
			if sent > 100_000 {
				return errors.New("the server takes requests for ever")
			}
		}
		return c.Close()
	})
}

// TestConnectionsAreBounded: further ones are closed.
func TestConnectionsAreBounded(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		var inside []*raw
		for range 32 {
			r, err := dial(h)
			if err != nil {
				return err
			}
			defer r.close()
			if err := r.send(hello(0)); err != nil {
				return err
			}
			if _, err := r.next(); err != nil {
				return err
			}
			inside = append(inside, r)
		}
		outside, err := dial(h)
		if err != nil {
			return err
		}
		defer outside.close()
		_ = outside.send(hello(0)) // it may be cut already
		if _, err := outside.next(); err == nil {
			return errors.New("one connection too many is served")
		}
		_ = inside[0].conn.Close()
		h.Root().Sleep(time.Second)
		later, err := dial(h)
		if err != nil {
			return err
		}
		defer later.close()
		if err := later.send(hello(0)); err != nil {
			return err
		}
		_, err = later.next()
		return err
	})
}
