package pool_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// echo is a bookie that stores nothing and agrees to everything.
func echo(addr string, serve func(h host.Host, conn host.Conn)) func(h host.Host) error {
	return func(h host.Host) error {
		listener, err := h.Net().Listen(addr)
		if err != nil {
			return err
		}
		for {
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			h.Root().Go("serve", func() { serve(h, conn) })
		}
	}
}

func agree(h host.Host, conn host.Conn) {
	in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
	defer in.Release()
	var r wire.Request
	for {
		packet, err := in.Next()
		if err != nil || packet == nil && in.Fill(conn) != nil {
			_ = conn.Close()
			return
		}
		if packet == nil {
			continue
		}
		if err := r.Decode(packet); err != nil {
			panic(err)
		}
		response := wire.Response{Version: r.Version, Operation: r.Operation, Ledger: r.Ledger, Entry: r.Entry, Body: r.Body}
		if r.Operation == wire.Add {
			response.Body = nil
		}
		if conn.WriteBuffers([][]byte{response.Append(nil)}) != nil {
			return
		}
	}
}

func small() pool.Config {
	c := pool.DefaultConfig()
	c.Channel.InputBufferBytes, c.Channel.RequestsMax, c.Channel.OutputBytesMax = 4<<10, 4, 4<<10
	c.Channel.Timeout, c.Channel.Patience, c.Channel.WriteStall = time.Second, 2*time.Second, 2*time.Second
	c.ConnectTimeout, c.BackoffMin, c.BackoffMax = time.Second, 100*time.Millisecond, time.Second
	c.ParkedMax, c.ParkedBytesMax, c.BookiesMax = 16, 1<<10, 3
	return c
}

// world runs a client with a pool beside bookies. The client leaves no memory in use.
func world(t *testing.T, config pool.Config, bookies map[string]func(host.Host) error, client func(w *sim.World, h host.Host, p *pool.Pool) error) {
	t.Helper()
	for seed := range uint64(8) {
		w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed%3) * 100})
		for _, name := range host.SortedKeys(bookies) {
			n := w.NewNode(name)
			n.SetDaemon(true)
			n.Start(bookies[name])
		}
		n := w.NewNode("client")
		n.Start(func(h host.Host) error {
			h.Root().Sleep(100 * time.Millisecond) // until the bookies listen
			p, err := pool.New(h, h.Root(), config)
			if err != nil {
				return err
			}
			err = client(w, h, p)
			p.Close()
			if used := h.Memory().InUse(); used != 0 {
				err = errors.Join(err, fmt.Errorf("%d bytes are left in use", used))
			}
			return err
		})
		if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
			t.Fatalf("seed %d, client: %v\n%s", seed, n.BootErr(), v.String())
		}
	}
}

// box takes requests back.
type box struct{ queue *host.Queue[*channel.Request] }

func newBox(h host.Host) *box { return &box{host.NewQueue[*channel.Request](h, h.Root(), "box", 1000)} }

func (b *box) Completed(r *channel.Request) {
	if !b.queue.Offer(r) {
		panic("the box is full")
	}
}

// take waits for count requests and returns how many succeeded, and the last error.
func (b *box) take(count int) (good int, failure error) {
	for count > 0 {
		batch, ok := b.queue.Take(nil)
		if !ok {
			return good, host.ErrStopping
		}
		count -= len(batch)
		for _, r := range batch {
			if r.Err == nil {
				good++
			} else {
				failure = r.Err
			}
		}
	}
	return good, failure
}

func (b *box) add(e ledger.EntryID) *channel.Request {
	body := make([]byte, ledger.HeaderBytes+8)
	ledger.PutHeader(body, 7, e, e-1, 1)
	return &channel.Request{Operation: wire.Add, Ledger: 7, Entry: e, Body: body, Done: b}
}

const a, b, c, d = "a:3181", "b:3181", "c:3181", "d:3181"

// TestRequestsBeforeTheConnectionWaitForIt, and their bodies are the caller's again at once.
func TestRequestsBeforeTheConnectionWaitForIt(t *testing.T) {
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, agree)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		for e := range ledger.EntryID(10) {
			r := done.add(e)
			body := r.Body
			if err := p.Offer(a, r); err != nil {
				return err
			}
			clear(body)
		}
		good, err := done.take(10)
		if good != 10 {
			return fmt.Errorf("%d of 10 were stored: %w", good, err)
		}
		return nil
	})
}

