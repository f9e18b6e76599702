package channel_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestAnswersFindTheirRequestsInAnyOrder: adds, reads and batch reads of the same entries, answered backwards.
func TestAnswersFindTheirRequestsInAnyOrder(t *testing.T) {
	script := func(p *peer) {
		var all []wire.Request
		for len(all) < 7 {
			r, _ := p.next()
			all = append(all, r)
		}
		for _, r := range slices.Backward(all) {
			switch r.Operation {
			case wire.Add:
				p.answer(r, wire.OK, nil)
			case wire.BatchRead:
				p.answer(r, wire.OK, wire.AppendEntry(nil, stored(7, r.Entry, fmt.Sprint(r.Operation, r.MaxCount))))
			default:
				p.answer(r, wire.OK, stored(7, r.Entry, fmt.Sprint(r.Operation, r.Entry)))
			}
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		batch := func(count int32) *channel.Request {
			return &channel.Request{Operation: wire.BatchRead, Ledger: 7, Entry: 1, MaxCount: count, Done: b}
		}
		requests := []*channel.Request{b.add(1), b.add(2), b.read(1), b.read(2), b.read(ledger.NoEntry), batch(5), batch(6)}
		for _, r := range requests {
			if err := c.Submit(r); err != nil {
				return err
			}
		}
		b.take(len(requests))
		want := []string{"", "", "read 1", "read 2", "read -1", "batch read 5", "batch read 6"}
		for i, r := range requests {
			got := ""
			if len(r.Entries) > 0 {
				got = string(r.Entries[0][ledger.HeaderBytes:])
			}
			if r.Err != nil || got != want[i] {
				return fmt.Errorf("request %d: %q, %w", i, got, r.Err)
			}
			r.Release()
		}
		return nil
	})
}

// gathering takes requests back many at a time.
type gathering struct {
	box     *box
	batches []int
}

func (g *gathering) Collected(requests []*channel.Request) {
	g.batches = append(g.batches, len(requests))
	for _, r := range requests {
		g.box.Completed(r)
	}
	clear(requests) // the slice is the channel's again
}

// TestManyRequestsGoTogetherAndComeBackTogether: what was offered with one call is answered in order, in batches, and a
// request that is told alone between them keeps its place. What does not fit is refused, and was not sent.
func TestManyRequestsGoTogetherAndComeBackTogether(t *testing.T) {
	config := small()
	config.RequestsMax, config.OutputBytesMax = 300, 64<<10
	script := func(p *peer) {
		var answers []byte
		for range 300 {
			r, _ := p.next()
			answers = (&wire.Response{Version: r.Version, Operation: r.Operation, Ledger: r.Ledger, Entry: r.Entry}).Append(answers)
		}
		p.send(answers)
		p.next()
	}
	between(t, config, script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		g := &gathering{box: newBoxOf(h, 301)}
		var requests []*channel.Request
		for e := range ledger.EntryID(301) {
			r := g.box.add(e)
			if e != 150 {
				r.Together = g
			}
			requests = append(requests, r)
		}
		taken, err := c.OfferAll(requests)
		if taken != 300 || !errors.Is(err, channel.ErrFull) {
			return fmt.Errorf("%d requests were taken: %w", taken, err)
		}
		for i, r := range g.box.take(300) {
			if r.Err != nil || r.Entry != ledger.EntryID(i) {
				return fmt.Errorf("entry %d came back as number %d: %w", r.Entry, i, r.Err)
			}
		}
		if len(g.batches) > 100 {
			return fmt.Errorf("300 answers that came together were told in %d batches", len(g.batches))
		}
		return nil
	})
}

// TestACollectorIsToldOfTimeoutsAndOfTheEnd, like a completion.
func TestACollectorIsToldOfTimeoutsAndOfTheEnd(t *testing.T) {
	script := func(p *peer) { p.h.Root().Sleep(time.Minute) }
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		g := &gathering{box: newBox(h)}
		late, lost := g.box.add(1), g.box.add(2)
		late.Together, lost.Together, lost.Timeout = g, g, time.Hour
		if _, err := c.OfferAll([]*channel.Request{late, lost}); err != nil {
			return err
		}
		g.box.take(1)
		c.Close()
		g.box.take(1)
		return errors.Join(is("late", late.Err, host.ErrTimeout), is("lost", lost.Err, host.ErrClosed, host.ErrTimeout))
	})
}

