package death

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"lakebed/engine/bookkeeper/ledger"
)

// errWriterSaid says that a writer process wrote a line that it should not have.
var errWriterSaid = errors.New("the writer said")

// acks collects what a writer process says, and logs it before anything else. Its goroutine ends with the writer's output.
type acks struct {
	log   io.WriteCloser
	begun chan struct{} // closed at the first acknowledgement, or at the end
	done  chan struct{} // closed at the end

	mutex  sync.Mutex
	ledger ledger.ID
	last   ledger.EntryID // acknowledged
	ended  string
	err    error
}

// noLedger stands for a ledger that was not told of.
const noLedger ledger.ID = -1

// collect reads a writer's output, and appends acknowledgements to the log at path.
func collect(output io.Reader, path string) (*acks, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log acknowledgements: %w", err)
	}
	a := &acks{log: log, begun: make(chan struct{}), done: make(chan struct{}), ledger: noLedger, last: ledger.NoEntry}
	go a.read(bufio.NewReaderSize(output, 64<<10))
	return a, nil
}

func (a *acks) read(lines *bufio.Reader) {
	defer close(a.done)
	defer a.log.Close()
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // a line without an end was cut by a kill, and nothing of it counts
			break
		}
		if _, err := io.WriteString(a.log, line); err != nil {
			a.fail(fmt.Errorf("log acknowledgements: %w", err))
		}
		if err := a.take(strings.TrimSuffix(line, "\n")); err != nil {
			a.fail(err)
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.last == ledger.NoEntry {
		close(a.begun)
	}
}

// take understands one line. Acknowledgements come in the order of entries, each once.
func (a *acks) take(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if word == wordEnded {
		a.ended = rest
		return nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil || n < 0:
		return fmt.Errorf("%w: %q", errWriterSaid, line)
	case word == wordLedger && a.ledger == noLedger:
		a.ledger = ledger.ID(n)
	case word == wordAcked && a.ledger != noLedger && ledger.EntryID(n) == a.last+1:
		if a.last == ledger.NoEntry {
			close(a.begun)
		}
		a.last++
	default:
		return fmt.Errorf("%w: %q, when entry %d of ledger %d was acknowledged last", errWriterSaid, line, a.last, a.ledger)
	}
	return nil
}

func (a *acks) fail(err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// heard is what has been said so far.
type heard struct {
	ledger ledger.ID
	last   ledger.EntryID
	ended  string
	err    error
}

func (a *acks) heard() heard {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return heard{a.ledger, a.last, a.ended, a.err}
}
