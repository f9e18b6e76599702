package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is the parent's side of one worker process.
type process struct {
	id       int64
	command  *exec.Cmd
	input    io.Closer
	requests *json.Encoder
	answers  chan answer   // closed when the worker says nothing more
	ending   chan struct{} // closed when nobody listens to answers any more
	exited   chan struct{} // closed when the process is gone
	said     excerpt       // its standard error
}

// loss is a job that its worker did not survive.
type loss struct {
	job    job
	kind   Kind
	state  string // how the process ended
	output string // what it said last
}

// workerEnvironment: a world is one thread, and what it costs is allocation.
func workerEnvironment() []string {
	return append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GOTRACEBACK=all")
}

// startProcess starts a worker and waits until it is ready.
func startProcess(ctx context.Context, id int64, argv []string) (*process, error) {
	p := &process{
		id: id, command: exec.Command(argv[0], argv[1:]...),
		answers: make(chan answer, batchMax), ending: make(chan struct{}), exited: make(chan struct{}),
	}
	p.command.Env = workerEnvironment()
	p.command.Stderr = &p.said
	p.command.WaitDelay = endPatience
	input, err := p.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: start worker %s: %w", ErrEnvironment, argv[0], err)
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: start worker %s: %w", ErrEnvironment, argv[0], err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%w: start worker: %w", ErrEnvironment, err)
	}
	p.input, p.requests = input, json.NewEncoder(input)
	go p.listen(output)
	return p, p.awaitReady(ctx)
}

// listen passes answers on until the worker has said all, and buries it.
func (p *process) listen(output io.Reader) {
	defer close(p.exited)
	defer p.command.Wait() // its error says no more than ProcessState
	defer io.Copy(io.Discard, output)
	defer close(p.answers)
	lines := json.NewDecoder(output)
	for {
		var a answer
		if lines.Decode(&a) != nil {
			return
		}
		select {
		case p.answers <- a:
		case <-p.ending:
			return
		}
	}
}

func (p *process) awaitReady(ctx context.Context) error {
	select {
	case <-ctx.Done():
		p.end(syscall.SIGKILL)
		return ctx.Err()
	case a, ok := <-p.answers:
		if ok && a.Ready {
			return nil
		}
	case <-time.After(startPatience):
	}
	state := p.end(nil)
	return fmt.Errorf("%w: worker %s did not get ready (%s): %s", ErrEnvironment, p.command.Path, state, p.said.String())
}

// do has the worker run a batch, and hands each answer to deliver. It returns the jobs that the worker did not get to,
// and the one that it did not survive. A cancelled batch loses its jobs without a verdict.
func (p *process) do(ctx context.Context, batch []job, hangAfter time.Duration, deliver func(job, answer)) ([]job, *loss) {
	// A failed write means that the worker is gone; its closed answers tell so below, with more to say.
	_ = p.requests.Encode(request{Batch: batch})
	for len(batch) > 0 {
		current := batch[0]
		patience := hangAfter
		if current.Purpose == divergence {
			patience *= divergencePatience
		}
		guard := time.NewTimer(patience)
		select {
		case <-ctx.Done():
			guard.Stop()
			return nil, nil
		case <-guard.C:
			state := p.end(syscall.SIGQUIT)
			return batch[1:], &loss{current, Hang, fmt.Sprintf("no answer within %s; after SIGQUIT: %s", patience, state), p.said.String()}
		case a, ok := <-p.answers:
			guard.Stop()
			if !ok || !a.fits(current) {
				state := p.end(nil) // no signal: how it dies by itself is what one wants to know
				return batch[1:], &loss{current, Died, state, p.said.String()}
			}
			deliver(current, a)
			batch = batch[1:]
		}
	}
	return nil, nil
}

// fits guards against a worker that answers something else than it was asked.
func (a *answer) fits(j job) bool {
	if j.Purpose == divergence {
		return a.Result == nil
	}
	return a.Result != nil && a.Result.Seed == j.Seed && a.Result.Scenario == j.Scenario
}

// end ends the worker with a signal, or by the end of its input alone, and sees to it that it is gone: one that takes
// too long is killed. It returns how the process ended.
func (p *process) end(signal os.Signal) string {
	select {
	case <-p.exited:
		return p.command.ProcessState.String()
	default:
	}
	close(p.ending)
	p.input.Close()
	if signal != nil {
		_ = p.command.Process.Signal(signal) // fails only if the process is gone
	}
	select {
	case <-p.exited:
	case <-time.After(endPatience):
		_ = p.command.Process.Kill()
		<-p.exited
	}
	return p.command.ProcessState.String()
}

// cpu is the processor time of a process that has ended.
func (p *process) cpu() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}
