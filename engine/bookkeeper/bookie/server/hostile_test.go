package server_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// goodAdd is a frame that stores an entry.
func goodAdd(id ledger.ID, entry ledger.EntryID) []byte {
	r := wire.Request{Version: 2, Operation: wire.Add, MasterKey: key, Body: stored(id, entry, 10)}
	return r.Append(nil)
}

func frameOf(packet ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)
}

// TestAHostilePeerHurtsOnlyItself: what is no packet ends its connection, after the request before it was answered, and
// the bookie goes on serving others.
func TestAHostilePeerHurtsOnlyItself(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		point host.Point
	}{
		{"a length of zero", make([]byte, 4), server.PointMalformed},
		{"a negative length", []byte{0xFF, 0xFF, 0xFF, 0xFF}, server.PointMalformed},
		{"a frame one byte too long", binary.BigEndian.AppendUint32(nil, wire.FrameBytesMax-3), server.PointMalformed},
		{"an unknown operation", frameOf(2, 9, 0, 0), server.PointMalformed},
		{"an add without ids", frameOf(append([]byte{2, 1, 0, 0}, make([]byte, 30)...)...), server.PointMalformed},
		{"a read of 19 bytes", frameOf(append([]byte{2, 2, 0, 0}, make([]byte, 15)...)...), server.PointMalformed},
		{"text", []byte("GET / HTTP/1.1\r\n\r\n"), server.PointMalformed},
	} {
		world := newCluster(t, 1, sim.LAN(), smallServer())
		seen := false
		world.world.OnMark(func(_ *sim.Node, e host.Event) { seen = seen || e.Name == c.point })
		world.run(func(h host.Host) error {
			good, err := dial(h, smallChannel())
			if err != nil {
				return err
			}
			defer good.Close()
			if err := hostile(h, append(goodAdd(7, 0), c.bytes...)); err != nil {
				return err
			}
			r, err := good.ReadEntry(7, 0, 0)
			return holds(r, err, 7, 0, 10)
		})
		if !seen {
			t.Errorf("%s: %s was not marked", c.name, c.point)
		}
	}
}

// hostile sends bytes that begin with a good add, and expects its answer and then the end of the connection.
func hostile(h host.Host, bytes []byte) error {
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.WriteBuffers([][]byte{bytes}); err != nil {
		return err
	}
	in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
	defer in.Release()
	if r, err := rawResponse(h, conn, in); err != nil || r.Code != wire.OK || r.Ledger != 7 {
		return fmt.Errorf("the add before: %+v, %w", r, err)
	}
	if _, err := rawResponse(h, conn, in); !ended(err) {
		return fmt.Errorf("the connection goes on: %w", err)
	}
	return nil
}

// TestVersion3IsClosedAtOnceAndOnlyAsTheFirstPacket: later the same byte is a version 2 packet of unknown version.
func TestVersion3IsClosedAtOnceAndOnlyAsTheFirstPacket(t *testing.T) {
	world := newCluster(t, 1, sim.LAN(), smallServer())
	logged := ""
	world.world.OnLog(func(_ *sim.Node, line sim.LogLine) {
		if line.Level >= host.Warn {
			logged += fmt.Sprint(line.Message, line.Fields)
		}
	})
	world.run(func(h host.Host) error {
		conn, err := dialRaw(h)
		if err != nil {
			return err
		}
		defer conn.Close()
		version3 := frameOf(0x0A, 0x06, 0x08, 0x03, 0x10, 0x02, 0x18, 0x00)
		if err := conn.WriteBuffers([][]byte{version3}); err != nil {
			return err
		}
		if err := readEnd(conn); !ended(err) {
			return fmt.Errorf("version 3: %w", err)
		}
		return versions(h)
	})
	if want := "useV2WireProtocol"; !strings.Contains(logged, want) {
		t.Errorf("the log does not say what to do (%s): %s", want, logged)
	}
}

