package death

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/trial/bench/processes"
)

// ErrStuck says that a process neither went on nor ended.
var ErrStuck = errors.New("stuck")

// round is one round under way.
type round struct {
	o       *Options
	cluster *processes.Cluster
	random  *rand.Rand
	kind    Kind
	writer  *processes.Child
	acks    *acks
	result  Round
}

// WriterCommand is the hidden command of simrun that calls Write.
const WriterCommand = "death-writer"

// run is a round's story. An error says that it could not be told to the end; what it found so far is in result.
func (r *round) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundMax)
	defer cancel()
	if err := r.startWriter(ctx); err != nil {
		return err
	}
	defer r.endWriter()
	pause(ctx, r.draw(loadMin, loadMax))
	victims := r.victims()
	if err := r.kill(victims); err != nil {
		return err
	}
	if r.kind.Writer {
		<-r.acks.done // what it had said is in the pipe, and is promised
	}
	pause(ctx, r.draw(0, deadMax))
	begun := time.Now()
	if err := r.cluster.Restart(ctx, victims...); err != nil {
		return err
	}
	r.result.Restart = time.Since(begun)
	return r.judge(ctx)
}

func (r *round) startWriter(ctx context.Context) error {
	line := []string{
		r.o.Executable, WriterCommand, "--metadata", r.cluster.MetadataAddress(),
		"--seed", strconv.FormatUint(r.o.Seed, 10), "--in-flight", strconv.Itoa(r.o.InFlight),
	}
	var err error
	if r.writer, err = r.cluster.Launch("writer", line); err != nil {
		return err
	}
	if r.acks, err = collect(r.writer.Stdout, filepath.Join(r.o.Dir, fmt.Sprintf("acks-%03d.log", r.result.Number))); err != nil {
		return errors.Join(err, r.writer.Signal(syscall.SIGKILL))
	}
	select {
	case <-r.acks.begun:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("wait for the first acknowledgement: %w", ctx.Err()), r.writer.Signal(syscall.SIGKILL))
	}
	h := r.acks.heard()
	if h.last == ledger.NoEntry {
		<-r.writer.Ended()
		return fmt.Errorf("%w: the writer acknowledged nothing: %s%s", ErrStuck, h.ended, r.writer.Said())
	}
	r.result.Ledger = h.ledger
	return nil
}

// endWriter leaves no writer behind, whatever happened.
func (r *round) endWriter() {
	_ = r.writer.Signal(syscall.SIGKILL) // it fails only for a process that is not ours any more
	<-r.writer.Ended()
	<-r.acks.done
}

// victims draws the bookies to kill.
func (r *round) victims() []int {
	n := r.kind.Bookies
	if n == allBookies {
		n = r.cluster.Bookies()
	}
	chosen := r.random.Perm(r.cluster.Bookies())[:n]
	slices.Sort(chosen)
	return chosen
}

// kill kills the writer and the bookies at the same moment, the writer first or last.
func (r *round) kill(victims []int) error {
	r.result.Bookies, r.result.Writer = victims, r.kind.Writer
	r.checkLoad()
	last := r.kind.Writer && r.random.IntN(2) == 0
	if r.kind.Writer && !last {
		if err := r.writer.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	r.result.AckedBefore = r.acks.heard().last + 1
	err := r.cluster.Kill(victims...)
	if last {
		err = errors.Join(err, r.writer.Signal(syscall.SIGKILL))
	}
	return err
}

// checkLoad finds a writer that is not there any more just before the kill. With all bookies up it has no reason to be gone,
// and a kill that meets no load takes nothing that could be missed.
func (r *round) checkLoad() {
	select {
	case <-r.acks.done:
		h := r.acks.heard()
		r.result.add(Finding{What: NoLoad, Ledger: h.ledger, First: h.last, Last: h.last, Detail: "the writer ended by itself: " + h.ended + r.writer.Said()})
	default:
	}
}

// judge recovers the ledger twice, reads it, and holds against it what was acknowledged: by then, and by a writer that
// still lives, ever.
func (r *round) judge(ctx context.Context) error {
	before := r.acks.heard()
	begun := time.Now()
	found, err := look(ctx, r.cluster.MetadataAddress(), r.o.Seed, before.ledger, before.last)
	r.result.Recovery = time.Since(begun)
	if unreadable(err) {
		r.awaitWriter()
		r.result.Acked = r.acks.heard().last + 1
		r.result.add(Finding{What: Lost, Ledger: before.ledger, Last: r.result.Acked - 1, Detail: "nobody can close the ledger: " + err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	r.result.take(found)
	r.awaitWriter()
	after := r.acks.heard()
	r.result.Acked, r.result.Length = after.last+1, found.end.last+1
	if after.err != nil {
		r.result.add(Finding{What: Disorder, Ledger: before.ledger, First: after.last, Last: after.last, Detail: after.err.Error()})
	}
	if after.last > max(found.end.last, before.last) {
		r.result.add(Finding{
			What: NotShutOut, Ledger: before.ledger, First: max(found.end.last, before.last) + 1, Last: after.last,
			Detail: "acknowledged behind the end at which another client had closed the ledger",
		})
	}
	return r.again(ctx, before.ledger, found.end)
}

// unreadable says whether an error of recovery is final: what was acknowledged is missing, and the client has noticed.
func unreadable(err error) bool {
	for _, class := range []error{client.ErrDigest, client.ErrMaybeLost, client.ErrNoSuchEntry, client.ErrNoSuchLedger, client.ErrConflict} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// awaitWriter waits for the end of a writer that was not killed: recovery has shut it out.
func (r *round) awaitWriter() {
	timeout := time.NewTimer(writerMax)
	defer timeout.Stop()
	select {
	case <-r.acks.done:
		r.result.WriterEnded = r.acks.heard().ended
	case <-timeout.C:
		r.result.add(Finding{What: WriterHangs, Ledger: r.result.Ledger, Detail: fmt.Sprintf("%v after its ledger was closed", writerMax)})
		r.endWriter()
	}
}

// again recovers the ledger for a second time, as a third client: a closed ledger stays as it is.
func (r *round) again(ctx context.Context, id ledger.ID, first end) error {
	return recovered(ctx, r.cluster.MetadataAddress(), id, func(reader *client.Reader) error {
		second := end{reader.LastAddConfirmed(), reader.Length()}
		if second != first {
			r.result.add(Finding{
				What: EndMoved, Ledger: id, First: min(first.last, second.last), Last: max(first.last, second.last),
				Detail: fmt.Sprintf("it ended at entry %d with %d bytes, and then at entry %d with %d", first.last, first.length, second.last, second.length),
			})
		}
		return nil
	})
}

func (r *round) draw(least, most time.Duration) time.Duration {
	return least + time.Duration(r.random.Int64N(int64(most-least)))
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
