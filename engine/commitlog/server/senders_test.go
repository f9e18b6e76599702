package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/client"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// TestEverySenderSendsEveryMessage, over several files of the log, whether the server looks at the messages first or not, with
// mappings enough for all files, for one, and for none.
func TestEverySenderSendsEveryMessage(t *testing.T) {
	const messages = 40
	for i, sender := range server.Senders() {
		for _, mapped := range []int{0, 1, 100} {
			b := broker{store: storeConfig(), server: serverConfig(sender)}
			b.store.MappedFiles = mapped
			b.server.Verify = mapped == 1
			b.server.Prefetch = []server.Prefetch{server.PrefetchOff, server.PrefetchRead, server.PrefetchAdvise}[mapped%3]
			t.Run(fmt.Sprintf("%s/%d", sender, mapped), func(t *testing.T) {
				inWorld(t, uint64(i*3+mapped), b, func(h host.Host, c *client.Client) error {
					return errors.Join(fill(c, messages), readAll(c, 0, messages), readAll(c, 1, messages), tagged(c, messages), edges(c, messages))
				})
			})
		}
	}
}

// tagged pulls every other message.
func tagged(c *client.Client, messages int) error {
	r, err := c.Pull(commitlog.PullRequest{Topic: "orders", Queue: 1, Tags: []string{"blue", "green"}, Count: 5})
	if err != nil || len(r.Messages) != 5 || r.Messages[4].QueueOffset != 9 || r.Next != 10 {
		return fmt.Errorf("pull of a tag: %d messages, next %d: %w", len(r.Messages), r.Next, err)
	}
	r, err = c.Pull(commitlog.PullRequest{Topic: "orders", Queue: 1, Offset: int64(messages) - 2, Tags: []string{"green"}})
	if err != nil || r.Status != commitlog.NoMatchedMessage || r.Next != int64(messages) {
		return fmt.Errorf("pull of a tag that nobody has: %v, next %d: %w", r.Status, r.Next, err)
	}
	return nil
}

// edges asks for what is not there, and must get the store's own words.
func edges(c *client.Client, messages int) error {
	end, errEnd := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: int64(messages)})
	behind, errBehind := c.Pull(commitlog.PullRequest{Topic: "orders", Offset: int64(messages) + 5})
	_, errQueue := c.Pull(commitlog.PullRequest{Topic: "orders", Queue: 7})
	wrong := makeMessage(0, 0)
	wrong.Topic = []byte("no/name")
	_, errName := c.Append(wrong)
	long := makeMessage(0, 0)
	long.Body = make([]byte, 9<<10)
	_, errLong := c.Append(long)
	if end.Status != commitlog.OffsetOverflowOne || behind.Status != commitlog.OffsetOverflowBadly || errEnd != nil || errBehind != nil {
		return fmt.Errorf("pulls at and behind the end: %v, %v, %v, %v", end.Status, errEnd, behind.Status, errBehind)
	}
	if !errors.Is(errQueue, commitlog.ErrNoQueue) || !errors.Is(errName, commitlog.ErrIllegal) || !errors.Is(errLong, commitlog.ErrIllegal) {
		return fmt.Errorf("no queue: %v; a wrong name: %v; a long body: %v", errQueue, errName, errLong)
	}
	return nil
}

// TestEverySenderSendsTheSameBytesOnAMachine: over real files and sockets the frames of all four are equal byte by byte, and a
// client takes them for the messages that were sent, from several tasks. The race detector watches.
func TestEverySenderSendsTheSameBytesOnAMachine(t *testing.T) {
	const messages = 60
	var frames [][]byte
	for i, sender := range server.Senders() {
		b := broker{store: storeConfig(), server: serverConfig(sender)}
		b.store.MappedFiles = 2
		b.server.Prefetch = []server.Prefetch{server.PrefetchOff, server.PrefetchRead, server.PrefetchAdvise}[i%3]
		var at string
		b.seen = func(_ *commitlog.Store, s *server.Server) { at = s.Addr() }
		onMachine(t, b, func(h host.Host, c *client.Client) error {
			if err := fill(c, messages); err != nil {
				return err
			}
			readers := h.Root().New("readers")
			failed := make([]error, 4)
			for i := range failed {
				readers.Go("reader", func() { failed[i] = readAll(c, int32(i%2), messages) })
			}
			readers.Wait()
			raw, err := rawPulls(at, messages)
			frames = append(frames, raw)
			return errors.Join(append(failed, err)...)
		})
	}
	for i := 1; i < len(frames); i++ {
		if !bytes.Equal(unstamped(frames[i]), unstamped(frames[0])) {
			t.Errorf("%s sends other bytes than %s", server.Senders()[i], server.Senders()[0])
		}
	}
}