// versions asks in every version: 0 to 2 are served, and the answers repeat them; others are answered with BadVersion.
func versions(h host.Host) error {
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
	defer in.Release()
	for _, v := range []wire.Version{2, 0, 1, 3, 10, 255} {
		for _, o := range []wire.Operation{wire.Add, wire.Read, wire.BatchRead} {
			r := wire.Request{Version: v, Operation: o, MasterKey: key, Ledger: 7, Entry: 3, RequestID: 5, Body: stored(7, 3, 10)}
			if err := conn.WriteBuffers([][]byte{r.Append(nil)}); err != nil {
				return err
			}
			want := wire.OK
			if v > 2 {
				want = wire.BadVersion
			}
			got, err := rawResponse(h, conn, in)
			if err != nil || got.Version != v || got.Operation != o || got.Code != want || got.Entry != 3 {
				return fmt.Errorf("%s in version %d: %+v, %w", o, v, got, err)
			}
		}
	}
	return nil
}

// TestAFencingReadWithoutAKeyIsUnauthorized, since older versions cannot carry one.
func TestAFencingReadWithoutAKeyIsUnauthorized(t *testing.T) {
	newCluster(t, 1, sim.LAN(), smallServer()).run(func(h host.Host) error {
		conn, err := dialRaw(h)
		if err != nil {
			return err
		}
		defer conn.Close()
		in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
		defer in.Release()
		for _, v := range []wire.Version{1, 2} {
			r := wire.Request{Version: v, Operation: wire.Read, Flags: wire.Fencing, Ledger: 7, Entry: 3, HasMasterKey: v == 1}
			if err := conn.WriteBuffers([][]byte{r.Append(nil)}); err != nil {
				return err
			}
			if got, err := rawResponse(h, conn, in); err != nil || got.Code != wire.Unauthorized {
				return fmt.Errorf("version %d: %+v, %w", v, got, err)
			}
		}
		return nil
	})
}

// TestSilenceEndsAConnection: before its first request after FirstFrameTimeout, between requests after Idle, inside one after
// FrameStall, and not a moment before. Whoever drips a request has FirstFrameTimeout or FrameTimeout, however lively.
func TestSilenceEndsAConnection(t *testing.T) {
	config := smallServer()
	config.Idle, config.FirstFrameTimeout, config.FrameTimeout = time.Minute, 10*time.Second, 20*time.Second
	whole, half := goodAdd(7, 0), goodAdd(7, 1)[:30]
	for _, c := range []struct {
		name  string
		bytes []byte
		drips []byte // one by one
		after time.Duration
		point host.Point
	}{
		{"nothing", nil, nil, config.FirstFrameTimeout, server.PointFirstLate},
		{"half a frame", half, nil, config.FrameStall, ""},
		{"drips of a first frame", nil, half, config.FirstFrameTimeout, server.PointFirstLate},
		{"a frame", whole, nil, config.Idle, ""},
		{"a frame and a half", append(whole, half...), nil, config.FrameStall, ""},
		{"a frame and drips of another", whole, half, config.FrameTimeout + dripPause, server.PointFrameLate},
	} {
		world := newCluster(t, 1, sim.LAN(), config)
		marks := map[host.Point]int{}
		world.world.OnMark(func(_ *sim.Node, e host.Event) { marks[e.Name]++ })
		world.run(func(h host.Host) error { return silent(h, c.name, c.bytes, c.drips, c.after) })
		for _, point := range []host.Point{server.PointFirstLate, server.PointFrameLate} {
			if (marks[point] == 1) != (point == c.point) {
				t.Errorf("%s: %d times %s", c.name, marks[point], point)
			}
		}
	}
}

// dripPause is shorter than FrameStall.
const dripPause = 900 * time.Millisecond