// TestRequestsWithTheSameKeyTakeTurns: the answer to a plain read is never taken for that to a fencing read, nor one to an
// ordinary add for that to a recovery add.
func TestRequestsWithTheSameKeyTakeTurns(t *testing.T) {
	script := func(p *peer) {
		for _, want := range []wire.Flags{0, wire.Fencing, 0, wire.Fencing} {
			r, _ := p.next()
			if r.Flags != want || !p.silent(100*time.Millisecond) {
				p.answer(r, wire.IOError, nil)
				continue
			}
			p.answer(r, wire.OK, stored(7, 1, fmt.Sprint(r.Flags)))
		}
		for _, code := range []wire.Code{wire.Fenced, wire.OK} {
			r, _ := p.next()
			if (r.Flags == wire.RecoveryAdd) != (code == wire.OK) || !p.silent(100*time.Millisecond) {
				code = wire.IOError
			}
			p.answer(r, code, nil)
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		for _, r := range []*channel.Request{b.read(1), b.fence(1), b.read(1), b.fence(1)} {
			if err := c.Submit(r); err != nil {
				return err
			}
		}
		for i, r := range b.take(4) {
			if r.Err != nil || string(r.Entries[0][ledger.HeaderBytes:]) != fmt.Sprint(r.Flags) {
				return fmt.Errorf("read %d with flags %d: %w", i, r.Flags, r.Err)
			}
			r.Release()
		}
		ordinary, recovery := b.add(1), b.add(1)
		recovery.Flags = wire.RecoveryAdd
		if err := errors.Join(c.Submit(ordinary), c.Submit(recovery)); err != nil {
			return err
		}
		b.take(2)
		return errors.Join(is("ordinary add", ordinary.Err, channel.ErrFenced, channel.ErrOutcomeUnknown), recovery.Err)
	})
}

// TestALineGoesOutInOrder, also what joins it while it moves.
func TestALineGoesOutInOrder(t *testing.T) {
	script := func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			p.h.Root().Sleep(10 * time.Millisecond) // the next ones join meanwhile
			p.answer(r, wire.OK, nil)
		}
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		var want, got []*channel.Request
		for range 20 {
			r := b.add(1)
			want = append(want, r)
			if err := c.Submit(r); err != nil {
				return err
			}
			h.Root().Sleep(4 * time.Millisecond)
		}
		for _, r := range b.take(len(want)) {
			if got = append(got, r); r.Err != nil {
				return r.Err
			}
		}
		if !slices.Equal(got, want) {
			return errors.New("requests with the same key were answered in another order")
		}
		return nil
	})
}

// TestALateAnswerIsNotTakenForTheNext: a read times out, a fencing read of the same entry follows, and then the answer to
// the first arrives.
func TestALateAnswerIsNotTakenForTheNext(t *testing.T) {
	script := func(p *peer) {
		plain, _ := p.next()
		p.h.Root().Sleep(1500 * time.Millisecond) // the read has timed out, and the fencing read waits
		p.answer(plain, wire.NoEntry, nil)
		fencing, _ := p.next()
		if fencing.Flags&wire.Fencing != 0 {
			p.answer(fencing, wire.OK, stored(7, 1, "fenced"))
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		begun := h.Elapsed()
		_, err := c.ReadEntry(7, 1, 0)
		if err := is("read", err, host.ErrTimeout, channel.ErrOutcomeUnknown, channel.ErrBroken); err != nil {
			return err
		}
		if took := h.Elapsed() - begun; took != time.Second {
			return fmt.Errorf("timed out after %v", took)
		}
		r, err := c.FenceAndRead(7, 1, ledger.MasterKey{}, 0)
		if err != nil {
			return err
		}
		r.Release()
		return nil
	})
}