// rawPulls are the bytes of the answers to pulls over a whole queue.
func rawPulls(at string, messages int) ([]byte, error) {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var all []byte
	for next := int64(0); next < int64(messages); {
		ask := wire.AppendPull(nil, 7, &wire.Pull{Topic: []byte("orders"), Queue: 1, Offset: next})
		if _, err := conn.Write(ask); err != nil {
			return nil, err
		}
		head := make([]byte, wire.LengthBytes)
		if _, err := io.ReadFull(conn, head); err != nil {
			return nil, err
		}
		n, err := wire.FrameLength(head, 1<<20)
		if err != nil {
			return nil, err
		}
		frame := make([]byte, n)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return nil, err
		}
		_, _, body := wire.ParseHead(frame)
		_, _, rest, _ := wire.ParseCode(body)
		pulled, _, err := wire.ParsePulled(rest)
		if err != nil {
			return nil, err
		}
		all = append(append(all, head...), frame...)
		next = pulled.Next
	}
	return all, nil
}

// unstamped is what does not depend on the time at which messages were stored: lengths, heads and bodies, but for the store
// timestamp and the checksum over it. They lie in every record at the same place, and the frames differ in nothing else.
func unstamped(frames []byte) []byte {
	clean := bytes.Clone(frames)
	for at := 0; ; {
		i := bytes.Index(clean[at:], []byte{0xDA, 0xA3, 0x20, 0xA7})
		if i < 0 {
			return clean
		}
		at += i
		clear(clean[at+4 : at+8])   // the checksum
		clear(clean[at+52 : at+60]) // the store timestamp
		at += 60
	}
}

// TestAPullWaitsForAMessageAndNoLonger: it is answered when one comes, when its time is over, and when its server is closed;
// in either world.
func TestAPullWaitsForAMessageAndNoLonger(t *testing.T) {
	waits := func(h host.Host, c *client.Client) error {
		if err := fill(c, 1); err != nil {
			return err
		}
		ask := commitlog.PullRequest{Topic: "orders", Offset: 1, Suspend: 40 * time.Millisecond}
		began := h.Elapsed()
		r, err := c.Pull(ask)
		if err != nil || r.Status != commitlog.OffsetOverflowOne || h.Elapsed()-began < 40*time.Millisecond {
			return fmt.Errorf("a pull whose time is over after %v: %v, %w", h.Elapsed()-began, r.Status, err)
		}
		tasks := h.Root().New("puller")
		ask.Suspend = 15 * time.Second
		var got commitlog.PullResult
		var failed error
		tasks.Go("pull", func() { got, failed = c.Pull(ask) })
		h.Root().Sleep(20 * time.Millisecond)
		began = h.Elapsed()
		if _, err := c.Append(makeMessage(0, 1)); err != nil {
			return err
		}
		tasks.Wait()
		if failed != nil || len(got.Messages) != 1 || h.Elapsed()-began > 5*time.Second {
			return fmt.Errorf("a pull that waited got %d messages after %v: %w", len(got.Messages), h.Elapsed()-began, failed)
		}
		return same(&got.Messages[0], 0, 1)
	}
	b := broker{store: storeConfig(), server: serverConfig(server.SendFile)}
	inWorld(t, 1, b, waits)
	onMachine(t, b, waits)
}

// TestCloseEndsPullsThatWait, of the server and of the client, and leaves no worker behind.
func TestCloseEndsPullsThatWait(t *testing.T) {
	b := broker{store: storeConfig(), server: serverConfig(server.MapWrite)}
	var serving *server.Server
	b.seen = func(_ *commitlog.Store, s *server.Server) { serving = s }
	hangs := func(stop func(h host.Host, c *client.Client)) talk {
		return func(h host.Host, c *client.Client) error {
			if err := fill(c, 1); err != nil {
				return err
			}
			tasks := h.Root().New("pullers")
			for range 6 { // more than there are workers
				tasks.Go("pull", func() {
					c.Pull(commitlog.PullRequest{Topic: "orders", Offset: 1, Suspend: 18 * time.Second})
				})
			}
			h.Root().Sleep(30 * time.Millisecond)
			began := h.Elapsed()
			stop(h, c)
			tasks.Wait()
			if took := h.Elapsed() - began; took > 5*time.Second {
				return fmt.Errorf("pulls ended after %v", took)
			}
			return nil
		}
	}
	onMachine(t, b, hangs(func(host.Host, *client.Client) { serving.Close() }))
	onMachine(t, b, hangs(func(_ host.Host, c *client.Client) { c.Close() }))
	inWorld(t, 2, b, hangs(func(_ host.Host, c *client.Client) { c.Close() }))
}