// silent sends bytes, then drips, and expects the end of the connection after a time.
func silent(h host.Host, name string, bytes, drips []byte, after time.Duration) error {
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	begun := h.Elapsed()
	if err := conn.WriteBuffers([][]byte{bytes}); err != nil {
		return err
	}
	dripping := h.Root().New("drips")
	dripping.Go("drips", func() {
		for i := 0; i < len(drips) && dripping.Sleep(dripPause); i++ {
			if conn.WriteBuffers([][]byte{drips[i : i+1]}) != nil {
				return // it has ended
			}
		}
	})
	err = readEnd(conn)
	dripping.Stop()
	dripping.Wait()
	if took := h.Elapsed() - begun; !ended(err) || took < after-time.Millisecond || took > after+time.Second {
		return fmt.Errorf("%s: ended after %v, %w", name, took, err)
	}
	return nil
}

// TestManyHostilePeersDoNotFillTheLog: the first lines and the count of the others are there, also of those that are refused.
func TestManyHostilePeersDoNotFillTheLog(t *testing.T) {
	const peers = 300
	config := smallServer()
	config.ConnectionsMax, config.PeerLog = 1, host.LogBound{Lines: 3, Interval: time.Hour}
	world := newCluster(t, 1, sim.LAN(), config)
	lines, leftOut := 0, int64(0)
	world.world.OnLog(func(_ *sim.Node, line sim.LogLine) {
		if line.Level < host.Note {
			return
		}
		lines++
		if line.Message == "log lines were left out" {
			leftOut += line.Fields[1].Value.(int64)
		}
	})
	world.run(func(h host.Host) error {
		for range peers {
			broken, err := dialRaw(h)
			if err != nil {
				return err
			}
			refused, err := dialRaw(h)
			if err != nil {
				return err
			}
			if err := errors.Join(broken.WriteBuffers([][]byte{make([]byte, 4)}), readEnd(refused)); !ended(err) {
				return err
			}
			if err := readEnd(broken); !ended(err) {
				return err
			}
			refused.Close()
			broken.Close()
			h.Root().Sleep(time.Millisecond) // the place is free
		}
		return nil
	})
	if want := 2 * (config.PeerLog.Lines + 2); lines != want || leftOut != 2*(peers-int64(config.PeerLog.Lines)) {
		t.Errorf("%d lines, want %d, and %d left out of %d", lines, want, leftOut, 2*peers)
	}
}

// TestSilentConnectionsDoNotKeepOthersOut: they fill the bookie once, and not for ever.
func TestSilentConnectionsDoNotKeepOthersOut(t *testing.T) {
	config := smallServer()
	config.ConnectionsMax = 8
	newCluster(t, 1, sim.LAN(), config).run(func(h host.Host) error {
		for range config.ConnectionsMax {
			conn, err := dialRaw(h)
			if err != nil {
				return err
			}
			defer conn.Close()
		}
		late, err := dialRaw(h)
		if err != nil {
			return err
		}
		defer late.Close()
		if err := readEnd(late); !ended(err) {
			return fmt.Errorf("there was a place left: %w", err)
		}
		h.Root().Sleep(config.FirstFrameTimeout)
		c, err := dial(h, smallChannel())
		if err != nil {
			return err
		}
		defer c.Close()
		return c.AddEntry(add(7, 0, 10), 0)
	})
}

// TestAPeerThatTakesNoAnswersIsBounded: it is not read from beyond the bounds, its memory is bounded, other clients are
// served meanwhile, and after WriteStall it is gone.
func TestAPeerThatTakesNoAnswersIsBounded(t *testing.T) {
	for _, read := range []bool{false, true} {
		profile := sim.LAN()
		profile.WindowBytes = 4 << 10
		world := newCluster(t, 2, profile, smallServer())
		world.bookie.SetMemoryLimit(1 << 20) // the store takes a fifth of it
		broken := false
		world.world.OnMark(func(_ *sim.Node, e host.Event) { broken = broken || e.Name == server.PointBroken })
		world.run(func(h host.Host) error {
			good, err := dial(h, smallChannel())
			if err != nil {
				return err
			}
			defer good.Close()
			for e := range ledger.EntryID(10) {
				if err := good.AddEntry(add(7, e, 3000), 0); err != nil {
					return err
				}
			}
			return greedy(h, good, read)
		})
		if !broken {
			t.Errorf("reads %v: the peer was never given up", read)
		}
	}
}

