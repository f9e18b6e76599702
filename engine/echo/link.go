package echo

import (
	"fmt"
	"time"

	"lakebed/engine/host"
)

// call is one request of a client.
type call struct {
	sequence uint64
	request  frame
	deadline time.Duration // on Elapsed; set when the call becomes outstanding
	answer   *host.Future[[]byte]
}

// link is one connection of a client. A call goes from the queue to the writer, which makes it outstanding before its
// bytes leave, and is answered by the reader. The watcher breaks the link when the oldest outstanding call is overdue.
type link struct {
	host   host.Host
	group  host.Group
	conn   host.Conn
	config Config
	queue  *host.Queue[*call]

	mutex       host.Mutex
	room        host.Cond // the writer waits for outstanding to shrink
	first       host.Cond // the watcher waits for outstanding to be more than none
	outstanding []*call   // in the order of their sequence
	broken      error
}

func startLink(h host.Host, g host.Group, conn host.Conn, config Config) *link {
	m := h.NewMutex("echo.link")
	l := &link{
		host:   h,
		group:  g,
		conn:   conn,
		config: config,
		queue:  host.NewQueue[*call](h, g, "echo.link.queue", config.QueueFrames),
		mutex:  m,
		room:   g.NewCond(m),
		first:  g.NewCond(m),
	}
	g.Go("write", l.write)
	g.Go("read", l.read)
	g.Go("watch", l.watch)
	return l
}

// cause is nil while the link works, and else what broke it.
func (l *link) cause() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.broken
}

func (l *link) echo(payload []byte) ([]byte, error) {
	if len(payload) > l.config.FrameBytesMax {
		return nil, fmt.Errorf("payload of %d bytes, %d are allowed: %w", len(payload), l.config.FrameBytesMax, ErrFrame)
	}
	c := &call{
		request: newFrame(l.host.Memory(), 0, payload),
		answer:  host.NewFuture[[]byte](l.host, l.group, "echo.call"),
	}
	if !l.queue.Put(c) {
		l.host.Memory().Put(c.request)
		return nil, l.ended()
	}
	answer, err := c.answer.Wait()
	if err == host.ErrStopping {
		err = l.ended()
	}
	return answer, err
}

// ended is why a call was not taken or not answered: what broke the link, or a stop that came first.
func (l *link) ended() error {
	if err := l.cause(); err != nil {
		return err
	}
	return fmt.Errorf("echo to %s: %w", l.conn.Peer(), host.ErrClosed)
}

// fail breaks the link once: it wakes every task of it and answers what is outstanding.
func (l *link) fail(err error) {
	l.mutex.Lock()
	if l.broken != nil {
		l.mutex.Unlock()
		return
	}
	l.broken = fmt.Errorf("echo to %s: %w", l.conn.Peer(), err)
	failed := l.outstanding
	l.outstanding = nil
	l.room.Broadcast()
	l.first.Broadcast()
	l.mutex.Unlock()

	l.conn.Close()
	l.queue.End()
	for _, c := range failed {
		c.answer.Set(nil, l.broken)
	}
}
