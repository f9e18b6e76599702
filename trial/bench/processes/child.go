package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What is kept of a child.
const (
	saidBytesMax = 16 << 10        // the end of its standard error
	outputDelay  = 5 * time.Second // that its output may stay open, in somebody else's hands, after its end
)

// ErrEnded says that a child has ended when it should not have.
var ErrEnded = errors.New("process has ended")

// Child is a process that was started.
type Child struct {
	// Stdout is what the child writes to standard output. Whoever reads it ends at io.EOF, after the child's end.
	Stdout io.Reader

	name    string
	command *exec.Cmd
	pipe    *os.File
	said    *tail
	ended   chan struct{} // closed when err is set
	err     error         // of the wait for it
}

// launch starts a child on the nursery's thread. It dies with this process, and in a process group of its own.
func (n *nursery) launch(name string, line, environment []string, stderr io.Writer) (*Child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &Child{Stdout: read, name: name, pipe: read, said: &tail{next: stderr}, ended: make(chan struct{})}
	c.command = exec.Command(line[0], line[1:]...)
	c.command.Env = append(os.Environ(), environment...)
	c.command.Stdout, c.command.Stderr = write, c.said
	c.command.WaitDelay = outputDelay
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = n.do(c.command.Start)
	_ = write.Close() // the child has its own
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		c.err = c.command.Wait()
		close(c.ended)
	}()
	return c, nil
}

// PID is the child's process number.
func (c *Child) PID() int { return c.command.Process.Pid }

// Signal sends a signal. It is no error that the child has ended.
func (c *Child) Signal(s os.Signal) error {
	if err := c.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", c.name, err)
	}
	return nil
}

// Ended is closed when the child has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Wait waits for the child's end, and returns nil if its exit code is 0, or why it was not.
func (c *Child) Wait(ctx context.Context) error {
	select {
	case <-c.ended:
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", c.name, ctx.Err())
	}
	if c.err != nil {
		return fmt.Errorf("%w: %s: %w%s", ErrEnded, c.name, c.err, c.Said())
	}
	return nil
}

// Said is the end of what the child wrote to standard error, on lines of its own; empty if that is nothing.
func (c *Child) Said() string {
	text := c.said.text()
	if text == "" {
		return ""
	}
	return "\n" + text
}

// Consumed is the processor time that the child has taken, until now or until its end. The kernel counts it in
// hundredths of a second.
func (c *Child) Consumed() time.Duration {
	select {
	case <-c.ended:
		return c.command.ProcessState.UserTime() + c.command.ProcessState.SystemTime()
	default:
		used, _ := consumedBy(c.PID()) // it may be ending just now
		return used
	}
}

// close gives the pipe back. The child has ended.
func (c *Child) close() { _ = c.pipe.Close() }

// tail keeps the end of what is written to it, and passes it on.
type tail struct {
	next io.Writer

	mutex sync.Mutex
	kept  []byte
}

// Write never fails: a child must not die of whoever looks at its log.
func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = append(t.kept, p...)
	if more := len(t.kept) - saidBytesMax; more > 0 {
		t.kept = append(t.kept[:0], t.kept[more:]...)
	}
	if t.next != nil {
		_, _ = t.next.Write(p)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return strings.TrimSpace(string(t.kept))
}
