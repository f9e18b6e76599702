package campaign

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// dumpMaxBytes bounds the stacks that a hung worker writes.
const dumpMaxBytes = 4 << 20

// ServeProcess makes this process a worker: jobs on standard input, answers on standard output. It returns when the
// input ends.
func ServeProcess(c Catalogue) error {
	// Ctrl-C goes to all processes of a terminal. The parent decides what it means; a worker that died of it would
	// look like a failure.
	signal.Ignore(os.Interrupt)
	dumpOnQuit()
	answers := os.Stdout
	os.Stdout = os.Stderr // a stray print must not look like an answer
	return Serve(endWithParent(os.Stdin), answers, c)
}

// endWithParent passes on what a parent writes, and ends this process when the parent is gone. A parent that is killed
// cannot end its workers, and one that hangs in a trial or has a long one before it would not look for a next request.
// A parent that only closes the input waits for answers, and sees to it itself that the worker ends.
func endWithParent(in io.Reader) io.Reader {
	parent := os.Getppid()
	requests, pass := io.Pipe()
	go func() {
		_, err := io.Copy(pass, in)
		pass.CloseWithError(err)
		// The end of input comes a moment before the system names another parent.
		for os.Getppid() == parent {
			time.Sleep(orphanPoll)
		}
		os.Exit(1)
	}()
	return requests
}

// dumpOnQuit answers SIGQUIT with the stacks of all goroutines. The runtime would do so by itself, but on a busy machine
// it sometimes cannot show a goroutine that runs on another thread, and the one that never waits is the one to see.
func dumpOnQuit() {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		<-quit
		stacks := make([]byte, dumpMaxBytes)
		os.Stderr.Write(stacks[:runtime.Stack(stacks, true)])
		os.Exit(2)
	}()
}

// Serve answers jobs until in ends.
func Serve(in io.Reader, out io.Writer, c Catalogue) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{Ready: true}); err != nil {
		return fmt.Errorf("%w: tell the parent: %w", ErrEnvironment, err)
	}
	for {
		var r request
		if err := requests.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: read a request from the parent: %w", ErrEnvironment, err)
		}
		for _, j := range r.Batch {
			a, err := c.do(j)
			if err != nil {
				return err
			}
			if err := answers.Encode(a); err != nil {
				return fmt.Errorf("%w: answer seed %d to the parent: %w", ErrEnvironment, j.Seed, err)
			}
		}
	}
}
