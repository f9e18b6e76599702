package sim

import (
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// listener is a host.Listener.
type listener struct {
	process *process
	addr    string
	closed  bool
	backlog []*conn
	waiting list
}

func (n *network) Listen(addr string) (host.Listener, error) {
	p := n.process
	p.enter()
	node, port, err := n.splitAddress(addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if node != p.node.name {
		return nil, fmt.Errorf("listen at %q: not an address of %s: %w", addr, p.node.name, host.ErrNotExist)
	}
	listeners := p.world.network.listeners
	for chosen := port == 0; chosen; chosen = listeners[address(node, port)] != nil {
		port = p.node.takePort()
	}
	full := address(node, port)
	if listeners[full] != nil {
		return nil, fmt.Errorf("listen at %q: %w", full, host.ErrExist)
	}
	l := &listener{process: p, addr: full}
	listeners[full] = l
	p.listeners = append(p.listeners, l)
	return l, nil
}

func (l *listener) Addr() string { return l.addr }

func (l *listener) Accept() (host.Conn, error) {
	t := l.process.running()
	for len(l.backlog) == 0 {
		if l.closed {
			return nil, fmt.Errorf("accept at %s: %w", l.addr, host.ErrClosed)
		}
		l.waiting.push(&t.place)
		t.park(taskParked, "accept", l.addr)
	}
	c := l.backlog[0]
	l.backlog = append(l.backlog[:0], l.backlog[1:]...)
	w := l.process.world
	w.noteText(actAccept, l.process.node, c.label, 0, 0)
	return c, nil
}

func (l *listener) Close() error {
	l.process.enter()
	if l.closed {
		return fmt.Errorf("close listener at %s: %w", l.addr, host.ErrClosed)
	}
	l.close()
	l.waiting.wakeAll(wokeNet)
	return nil
}

// close gives the address back. Connections that nobody accepted are reset.
func (l *listener) close() {
	l.closed = true
	delete(l.process.world.network.listeners, l.addr)
	for _, c := range l.backlog {
		if !c.over() {
			c.abort()
		}
	}
	l.backlog = nil
}

// closeListeners is what the operating system does for a process that ends.
func (n *Network) closeListeners(p *process) {
	for _, l := range p.listeners {
		if !l.closed {
			l.close()
		}
	}
	p.listeners = nil
}

// dial is an attempt to connect. Its request and the answer each take their time, and a partition may hold either.
type dial struct {
	process *process
	target  *Node // nil: no such machine
	addr    string
	from    string
	timer   timer
	waiting list  // the dialling task; empty once it gave up
	conn    *conn // established, and the answer is under way
	refused bool
}

func (n *network) Dial(addr string, s *host.Scope) (host.Conn, error) {
	p := n.process
	t := p.running()
	w := p.world
	node, port, err := n.splitAddress(addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if err := s.Err(p.node.elapsed()); err != nil {
		t.yield("dial", addr)
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	d := &dial{process: p, target: w.byName[node], addr: address(node, port), from: address(p.node.name, p.node.takePort())}
	d.timer = timer{index: unset, call: d.advance}
	w.noteText(actDial, p.node, d.addr, 0, 0)
	d.send()
	return d.await(t, s)
}

// await parks the task until the attempt is decided or its scope ends.
func (d *dial) await(t *task, s *host.Scope) (host.Conn, error) {
	w := d.process.world
	own := d.process.node.elapsed()
	limit := w.network.profile.DialTimeout
	if s != nil && s.Deadline != 0 {
		limit = min(limit, s.Deadline-own)
	}
	if s != nil && s.Group != nil {
		g, ours := s.Group.(*group)
		invariant.Check(ours && g.process == d.process, "a scope has a group of the same node")
		g.waiters.push(&t.leash)
	}
	d.waiting.push(&t.place)
	t.setAlarm(limit)
	why := t.park(taskParked, "dial", d.addr)
	if why == wokeNet && d.conn != nil {
		return d.conn, nil
	}
	w.schedule.unset(&d.timer)
	w.network.giveUp(d)
	if d.conn != nil {
		d.conn.shut() // the other side has it already
	}
	switch {
	case why == wokeNet:
		w.effect(EffectRefused)
		return nil, fmt.Errorf("dial %s: %w", d.addr, host.ErrRefused)
	case why == wokeStop:
		return nil, fmt.Errorf("dial %s: %w", d.addr, host.ErrStopping)
	default:
		return nil, fmt.Errorf("dial %s: no answer: %w", d.addr, host.ErrTimeout)
	}
}

// giveUp forgets an attempt that may be waiting for a partition to end.
func (n *Network) giveUp(d *dial) {
	for i, x := range n.dials {
		if x == d {
			n.dials = append(n.dials[:i], n.dials[i+1:]...)
			return
		}
	}
}

// send puts the request on its way, the first time or after a partition.
func (d *dial) send() {
	w := d.process.world
	delay := 100 * time.Microsecond // the time a resolver takes to say that there is no such name
	if d.target != nil {
		delay = w.network.link(d.process.node, d.target).latency()
	}
	w.schedule.set(&d.timer, w.now+delay)
}

// advance takes the attempt one step on: the request arrives, then the answer.
func (d *dial) advance() {
	if d.process.dead || d.waiting.empty() {
		return // it gave up
	}
	w := d.process.world
	if d.refused || d.conn != nil {
		d.waiting.wakeAll(wokeNet)
		return
	}
	if d.target == nil {
		d.refused = true
		d.waiting.wakeAll(wokeNet)
		return
	}
	there := w.network.link(d.process.node, d.target)
	if there.holds() || there.reverse().holds() {
		w.network.dials = append(w.network.dials, d)
		return
	}
	if !d.reach() {
		return // nobody answers
	}
	w.schedule.set(&d.timer, w.now+there.reverse().latency())
}

// reach is what the target does with the request. False: it does not even refuse.
func (d *dial) reach() bool {
	w := d.process.world
	l := w.network.listeners[d.addr]
	switch {
	case !d.target.Running() && d.target.powerless && w.network.link(d.process.node, d.target).dice.permille(w.network.profile.HalfOpenPermille):
		return false
	case l == nil || w.now < d.target.refuseUntil || len(l.backlog) >= backlogMax:
		d.refused = true
	default:
		client, server := w.network.connect(d.process, l.process, d.from, d.addr)
		d.conn = client
		l.backlog = append(l.backlog, server)
		if !l.waiting.empty() {
			l.waiting.first.task.wake(wokeNet)
		}
	}
	return true
}
