package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/service/messages"
	"lakebed/service/segments"
	"lakebed/trial/campaign"
)

// typed runs a command line with lines on its standard input.
func typed(t *testing.T, input string, arguments ...string) (code int, out, err string) {
	t.Helper()
	var outText, errText bytes.Buffer
	a := &app{catalogue: fakeCatalogue(), in: strings.NewReader(input), out: &outText, err: &errText}
	code = a.run(context.Background(), arguments)
	return code, outText.String(), errText.String()
}

// fine runs a command line that must succeed.
func fine(t *testing.T, input, command string) string {
	t.Helper()
	code, out, err := typed(t, input, strings.Fields(command)...)
	if code != campaign.ExitOK {
		t.Fatalf("%s: exit code %d: %s%s", command, code, out, err)
	}
	return out
}

// TestASegmentLogIsUsedByCommands, first in their own process, then through a server on a unix socket; then it is inspected, damaged, and
// inspected again.
func TestASegmentLogIsUsedByCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "log create access --partitions 1 --dir d")
	if out := fine(t, "one\ntwo\nthree\n", "log append access --dir d --json"); !strings.Contains(out, `"acknowledged": 3`) {
		t.Error(out)
	}
	if out := fine(t, "", "log fetch access --dir d --cursor 1"); out != "two\nthree\n" {
		t.Errorf("%q", out)
	}
	server, _, address := servePage(t, strings.Fields("log serve --dir d --listen 127.0.0.1:8080 --socket s"))
	if code, _, err := typed(t, "", "log", "topics", "--dir", "d"); code != campaign.ExitEnvironment || !strings.Contains(err, "--socket") {
		t.Errorf("a store that another has open: exit code %d: %s", code, err)
	}
	fine(t, "four\nfive\nsix\n", "log append access --partition 0 --pack 2 --source e --socket s")
	var m segments.Message
	out := fine(t, "", "log fetch access --json --cursor 3 --messages 1 --url http://"+address)
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.Cursor != 3 || string(m.Groups[0].Payload) != "four\nfive" || string(m.Groups[0].Source) != "e" {
		t.Errorf("%v: %s", err, out)
	}
	tail := startDaemon("log", "tail", "access", "--cursor", "4", "--socket", "s")
	defer tail.stop()
	awaitText(t, tail, "six\n")
	fine(t, "seven\n", "log append access --socket s")
	awaitText(t, tail, "six\nseven\n")
	if out := fine(t, "", "log topics --url http://"+address); !strings.Contains(out, "access") || !strings.Contains(out, "72h0m0s") {
		t.Error(out)
	}
	if out := fine(t, "", "log alter access --retention 1h --socket s") + fine(t, "", "log health --socket s") + fine(t, "", "log seek access --time 0 --socket s"); !strings.Contains(out, "1h0m0s") ||
		!strings.HasSuffix(out, "ok\n0\n") {
		t.Errorf("%q", out)
	}
	if out := fine(t, "", "log stats --socket s"); !strings.HasPrefix(out, "1 topics, 1 partitions, ") || !strings.Contains(out, " 6 messages") {
		t.Error(out)
	}
	server.stop()
	if code := <-server.code; code != campaign.ExitOK {
		t.Errorf("the server's exit code is %d: %s", code, server.err)
	}
	inspectTwice(t, "d", filepath.Join("d", "mstore", "partition", "access", "0", "0.log"))
}

