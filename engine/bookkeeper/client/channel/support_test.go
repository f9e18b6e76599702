package channel_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

const addr = "bookie:3181"

// peer is a bookie that does what a test says, on one connection.
type peer struct {
	h    host.Host
	conn host.Conn
	in   *wire.Input
}

// next returns the next request; false when the connection has ended.
func (p *peer) next() (wire.Request, bool) {
	var r wire.Request
	for {
		packet, err := p.in.Next()
		if err != nil {
			panic(err) // a channel sends nothing malformed
		}
		if packet != nil {
			if err := r.Decode(append([]byte(nil), packet...)); err != nil {
				panic(err)
			}
			return r, true
		}
		if p.in.Fill(p.conn) != nil {
			return r, false
		}
	}
}

// silent reports whether no request comes for a while.
func (p *peer) silent(d time.Duration) bool {
	p.conn.Limits(d, 0)
	defer p.conn.Limits(0, 0)
	if packet, err := p.in.Next(); packet != nil || err != nil {
		return false
	}
	return errors.Is(p.in.Fill(p.conn), host.ErrTimeout)
}

func (p *peer) answer(r wire.Request, code wire.Code, body []byte) {
	response := wire.Response{
		Version: r.Version, Operation: r.Operation, Code: code,
		Ledger: r.Ledger, Entry: r.Entry, RequestID: r.RequestID, Body: body,
	}
	p.send(response.Append(nil))
}

func (p *peer) send(bytes []byte) { _ = p.conn.WriteBuffers([][]byte{bytes}) }

// between runs a client with a channel against a scripted peer. The client leaves no memory in use.
func between(t *testing.T, config channel.Config, script func(p *peer), client func(w *sim.World, h host.Host, c *channel.Channel) error) {
	t.Helper()
	for seed := range uint64(8) {
		profile := sim.LAN()
		profile.SplitPermille = int(seed) * 100
		profile.WindowBytes = 8 << 10
		w := sim.New(sim.Config{Seed: seed, Net: profile, LockYieldPermille: int(seed%3) * 100})
		bookie := w.NewNode("bookie")
		bookie.SetDaemon(true)
		bookie.Start(func(h host.Host) error { return serve(h, script) })
		n := w.NewNode("client")
		n.Start(func(h host.Host) error { return withChannel(w, h, config, client) })
		v := w.Run(time.Hour)
		if v.Failed() || n.BootErr() != nil {
			t.Fatalf("seed %d, client: %v\n%s", seed, n.BootErr(), v.String())
		}
	}
}

func serve(h host.Host, script func(p *peer)) error {
	listener, err := h.Net().Listen(addr)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		h.Root().Go("peer", func() {
			p := &peer{h: h, conn: conn, in: wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)}
			script(p)
			p.in.Release()
		})
	}
}

func withChannel(w *sim.World, h host.Host, config channel.Config, client func(*sim.World, host.Host, *channel.Channel) error) error {
	h.Root().Sleep(time.Second) // until the peer listens
	c, err := channel.Dial(h, h.Root(), addr, nil, config)
	if err != nil {
		return err
	}
	err = client(w, h, c)
	c.Close()
	if c.Outstanding() != 0 {
		err = errors.Join(err, fmt.Errorf("%d requests are left", c.Outstanding()))
	}
	if used := h.Memory().InUse(); used != 0 {
		err = errors.Join(err, fmt.Errorf("%d bytes are left in use", used))
	}
	return err
}

func small() channel.Config {
	c := channel.DefaultConfig()
	c.InputBufferBytes, c.RequestsMax, c.OutputBytesMax = 4<<10, 8, 4<<10
	c.Timeout, c.Patience, c.WriteStall = time.Second, 2*time.Second, 4*time.Second
	return c
}

func stored(id ledger.ID, entry ledger.EntryID, text string) []byte {
	p := make([]byte, ledger.HeaderBytes, ledger.HeaderBytes+len(text))
	ledger.PutHeader(p, id, entry, entry-1, 1)
	return append(p, text...)
}

// box takes requests back, in the order in which they complete.
type box struct{ queue *host.Queue[*channel.Request] }

func newBox(h host.Host) *box { return newBoxOf(h, 100) }

func newBoxOf(h host.Host, count int) *box {
	return &box{host.NewQueue[*channel.Request](h, h.Root(), "box", count)}
}

func (b *box) Completed(r *channel.Request) {
	if !b.queue.Offer(r) {
		panic("the box is full")
	}
}

func (b *box) take(count int) []*channel.Request {
	var all []*channel.Request
	for len(all) < count {
		some, more := b.queue.Take(nil)
		if !more {
			break
		}
		all = append(all, some...)
	}
	return all
}

func (b *box) add(e ledger.EntryID) *channel.Request {
	return &channel.Request{Operation: wire.Add, Body: stored(7, e, "body"), Done: b}
}

func (b *box) read(e ledger.EntryID) *channel.Request {
	return &channel.Request{Operation: wire.Read, Ledger: 7, Entry: e, Done: b}
}

func (b *box) fence(e ledger.EntryID) *channel.Request {
	return &channel.Request{Operation: wire.Read, Flags: wire.Fencing, Ledger: 7, Entry: e, Done: b}
}

// is checks the class of an error, and that others do not apply.
func is(what string, err, want error, not ...error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: got %v, want %v", what, err, want)
	}
	for _, n := range not {
		if errors.Is(err, n) {
			return fmt.Errorf("%s: %v must not be %v", what, err, n)
		}
	}
	return nil
}