// TestWhatTimedOutInLineIsNeverSent, and the request behind it is.
func TestWhatTimedOutInLineIsNeverSent(t *testing.T) {
	script := func(p *peer) {
		first, _ := p.next()
		p.h.Root().Sleep(1200 * time.Millisecond)
		p.answer(first, wire.OK, nil)
		if r, ok := p.next(); ok && string(r.Body[ledger.HeaderBytes:]) == "last" {
			p.answer(r, wire.OK, nil)
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		first, inLine, last := b.add(1), b.add(1), b.add(1)
		first.Timeout, last.Timeout = 5*time.Second, 5*time.Second
		last.Body = stored(7, 1, "last")
		if err := errors.Join(c.Submit(first), c.Submit(inLine), c.Submit(last)); err != nil {
			return err
		}
		b.take(3)
		return errors.Join(first.Err, is("in line", inLine.Err, channel.ErrOutcomeUnknown), last.Err)
	})
}

// TestAnOwedAnswerEndsTheChannelWhenPatienceIsOver, exactly then, and takes all others with it.
func TestAnOwedAnswerEndsTheChannelWhenPatienceIsOver(t *testing.T) {
	script := func(p *peer) { p.next(); p.next(); p.next(); p.next() }
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		begun := h.Elapsed()
		lost, add := b.add(1), b.add(2)
		read := b.read(1)
		add.Timeout, read.Timeout = time.Hour, time.Hour
		if err := errors.Join(c.Submit(lost), c.Submit(add), c.Submit(read)); err != nil {
			return err
		}
		b.take(1)
		first := h.Elapsed() - begun
		b.take(2)
		second := h.Elapsed() - begun
		if first != time.Second || second != 3*time.Second {
			return fmt.Errorf("the first failed after %v, the others after %v", first, second)
		}
		return errors.Join(
			is("timed out", lost.Err, channel.ErrOutcomeUnknown), is("timed out", lost.Err, host.ErrTimeout, channel.ErrBroken),
			is("add", add.Err, channel.ErrOutcomeUnknown), is("add", add.Err, channel.ErrBroken),
			is("read", read.Err, channel.ErrBroken, channel.ErrOutcomeUnknown), is("channel", c.Err(), host.ErrTimeout),
			is("later", c.Submit(b.add(3)), channel.ErrBroken, channel.ErrOutcomeUnknown),
		)
	})
}

// TestABrokenConnectionFailsWhatIsUnderWay, once each, for every way in which it can break: adds with an unknown outcome.
func TestABrokenConnectionFailsWhatIsUnderWay(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause error
		stop  func(w *sim.World, c *channel.Channel)
	}{
		{"reset", host.ErrReset, func(w *sim.World, _ *channel.Channel) { resetBoth(w) }},
		{"crash", nil, func(w *sim.World, _ *channel.Channel) { w.Node("bookie").Crash(sim.KillProcess()) }},
		{"close", host.ErrClosed, func(_ *sim.World, c *channel.Channel) { c.Close() }},
	} {
		script := func(p *peer) {
			for ok := true; ok; {
				_, ok = p.next()
			}
		}
		between(t, small(), script, func(w *sim.World, h host.Host, ch *channel.Channel) error {
			b := newBox(h)
			sent, inLine, read := b.add(1), b.add(1), b.read(1)
			for _, r := range []*channel.Request{sent, inLine, read} {
				r.Timeout = time.Hour
				if err := ch.Submit(r); err != nil {
					return err
				}
			}
			h.Root().Sleep(10 * time.Millisecond)
			c.stop(w, ch)
			b.take(3)
			if c.cause == nil {
				c.cause = channel.ErrBroken
			}
			return errors.Join(
				is(c.name, sent.Err, channel.ErrOutcomeUnknown), is(c.name, sent.Err, c.cause),
				is(c.name, inLine.Err, channel.ErrOutcomeUnknown),
				is(c.name, read.Err, channel.ErrBroken, channel.ErrOutcomeUnknown), is(c.name, ch.Err(), c.cause),
			)
		})
	}
}

