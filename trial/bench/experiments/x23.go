package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"lakebed/engine/commitlog/series"
	"lakebed/engine/commitlog/server"
	"lakebed/reports"
)

// read+write, heap copy, mmap+write and sendfile differ as the counts of their copies say.

const (
	bareSender = "bare sendfile loop" // the same files over a socket, and nothing else
	sendPull   = 1 << 20              // bytes of one pull, and of one call of the bare loop

	figureBytesSent  = "throughput"
	figureSendCPU    = "CPU"
	figureCalls      = "read, write and sendfile calls"
	figurePageFaults = "page faults"
)

// senderSizes are lengths of a message's body.
func senderSizes() []int { return []int{100, 1 << 10, 16 << 10, 256 << 10, 1 << 20} }

// senderCopies are sizes at which the copies should show.
func senderCopies() []int { return []int{16 << 10, 256 << 10, 1 << 20} }

func senderNames() []string {
	names := []string{bareSender}
	for _, s := range server.Senders() {
		names = append(names, string(s))
	}
	return names
}

func sizeName(bytes int) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}

func senderCell(size int, warmth, sender string) string {
	return sizeName(size) + "/" + warmth + "/" + sender
}

const (
	cacheWarm = "warm"
	cacheCold = "cold"
)

func measureSenders(ctx context.Context, r *run) error {
	r.note("Both ends of each connection are in one process, and the receiver looks at nothing but lengths: clients of package client verify every message besides.")
	r.note("Calls are those that /proc/self/io counts: sendfile counts twice, sendmsg (the head before a sendfile) not at all.")
	for _, size := range either(r, senderSizes(), []int{1 << 10, 256 << 10}) {
		err := r.inScratch(ctx, func(ctx context.Context, dir string) error {
			config := messageLogConfig(1)
			config.PullBytesMax = max(sendPull, int64(size)+1<<10)
			return r.inMessageLog(ctx, dir, config, func(l *messageLog) error {
				if err := l.fill(size, either(r, int64(256<<20), 4<<20)); err != nil {
					return err
				}
				return l.senders(ctx, dir, size)
			})
		})
		if err != nil {
			return fmt.Errorf("messages of %s: %w", sizeName(size), err)
		}
	}
	return nil
}

// senders takes turns: each round meets every sender, and the bare loop among them.
func (l *messageLog) senders(ctx context.Context, dir string, size int) error {
	for round := range either(l.run, 7, 1) {
		for _, warmth := range []string{cacheWarm, cacheCold} {
			for _, sender := range senderNames() {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				prepare := l.warm
				if warmth == cacheCold {
					prepare = l.cool
				}
				if err := prepare(); err != nil {
					return err
				}
				if err := l.sendAll(dir, size, warmth, sender); err != nil {
					return fmt.Errorf("%s, %s: %w", sender, warmth, err)
				}
			}
		}
		l.say("messages of %s: round %d", sizeName(size), round+1)
	}
	return nil
}

// sendAll sends the whole log once and takes its figures.
func (l *messageLog) sendAll(dir string, size int, warmth, sender string) error {
	var before, after spent
	measured := func(work func() error) (err error) {
		if before, err = spentNow(); err != nil {
			return err
		}
		if err = work(); err != nil {
			return err
		}
		after, err = spentNow()
		return err
	}
	err := l.sendOnce(dir, sender, measured)
	if err != nil {
		return err
	}
	c := l.senderCellOf(size, warmth, sender)
	megabytes := float64(l.bytes()) / 1e6
	c.sample(quantity{figureBytesSent, "MB/s", reports.ClockWall, reports.HigherBetter}, megabytes/after.at.Sub(before.at).Seconds())
	c.sample(quantity{figureSendCPU, "s/GB", reports.ClockCPU, reports.LowerBetter}, (after.cpu-before.cpu)/1e6/megabytes*1e3)
	c.sample(quantity{figureCalls, "1/MB", reports.ClockNone, reports.LowerBetter}, float64(after.calls-before.calls)/megabytes)
	c.sample(quantity{figurePageFaults, "1/MB", reports.ClockNone, reports.LowerBetter}, float64(after.faults-before.faults)/megabytes)
	return nil
}

