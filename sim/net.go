package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// NetProfile is what the network between any two nodes is like.
type NetProfile struct {
	LatencyMin       time.Duration // one way
	LatencyMean      time.Duration // beyond the minimum
	TailPermille     int           // of deliveries that take up to TailMax more
	TailMax          time.Duration
	BytesPerSecond   int64         // of each direction between two nodes
	WindowBytes      int           // sent and not yet read, for each direction of a connection; then writers wait
	SplitPermille    int           // of reads that return less than there is, and of writes that arrive in two parts
	DialTimeout      time.Duration // of a dial without a deadline
	HalfOpenPermille int           // of connections to a machine without power that go silent, not reset
	RetransmitMax    time.Duration // after a partition, until bytes flow again
}

// LAN is the profile of worlds that were given none.
func LAN() NetProfile {
	return NetProfile{
		LatencyMin: 40 * time.Microsecond, LatencyMean: 60 * time.Microsecond, TailPermille: 1, TailMax: 20 * time.Millisecond,
		BytesPerSecond: 1_250_000_000, WindowBytes: 256 << 10, SplitPermille: 50, DialTimeout: 10 * time.Second,
		HalfOpenPermille: 500, RetransmitMax: 200 * time.Millisecond,
	}
}

const (
	firstEphemeralPort = 32768
	portMax            = 65535
	backlogMax         = 1024 // connections established and not yet accepted, for each listener
)

// Network connects the nodes of a world. Its faults work on pairs of nodes by name.
type Network struct {
	world     *World
	profile   NetProfile
	links     map[[2]*Node]*link
	listeners map[string]*listener
	conns     []*conn // both ends of each connection that is not over, in the order in which they were made
	made      int64   // connections so far
	dials     []*dial // waiting for a partition to end
	onSend    func(*Send)
}

// Net is the network of the world.
func (w *World) Net() *Network { return w.network }

// Send is a write on a connection that is about to happen.
type Send struct {
	From, To *Node
	Bytes    int64
	Nth      int64 // counts from 1, per direction between two nodes
}

// OnSend has f told of every write, inside the task that writes and before a byte is taken. f may crash nodes, break
// connections and cut links.
func (n *Network) OnSend(f func(*Send)) { n.onSend = f }

func newNetwork(w *World, profile NetProfile) *Network {
	if profile == (NetProfile{}) {
		profile = LAN()
	}
	invariant.Check(profile.WindowBytes > 0, "a connection holds at least one byte")
	return &Network{world: w, profile: profile, links: map[[2]*Node]*link{}, listeners: map[string]*listener{}}
}

func (n *Network) link(from, to *Node) *link {
	key := [2]*Node{from, to}
	l := n.links[key]
	if l == nil {
		l = &link{network: n, from: from, to: to, dice: newDice(n.world.config.Seed, "link/"+from.name+"/"+to.name)}
		n.links[key] = l
	}
	return l
}

func (n *Network) between(a, b string) (*Node, *Node) {
	first, second := n.world.byName[a], n.world.byName[b]
	invariant.Checkf(first != nil && second != nil, "network faults name nodes of the world, not %q and %q", a, b)
	return first, second
}

// Partition stops all bytes from one node to the other, and back unless it is one way. Connections stay; dials time out.
func (n *Network) Partition(from, to string, oneWay bool) {
	a, b := n.between(from, to)
	n.world.noteText(actNetFault, a, "partition from "+to, 0, 0)
	n.link(a, b).block(oneWay)
	if !oneWay {
		n.link(b, a).block(false)
	}
}

// Heal ends a partition between two nodes in both directions. Bytes flow again after a retransmission delay.
func (n *Network) Heal(a, b string) {
	first, second := n.between(a, b)
	n.world.noteText(actNetFault, first, "heal "+b, 0, 0)
	n.heal(n.link(first, second))
	n.heal(n.link(second, first))
}

// HealAll ends every partition.
func (n *Network) HealAll() {
	for _, a := range n.world.nodes {
		for _, b := range n.world.nodes {
			if l := n.links[[2]*Node{a, b}]; l != nil && l.blocked {
				n.heal(l)
			}
		}
	}
}

func (n *Network) heal(l *link) {
	if !l.blocked {
		return
	}
	l.blocked = false
	n.reopen(l)
	n.redial()
}

// reopen lets what waits on a link go on, unless something else still holds it.
func (n *Network) reopen(l *link) {
	if l.closed() {
		return
	}
	for _, c := range n.conns {
		if c.out.link == l {
			c.out.restart()
		}
		if c.in.back == l {
			c.in.acknowledge()
		}
	}
}

// redial sends the requests that met a closed link again.
func (n *Network) redial() {
	waiting := n.dials
	n.dials = nil
	for _, d := range waiting {
		d.send()
	}
}

// Clog stops all bytes to and from a node, as an interface does that has no room. Connections stay.
func (n *Network) Clog(node string) {
	target, _ := n.between(node, node)
	n.world.noteText(actNetFault, target, "clog", 0, 0)
	target.clogged = true
}

