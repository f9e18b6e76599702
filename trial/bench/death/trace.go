package death

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/trial/bench/death/calls"
	"lakebed/trial/bench/processes"
	"lakebed/trial/bench/processes/daemon"
)

// Defaults of a trace.
const (
	TraceEntriesDefault  = 500
	TraceInFlightDefault = 20
	traceFlushMax        = 20 * time.Second // until strace has written its last line, after the bookie's end
	tracePoll            = 20 * time.Millisecond
)

// ErrNoTrace says that a trace shows less than was done.
var ErrNoTrace = errors.New("the trace is not complete")

// TraceOptions say which bookie to trace.
type TraceOptions struct {
	Executable string // simrun; empty: this program
	Dir        string // for what the bookie keeps, and the trace
	Seed       uint64
	Entries    ledger.EntryID // to write; zero: TraceEntriesDefault
	InFlight   int            // zero: TraceInFlightDefault
	Env        []string       // of the bookie: how a planted bug is chosen
}

// Traced is what a trace showed.
type Traced struct {
	calls.Report
	File string `json:"trace"`
}

// WriteText prints a headline and what was found.
func (t *Traced) WriteText(w io.Writer) error {
	verdict := "every acknowledgement waited for the disk"
	if len(t.Violations) > 0 {
		verdict = fmt.Sprintf("BROKEN: %d acknowledgements did not wait for the disk", len(t.Violations))
	}
	_, err := fmt.Fprintf(w, "%s: %d entries acknowledged, in %d writes to the journal and %d syncs of it\n", verdict, t.Acknowledged, t.Writes, t.Syncs)
	for _, v := range t.Violations[:min(len(t.Violations), findingsMax)] {
		_, err = fmt.Fprintln(w, v)
	}
	if more := len(t.Violations) - findingsMax; more > 0 {
		_, err = fmt.Fprintf(w, "and %d further ones\n", more)
	}
	return err
}

// Trace runs one bookie under strace, writes a ledger to it, and checks in which order it wrote, synced and acknowledged.
func Trace(ctx context.Context, o TraceOptions) (Traced, error) {
	if o.Entries == 0 {
		o.Entries = TraceEntriesDefault
	}
	if o.InFlight == 0 {
		o.InFlight = TraceInFlightDefault
	}
	traced := Traced{File: filepath.Join(o.Dir, "trace.txt")}
	if err := calls.Available(); err != nil {
		return traced, err
	}
	settings := bookieSettings()
	settings["journalMaxSizeMB"], settings["journalBufferedWritesThreshold"] = "9", "16384" // short groups, printed whole
	cluster, err := processes.Start(ctx, processes.Options{
		Executable: o.Executable, Dir: o.Dir, Bookies: 1, Settings: settings, Env: o.Env,
		Command: func(role daemon.Role, _ int, line []string) []string {
			if role != daemon.Bookie {
				return line
			}
			return calls.Strace(traced.File, line)
		},
	})
	if err != nil {
		return traced, err
	}
	watched := calls.Bookie{
		Address: cluster.BookieAddress(0), Journal: journalDir(cluster.BookieDir(0)),
		Find: func(data []byte) []calls.Key { return EntriesIn(o.Seed, data) },
	}
	pid := cluster.BookiePID(0)
	acked, err := o.write(ctx, cluster.MetadataAddress())
	if err = errors.Join(err, cluster.Close()); err != nil {
		return traced, err
	}
	if traced.Report, err = readTrace(ctx, traced.File, pid, watched); err != nil {
		return traced, err
	}
	if traced.Acknowledged != acked {
		return traced, fmt.Errorf("%w: the writer has %d acknowledgements, the trace %d", ErrNoTrace, acked, traced.Acknowledged)
	}
	return traced, nil
}

// journalDir is where a bookie has its journal, as the kernel calls it.
func journalDir(data string) string {
	path := filepath.Join(data, bookie.JournalVolume)
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// write writes a ledger that lies on one bookie, and returns how many entries were acknowledged.
func (o *TraceOptions) write(ctx context.Context, metadata string) (acked int, err error) {
	said, says := io.Pipe()
	counted := make(chan int, 1)
	go func() {
		n := 0
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), wordAcked+" ") {
				n++
			}
		}
		counted <- n
	}()
	err = Write(ctx, WriterOptions{
		Metadata: metadata, Seed: o.Seed, InFlight: o.InFlight, Entries: o.Entries, Quorum: ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1},
	}, says)
	_ = says.Close() // of a pipe in memory
	acked = <-counted
	if err == nil && acked != int(o.Entries) {
		err = fmt.Errorf("%d of %d entries were acknowledged", acked, o.Entries)
	}
	return acked, err
}

// readTrace waits until strace has told the end of the bookie, and checks what it told.
func readTrace(ctx context.Context, path string, pid int, b calls.Bookie) (calls.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, traceFlushMax)
	defer cancel()
	for last := strconv.Itoa(pid); ; pause(ctx, tracePoll) {
		text, err := os.ReadFile(path)
		if err != nil {
			return calls.Report{}, err
		}
		if endsWith(text, last) {
			all, err := calls.Parse(bytes.NewReader(text))
			if err != nil {
				return calls.Report{}, err
			}
			return calls.Check(all, b)
		}
		if ctx.Err() != nil {
			return calls.Report{}, fmt.Errorf("%w: it does not tell the bookie's end", ErrNoTrace)
		}
	}
}

// endsWith says whether a trace's last line is the end of a process.
func endsWith(text []byte, pid string) bool {
	end := bytes.TrimSuffix(text, []byte("\n"))
	line := string(end[bytes.LastIndexByte(end, '\n')+1:])
	return len(end) < len(text) && strings.HasPrefix(line, pid+" ") && strings.Contains(line, "+++")
}

// EntriesIn finds the whole entries among bytes. Payloads begin with their seed, ledger and entry.
func EntriesIn(seed uint64, data []byte) []calls.Key {
	mark := binary.BigEndian.AppendUint64(nil, seed)
	var found []calls.Key
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], mark)
		if next < 0 || len(data) < at+next+payloadBytesMin {
			return found
		}
		at += next
		key := calls.Key{
			Ledger: ledger.ID(binary.BigEndian.Uint64(data[at+8:])), Entry: ledger.EntryID(binary.BigEndian.Uint64(data[at+16:])),
		}
		if bytes.HasPrefix(data[at:], Payload(seed, key.Ledger, key.Entry)) {
			found = append(found, key)
		}
	}
}
