package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/client"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/host"
	"lakebed/sim"
)

// rot flips a bit in the middle of the record at a place of the log, on the media, and has the cache forget it.
func rot(node *sim.Node, physical int64) error {
	model := node.Disk(commitlog.StoreVolume).Model()
	base := physical - physical%storeConfig().FileBytes
	err := model.Rot("commitlog/"+series.FileName(base), physical-base+90, 3)
	model.DropCaches()
	return err
}

// TestDamageIsNeverPassedOnAsGood: one bit of a message is not what it was. Whatever the sender, and whether the server looks
// first or not, the consumer is told that it is corrupt, and gets the messages before and behind it.
func TestDamageIsNeverPassedOnAsGood(t *testing.T) {
	const messages, damaged = 9, 5
	for i, sender := range server.Senders() {
		for _, verify := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", sender, verify), func(t *testing.T) {
				b := broker{store: storeConfig(), server: serverConfig(sender)}
				b.server.Verify = verify
				var node *sim.Node
				inWorld(t, uint64(i), b, func(h host.Host, c *client.Client) error {
					if err := fill(c, messages); err != nil {
						return err
					}
					whole, err := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: damaged, Count: 1})
					if err != nil {
						return err
					}
					if err := rot(node, whole.Messages[0].PhysicalOffset); err != nil {
						return err
					}
					r, err := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: damaged - 2})
					if !errors.Is(err, commitlog.ErrCorrupt) || len(r.Messages) > 0 {
						return fmt.Errorf("a pull over a damaged message: %d messages, %w", len(r.Messages), err)
					}
					before, errBefore := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: damaged - 2, Count: 2})
					behind, errBehind := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: damaged + 1})
					if len(before.Messages) != 2 || len(behind.Messages) != messages-damaged-1 {
						return fmt.Errorf("%d messages before and %d behind: %w", len(before.Messages), len(behind.Messages), errors.Join(errBefore, errBehind))
					}
					return errors.Join(same(&before.Messages[1], 0, damaged-1), same(&behind.Messages[0], 0, damaged+1), readAll(c, 1, messages))
				}, func(_ *sim.World, broker, _ *sim.Node) { node = broker })
			})
		}
	}
}

// TestAReadErrorIsToldAndLeavesTheServerWhole: the disk refuses to read the log for a while. A pull then says so, whatever the
// sender, and is not told that the message is damaged or gone; afterwards everything is there.
func TestAReadErrorIsToldAndLeavesTheServerWhole(t *testing.T) {
	const messages = 12
	for i, sender := range server.Senders() {
		t.Run(string(sender), func(t *testing.T) {
			failing, failed := false, 0
			b := broker{store: storeConfig(), server: serverConfig(sender)}
			inWorld(t, uint64(i), b, func(h host.Host, c *client.Client) error {
				if err := fill(c, messages); err != nil {
					return err
				}
				failing = true
				_, err := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: 3})
				failing = false
				if !errors.Is(err, host.ErrIO) || errors.Is(err, commitlog.ErrCorrupt) {
					return fmt.Errorf("a pull from a disk that does not read: %w", err)
				}
				return readAll(c, 0, messages)
			}, func(_ *sim.World, node, _ *sim.Node) {
				node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if failing && op.Kind == sim.DiskRead {
						failed++
						return sim.DiskEffect{Err: host.ErrIO}
					}
					return sim.DiskEffect{}
				})
			})
			if failed == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

// TestAnAnswerThatBreaksOffInTheMiddleIsAskedForAgain: one read in the middle of a body fails, once. The consumer gets whole
// messages all the same.
func TestAnAnswerThatBreaksOffInTheMiddleIsAskedForAgain(t *testing.T) {
	const messages = 30
	for i, sender := range server.Senders() {
		t.Run(string(sender), func(t *testing.T) {
			armed, reads := false, 0
			b := broker{store: storeConfig(), server: serverConfig(sender)}
			inWorld(t, uint64(i), b, func(h host.Host, c *client.Client) error {
				if err := fill(c, messages); err != nil {
					return err
				}
				armed = true
				return readAll(c, 0, messages)
			}, func(_ *sim.World, node, _ *sim.Node) {
				node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if armed && op.Kind == sim.DiskRead && len(op.Path) > len("commitlog/") && op.Path[:len("commitlog/")] == "commitlog/" {
						if reads++; reads == 3 {
							return sim.DiskEffect{Err: host.ErrIO, Short: 1}
						}
					}
					return sim.DiskEffect{}
				})
			})
			if reads < 3 {
				t.Errorf("the log was read %d times", reads)
			}
		})
	}
}