// greedy sends requests until nothing more is taken, without reading an answer.
func greedy(h host.Host, good *channel.Channel, read bool) error {
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	var frames []byte
	for i := range 500 {
		r := wire.Request{Version: 2, Operation: wire.Read, Ledger: 7, Entry: ledger.EntryID(i % 10)}
		if !read {
			r = wire.Request{Version: 2, Operation: wire.Add, MasterKey: key, Body: stored(8, ledger.EntryID(i), 1)}
		}
		frames = r.Append(frames)
	}
	for range 200 {
		if err = conn.WriteBuffers([][]byte{frames}); err != nil {
			break
		}
		r, failed := good.ReadEntry(7, 3, 0)
		if failed := holds(r, failed, 7, 3, 3000); failed != nil {
			return fmt.Errorf("another client: %w", failed)
		}
	}
	if err == nil {
		return errors.New("everything was taken")
	}
	return nil
}

// TestAnAddDoesNotWaitBehindReads: with every reading task busy with answers nobody takes, adds of others and of the
// same connection go through, unless they came behind more reads than may be under way.
func TestAnAddDoesNotWaitBehindReads(t *testing.T) {
	for _, c := range []struct{ before, behind int }{{16, 0}, {0, 40}} {
		config := smallServer()
		config.ReadTasks = 1
		world := newCluster(t, 2, sim.LAN(), config)
		full, waits := 0, 0
		world.world.OnMark(func(_ *sim.Node, e host.Event) {
			switch e.Name {
			case server.PointAnswersFull:
				full++
			case server.PointNoRead:
				waits++
			}
		})
		world.run(onChannel(func(h host.Host, ch *channel.Channel) error { return addAmongReads(h, ch, c.before, c.behind) }))
		if full == 0 || c.behind > 0 && waits == 0 {
			t.Errorf("%+v: the answers filled the connection %d times, its reader waited %d times", c, full, waits)
		}
	}
}

func addAmongReads(h host.Host, c *channel.Channel, before, behind int) error {
	for e := range ledger.EntryID(10) {
		if err := c.AddEntry(add(7, e, 3000), 0); err != nil {
			return err
		}
	}
	conn, err := dialRaw(h)
	if err != nil {
		return err
	}
	defer conn.Close()
	var frames []byte
	for i := range before + behind {
		if i == before {
			frames = append(frames, goodAdd(8, 0)...)
		}
		r := wire.Request{Version: 2, Operation: wire.BatchRead, Ledger: 7, RequestID: int64(i), MaxSize: 30 << 10}
		frames = r.Append(frames)
	}
	if behind == 0 {
		frames = append(frames, goodAdd(8, 0)...)
	}
	if err := conn.WriteBuffers([][]byte{frames}); err != nil {
		return err
	}
	h.Root().Sleep(100 * time.Millisecond)
	r, err := c.ReadEntry(8, 0, 0)
	return errors.Join(holds(r, err, 8, 0, 10), c.AddEntry(add(8, 1, 10), 0))
}

// TestOneConnectionTooManyIsClosed, and the place is free again when another one leaves.
func TestOneConnectionTooManyIsClosed(t *testing.T) {
	config := smallServer()
	config.ConnectionsMax = 2
	newCluster(t, 1, sim.LAN(), config).run(func(h host.Host) error {
		var open []host.Conn
		for range 2 {
			conn, err := dialRaw(h)
			if err != nil {
				return err
			}
			open = append(open, conn)
		}
		third, err := dialRaw(h)
		if err != nil {
			return err
		}
		if err := readEnd(third); !ended(err) {
			return fmt.Errorf("the third connection: %w", err)
		}
		third.Close()
		open[0].Close()
		h.Root().Sleep(10 * time.Millisecond)
		c, err := dial(h, smallChannel())
		if err != nil {
			return err
		}
		defer c.Close()
		defer open[1].Close()
		return c.AddEntry(add(7, 0, 10), 0)
	})
}

