package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lakebed/trial/campaign"
)

// TestWrongUseOfProcessesIsExplained before anything is touched.
func TestWrongUseOfProcessesIsExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for command, reason := range map[string]string{
		"bookie":                                   "--data",
		"bookie --data d --address here":           "HOST:PORT",
		"bookie --data d --address a:0":            "connect to",
		"bookie --data d --address a:99999":        "65535",
		"bookie --data d --address 0.0.0.0:3181":   "connect to",
		"bookie --data d --address [::]:3181":      "connect to",
		"bookie --data d --metadata x":             "HOST:PORT",
		"bookie --data d --set flushIntervl=":      "did you mean flushInterval?",
		"bookie --data d --set journalMaxSizeMB=1": "journal file size",
		"bookie --data d --config absent":          "absent",
		"bookie --data d --log-format xml":         "text or json",
		"bookie --data d --log-level loud":         "debug, info",
		"bookie d":                                 "takes no arguments",
		"bookie --dta d":                           "did you mean --data?",
		"metadata --listen 2181":                   "HOST:PORT",
		"metadata now":                             "takes no arguments",
		"ledger lst":                               "list",
		"ledger read":                              "id of one ledger",
		"ledger read x":                            "whole number",
		"ledger read 1 --from 5 --to 3":            "not fall",
		"death --rounds 0":                         "positive",
		"death --dir .. --rounds 1":                "is not empty",
		"death now":                                "takes no arguments",
	} {
		code, out, err := simrun(t, strings.Fields(command)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, reason) {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, err)
		}
	}
}