// resetBoth resets until both ends know: one reset may tell only one of them.
func resetBoth(w *sim.World) {
	for range 10 {
		w.Net().Reset("client", "bookie")
	}
}

// TestAHalfOpenConnectionIsFoundOut by what it owes, and by nothing else.
func TestAHalfOpenConnectionIsFoundOut(t *testing.T) {
	script := func(p *peer) {
		r, _ := p.next()
		p.answer(r, wire.OK, nil)
		p.next()
	}
	between(t, small(), script, func(w *sim.World, h host.Host, c *channel.Channel) error {
		if err := c.AddEntry(channel.Add{Body: stored(7, 1, "a")}, 0); err != nil {
			return err
		}
		w.Net().Partition("client", "bookie", false)
		h.Root().Sleep(time.Minute)
		if c.Err() != nil {
			return fmt.Errorf("an idle channel ended: %w", c.Err())
		}
		err := c.AddEntry(channel.Add{Body: stored(7, 2, "a")}, 0)
		h.Root().Sleep(2*time.Second + time.Millisecond)
		return errors.Join(is("add", err, channel.ErrOutcomeUnknown), is("channel", c.Err(), host.ErrTimeout))
	})
}

// TestAChannelIsFullAtItsBoundsAndNotBefore: requests that timed out count until they are answered. Offer refuses, Submit
// waits until there is room or its time is up, and then nothing was sent.
func TestAChannelIsFullAtItsBoundsAndNotBefore(t *testing.T) {
	script := func(p *peer) {
		var all []wire.Request
		for len(all) < 8 {
			r, _ := p.next()
			all = append(all, r)
		}
		p.h.Root().Sleep(2500 * time.Millisecond)
		for _, r := range all {
			p.answer(r, wire.OK, nil)
		}
		r, ok := p.next()
		if ok && r.Entry == 20 {
			p.answer(r, wire.OK, nil)
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		for e := range ledger.EntryID(8) {
			if err := c.Offer(b.add(e)); err != nil {
				return fmt.Errorf("request %d of 8: %w", e, err)
			}
		}
		err := is("the ninth", c.Offer(b.add(9)), channel.ErrFull, channel.ErrOutcomeUnknown)
		b.take(8) // they have timed out, and still count
		err = errors.Join(err, is("after the timeout", c.Offer(b.add(10)), channel.ErrFull))
		submitted := c.AddEntry(channel.Add{Body: stored(7, 11, "")}, 500*time.Millisecond)
		err = errors.Join(err, is("no room in time", submitted, channel.ErrFull, channel.ErrOutcomeUnknown))
		return errors.Join(err, c.AddEntry(channel.Add{Body: stored(7, 20, "")}, 5*time.Second))
	})
}

// TestOutputThatThePeerDoesNotTakeIsBounded in bytes, by twice the bound and one request, and ends with the write stall.
func TestOutputThatThePeerDoesNotTakeIsBounded(t *testing.T) {
	config := small()
	config.RequestsMax = 1000
	script := func(p *peer) { p.h.Root().Sleep(time.Minute) }
	between(t, config, script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		sent := 0
		for e := ledger.EntryID(0); ; e++ {
			r := b.add(e)
			r.Body, r.Timeout = stored(7, e, string(make([]byte, 1000))), time.Hour
			if err := c.Offer(r); errors.Is(err, channel.ErrFull) && h.Root().Sleep(10*time.Millisecond) {
				if err = c.Offer(r); errors.Is(err, channel.ErrFull) {
					break
				}
			}
			sent += len(r.Body)
			if used := h.Memory().InUse(); used > 64<<10 {
				return fmt.Errorf("%d bytes in use", used)
			}
		}
		if bound := 8<<10 + 2*(4<<10+1100); sent > bound {
			return fmt.Errorf("%d bytes were taken, window and buffers hold %d", sent, bound)
		}
		begun := h.Elapsed()
		b.take(1)
		if took := h.Elapsed() - begun; took > 4*time.Second {
			return fmt.Errorf("the stall was noticed after %v", took)
		}
		return is("channel", c.Err(), channel.ErrBroken) // the reader may notice the broken connection before the writer
	})
}

