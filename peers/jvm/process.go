package jvm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	startPatience = 5 * time.Minute // a machine that does much else needs minutes
	stopPatience  = 20 * time.Second
	lookInterval  = 50 * time.Millisecond
	logTailBytes  = 2000 // of a broker that did not start, shown in the error
)

// process is one JVM.
type process struct {
	command *exec.Cmd
	log     string // file
	ended   chan struct{}
}

// startProcess runs java with its output in a file. The kernel kills it when the thread that started it ends, so that thread
// stays until the process has ended: it dies with this program, however that ends.
func startProcess(dir, name string, environment []string, arguments ...string) (*process, error) {
	p := &process{command: exec.Command("java", arguments...), log: filepath.Join(dir, name+".out"), ended: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("make the log of %s: %w", name, err)
	}
	p.command.Dir, p.command.Stdout, p.command.Stderr = dir, out, out
	p.command.Env = append(os.Environ(), environment...)
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // how it ended is in its log
		}
		_ = out.Close()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// await waits until ready says so, the process ends, or patience does.
func (p *process) await(ctx context.Context, ready func() bool) error {
	for deadline := time.Now().Add(startPatience); !ready(); {
		select {
		case <-p.ended:
			return fmt.Errorf("it ended at once; it said:\n%s", p.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookInterval):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it is not ready after %v; it said:\n%s", startPatience, p.tail())
		}
	}
	return nil
}

func (p *process) said(words string) bool {
	text, err := os.ReadFile(p.log)
	return err == nil && strings.Contains(string(text), words)
}

func (p *process) tail() string {
	text, _ := os.ReadFile(p.log) // what cannot be read is not shown
	return string(text[max(0, len(text)-logTailBytes):])
}

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// freePorts finds ports that nobody listens on, count of them in a row.
func freePorts(count int) (first int, err error) {
	const attempts = 100
	for range attempts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("look for a free port: %w", err)
		}
		first = l.Addr().(*net.TCPAddr).Port
		held := []net.Listener{l}
		for i := 1; i < count; i++ {
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i)); err != nil {
				break
			}
			held = append(held, l)
		}
		for _, l := range held {
			err = errors.Join(err, l.Close())
		}
		if err == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("there are no %d free ports in a row", count)
}

func listens(port int) bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