// TestACommitLogIsUsedByCommands, likewise.
func TestACommitLogIsUsedByCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "mq create orders --queues 2 --dir d --file-bytes 8388608")
	if out := fine(t, "one\ntwo\n", "mq send orders --queue 1 --tag a --key k --dir d"); out != "2 lines acknowledged\n" {
		t.Error(out)
	}
	if out := fine(t, "", "mq pull orders --queue 1 --dir d --offset 1"); out != "two\n" {
		t.Errorf("%q", out)
	}
	server, _, address := servePage(t, strings.Fields("mq serve --dir d --listen 127.0.0.1:8080 --socket s"))
	fine(t, "three\n", "mq send orders --queue 1 --tag b --key k --socket s")
	tail := startDaemon("mq", "tail", "orders", "--queue", "1", "--offset", "2", "--socket", "s")
	defer tail.stop()
	awaitText(t, tail, "three\n") // it is acknowledged before consumers see it
	for began := time.Now(); ; {  // and may be in its queue before it is in the key index
		if out := fine(t, "", "mq query orders k --limit 2 --url http://"+address); out == "three\ntwo\n" {
			break
		} else if out != "two\none\n" || time.Since(began) > 30*time.Second {
			t.Fatalf("%q", out)
		}
	}
	var m messages.Message
	out := fine(t, "", "mq pull orders --queue 1 --tags b --json --socket s")
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.Offset != 2 || m.Tag != "b" || string(m.Body) != "three" {
		t.Errorf("%v: %s", err, out)
	}
	fine(t, "four\n", "mq send orders --queue 1 --socket s")
	awaitText(t, tail, "three\nfour\n")
	fine(t, strings.Repeat("x\n", 100), "mq send orders --socket s")
	if out := fine(t, "", "mq topics --url http://"+address); !strings.Contains(out, "orders  0      0    50\n") || !strings.Contains(out, "orders  1      0    54\n") {
		t.Error(out)
	}
	if out := fine(t, "", "mq offset orders --time 2000-01-01T00:00:00Z --queue 1 --socket s") + fine(t, "", "mq health --socket s"); out != "0\nok\n" {
		t.Errorf("%q", out)
	}
	if out := fine(t, "", "mq stats --socket s"); !strings.Contains(out, "1, with 2 queues") {
		t.Error(out)
	}
	server.stop()
	if code := <-server.code; code != campaign.ExitOK {
		t.Errorf("the server's exit code is %d: %s", code, server.err)
	}
	inspectTwice(t, "d", filepath.Join("d", "commitlog", "00000000000000000000"))
}

// awaitText returns when a command has printed this.
func awaitText(t *testing.T, d *daemonRun, want string) {
	t.Helper()
	for range 3000 {
		if d.out.String() == want {
			return
		}
		if !strings.HasPrefix(want, d.out.String()) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it printed %q, want %q: %s", d.out, want, d.err)
}

// inspectTwice inspects a store that is sound, spoils a byte of a file, and inspects it again.
func inspectTwice(t *testing.T, dir, file string) {
	t.Helper()
	if out := fine(t, "", "inspect "+dir); !strings.HasPrefix(out, "sound: ") {
		t.Error(out)
	}
	var whole struct {
		Problems []any `json:"problems"`
	}
	if out := fine(t, "", "inspect --json "+dir); json.Unmarshal([]byte(out), &whole) != nil || whole.Problems == nil {
		t.Error(out)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{0xff}, 30)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := typed(t, "", "inspect", dir); code != campaign.ExitBroken || !strings.Contains(out, "damage: rot") {
		t.Errorf("a damaged store: exit code %d: %s", code, out)
	}
}

// TestWrongUseOfStoresIsExplained before anything is touched.
func TestWrongUseOfStoresIsExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for command, reason := range map[string]string{
		"log fech":                              "fetch",
		"log topics":                            "which store?",
		"log topics --dir absent":               "no directory absent",
		"log topics --dir . --socket s":         "want one of them",
		"log topics --url ftp://x":              "http://HOST:PORT",
		"log create":                            "the name of a topic",
		"log append a --pack 0 --socket s":      "more than nothing",
		"log fetch a --cursor 1 --time 2":       "one of them",
		"log serve --listen 127.0.0.1:0":        "--dir",
		"log serve --dir d":                     "--listen HOST:PORT",
		"log serve --dir d --listen x":          "HOST:PORT",
		"log serve --dir d --socket s --sync x": "sync mode",
		"mq pul":                                "pull",
		"mq pull a --tags || --socket s":        "want tags",
		"mq query a --socket s":                 "a key",
		"mq offset a --time now --socket s":     "2026-01-31",
		"mq serve --dir d --dir e --socket s":   "one directory",
		"mq serve --dir d --socket s --flush x": "flush mode",

		"mq serve --dir d --socket s --preallocate x":            "want sparse, fallocated",
		"log serve --dir d --socket " + strings.Repeat("x", 108): "more than the 107",
		"mq topics --socket " + strings.Repeat("x", 108):         "more than the 107",
	} {
		code, out, err := simrun(t, strings.Fields(command)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, reason) {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, err)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("wrong use left %v, %v", entries, err)
	}
	if code, _, err := simrun(t, "log", "stats", "--socket", "absent"); code != campaign.ExitEnvironment || !strings.Contains(err, "does a server run there?") {
		t.Errorf("exit code %d: %s", code, err)
	}
}