// TestAPeerThatBreaksTheProtocolIsLeft: each answer is wrong in one way.
func TestAPeerThatBreaksTheProtocolIsLeft(t *testing.T) {
	answer := func(r wire.Response) []byte { return r.Append(nil) }
	for _, c := range []struct {
		name  string
		bytes []byte
	}{
		{"another entry", answer(wire.Response{Version: 2, Operation: wire.Add, Ledger: 7, Entry: 2})},
		{"another ledger", answer(wire.Response{Version: 2, Operation: wire.Add, Ledger: 8, Entry: 1})},
		{"another operation", answer(wire.Response{Version: 2, Operation: wire.Read, Ledger: 7, Entry: 1})},
		{"another request id", answer(wire.Response{Version: 2, Operation: wire.BatchRead, Ledger: 7, Entry: 1, RequestID: 9})},
		{"auth out of the blue", answer(wire.Response{Version: 2, Operation: wire.Auth})},
		{"an answer that is no packet", []byte{0, 0, 0, 5, 2, 1, 0, 0, 0}},
		{"a length that no frame has", []byte{0xFF, 0, 0, 0}},
		{"a batch that is cut", answer(wire.Response{
			Version: 2, Operation: wire.BatchRead, Ledger: 7, Entry: 1, RequestID: 1, Body: []byte{0, 0, 0, 9, 1},
		})},
	} {
		script := func(p *peer) {
			p.next()
			p.next()
			p.send(c.bytes)
			p.next()
		}
		between(t, small(), script, func(_ *sim.World, h host.Host, ch *channel.Channel) error {
			b := newBox(h)
			add := b.add(1)
			batch := &channel.Request{Operation: wire.BatchRead, Ledger: 7, Entry: 1, Done: b}
			if err := errors.Join(ch.Submit(add), ch.Submit(batch)); err != nil {
				return err
			}
			b.take(2)
			return errors.Join(
				is(c.name, add.Err, channel.ErrOutcomeUnknown), is(c.name, batch.Err, channel.ErrProtocol),
				is(c.name, ch.Err(), channel.ErrProtocol, host.ErrTimeout),
			)
		})
	}
}

// TestEveryCodeIsAClass of its own. Of an add only an input/output error, and what no bookie should send, leave open
// whether the entry is stored.
func TestEveryCodeIsAClass(t *testing.T) {
	classes := map[wire.Code]error{
		wire.NoLedger: channel.ErrNoLedger, wire.NoEntry: channel.ErrNoEntry, wire.BadRequest: channel.ErrBadRequest,
		wire.IOError: channel.ErrIO, wire.Unauthorized: channel.ErrUnauthorized, wire.BadVersion: channel.ErrBadVersion,
		wire.Fenced: channel.ErrFenced, wire.ReadOnly: channel.ErrReadOnly, wire.TooManyRequests: channel.ErrTooManyRequests,
		wire.UnknownLedgerState: channel.ErrUnknown, 999: channel.ErrIO, -1: channel.ErrIO,
	}
	codes := host.SortedKeys(classes)
	script := func(p *peer) {
		for _, code := range codes {
			for range 2 {
				r, _ := p.next()
				p.answer(r, code, nil)
			}
		}
		p.next()
	}
	between(t, small(), script, func(_ *sim.World, _ host.Host, c *channel.Channel) error {
		var problems []error
		for _, code := range codes {
			others := []error{channel.ErrOutcomeUnknown}
			for _, other := range codes {
				if classes[other] != classes[code] {
					others = append(others, classes[other])
				}
			}
			_, err := c.ReadEntry(7, 1, 0)
			problems = append(problems, is(code.String(), err, classes[code], others...))
			err = c.AddEntry(channel.Add{Body: stored(7, 1, "")}, 0)
			problems = append(problems, is(code.String(), err, classes[code], others[1:]...))
			if errors.Is(err, channel.ErrOutcomeUnknown) != (classes[code] == channel.ErrIO) {
				problems = append(problems, fmt.Errorf("add with %s: %w", code, err))
			}
		}
		return errors.Join(problems...)
	})
}