// Unclog ends a clog. Bytes flow again after a retransmission delay.
func (n *Network) Unclog(node string) {
	target, _ := n.between(node, node)
	if !target.clogged {
		return
	}
	n.world.noteText(actNetFault, target, "unclog", 0, 0)
	target.clogged = false
	for _, peer := range n.world.nodes {
		for _, key := range [][2]*Node{{target, peer}, {peer, target}} {
			if l := n.links[key]; l != nil && (peer != target || key[0] == target) {
				n.reopen(l)
			}
		}
	}
	n.redial()
}

// SlowReceiver makes each read of a node's connections take so much longer, for a time: its buffers fill, and whoever
// writes to it waits.
func (n *Network) SlowReceiver(node string, delay, d time.Duration) {
	target, _ := n.between(node, node)
	n.world.noteText(actNetFault, target, "slow receiver", int64(delay), int64(d))
	target.slowReceiveDelay, target.slowReceiveUntil = delay, n.world.now+d
}

// Reset breaks all connections between two nodes, at one end or at both; what was in flight is lost. An end that is
// not told finds out when it writes.
func (n *Network) Reset(a, b string) {
	first, second := n.between(a, b)
	n.world.noteText(actNetFault, first, "reset "+b, 0, 0)
	for _, c := range append([]*conn(nil), n.conns...) {
		if c.process.node != first || c.other.process.node != second || c.over() {
			continue
		}
		side := c.out.link.dice.below(3)
		c.out.drop()
		c.in.drop()
		if side != 0 {
			c.snap()
		}
		if side != 1 {
			c.other.snap()
		}
	}
}

// Stall stops the bytes between two nodes for a time, in both directions.
func (n *Network) Stall(a, b string, d time.Duration) {
	first, second := n.between(a, b)
	n.world.noteText(actNetFault, first, "stall "+b, int64(d), 0)
	until := n.world.now + d
	n.link(first, second).stalledUntil = until
	n.link(second, first).stalledUntil = until
}

// SlowLink makes everything between two nodes take so many times as long, for a time, in both directions.
func (n *Network) SlowLink(a, b string, factor int64, d time.Duration) {
	first, second := n.between(a, b)
	n.world.noteText(actNetFault, first, "slow link "+b, factor, int64(d))
	n.link(first, second).slow(factor, n.world.now+d)
	n.link(second, first).slow(factor, n.world.now+d)
}

// RefuseDials has a node refuse new connections for a time.
func (n *Network) RefuseDials(node string, d time.Duration) {
	target, _ := n.between(node, node)
	n.world.noteText(actNetFault, target, "refuse dials", int64(d), 0)
	target.refuseUntil = n.world.now + d
}

// forget takes a connection out once both its ends are over.
func (n *Network) forget(c *conn) {
	if !c.over() || !c.other.over() {
		return
	}
	kept := n.conns[:0]
	for _, x := range n.conns {
		if x != c && x != c.other {
			kept = append(kept, x)
		}
	}
	clear(n.conns[len(kept):])
	n.conns = kept
	c.in.giveRing() // both ends refuse reads and writes from now on
	c.out.giveRing()
}

// crash ends the connections and listeners of a process that did not close them. A killed process leaves a kernel that
// answers; a machine without power may leave silence.
func (n *Network) crash(p *process, powerCut bool) {
	n.closeListeners(p)
	for _, c := range append([]*conn(nil), n.conns...) {
		if c.process == p && !c.closed {
			c.abandon(powerCut)
		}
	}
}

// exit ends the connections and listeners of a process that returned, as the kernel does.
func (n *Network) exit(p *process) {
	n.closeListeners(p)
	for _, c := range append([]*conn(nil), n.conns...) {
		if c.process == p && !c.closed {
			c.shut()
		}
	}
}

// reboot lets a machine that is back answer for connections it knows nothing of: whoever keeps sending is reset.
func (n *Network) reboot(node *Node) {
	for _, c := range append([]*conn(nil), n.conns...) {
		if c.process.node == node && c.silent {
			c.silent = false
			if c.in.sent > c.in.acked {
				c.out.enqueue(mark{what: arriveReset, upTo: c.out.sent})
			}
		}
	}
}

// network is a host.Net: the network as one process sees it.
type network struct{ process *process }

func (p *process) Net() host.Net {
	p.enter()
	return &network{process: p}
}

// splitAddress takes "name:port" apart. A host that means "this machine" becomes the node's own name.
func (n *network) splitAddress(addr string) (node string, port int, err error) {
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return "", 0, fmt.Errorf("address %q has no port: %w", addr, host.ErrNotExist)
	}
	port, err = strconv.Atoi(addr[colon+1:])
	if err != nil || port < 0 || port > portMax {
		return "", 0, fmt.Errorf("address %q has no valid port: %w", addr, host.ErrNotExist)
	}
	node = addr[:colon]
	switch node {
	case "", "localhost", "127.0.0.1", "0.0.0.0":
		node = n.process.node.name
	}
	return node, port, nil
}

func (n *Node) takePort() int {
	n.lastPort++
	if n.lastPort < firstEphemeralPort || n.lastPort > portMax {
		n.lastPort = firstEphemeralPort
	}
	return n.lastPort
}

func address(node string, port int) string { return node + ":" + strconv.Itoa(port) }
