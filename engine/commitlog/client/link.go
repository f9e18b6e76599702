package client

import (
	"fmt"
	"io"
	"time"

	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// link is one connection.
type link struct {
	client *Client
	conn   host.Conn

	writing host.Mutex // held for one request

	mutex  host.Mutex
	calls  map[wire.Sequence]*call
	broken error
}

// call is one request under way, guarded by the link's mutex.
type call struct {
	answered host.Cond
	done     bool
	body     []byte
	err      error
}

func newLink(c *Client, conn host.Conn) *link {
	return &link{
		client: c, conn: conn, writing: c.h.NewMutex("commitlog-requests"), mutex: c.h.NewMutex("commitlog-link"), calls: map[wire.Sequence]*call{},
	}
}

// call sends a frame and waits for its answer. The call is in the list before its bytes leave: an answer must find it.
func (l *link) call(sequence wire.Sequence, frame []byte, deadline time.Duration) ([]byte, error) {
	w := &call{answered: l.client.tasks.NewCond(l.mutex)}
	l.mutex.Lock()
	if l.broken != nil {
		l.mutex.Unlock()
		return nil, fmt.Errorf("%w: %w", errUnsent, l.broken)
	}
	l.calls[sequence] = w
	l.mutex.Unlock()
	l.writing.Lock()
	err := l.conn.WriteBuffers([][]byte{frame})
	l.writing.Unlock()
	if err != nil {
		l.fail(err)
	}
	return l.await(w, deadline)
}

// await waits for an answer. One that is late breaks the connection: nobody knows what else is.
func (l *link) await(w *call, deadline time.Duration) ([]byte, error) {
	l.mutex.Lock()
	for !w.done {
		left := deadline - l.client.h.Elapsed()
		if left > 0 && w.answered.WaitFor(left) != host.Stopping {
			continue
		}
		l.mutex.Unlock()
		if left > 0 {
			l.fail(ErrClosed)
		} else {
			l.fail(host.ErrTimeout)
		}
		l.mutex.Lock()
	}
	defer l.mutex.Unlock()
	return w.body, w.err
}

// fail breaks the link once, and answers every call. Nobody finds it any more by then: who calls again connects anew.
func (l *link) fail(err error) {
	l.client.forget(l)
	l.mutex.Lock()
	if l.broken != nil {
		l.mutex.Unlock()
		return
	}
	l.broken = fmt.Errorf("commit log at %s: %w", l.conn.Peer(), err)
	lost := len(l.calls)
	for _, sequence := range host.SortedKeys(l.calls) {
		w := l.calls[sequence]
		w.done, w.err = true, fmt.Errorf("%w: %w", errTorn, l.broken)
		w.answered.Signal()
	}
	clear(l.calls)
	l.mutex.Unlock()
	if lost > 0 {
		l.client.h.Probe().Mark(host.Event{Name: PointLost, A: int64(lost)})
	}
	_ = l.conn.Close()
}

// read hands answers to their calls until the connection ends.
func (l *link) read() {
	buffer := l.client.h.Memory().Get(l.client.config.InputBuffer)
	defer l.client.h.Memory().Put(buffer)
	in := input{conn: l.conn, buffer: buffer}
	for {
		sequence, body, err := in.next(l.client.config.FrameBytesMax)
		if err == nil {
			err = l.answer(sequence, body)
		}
		if err != nil {
			l.fail(err)
			return
		}
	}
}

func (l *link) answer(sequence wire.Sequence, body []byte) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	w := l.calls[sequence]
	if w == nil {
		if l.broken != nil {
			return l.broken
		}
		return fmt.Errorf("an answer to request %d, which is not under way: %w", sequence, wire.ErrFrame)
	}
	delete(l.calls, sequence)
	w.done, w.body = true, body
	w.answered.Signal()
	return nil
}

// input cuts answers out of the stream of a connection.
type input struct {
	conn   host.Conn
	buffer []byte
	unread []byte
}

// next returns the next answer. Its body is the caller's.
func (in *input) next(most int) (wire.Sequence, []byte, error) {
	var length [wire.LengthBytes]byte
	if err := in.full(length[:]); err != nil {
		return 0, nil, err
	}
	n, err := wire.FrameLength(length[:], most)
	if err != nil {
		return 0, nil, err
	}
	frame := make([]byte, n)
	if err := in.full(frame); err != nil {
		return 0, nil, err
	}
	_, sequence, body := wire.ParseHead(frame)
	return sequence, body, nil
}

// full fills p. What is long is read where it belongs, without a copy.
func (in *input) full(p []byte) error {
	for len(p) > 0 {
		n := copy(p, in.unread)
		in.unread = in.unread[n:]
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if len(p) >= len(in.buffer) {
			n, err := in.conn.Read(p)
			if err != nil {
				return ended(err)
			}
			p = p[n:]
			continue
		}
		n, err := in.conn.Read(in.buffer)
		if err != nil {
			return ended(err)
		}
		in.unread = in.buffer[:n]
	}
	return nil
}

// ended says of the end of a stream that calls are waiting for more.
func ended(err error) error {
	if err == io.EOF {
		return fmt.Errorf("the server has ended the connection: %w", io.ErrUnexpectedEOF)
	}
	return err
}