// TestBytesThatAreNoRequestEndTheirConnectionOnly, in either world.
func TestBytesThatAreNoRequestEndTheirConnectionOnly(t *testing.T) {
	hostile := [][]byte{
		{0, 0, 0, 0}, {0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0, 1}, {0xff, 0xff, 0xff, 0xff, 1}, []byte("GET / HTTP/1.1\r\n\r\n"),
		{0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 10, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0xff},
	}
	b := broker{store: storeConfig(), server: serverConfig(server.SendFile)}
	var at string
	b.seen = func(_ *commitlog.Store, s *server.Server) { at = s.Addr() }
	f := func(h host.Host, c *client.Client) error {
		for i, bytes := range hostile {
			conn, err := h.Net().Dial(at, nil)
			if err != nil {
				return err
			}
			conn.Limits(2*time.Second, time.Second)
			err = conn.WriteBuffers([][]byte{bytes})
			if n, read := conn.Read(make([]byte, 10)); err == nil && (read == nil || errors.Is(read, host.ErrTimeout)) {
				return fmt.Errorf("bytes %d: the server answers %d bytes, %w", i, n, read)
			}
			conn.Close()
		}
		return errors.Join(fill(c, 3), readAll(c, 0, 3))
	}
	inWorld(t, 1, b, f)
	onMachine(t, b, f)
}

// TestAConnectionTooManyIsRefusedAndADrippingOneEnds.
func TestAConnectionTooManyIsRefusedAndADrippingOneEnds(t *testing.T) {
	b := broker{store: storeConfig(), server: serverConfig(server.SendFile)}
	b.server.ConnectionsMax, b.server.FrameTimeout = 2, 100*time.Millisecond
	inWorld(t, 1, b, func(h host.Host, c *client.Client) error {
		slow, err := h.Net().Dial(address, nil)
		if err != nil {
			return err
		}
		defer slow.Close()
		if err := slow.WriteBuffers([][]byte{{0, 0, 1}}); err != nil {
			return err
		}
		third, err := h.Net().Dial(address, nil)
		if err == nil {
			third.Limits(time.Second, time.Second)
			_, err = third.Read(make([]byte, 1))
			third.Close()
		}
		if err == nil || errors.Is(err, host.ErrTimeout) {
			return fmt.Errorf("a third connection: %w", err)
		}
		began := h.Elapsed()
		for range 20 {
			if err = slow.WriteBuffers([][]byte{{0}}); err != nil {
				break
			}
			h.Root().Sleep(20 * time.Millisecond)
		}
		if err == nil || h.Elapsed()-began > 300*time.Millisecond {
			return fmt.Errorf("a connection that drips lasts %v: %w", h.Elapsed()-began, err)
		}
		return errors.Join(fill(c, 2), readAll(c, 0, 2))
	})
}

// TestAUnitThatLeadsElsewhereHarmsNobody: whatever bit of where a unit leads flips, a pull over it answers what was sent or says that it
// is damaged, the server lives, and the messages before and behind it are given.
func TestAUnitThatLeadsElsewhereHarmsNobody(t *testing.T) {
	const bits, apart, fileUnits = 12 * 8, 3, 50 // offset in the log and size; each bit of a unit of its own
	for i, sender := range server.Senders() {
		t.Run(string(sender), func(t *testing.T) {
			b := broker{store: storeConfig(), server: serverConfig(sender)}
			b.server.Verify = i%2 == 0
			var node *sim.Node
			inWorld(t, uint64(i), b, func(h host.Host, c *client.Client) error {
				if err := fill(c, bits*apart+fileUnits); err != nil {
					return err
				}
				h.Root().Sleep(time.Second) // a checkpoint writes the units of full files
				told := 0
				for bit := range bits {
					unit := bit*apart + 1
					name := series.FileName(int64(unit/fileUnits) * fileUnits * 20)
					if err := node.Disk(commitlog.StoreVolume).Model().Rot("consumequeue/orders/0/"+name, int64(unit%fileUnits*20+bit/8), uint(bit%8)); err != nil {
						return err
					}
				}
				node.Disk(commitlog.StoreVolume).Model().DropCaches()
				for bit := range bits {
					unit := bit*apart + 1
					if err := errors.Join(pullRight(c, unit-1, 1, false), pullRight(c, unit+1, 1, false), pullRight(c, unit-1, 3, true)); err != nil {
						return fmt.Errorf("bit %d: %w", bit, err)
					}
					if pullRight(c, unit, 1, false) != nil {
						told++
					}
				}
				if told < bits-2 { // a size that is wrong by its highest bits is none
					return fmt.Errorf("%d flipped bits of %d were told", told, bits)
				}
				return readAll(c, 1, bits*apart+fileUnits)
			}, func(_ *sim.World, broker, _ *sim.Node) { node = broker })
		})
	}
}

// pullRight pulls messages, which must be those that were sent, or be called damaged if they may.
func pullRight(c *client.Client, offset, count int, damaged bool) error {
	r, err := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: int64(offset), Count: count})
	if damaged && errors.Is(err, commitlog.ErrCorrupt) {
		return nil
	}
	if err == nil && len(r.Messages) == 0 {
		err = fmt.Errorf("message %d is not there: %v", offset, r.Status)
	}
	for i := range r.Messages {
		err = errors.Join(err, same(&r.Messages[i], 0, offset+i))
	}
	return err
}
