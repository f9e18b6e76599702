package sim

import (
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// conn is a host.Conn: one end of a connection.
type conn struct {
	process *process
	local   string
	remote  string
	label   string // both, for the trace
	number  int64  // of the connection, for onlookers
	other   *conn
	in, out *pipe

	closed bool // its owner closed it, or is no more
	broken bool // reset: what was under way is lost
	silent bool // the machine is gone, and nobody answers for it
	told   bool // the owner has seen that it is broken
	eerie  bool // the owner has been left waiting by a silent peer; counted once

	reading, writing     list // at most one task each
	readIdle, writeStall time.Duration
}

// connect makes both ends of a connection.
func (n *Network) connect(client, server *process, clientAddr, serverAddr string) (*conn, *conn) {
	to, from := n.link(client.node, server.node), n.link(server.node, client.node)
	there, back := newPipe(to, from), newPipe(from, to)
	a := &conn{process: client, local: clientAddr, remote: serverAddr, label: clientAddr + ">" + serverAddr, in: back, out: there}
	b := &conn{process: server, local: serverAddr, remote: clientAddr, label: serverAddr + ">" + clientAddr, in: there, out: back}
	a.other, b.other = b, a
	n.made++
	a.number, b.number = n.made, n.made
	there.to, back.to = b, a
	n.conns = append(n.conns, a, b)
	return a, b
}

// over reports whether this end takes no part any more.
func (c *conn) over() bool { return c.closed || c.broken }

// receive handles what comes in at this end.
func (c *conn) receive(what arriving) {
	switch {
	case what == arriveReset:
		c.snap()
	case c.over():
		// Nobody is here to take it. A machine that runs says so; one without power says nothing.
		if !c.silent && what == arriveData && !c.other.over() {
			c.out.enqueue(mark{what: arriveReset, upTo: c.out.sent})
		}
	default:
		c.in.ended = c.in.ended || what == arriveEnd
		c.reading.wakeAll(wokeNet)
	}
}

// snap breaks this end.
func (c *conn) snap() {
	if c.over() {
		return
	}
	w := c.process.world
	w.trace.add(&record{at: w.now, node: c.process.node, what: actBreak, text: c.label})
	c.broken = true
	c.wakeBoth()
	c.process.world.network.forget(c)
}

func (c *conn) wakeBoth() {
	c.reading.wakeAll(wokeNet)
	c.writing.wakeAll(wokeNet)
}

// shut closes this end in good order: what was written still arrives. Bytes that arrived and were never read turn the
// close into a reset, as TCP does.
func (c *conn) shut() {
	c.closed = true
	what := arriveEnd
	if c.in.arrived > c.in.read {
		what = arriveReset
	}
	if !c.broken {
		c.out.enqueue(mark{what: what, upTo: c.out.sent})
	}
	c.process.world.network.forget(c)
}

// abandon is what happens to this end when its process crashes.
func (c *conn) abandon(powerCut bool) {
	dice := &c.out.link.dice
	if c.broken {
		c.closed = true
		return
	}
	switch {
	case powerCut:
		c.closed = true
		c.out.dropSome()
		c.silent = dice.permille(c.out.link.network.profile.HalfOpenPermille)
		if !c.silent {
			c.out.enqueue(mark{what: arriveReset, upTo: c.out.lastMark()})
		}
	case dice.below(2) == 0:
		c.shut() // the kernel sends what it has, then the end
		return
	default:
		c.closed = true
		c.out.dropSome()
		c.out.enqueue(mark{what: arriveReset, upTo: c.out.lastMark()})
	}
	c.process.world.network.forget(c)
}

// state is the error that stands in the way of a read or write, if one does.
func (c *conn) state(what string) error {
	switch {
	case c.closed:
		return fmt.Errorf("%s %s: %w", what, c.label, host.ErrClosed)
	case c.broken:
		if !c.told {
			c.told = true
			c.process.world.effect(EffectReset)
		}
		return fmt.Errorf("%s %s: %w", what, c.label, host.ErrReset)
	}
	return nil
}

func (c *conn) Read(p []byte) (int, error) {
	t := c.process.running()
	c.process.world.maybeYield(t, "read", c.label)
	for late := false; ; {
		if err := c.state("read"); err != nil {
			return 0, err
		}
		if there := c.in.arrived - c.in.read; there > 0 || len(p) == 0 {
			if delay := c.process.node.receiveDelay(); delay > 0 && !late {
				late = true // and then look again: the connection may have ended meanwhile
				t.parkUntil(c.process.world.now+delay, "slow read", c.label)
				continue
			}
			return c.take(t, p, there), nil
		}
		if c.in.ended {
			return 0, io.EOF
		}
		if c.await(t, &c.reading, c.readIdle, "read") == wokeTimer {
			return 0, fmt.Errorf("read %s: nothing came for %s: %w", c.label, c.readIdle, host.ErrTimeout)
		}
	}
}

// take reads what is there, or, where the seed says so, only a part of it.
func (c *conn) take(t *task, p []byte, there int64) int {
	w := c.process.world
	n := min(int64(len(p)), there)
	if n > 1 && c.in.link.dice.permille(c.in.link.network.profile.SplitPermille) {
		n = 1 + c.in.link.dice.below(n-1)
		w.effect(EffectSplitRead)
	}
	c.in.take(p[:n])
	w.trace.onlooker.handOne(c.number, p[:n])
	w.trace.add(&record{at: w.now, node: c.process.node, task: t, what: actReceive, text: c.label, a: n})
	return int(n)
}

// await parks the task until something happens to the connection, or for at most limit if it is not zero.
func (c *conn) await(t *task, queue *list, limit time.Duration, what string) woke {
	invariant.Check(queue.empty(), "one task reads a connection and one task writes it")
	if c.other.silent && !c.eerie {
		c.eerie = true
		c.process.world.effect(EffectHalfOpen)
	}
	queue.push(&t.place)
	if limit > 0 {
		t.setAlarm(limit)
	}
	return t.park(taskParked, what, c.label)
}

func (c *conn) WriteBuffers(b [][]byte) error {
	t := c.process.running()
	w := c.process.world
	w.maybeYield(t, "write", c.label)
	if err := c.state("write"); err != nil {
		return err
	}
	length := c.noteSend(t, b)
	if err := c.announce(length); err != nil {
		return err
	}
	return c.writeAll(t, b)
}

// noteSend puts what is about to be sent into the trace, and returns its length.
func (c *conn) noteSend(t *task, b [][]byte) int64 {
	length, sum := int64(0), uint32(0)
	for _, p := range b {
		length += int64(len(p))
		sum = crc32.Update(sum, castagnoli, p)
	}
	w := c.process.world
	w.trace.onlooker.hand(c.number, b)
	w.trace.add(&record{at: w.now, node: c.process.node, task: t, what: actSend, text: c.label, a: length, b: int64(sum)})
	return length
}

func (c *conn) writeAll(t *task, b [][]byte) error {
	for _, p := range b {
		if err := c.write(t, p); err != nil {
			return err
		}
	}
	c.out.flush()
	return nil
}

// announce tells the plan of a write, which may break the connection over it.
func (c *conn) announce(length int64) error {
	l := c.out.link
	l.sends++
	if l.network.onSend == nil {
		return nil
	}
	l.network.world.hooks++
	l.network.onSend(&Send{From: l.from, To: l.to, Bytes: length, Nth: l.sends})
	c.process.afterHook()
	return c.state("write")
}

// write puts one buffer into the stream, and waits for room as often as it must.
func (c *conn) write(t *task, p []byte) error {
	for {
		p = p[c.out.put(p):]
		if len(p) == 0 {
			return nil
		}
		c.out.flush()
		why := c.await(t, &c.writing, c.writeStall, "write")
		if err := c.state("write"); err != nil {
			return err
		}
		if why == wokeTimer {
			c.abort()
			return fmt.Errorf("write %s: no progress for %s: %w", c.label, c.writeStall, host.ErrTimeout)
		}
	}
}

// abort breaks the connection from this end: half a write is worse than none.
func (c *conn) abort() {
	c.out.enqueue(mark{what: arriveReset, upTo: c.out.lastMark()})
	c.snap()
}

func (c *conn) Limits(readIdle, writeStall time.Duration) {
	c.process.enter()
	c.readIdle, c.writeStall = readIdle, writeStall
}

func (c *conn) Peer() string { return c.remote }

func (c *conn) Close() error {
	c.process.enter()
	if c.closed {
		return fmt.Errorf("close %s: %w", c.label, host.ErrClosed)
	}
	c.shut()
	c.wakeBoth()
	return nil
}
