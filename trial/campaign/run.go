package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// run is a campaign under way.
type run struct {
	options   Options
	book      *book
	queue     *queue
	cancel    context.CancelCauseFunc // ends it because the environment failed
	processes atomic.Int64            // started so far; also their ids
	lost      atomic.Int64
}

// Run runs a campaign. An interrupt by ctx ends it early: the summary then holds what was finished before, and says so.
// With an error that is ErrEnvironment there is a summary too, of what there was until then.
func Run(ctx context.Context, o Options) (*Summary, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m, err := newMix(o.Catalogue, o.Scenarios, o.Weights)
	if err != nil {
		return nil, err
	}
	b, finished, err := openBook(&o, headerOf(&o, &m))
	if err != nil {
		return nil, err
	}
	resumed := int64(len(b.done))
	interrupted, wall := false, time.Duration(0)
	var failed error
	if finished != nil {
		wall = b.recall(finished)
	} else {
		r := &run{options: o, book: b, queue: newQueue(b, o.Workers)}
		failed = r.work(ctx)
		interrupted, wall = ctx.Err() != nil || failed != nil, time.Since(b.begin)
	}
	b.tally.summary.Workers, b.tally.summary.Resumed, b.tally.summary.Log = o.Workers, resumed, o.Log
	summary := b.tally.finish(interrupted, wall)
	failed = errors.Join(failed, summary.save(o.Catalogue, o.Out))
	if !interrupted {
		failed = errors.Join(failed, summary.shrink(ctx, o.Shrink, o.ShrinkBudget))
	}
	return summary, errors.Join(failed, b.close(summary, finished != nil || interrupted || failed != nil))
}

// openBook begins a campaign, or opens the one whose log there is. One that has come to its end is finished.
func openBook(o *Options, h Header) (*book, *closing, error) {
	if o.Log == "" {
		return newBook(h, newTally(h, o.Watch)), nil, nil
	}
	program, err := thisProgram()
	if err != nil {
		return nil, nil, err
	}
	h.Program = program
	log, found, err := openLog(o.Log)
	if err != nil {
		return nil, nil, err
	}
	b := found.book
	if b == nil {
		b = newBook(h, newTally(h, nil))
		err = log.append(h)
	} else if difference := h.difference(&b.header); difference != "" || h.Shard != b.header.Shard {
		if difference == "" {
			difference = fmt.Sprintf("different shards: %s and %s", h.Shard, b.header.Shard)
		}
		err = fmt.Errorf("%w: %s is the log of another campaign (%s); give another file, or remove it", ErrUsage, o.Log, difference)
	}
	if err != nil {
		return nil, nil, errors.Join(err, log.close())
	}
	b.log, b.begin, b.tally.watcher = log, time.Now().Add(-found.last.Elapsed), o.Watch
	b.tally.start = b.begin
	return b, found.closing, nil
}

// recall takes from a campaign's last line what its other lines do not tell. It returns how long the campaign took.
func (b *book) recall(c *closing) time.Duration {
	b.tally.early = c.Early
	b.tally.cpu = seconds(c.Summary.CPUSeconds)
	return seconds(c.Summary.WallSeconds)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// close ends the log: of a campaign that came to its end with the summary, of any other so that it can go on.
func (b *book) close(s *Summary, open bool) error {
	if b.log == nil {
		return nil
	}
	var err error
	if !open {
		err = b.log.append(closing{summaryLine, b.tally.early, s})
	}
	return errors.Join(err, b.log.close())
}

// work runs all jobs. Its error is one of the environment.
func (r *run) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, r.queue.end)()
	r.cancel = cancel
	if r.options.Workers == 0 {
		r.workHere(ctx)
	}
	var managers sync.WaitGroup
	for range r.options.Workers {
		managers.Go(func() {
			if err := r.manage(ctx); err != nil {
				cancel(err)
			}
		})
	}
	managers.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrEnvironment) || errors.Is(err, ErrUsage) {
		return err
	}
	return nil
}

// workHere runs all jobs in this process and task.
func (r *run) workHere(ctx context.Context) {
	before := ownCPU()
	defer func() { r.book.tally.spent(ownCPU() - before) }()
	for ctx.Err() == nil {
		batch := r.queue.take(0)
		if len(batch) == 0 {
			break
		}
		for _, j := range batch {
			if ctx.Err() != nil {
				break
			}
			a, err := r.options.Catalogue.do(j)
			if err != nil {
				r.cancel(err)
				break
			}
			r.deliver(0, j, a)
		}
	}
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// manage keeps one worker process at work, and replaces it when it is lost.
func (r *run) manage(ctx context.Context) error {
	for {
		p, err := startProcess(ctx, r.processes.Add(1), r.options.WorkerCommand)
		if ctx.Err() != nil {
			if err == nil {
				p.end(syscall.SIGKILL)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if !r.employ(ctx, p) {
			return nil
		}
	}
}

// employ has a process work until there is nothing to do, or the process is lost and needs a successor.
func (r *run) employ(ctx context.Context, p *process) (lost bool) {
	defer func() { r.book.tally.spent(p.cpu()) }()
	for {
		batch := r.queue.take(p.id)
		if len(batch) == 0 {
			p.end(nil)
			return false
		}
		rest, loss := p.do(ctx, batch, r.options.HangAfter, func(j job, a answer) { r.deliver(p.id, j, a) })
		if ctx.Err() != nil {
			p.end(syscall.SIGKILL)
			return false
		}
		if loss != nil {
			r.lose(loss, rest)
			return true
		}
	}
}

// lose counts a job that took its worker with it. When too many do, the campaign ends: each costs a hang guard or a
// start, and more of them would teach nothing.
func (r *run) lose(l *loss, rest []job) {
	if _, err := r.book.enter(lineOfLoss(l)); err != nil {
		r.cancel(err)
	}
	if r.lost.Add(1) == lostWorkersMax {
		r.book.tally.stopped("%d workers were lost: the campaign stopped early", lostWorkersMax)
		r.queue.end()
	}
	r.queue.giveBack(rest)
	r.queue.settle()
}

// deliver counts an answer and asks for what follows from it.
func (r *run) deliver(worker int64, j job, a answer) {
	follow, err := r.book.enter(lineOf(j, &a))
	if err != nil {
		r.cancel(err) // the log cannot be written: what is not kept was not run
	}
	for i := range follow {
		follow[i].avoid = append(j.avoid[:len(j.avoid):len(j.avoid)], worker)
	}
	r.queue.settle(follow...)
}
