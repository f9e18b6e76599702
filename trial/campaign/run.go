package campaign

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// run is a campaign under way.
type run struct {
	options     Options
	queue       *queue
	tally       *tally
	processes   atomic.Int64 // started so far; also their ids
	lost        atomic.Int64
	divergences atomic.Int64
}

// Run runs a campaign. An interrupt by ctx ends it early: the summary then holds what was finished before, and says so.
// With an error that is ErrEnvironment there is a summary too, of what there was until then.
func Run(ctx context.Context, o Options) (*Summary, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m, err := newMix(o.Catalogue, o.Scenarios)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r := &run{options: o, queue: newQueue(newSource(o, m, start), o.Workers), tally: newTally(&o, start)}
	failed := r.work(ctx)
	summary := r.tally.finish(ctx.Err() != nil || failed != nil)
	if err := summary.save(o.Out); err != nil {
		failed = errors.Join(failed, err)
	}
	return summary, failed
}

// work runs all jobs. Its error is one of the environment.
func (r *run) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, r.queue.end)()
	if r.options.Workers == 0 {
		return r.workHere(ctx)
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
	if err := context.Cause(ctx); errors.Is(err, ErrEnvironment) {
		return err
	}
	return nil
}

// workHere runs all jobs in this process and task.
func (r *run) workHere(ctx context.Context) error {
	before := ownCPU()
	defer func() { r.tally.spent(ownCPU() - before) }()
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
				return err
			}
			r.deliver(0, j, a)
		}
	}
	return nil
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
	defer func() { r.tally.spent(p.cpu()) }()
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
	r.tally.lose(l)
	if r.lost.Add(1) >= lostWorkersMax {
		r.tally.stopped("%d workers were lost: the campaign stopped early", lostWorkersMax)
		r.queue.end()
	}
	r.queue.giveBack(rest)
	r.queue.settle()
}

// deliver counts an answer and asks for what follows from it.
func (r *run) deliver(worker int64, j job, a answer) {
	var follow []job
	switch j.Purpose {
	case canary:
		r.tally.canary(a.Result)
	case divergence:
		r.tally.diverged(j, a.Divergence)
	case again:
		signature := r.tally.again(j, a.Result)
		if signature != "" && r.divergences.Add(1) <= divergencesMax {
			follow = append(follow, job{Purpose: divergence, Scenario: j.Scenario, Seed: j.Seed, Defect: j.Defect, signature: signature})
		}
	case sweep:
		suspicious := r.tally.sweep(a.Result)
		if j.twice || suspicious {
			second := j
			second.Purpose, second.avoid, second.first = again, worker, fingerprintOf(a.Result)
			follow = append(follow, second)
		}
	}
	r.queue.settle(follow...)
}
