package oracle

import (
	"fmt"
	"io"
	"math"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// Address is where the oracle listens, on a node of this name.
const Address = "metadata:2181"

// process is what one process of the oracle's node has: connections and tasks. The host's mutex guards it; the oracle's
// own mutex is taken inside of it, for as long as no call of the seam is made.
type process struct {
	oracle *Oracle
	h      host.Host
	tasks  host.Group

	mutex       host.Mutex
	clock       host.Cond
	wakeAt      time.Duration
	connections map[memory.Watcher]*connection
	closed      bool
}

// connection is one client.
type connection struct {
	process *process
	conn    host.Conn
	peer    string
	watcher memory.Watcher
	work    host.Cond // the writer waits

	session metadata.SessionID
	output  []byte
	due     map[string]time.Duration // keys to be told, and when
	ended   bool                     // write what is there, and close
	broken  bool
}

// Boot serves the store until the node is stopped.
func (o *Oracle) Boot(h host.Host) error { return o.BootAt(h, Address) }

// BootAt is Boot at another address.
func (o *Oracle) BootAt(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	p := &process{oracle: o, h: h, tasks: h.Root().New("oracle"), connections: make(map[memory.Watcher]*connection)}
	p.mutex = h.NewMutex("oracle")
	p.clock = p.tasks.NewCond(p.mutex)
	o.begin(p, h.Elapsed())
	p.tasks.Go("accept", func() { p.accept(listener) })
	p.tasks.Go("clock", p.passTime)
	host.AwaitStop(h.Root())
	p.mutex.Lock()
	p.closed = true
	for _, w := range host.SortedKeys(p.connections) {
		p.cut(p.connections[w])
	}
	p.mutex.Unlock()
	_ = listener.Close()
	p.tasks.Stop()
	p.tasks.Wait()
	return nil
}

// begin takes the store over from a process that has ended: its connections are gone, and each session has its whole
// timeout to come back.
func (o *Oracle) begin(p *process, now time.Duration) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for w := range o.watchers {
		o.tree.Forget(w + 1)
	}
	for _, id := range o.tree.Sessions() {
		o.tree.Touch(id, now)
	}
	o.process = p
}

func (p *process) accept(listener host.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if p.oracle.closed(p.h.Elapsed()) || !p.admit(conn) {
			_ = conn.Close()
		}
	}
}

func (p *process) admit(conn host.Conn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed || len(p.connections) >= p.oracle.config.ConnectionsMax {
		return false
	}
	conn.Limits(10*time.Second, 10*time.Second)
	p.oracle.mutex.Lock()
	p.oracle.watchers++
	watcher := p.oracle.watchers
	p.oracle.mutex.Unlock()
	c := &connection{
		process: p, conn: conn, peer: conn.Peer(), watcher: watcher, work: p.tasks.NewCond(p.mutex),
		due: make(map[string]time.Duration),
	}
	p.connections[c.watcher] = c
	p.tasks.Go("read", c.read)
	p.tasks.Go("write", c.write)
	return true
}

// cut ends a connection at once. The mutex must be held.
func (p *process) cut(c *connection) {
	c.broken = true
	c.work.Broadcast()
	_ = c.conn.Close()
}

// announce makes notices due, each after a time of its own. Both mutexes are held, so nobody is woken here: see settle.
func (p *process) announce(notices []memory.Notice, now time.Duration) {
	o := p.oracle
	for _, n := range notices {
		c := p.connections[n.Watcher]
		if c == nil {
			continue
		}
		if _, waits := c.due[n.Key]; waits {
			o.use(Coalesced, c.session, 0)
			continue
		}
		c.due[n.Key] = now
		if o.chance(o.config.NoticePermille) {
			d := o.span(o.config.NoticeMax)
			c.due[n.Key] += d
			o.use(LateNotice, c.session, d.Milliseconds())
		}
	}
}

// settle does what a change of the store demands of the process: writers that have notices are woken, connections of
// ended sessions are cut, the clock is set, and the freedoms that were used are marked. The mutex must be held.
func (p *process) settle() {
	o, now := p.oracle, p.h.Elapsed()
	o.mutex.Lock()
	marks, moved := o.marks, o.moved
	o.marks, o.moved = nil, false
	late := time.Duration(math.MaxInt64)
	if len(o.late) > 0 {
		late = o.late[0].due
	}
	ended := make(map[*connection]bool)
	if moved {
		for _, c := range p.connections {
			gone := c.session != 0 && !o.tree.Alive(c.session)
			ended[c] = now < o.outage || gone && !c.ended // one that was told so is left to its writer
		}
	}
	o.mutex.Unlock()
	p.wakeBy(late)
	if moved {
		for _, w := range host.SortedKeys(p.connections) {
			c := p.connections[w]
			if c.broken || ended[c] {
				p.cut(c)
			} else if len(c.due) > 0 {
				c.work.Signal()
			}
		}
	}
	for _, m := range marks {
		p.h.Probe().Mark(m)
	}
}

