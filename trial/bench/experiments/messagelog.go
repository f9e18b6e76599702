package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// messageLog is a commit log on this machine with one queue for each reader, all in one log.
type messageLog struct {
	*run
	h      host.Host
	store  *commitlog.Store
	queues int32
	count  int64 // messages of each queue
}

const messageTopic = "experiment"

// messageLogConfig has files of which a full round uses several. Nothing is removed, and syncs are not what is measured.
func messageLogConfig(queues int32) commitlog.Config {
	c := commitlog.DefaultConfig()
	c.FileBytes, c.Flush, c.FlushInterval, c.KeyIndex = 64<<20, commitlog.FlushInterval, 50*time.Millisecond, false
	c.QueuesPerTopic, c.PullCountMax, c.ScanUnitsMax = queues, 1<<20, 1<<20
	c.Retention.Interval = time.Hour
	return c
}

// inMessageLog has f use a log below dir. The log is there again if another one was used there before.
func (r *run) inMessageLog(ctx context.Context, dir string, config commitlog.Config, f func(*messageLog) error) error {
	settings := oshost.Config{Volumes: map[string]string{commitlog.StoreVolume: dir}, Logger: r.Logger, Seed: r.Seed}
	return oshost.Run(ctx, settings, func(h host.Host) error {
		store, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		return errors.Join(f(&messageLog{run: r, h: h, store: store, queues: config.QueuesPerTopic}), store.Close())
	})
}

// fill appends messages of a size to the queues in turn, until the log has about so many bytes, all of them on the disk.
func (l *messageLog) fill(size int, total int64) error {
	l.count = max(total/int64(size+message.FixedBytes)/int64(l.queues), 8)
	const appenders = 16
	tasks := l.h.Root().New("appenders")
	var failed [appenders]error
	next := l.h.NewCounter("next")
	for i := range appenders {
		tasks.Go("append", func() {
			body := make([]byte, size)
			for failed[i] == nil {
				n := next.Add(1) - 1
				if n >= l.count*int64(l.queues) {
					return
				}
				_, failed[i] = l.store.Append(message.Message{Topic: []byte(messageTopic), Queue: int32(n % int64(l.queues)), Body: body})
			}
		})
	}
	tasks.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return fmt.Errorf("fill the log: %w", err)
	}
	for s := l.store.Stats(); s.Synced < s.Written || s.Dispatched < s.Written; s = l.store.Stats() {
		if !l.h.Root().Sleep(5 * time.Millisecond) {
			return host.ErrStopping
		}
	}
	return nil
}

// bytes is how much the log holds.
func (l *messageLog) bytes() int64 { return l.store.Stats().Written }

// eachFile calls f with every file of the log, and its bytes that are written.
func (l *messageLog) eachFile(f func(lent commitlog.Lent, bytes int64) error) error {
	for at := int64(0); at < l.bytes(); at = l.store.FileEnd(at) {
		lent, err := l.store.Lend(at)
		if err != nil {
			return err
		}
		err = f(lent, min(l.store.FileEnd(at), l.bytes())-at)
		lent.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// cool has the page cache forget the log. A page that is mapped would stay.
func (l *messageLog) cool() error {
	return l.eachFile(func(lent commitlog.Lent, _ int64) error {
		if m, err := lent.Mapping(); err == nil {
			m.Advise(host.Span{}, host.AdviseDontNeed)
		}
		host.Advise(lent.File(), host.Span{}, host.AdviseDontNeed)
		return nil
	})
}

// warm reads the log once.
func (l *messageLog) warm() error {
	buffer := make([]byte, 1<<20)
	return l.eachFile(func(lent commitlog.Lent, bytes int64) error {
		for off := int64(0); off < bytes; off += int64(len(buffer)) {
			if _, err := host.ReadFull(lent.File(), buffer[:min(bytes-off, int64(len(buffer)))], off); err != nil {
				return err
			}
		}
		return nil
	})
}

// serve has f talk to a server of the log.
func (l *messageLog) serve(config server.Config, f func(*server.Server) error) error {
	listener, err := l.h.Net().Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	s := server.Serve(l.h, l.h.Root(), l.store, listener, config)
	err = f(s)
	s.Close()
	return err
}

// puller is a consumer that looks at nothing but what it needs to go on: what is measured is the other end.
type puller struct {
	conn   net.Conn
	buffer []byte
	ask    wire.Pull
	frame  []byte
}

func newPuller(address string, queue int32, bytes uint32) (*puller, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &puller{
		conn: conn, buffer: make([]byte, 256<<10), ask: wire.Pull{Topic: []byte(messageTopic), Queue: queue, Bytes: bytes},
	}, nil
}

func (p *puller) close() { _ = p.conn.Close() }

func (p *puller) send(offset int64) error {
	p.ask.Offset = offset
	p.frame = wire.AppendPull(p.frame[:0], wire.Sequence(offset), &p.ask)
	_, err := p.conn.Write(p.frame)
	return err
}

// pulledHead is as much of an answer as tells where to go on: length, operation, sequence, code, status, next.
const pulledHead = wire.HeadBytes + 1 + 1 + 8

// receive reads an answer. before is called when it is known where to go on, and before its bytes are read.
func (p *puller) receive(before func(next int64) error) (received int64, err error) {
	var head [pulledHead]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		return 0, err
	}
	if code := wire.Code(head[wire.HeadBytes]); code != wire.Done {
		return 0, fmt.Errorf("a pull at %d ends with code %d", p.ask.Offset, code)
	}
	if err := before(int64(binary.BigEndian.Uint64(head[wire.HeadBytes+2:]))); err != nil {
		return 0, err
	}
	left := int64(binary.BigEndian.Uint32(head[:])) + wire.LengthBytes - pulledHead
	for done := int64(0); done < left; {
		n, err := p.conn.Read(p.buffer[:min(left-done, int64(len(p.buffer)))])
		if err != nil {
			return 0, err
		}
		done += int64(n)
	}
	return left + pulledHead, nil
}

// pullAll reads a queue to its end, and asks for more while an answer is still coming: a socket is never idle.
func (p *puller) pullAll(count int64) error {
	if err := p.send(0); err != nil {
		return err
	}
	for next := int64(0); next < count; {
		_, err := p.receive(func(to int64) error {
			if next = to; next >= count {
				return nil
			}
			return p.send(next)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pullOne asks for messages at an offset and waits for them.
func (p *puller) pullOne(offset int64) (next, received int64, err error) {
	if err := p.send(offset); err != nil {
		return 0, 0, err
	}
	received, err = p.receive(func(to int64) error { next = to; return nil })
	return next, received, err
}

// spent is what this process has used so far, both ends of every connection together.
type spent struct {
	at             time.Time
	cpu            float64 // µs
	faults         int64
	calls          int64 // of reading, writing and sendfile, as /proc counts them
	bytesFromDisks int64
}

func spentNow() (s spent, err error) {
	if s.cpu, err = cpuMicros(); err != nil {
		return s, err
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return s, fmt.Errorf("read this process's page faults: %w", err)
	}
	s.faults = usage.Minflt + usage.Majflt
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return s, fmt.Errorf("read this process's calls: %w", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		name, number, _ := strings.Cut(line, ": ")
		n, _ := strconv.ParseInt(number, 10, 64)
		switch name {
		case "syscr", "syscw":
			s.calls += n
		case "read_bytes":
			s.bytesFromDisks = n
		}
	}
	s.at = time.Now()
	return s, nil
}
