package death

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// WriterOptions say what the writer process does.
type WriterOptions struct {
	Metadata string
	Seed     uint64
	InFlight int
	Entries  ledger.EntryID // after so many it ends; zero: it goes on
	Quorum   ledger.Quorum
	Logger   *slog.Logger
}

// The words that lines of a writer process begin with:
//
//	ledger 17        it has made its ledger
//	acked 4          entry 4 and all before it are acknowledged
//	ended REASON     it appends nothing any more, and everything before was said
const (
	wordLedger = "ledger"
	wordAcked  = "acked"
	wordEnded  = "ended"
)

// Write is the writer process: it makes a ledger and appends to it until it is shut out, cannot go on, or the context
// ends. It never closes the ledger.
func Write(ctx context.Context, o WriterOptions, out io.Writer) error {
	if o.InFlight < 1 || o.InFlight > inFlightMax {
		return fmt.Errorf("%d entries in flight: must be 1 to %d", o.InFlight, inFlightMax)
	}
	return withClient(ctx, o.Metadata, o.Logger, func(h host.Host, c *client.Client) error {
		if err := c.AwaitBookies(o.Quorum.Ensemble, host.Within(h, h.Root(), recoverMax)); err != nil {
			return err
		}
		options := client.DefaultCreateOptions()
		options.Quorum = o.Quorum
		w, err := c.Create(options)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s %d\n", wordLedger, w.ID()); err != nil {
			return err
		}
		reason := newAppender(o, w).run(ctx, out)
		_, err = fmt.Fprintf(out, "%s %s\n", wordEnded, strings.ReplaceAll(reason.Error(), "\n", " "))
		return err
	})
}

// errWritten is the reason to end of a writer that has written what it was asked for.
var errWritten = errors.New("everything is written")

// appending is an append that is under way.
type appending struct {
	client.Op
	appender *appender
	want     ledger.EntryID
}

// Appended hands the append over to print. There is room for all that there are, so the ledger's task never waits.
func (p *appending) Appended(*client.Op) { p.appender.settled <- p }

// appender keeps a number of appends under way. Two goroutines share it: run appends, and print tells outcomes.
type appender struct {
	o       WriterOptions
	w       *client.Writer
	free    chan *appending
	settled chan *appending
	failed  chan struct{} // closed by print at the first append that failed, or when nobody listens
	printed chan struct{} // closed by print at its end
	reason  error         // print's, until printed is closed
}

func newAppender(o WriterOptions, w *client.Writer) *appender {
	a := &appender{
		o: o, w: w, free: make(chan *appending, o.InFlight), settled: make(chan *appending, o.InFlight),
		failed: make(chan struct{}), printed: make(chan struct{}),
	}
	for range o.InFlight {
		p := &appending{appender: a}
		p.Done = p
		a.free <- p
	}
	return a
}

// run appends until something fails, and returns why when all that was under way has been told.
func (a *appender) run(ctx context.Context, out io.Writer) error {
	go a.print(bufio.NewWriter(out))
	var stopped error
	for next := ledger.EntryID(0); stopped == nil; next++ {
		if next == a.o.Entries && next > 0 {
			a.awaitAll()
			stopped = errWritten
			break
		}
		select {
		case <-ctx.Done():
			stopped = ctx.Err()
		case <-a.failed:
			stopped = errors.New("an append failed")
		case p := <-a.free:
			p.want = next
			if stopped = a.w.Append(Payload(a.o.Seed, a.w.ID(), next), &p.Op); stopped != nil {
				a.free <- p
			}
		}
	}
	a.w.Abandon() // what is under way completes
	a.awaitAll()
	close(a.settled)
	<-a.printed
	if a.reason != nil {
		return a.reason
	}
	return stopped
}

// awaitAll waits until nothing is under way, or told.
func (a *appender) awaitAll() {
	all := make([]*appending, a.o.InFlight)
	for i := range all {
		all[i] = <-a.free
	}
	for _, p := range all {
		a.free <- p
	}
}

// print tells acknowledgements as soon as they are known. Several that come together are one write.
func (a *appender) print(out *bufio.Writer) {
	defer close(a.printed)
	for p := range a.settled {
		err := p.Err
		if err == nil && p.Entry != p.want {
			err = fmt.Errorf("entry %d was acknowledged as entry %d", p.want, p.Entry)
		}
		if err == nil {
			_, err = fmt.Fprintf(out, "%s %d\n", wordAcked, p.Entry)
		}
		if err == nil && len(a.settled) == 0 {
			err = out.Flush()
		}
		if err != nil && a.reason == nil {
			a.reason = err
			close(a.failed)
		}
		a.free <- p
	}
	_ = out.Flush() // a reader that is gone has been noticed, or does not need it
}