// TestAStopCutsWhoDoesNotDrain after DrainMax, so that one slow peer cannot keep a bookie from ending.
func TestAStopCutsWhoDoesNotDrain(t *testing.T) {
	config := smallServer()
	config.WriteStall = time.Hour
	profile := sim.LAN()
	profile.WindowBytes = 2 << 10
	c := newCluster(t, 1, profile, config)
	cut := int64(0)
	var begun, took time.Duration
	c.world.OnMark(func(_ *sim.Node, e host.Event) {
		if e.Name == server.PointDrainCut {
			cut, took = e.A, c.world.Elapsed()-begun
		}
	})
	c.run(func(h host.Host) error {
		good, err := dial(h, smallChannel())
		if err != nil {
			return err
		}
		defer good.Close()
		if err := good.AddEntry(add(7, 0, 3000), 0); err != nil {
			return err
		}
		conn, err := dialRaw(h)
		if err != nil {
			return err
		}
		defer conn.Close()
		var frames []byte
		for range 10 {
			r := wire.Request{Version: 2, Operation: wire.Read, Ledger: 7}
			frames = r.Append(frames)
		}
		if err := conn.WriteBuffers([][]byte{frames}); err != nil {
			return err
		}
		h.Root().Sleep(100 * time.Millisecond)
		begun = c.world.Elapsed()
		c.bookie.Stop()
		h.Root().Sleep(config.DrainMax + 100*time.Millisecond)
		if c.bookie.Running() {
			return errors.New("the bookie still waits for its slow peer")
		}
		return nil
	})
	if cut != 1 || took != config.DrainMax {
		t.Errorf("%d connections were cut after %v", cut, took)
	}
}

// TestAPartOfARequestIsNotWaitedForLongerThanFrameTimeout, also where silence inside of a request may last longer, or for ever.
func TestAPartOfARequestIsNotWaitedForLongerThanFrameTimeout(t *testing.T) {
	for _, stall := range []time.Duration{0, time.Hour} {
		config := smallServer()
		config.Idle, config.FrameStall, config.FirstFrameTimeout, config.FrameTimeout = 2*time.Hour, stall, 10*time.Second, 20*time.Second
		newCluster(t, 1, sim.LAN(), config).run(func(h host.Host) error {
			return silent(h, "a frame and a half", append(goodAdd(7, 0), goodAdd(7, 1)[:30]...), nil, config.FrameTimeout)
		})
	}
}

// TestWhoeverCompletesRequestsIsNotLate: a part of the next request is there all the time, for much longer than a single one may
// take, and none is late by itself.
func TestWhoeverCompletesRequestsIsNotLate(t *testing.T) {
	const adds, pause = 60, 900 * time.Millisecond
	config := smallServer()
	config.FirstFrameTimeout, config.FrameTimeout = 5*time.Second, 5*time.Second
	newCluster(t, 1, sim.LAN(), config).run(func(h host.Host) error {
		conn, err := dialRaw(h)
		if err != nil {
			return err
		}
		defer conn.Close()
		h.Root().Go("adds", func() {
			var rest []byte
			for e := range ledger.EntryID(adds) {
				frame := goodAdd(7, e)
				cut := 1 + int(e)%(len(frame)-1)
				if conn.WriteBuffers([][]byte{append(rest, frame[:cut]...)}) != nil {
					return // the reader says so
				}
				rest = frame[cut:]
				h.Root().Sleep(pause)
			}
			_ = conn.WriteBuffers([][]byte{rest})
		})
		in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
		defer in.Release()
		for e := range adds {
			if r, err := rawResponse(h, conn, in); err != nil || r.Code != wire.OK {
				return fmt.Errorf("add %d: %+v, %w", e, r, err)
			}
		}
		return nil
	})
}