// TestADeadBookieHoldsNobodyUp: one that does not answer dials costs others nothing; what waits for it fails in the end,
// and until the next dial everything is refused at once.
func TestADeadBookieHoldsNobodyUp(t *testing.T) {
	bookies := map[string]func(host.Host) error{"a": echo(a, agree), "b": echo(b, agree)}
	world(t, small(), bookies, func(w *sim.World, h host.Host, p *pool.Pool) error {
		w.Net().Partition("client", "b", false)
		lost, done := newBox(h), newBox(h)
		if err := p.Offer(b, lost.add(1)); err != nil {
			return err
		}
		began := h.Elapsed()
		for e := range ledger.EntryID(50) {
			if err := p.Offer(a, done.add(e)); err != nil {
				return err
			}
			if good, err := done.take(1); good != 1 {
				return err
			}
		}
		if took := h.Elapsed() - began; took > 500*time.Millisecond {
			return fmt.Errorf("the other bookie took %s", took)
		}
		_, err := lost.take(1)
		if !errors.Is(err, pool.ErrUnavailable) || !errors.Is(err, host.ErrTimeout) || errors.Is(err, channel.ErrOutcomeUnknown) {
			return fmt.Errorf("the request that waited: %w", err)
		}
		if err := p.Offer(b, lost.add(2)); !errors.Is(err, pool.ErrUnavailable) || !p.Avoided(b) {
			return fmt.Errorf("during backoff: %w", err)
		}
		w.Net().HealAll()
		h.Root().Sleep(2 * time.Second)
		if err := p.Offer(b, lost.add(3)); err != nil {
			return err
		}
		good, err := lost.take(1)
		if good != 1 {
			return fmt.Errorf("after healing: %w", err)
		}
		return nil
	})
}

// TestABrokenConnectionIsReplaced: requests under way fail with an open outcome, later ones are stored.
func TestABrokenConnectionIsReplaced(t *testing.T) {
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, agree)}, func(w *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		for round := range ledger.EntryID(5) {
			if err := p.Offer(a, done.add(10*round)); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			if good, err := done.take(1); good != 1 {
				return fmt.Errorf("round %d: %w", round, err)
			}
			h.Root().Sleep(2 * time.Second) // so that the connection has lasted
			w.Net().Reset("client", "a")
			h.Root().Sleep(10 * time.Millisecond)
			if err := p.Offer(a, done.add(10*round+1)); err != nil {
				return fmt.Errorf("round %d, at once: %w", round, err)
			}
			// An end that was not told learns of the reset by this very request.
			if good, err := done.take(1); good != 1 && !errors.Is(err, channel.ErrOutcomeUnknown) {
				return fmt.Errorf("round %d, at once: %w", round, err)
			}
		}
		return nil
	})
}

// TestABookieThatIsBackIsDialledAtOnce: its connections did not last, but they ended long before anybody asked again.
func TestABookieThatIsBackIsDialledAtOnce(t *testing.T) {
	briefly := func(h host.Host, conn host.Conn) {
		h.Root().Go("hang up", func() {
			h.Root().Sleep(50 * time.Millisecond)
			_ = conn.Close()
		})
		agree(h, conn)
	}
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, briefly)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		for round := range ledger.EntryID(3) {
			if err := p.Offer(a, done.add(round)); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			if good, err := done.take(1); good != 1 {
				return fmt.Errorf("round %d: %w", round, err)
			}
			h.Root().Sleep(900 * time.Millisecond) // longer than the pause after so many failures
		}
		return nil
	})
}

// TestABookieThatHangsUpIsDialledWithBackoff, although each dial succeeds.
func TestABookieThatHangsUpIsDialledWithBackoff(t *testing.T) {
	dials := 0
	hangUp := func(_ host.Host, conn host.Conn) {
		dials++
		_ = conn.Close()
	}
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, hangUp)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		dials = 0
		done := newBox(h)
		for e := range ledger.EntryID(1000) {
			if p.Offer(a, done.add(e)) == nil {
				if good, _ := done.take(1); good != 0 {
					return errors.New("a bookie that hangs up stored an entry")
				}
			}
			h.Root().Sleep(5 * time.Millisecond)
		}
		if dials < 3 || dials > 30 {
			return fmt.Errorf("%d dials in five seconds", dials)
		}
		return nil
	})
}

// TestWhatWaitsIsBounded, by number and by bytes, and the refused requests are not lost track of.
func TestWhatWaitsIsBounded(t *testing.T) {
	silent := func(h host.Host, conn host.Conn) { host.AwaitStop(h.Root()) }
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, silent)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		taken := 0
		var refusal error
		for e := range ledger.EntryID(100) {
			if err := p.Offer(a, done.add(e)); err != nil {
				refusal = err
			} else {
				taken++
			}
		}
		if config := small(); taken > config.ParkedMax+config.Channel.RequestsMax+1 || !errors.Is(refusal, pool.ErrFull) {
			return fmt.Errorf("%d requests were taken, then: %w", taken, refusal)
		}
		good, err := done.take(taken)
		if good != 0 || !errors.Is(err, host.ErrTimeout) {
			return fmt.Errorf("%d good, %w", good, err)
		}
		return nil
	})
}