// sendOnce connects, and has the sending itself measured.
func (l *messageLog) sendOnce(dir, sender string, measured func(work func() error) error) error {
	if sender == bareSender {
		return l.bare(dir, measured)
	}
	config := server.DefaultConfig()
	config.Sender = server.Sender(sender)
	return l.serve(config, func(s *server.Server) error {
		p, err := newPuller(s.Addr(), 0, 0)
		if err != nil {
			return err
		}
		defer p.close()
		return measured(func() error { return p.pullAll(l.count) })
	})
}

// bare sends the files of the log over a socket, by the calls of the Go library, which are sendfile.
func (l *messageLog) bare(dir string, measured func(work func() error) error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	out, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := listener.Accept()
	if err != nil {
		return err
	}
	defer in.Close()
	return measured(func() error {
		sent := make(chan error, 1)
		go func() { sent <- l.bareLoop(dir, out.(*net.TCPConn)) }()
		p := puller{conn: in, buffer: make([]byte, 256<<10)}
		for left := l.bytes(); left > 0; {
			n, err := p.conn.Read(p.buffer[:min(left, int64(len(p.buffer)))])
			if err != nil {
				return errors.Join(err, <-sent)
			}
			left -= int64(n)
		}
		return <-sent
	})
}

func (l *messageLog) bareLoop(dir string, out *net.TCPConn) error {
	for at := int64(0); at < l.bytes(); at = l.store.FileEnd(at) {
		f, err := os.Open(filepath.Join(dir, "commitlog", series.FileName(at)))
		if err != nil {
			return err
		}
		for left := min(l.store.FileEnd(at), l.bytes()) - at; left > 0 && err == nil; {
			var n int64
			n, err = out.ReadFrom(&io.LimitedReader{R: f, N: min(left, sendPull)})
			left -= n
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

const groupSenders = "One consumer reads the whole log over loopback"

func (r *run) senderCellOf(size int, warmth, sender string) *cell {
	g := r.group(groupSenders, "Pulls of 1 MiB, the next one asked for while one is coming. MB are of the log's bytes; CPU is of both ends.")
	return g.cell(senderCell(size, warmth, sender), "message", sizeName(size), "page cache", warmth, "sender", sender)
}

// judgeSenders: warm, from 16 KiB on, each copy less costs less processor time; and the server's sendfile reaches 80 % of the
// bare loop.
func judgeSenders(r *reports.Result) reports.Verdict {
	var j judgement
	for _, size := range senderCopies() {
		for _, pair := range []struct{ more, fewer server.Sender }{
			{server.ReadWrite, server.MapWrite}, {server.MapWrite, server.SendFile},
		} {
			what := fmt.Sprintf("CPU of %s by %s, warm, %s,", pair.more, pair.fewer, sizeName(size))
			j.decides(r, what, figureSendCPU, senderCell(size, cacheWarm, string(pair.more)), senderCell(size, cacheWarm, string(pair.fewer)), 1)
		}
		what := fmt.Sprintf("throughput of %s by the %s, warm, %s,", server.SendFile, bareSender, sizeName(size))
		j.decides(r, what, figureBytesSent, senderCell(size, cacheWarm, string(server.SendFile)), senderCell(size, cacheWarm, bareSender), bareShareMin)
	}
	return j.verdict()
}

// bareShareMin is the part of the bare loop's throughput that a server has to reach.
const bareShareMin = 0.8

// decides wants one cell's figure to be above a bound times another's, after enough rounds of whatever clock.
func (j *judgement) decides(r *reports.Result, what, figure, part, whole string, bound float64) {
	a, ok := j.figureOf(r, part, figure)
	b, found := j.figureOf(r, whole, figure)
	if !ok || !found {
		return
	}
	if n := min(len(a.Samples), len(b.Samples)); n < roundsDecisive {
		j.leaveOpen("%s %d rounds, and it takes %d", what, n, roundsDecisive)
		return
	}
	if i, ok := j.ratio(what, &a, &b); ok {
		j.above(what, i, bound)
	}
}