// TestSettingsAreListed with the names of bookkeeper.conf, for readers and for programs.
func TestSettingsAreListed(t *testing.T) {
	code, out, _ := simrun(t, "bookie", "--settings")
	if code != campaign.ExitOK || !strings.Contains(out, "\njournalMaxSizeMB ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	code, out, _ = simrun(t, "bookie", "--settings", "--json")
	var listed struct {
		Settings []struct{ Name, Default, About string }
	}
	if err := json.Unmarshal([]byte(out), &listed); code != campaign.ExitOK || err != nil || len(listed.Settings) < 20 || listed.Settings[0].Name == "" {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

// output is a buffer that a daemon writes to while a test reads it.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// daemonRun is a daemon of simrun in this process.
type daemonRun struct {
	out, err *output
	stop     context.CancelFunc
	code     chan int
}

func startDaemon(arguments ...string) *daemonRun {
	ctx, stop := context.WithCancel(context.Background())
	d := &daemonRun{out: &output{}, err: &output{}, stop: stop, code: make(chan int, 1)}
	a := &app{catalogue: fakeCatalogue(), out: d.out, err: d.err}
	go func() { d.code <- a.run(ctx, arguments) }()
	return d
}

// address is what the daemon announces.
func (d *daemonRun) address() (string, error) {
	for range 3000 {
		if words := strings.Fields(d.out.String()); len(words) > 3 {
			return words[2], nil
		}
		select {
		case code := <-d.code:
			return "", fmt.Errorf("it ended with exit code %d: %s", code, d.err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", errors.New("it does not serve: " + d.err.String())
}

// freeAddress is an address that nobody listens on.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestANewcomersStore: a metadata store and a bookie of the command line, and every command on ledgers against them.
func TestANewcomersStore(t *testing.T) {
	metadata := startDaemon("metadata", "--listen", "127.0.0.1:0")
	store, err := metadata.address()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(metadata.err.String(), "in memory only") {
		t.Errorf("it does not warn: %s", metadata.err)
	}
	bookie := startDaemon("bookie", "--data", t.TempDir(), "--address", freeAddress(t), "--metadata", store, "--initialize",
		"--set", "journalMaxSizeMB=16", "--set", "dbStorage_writeCacheMaxSizeMb=16", "--log-format", "json")
	address, err := bookie.address()
	if err != nil {
		t.Fatal(err)
	}
	single := []string{"--ensemble", "1", "--write-quorum", "1", "--ack-quorum", "1"}
	for _, c := range []struct {
		line  string
		stdin string
		want  string
		code  int
	}{
		{"create", "", "CLOSED", campaign.ExitOK},
		{"append", "one\ntwo\nthree", "3 entries, 11 bytes, closed", campaign.ExitOK},
		{"append --leave-open --json", "kept\nlast\n", `"entries": 2`, campaign.ExitOK},
		{"list", "", "1       CLOSED  3        11     1/1/1    1", campaign.ExitOK},
		{"read 1", "", "one\ntwo\nthree\n", campaign.ExitOK},
		{"read 1 --from 1 --to 1 --json", "", "{\"entry\":1,\"text\":\"two\"}\n", campaign.ExitOK},
		{"read 1 --to 3", "", "", campaign.ExitUsage},
		{"read 1 --from 3", "", "", campaign.ExitUsage},
		{"read 2", "", "", campaign.ExitOK},
		{"tail 1 --from 2", "", "three\n", campaign.ExitOK},
		{"show 2 --json", "", `"state": "OPEN"`, campaign.ExitOK},
		{"recover 2", "", "entries       2, 8 bytes", campaign.ExitOK},
		{"read 2 --password wrong", "", "", campaign.ExitUsage},
		{"delete 2", "", "ledger 2 is deleted", campaign.ExitOK},
		{"show 2", "", "", campaign.ExitUsage},
		{"append --ensemble 2 --write-quorum 2 --ack-quorum 2 --wait 100ms", "", "", campaign.ExitEnvironment},
		{"append --digest md5", "", "", campaign.ExitUsage},
	} {
		arguments := append([]string{"ledger", "--metadata", store}, strings.Fields(c.line)...)
		if !strings.Contains(c.line, "--ensemble") && (strings.HasPrefix(c.line, "append") || c.line == "create") {
			arguments = append(arguments, single...)
		}
		var out, errText bytes.Buffer
		a := &app{catalogue: fakeCatalogue(), out: &out, err: &errText, in: strings.NewReader(c.stdin)}
		if code := a.run(t.Context(), arguments); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("ledger %s: exit code %d, %q, %q", c.line, code, out.String(), errText.String())
		}
		if c.line == "read 2" && !strings.Contains(errText.String(), "ledger 2 is open: 0 of its entries") {
			t.Errorf("of an open ledger it says %q", errText.String())
		}
	}
	checkInterruptedAppend(t, append([]string{"ledger", "--metadata", store, "append"}, single...))
	for _, d := range []struct {
		run  *daemonRun
		name string
	}{{bookie, "bookie " + address}, {metadata, "metadata " + store}} {
		d.run.stop()
		if code := <-d.run.code; code != campaign.ExitOK || !strings.Contains(d.run.out.String(), "stopped "+d.name) {
			t.Errorf("%s: exit code %d, %s, %s", d.name, code, d.run.out, d.run.err)
		}
	}
	if !json.Valid([]byte(strings.SplitN(bookie.err.String(), "\n", 2)[0])) {
		t.Errorf("the log is no JSON: %s", bookie.err)
	}
}

// checkInterruptedAppend: what was read is safe and closed, and the exit code tells it from a whole input.
func checkInterruptedAppend(t *testing.T, arguments []string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	input, typed := io.Pipe()
	var out, errText bytes.Buffer
	a := &app{catalogue: fakeCatalogue(), out: &out, err: &errText, in: input}
	code := make(chan int, 1)
	go func() { code <- a.run(ctx, arguments) }()
	if _, err := typed.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if got := <-code; got != campaign.ExitEnvironment || !strings.HasSuffix(out.String(), "closed\n") {
		t.Errorf("an interrupted append: exit code %d, %q, %q", got, out.String(), errText.String())
	}
}

// TestNoMetadataStoreIsSaidAtOnce by every command on ledgers, with the address and what to do; append and create say that
// they wait, and the same again in the end.
func TestNoMetadataStoreIsSaidAtOnce(t *testing.T) {
	nobody := freeAddress(t)
	reason := "connect to metadata store " + nobody + ": connection refused"
	for _, line := range []string{"list", "show 0", "read 0", "tail 0", "recover 0", "delete 0", "create --wait 0", "append --wait 0"} {
		begun := time.Now()
		code, out, err := simrun(t, append([]string{"ledger", "--metadata", nobody}, strings.Fields(line)...)...)
		if took := time.Since(begun); code != campaign.ExitEnvironment || out != "" || strings.Count(err, reason) != 1 || took > metadataPatience {
			t.Errorf("%s: exit code %d after %v, %q, %q", line, code, took, out, err)
		}
	}
	for _, line := range []string{"create --wait 300ms", "append --wait 300ms"} {
		code, out, err := simrun(t, append([]string{"ledger", "--metadata", nobody}, strings.Fields(line)...)...)
		if code != campaign.ExitEnvironment || out != "" || strings.Count(err, reason) != 2 || !strings.Contains(err, "waiting 300ms") {
			t.Errorf("%s: exit code %d, %q, %q", line, code, out, err)
		}
	}
}

// TestABookieThatNeverServedClaimsNothing: it was in no metadata store that it could have left.
func TestABookieThatNeverServedClaimsNothing(t *testing.T) {
	d := startDaemon("bookie", "--data", t.TempDir(), "--address", "127.0.0.1:1", "--metadata", "127.0.0.1:2", "--log-level", "error")
	time.Sleep(50 * time.Millisecond) // so that it has begun to wait for the store; were it too short, the outcome would be the same
	d.stop()
	if code := <-d.code; code != campaign.ExitOK || d.out.String() != "stopped bookie 127.0.0.1:1 before it served\n" {
		t.Errorf("exit code %d: %q, %s", code, d.out, d.err)
	}
}