// TestOfManyRequestsEachIsTakenOrRefused, in the state that the bookie is in: what has no room in the channel is parked up to
// the bound, and the rest comes back at once, with the reason. None is both.
func TestOfManyRequestsEachIsTakenOrRefused(t *testing.T) {
	bookies := map[string]func(host.Host) error{"a": echo(a, agree)}
	world(t, small(), bookies, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		for round := range 3 { // the first one waits for the dial
			var requests []*channel.Request
			for e := range ledger.EntryID(40) {
				requests = append(requests, done.add(e))
			}
			refused := p.OfferAll(a, requests, nil)
			if len(refused) == 0 || len(refused) == len(requests) {
				return fmt.Errorf("round %d: %d of %d were refused", round, len(refused), len(requests))
			}
			for _, r := range refused {
				if !errors.Is(r.Err, pool.ErrFull) {
					return fmt.Errorf("round %d: entry %d was refused with %w", round, r.Entry, r.Err)
				}
			}
			taken := len(requests) - len(refused)
			if good, err := done.take(taken); good != taken {
				return fmt.Errorf("round %d: %d of %d were stored: %w", round, good, taken, err)
			}
		}
		p.Close()
		refused := p.OfferAll(a, []*channel.Request{done.add(1), done.add(2)}, nil)
		if len(refused) != 2 || !errors.Is(refused[1].Err, pool.ErrClosed) {
			return fmt.Errorf("after the end %d were refused", len(refused))
		}
		return nil
	})
}

// TestForgottenBookiesMakeRoom: only those without a working connection are forgotten.
func TestForgottenBookiesMakeRoom(t *testing.T) {
	bookies := map[string]func(host.Host) error{"a": echo(a, agree), "b": echo(b, agree), "c": echo(c, agree), "d": echo(d, agree)}
	world(t, small(), bookies, func(w *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		for i, bookie := range []ledger.BookieID{a, b, c} {
			if err := p.Offer(bookie, done.add(ledger.EntryID(i))); err != nil {
				return err
			}
			if good, err := done.take(1); good != 1 {
				return err
			}
		}
		if err := p.Offer(d, done.add(4)); !errors.Is(err, pool.ErrFull) {
			return fmt.Errorf("a fourth of three: %w", err)
		}
		w.Node("b").Crash(sim.KillProcess())
		h.Root().Sleep(time.Second)
		if err := p.Offer(d, done.add(5)); err != nil {
			return fmt.Errorf("after one has gone: %w", err)
		}
		good, err := done.take(1)
		if good != 1 {
			return err
		}
		return nil
	})
}

// TestCloseCompletesEverything, also what waits for a dial, and refuses what comes later.
func TestCloseCompletesEverything(t *testing.T) {
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, agree), "b": echo(b, agree)}, func(w *sim.World, h host.Host, p *pool.Pool) error {
		w.Net().Partition("client", "b", false)
		done := newBox(h)
		for e := range ledger.EntryID(4) {
			if err := errors.Join(p.Offer(a, done.add(e)), p.Offer(b, done.add(e))); err != nil {
				return err
			}
		}
		p.Close()
		if n := done.queue.Len(); n != 8 {
			return fmt.Errorf("%d of 8 requests have completed", n)
		}
		if err := p.Offer(a, done.add(9)); !errors.Is(err, pool.ErrClosed) {
			return fmt.Errorf("after the end: %w", err)
		}
		return nil
	})
}

// TestWhatTheFeederHoldsIsCounted: a channel without room holds the feeding task up, with all that it took over in its
// hands. That is still what the pool holds, so the bounds are on both together.
func TestWhatTheFeederHoldsIsCounted(t *testing.T) {
	silent := func(h host.Host, conn host.Conn) { host.AwaitStop(h.Root()) }
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, silent)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		done := newBox(h)
		taken := 0
		for range 5 { // the feeder takes over in between
			for e := range ledger.EntryID(100) {
				if p.Offer(a, done.add(e)) == nil {
					taken++
				}
			}
			h.Root().Sleep(20 * time.Millisecond)
		}
		if config := small(); taken > config.ParkedMax+config.Channel.RequestsMax+1 {
			return fmt.Errorf("%d requests were taken", taken)
		}
		good, err := done.take(taken)
		if good != 0 || !errors.Is(err, host.ErrTimeout) {
			return fmt.Errorf("%d good, %w", good, err)
		}
		return nil
	})
}

// TestASilentBookieIsAvoidedForAWhile, and takes requests all the same.
func TestASilentBookieIsAvoidedForAWhile(t *testing.T) {
	world(t, small(), map[string]func(host.Host) error{"a": echo(a, agree)}, func(_ *sim.World, h host.Host, p *pool.Pool) error {
		p.Suspect(a) // nothing is known of it, so nothing is kept
		if p.Avoided(a) {
			return errors.New("avoided before it was used")
		}
		done := newBox(h)
		for round := range ledger.EntryID(2) {
			if err := p.Offer(a, done.add(round)); err != nil {
				return err
			}
			if good, err := done.take(1); good != 1 {
				return err
			}
			if round == 0 {
				p.Suspect(a)
			}
			if !p.Avoided(a) {
				return errors.New("not avoided")
			}
		}
		h.Root().Sleep(small().SuspectPause)
		if p.Avoided(a) {
			return errors.New("avoided for ever")
		}
		return nil
	})
}