// TestAPartOfAStoreIsInspectedAsWhatItIs: a file or a directory of a single-node store is not taken for one of a bookie, and a path that is
// no directory is not served.
func TestAPartOfAStoreIsInspectedAsWhatItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "log create access --partitions 1 --dir s")
	fine(t, "one\n", "log append access --dir s")
	fine(t, "", "mq create orders --queues 1 --dir m --file-bytes 8388608")
	fine(t, "one\n", "mq send orders --dir m")
	for path, says := range map[string]string{
		"s/mstore": "1 topics, 1 segments", "s/mstore/partition/access": "1 topics, 1 segments", "s/mstore/partition/access/topic": "1 topics, 1 segments",
		"s/mstore/partition/access/0/0.log": "1 topics, 1 segments", "m/commitlog": "1 messages, 2 log files", "m/checkpoint": "1 messages, 2 log files",
		"m/commitlog/00000000000000000000": "1 messages, ", "m/consumequeue/orders/0": "1 messages, ",
	} {
		if code, out, err := simrun(t, "inspect", path); code != campaign.ExitOK && !strings.Contains(out, "notes") || !strings.Contains(out, says) {
			t.Errorf("%s: exit code %d, %q, %q; want %q", path, code, out, err, says)
		}
	}
	for _, line := range []string{"log serve --listen 127.0.0.1:0", "mq serve --listen 127.0.0.1:0", "log topics", "mq topics"} {
		if code, _, err := simrun(t, append(strings.Fields(line), "--dir", "m/checkpoint")...); code != campaign.ExitUsage || !strings.Contains(err, "no directory") {
			t.Errorf("%s: exit code %d, %q", line, code, err)
		}
	}
}

// TestACommandThatLooksMakesNoStore: neither in an empty directory nor beside a store of the other sort, which inspect would
// then not look at any more.
func TestACommandThatLooksMakesNoStore(t *testing.T) {
	empty := t.TempDir()
	segment, message := t.TempDir(), t.TempDir()
	for _, line := range [][]string{
		{"log", "create", "access", "--dir", segment}, {"mq", "create", "orders", "--dir", message, "--file-bytes", "8388608"},
	} {
		if code, _, said := simrun(t, line...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", line, code, said)
		}
	}
	for _, c := range []struct {
		line []string
		dir  string
		want string
	}{
		{[]string{"log", "topics"}, empty, "holds no segment log"}, {[]string{"mq", "topics"}, empty, "holds no commit log"},
		{[]string{"log", "topics"}, message, "see simrun mq"}, {[]string{"mq", "stats"}, segment, "see simrun log"},
		{[]string{"log", "create", "other"}, message, "see simrun mq"}, {[]string{"mq", "create", "other"}, segment, "see simrun log"},
	} {
		before, err := os.ReadDir(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		code, _, said := simrun(t, append(c.line, "--dir", c.dir)...)
		after, err := os.ReadDir(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		if code != 2 || !strings.Contains(said, c.want) || len(after) != len(before) {
			t.Errorf("%v: exit code %d, %s; %d names in the directory, before %d", c.line, code, said, len(after), len(before))
		}
	}
}

// TestATagThatNobodyCanAskForIsWrongUse, and is told before a store is opened.
func TestATagThatNobodyCanAskForIsWrongUse(t *testing.T) {
	if code, _, said := simrun(t, "mq", "send", "orders", "--tag", "a||b", "--dir", filepath.Join(t.TempDir(), "none")); code != 2 || !strings.Contains(said, "separates the tags") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