// TestWhatCannotBeSentIsRefusedAtOnce, and the channel goes on.
func TestWhatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	script := func(p *peer) {
		r, _ := p.next()
		p.answer(r, wire.OK, nil)
		p.next()
	}
	config := small()
	config.FrameBytesMax = 1000
	between(t, config, script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		b := newBox(h)
		fits := stored(7, 1, string(make([]byte, 1000-wire.AddOverheadBytes-ledger.HeaderBytes)))
		return errors.Join(
			is("no ids", c.AddEntry(channel.Add{Body: make([]byte, 15)}, 0), channel.ErrBadRequest, channel.ErrOutcomeUnknown),
			is("too long", c.AddEntry(channel.Add{Body: append(fits, 0)}, 0), channel.ErrBadRequest, channel.ErrOutcomeUnknown),
			is("no operation", c.Submit(&channel.Request{Done: b}), channel.ErrBadRequest),
			c.AddEntry(channel.Add{Body: fits}, 0),
		)
	})
}

// TestADialSaysWhyItFailed, and leaves nothing behind.
func TestADialSaysWhyItFailed(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("client")
	n.Start(func(h host.Host) error {
		_, refused := channel.Dial(h, h.Root(), "nobody:1", nil, small())
		bad := small()
		bad.Patience = 0
		_, invalid := channel.Dial(h, h.Root(), "nobody:1", nil, bad)
		if invalid == nil || errors.Is(invalid, host.ErrRefused) {
			return fmt.Errorf("a wrong configuration: %v", invalid)
		}
		return is("dial", refused, host.ErrRefused)
	})
	if v := w.Run(time.Minute); v.Failed() || n.BootErr() != nil {
		t.Fatalf("%v\n%s", n.BootErr(), v.String())
	}
}

// TestTheSweepCostsOneWakeUpATimeout, however many requests are answered meanwhile.
func TestTheSweepCostsOneWakeUpATimeout(t *testing.T) {
	script := func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			p.answer(r, wire.OK, nil)
		}
	}
	between(t, small(), script, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		for e := ledger.EntryID(0); h.Elapsed() < 6*time.Second; e++ {
			if err := c.AddEntry(channel.Add{Body: stored(7, e, "")}, 0); err != nil {
				return err
			}
			h.Root().Sleep(time.Millisecond)
		}
		if woken := c.Sweeps(); woken < 3 || woken > 6 {
			return fmt.Errorf("%d sweeps in 5 seconds with a timeout of 1", woken)
		}
		return nil
	})
}

// TestManyOverdueRequestsAreSweptTogether: requests to a peer that hangs are overdue one after the other, and each look
// walks over all of them.
func TestManyOverdueRequestsAreSweptTogether(t *testing.T) {
	config := small()
	config.RequestsMax, config.OutputBytesMax = 400, 1<<20
	between(t, config, func(p *peer) { p.silent(time.Minute) }, func(_ *sim.World, h host.Host, c *channel.Channel) error {
		const count = 300
		done := &box{host.NewQueue[*channel.Request](h, h.Root(), "box", count)}
		for e := range ledger.EntryID(count) {
			if err := c.Offer(done.add(e)); err != nil {
				return err
			}
			h.Root().Sleep(time.Millisecond)
		}
		began := h.Elapsed()
		for _, r := range done.take(count) {
			if err := is("overdue", r.Err, host.ErrTimeout); err != nil {
				return err
			}
		}
		if d := h.Elapsed() - began; d > config.Timeout+50*time.Millisecond {
			return fmt.Errorf("the last one timed out after %s", d)
		}
		if woken := c.Sweeps(); woken > 30 {
			return fmt.Errorf("the sweep looked %d times", woken)
		}
		return nil
	})
}