// wakeBy has the clock look at a time, or before. The mutex must be held.
func (p *process) wakeBy(at time.Duration) {
	if at < p.wakeAt {
		p.wakeAt = at
		p.clock.Signal()
	}
}

// passTime is the task that waits for what time brings.
func (p *process) passTime() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for !p.closed && !p.tasks.Stopping() {
		now := p.h.Elapsed()
		if now >= p.wakeAt {
			p.wakeAt = p.oracle.pass(now)
			p.settle()
			continue
		}
		if p.wakeAt == math.MaxInt64 {
			p.clock.Wait()
		} else {
			p.clock.WaitFor(p.wakeAt - now)
		}
	}
}

// read is the task that does what a client asks for.
func (c *connection) read() {
	in := wire.NewInput(c.process.h.Memory(), 512, service.RequestBytesMax)
	defer in.Release()
	err := error(nil)
	for err == nil {
		var packet []byte
		if packet, err = in.Next(); err == nil && packet == nil {
			err = in.Fill(c.conn)
		} else if err == nil {
			err = c.handle(packet)
		}
	}
	p := c.process
	p.mutex.Lock()
	defer p.mutex.Unlock()
	c.ended = true
	c.work.Signal()
}

// handle does one request. An error ends the connection.
func (c *connection) handle(packet []byte) error {
	r, err := service.DecodeRequest(packet)
	if err != nil {
		return err
	}
	p := c.process
	if d := p.oracle.pause(c.session); d > 0 {
		p.tasks.Sleep(d)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if c.broken || (c.session == 0) != (r.Operation == service.Hello) {
		return io.EOF
	}
	now := p.h.Elapsed()
	p.oracle.mutex.Lock()
	v := p.oracle.answer(c, &r, now)
	timeout := p.oracle.tree.TimeoutOf(c.session)
	p.oracle.mutex.Unlock()
	if r.Operation == service.Hello {
		p.wakeBy(now + timeout)
		c.conn.Limits(0, 10*time.Second)
	}
	if c.ended = v.cut; v.silent {
		p.cut(c)
	} else {
		c.output = v.response.Append(c.output)
		c.work.Signal()
	}
	p.settle()
	if v.cut {
		return io.EOF
	}
	return nil
}

// write is the task that sends answers, and notices when they are due.
func (c *connection) write() {
	p := c.process
	for {
		output := c.takeOutput()
		if output == nil || c.conn.WriteBuffers([][]byte{output}) != nil {
			break
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.cut(c)
	delete(p.connections, c.watcher)
	p.oracle.mutex.Lock()
	p.oracle.tree.Forget(c.watcher)
	p.oracle.mutex.Unlock()
}

// takeOutput waits for output. Nil: the connection ends.
func (c *connection) takeOutput() []byte {
	p := c.process
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for !c.broken {
		now := p.h.Elapsed()
		next := c.appendDue(now)
		switch {
		case len(c.output) > 0:
			output := c.output
			c.output = nil
			return output
		case c.ended:
			return nil
		case next == math.MaxInt64:
			if !c.work.Wait() {
				return nil
			}
		default:
			if c.work.WaitFor(next-now) == host.Stopping {
				return nil
			}
		}
	}
	return nil
}

// appendDue puts the notices that are due into the output, and returns when the next one is. What a notice tells of is
// seen by whatever the session reads afterwards.
func (c *connection) appendDue(now time.Duration) time.Duration {
	o := c.process.oracle
	o.mutex.Lock()
	defer o.mutex.Unlock()
	next := time.Duration(math.MaxInt64)
	for _, key := range host.SortedKeys(c.due) {
		if at := c.due[key]; at > now && !o.healed {
			next = min(next, at)
			continue
		}
		delete(c.due, key)
		notice := service.Response{Operation: service.Notice, Index: o.tree.Index(), Key: key}
		c.output = notice.Append(c.output)
		if o.tree.Alive(c.session) {
			o.views[c.session] = max(o.views[c.session], notice.Index)
		}
	}
	return next
}

// StrayWatchers is how many watchers the store still has whose connection is gone: each costs memory for ever.
func (o *Oracle) StrayWatchers() (stray int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, w := range o.tree.Watchers() {
		if o.process.connections[w] == nil {
			stray++
		}
	}
	return stray
}
