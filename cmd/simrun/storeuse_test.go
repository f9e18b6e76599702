package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"lakebed/trial/campaign"
)

// TestACommandTellsTheWrongServerFromTheRight: every command of a client, asked of a server of the other sort and of one that is none of
// ours, does nothing, is wrong use, and says what serves there and which commands fit.
func TestACommandTellsTheWrongServerFromTheRight(t *testing.T) {
	t.Chdir(t.TempDir())
	_, _, segments := servePage(t, strings.Fields("log serve --dir ms --listen 127.0.0.1:8080"))
	_, _, messages := servePage(t, strings.Fields("mq serve --dir mq --file-bytes 8388608 --listen 127.0.0.1:8080"))
	fine(t, "", "log create a --partitions 1 --url http://"+segments)
	fine(t, "", "mq create a --queues 1 --url http://"+messages)
	foreign := httptest.NewServer(http.NotFoundHandler())
	defer foreign.Close()
	logCommands := []string{"topics", "create b", "alter a --retention 1h", "append a", "fetch a", "tail a", "seek a", "stats", "health"}
	mqCommands := []string{"topics", "create b", "send a", "pull a", "tail a", "query a k", "offset a --time 2026-01-31T12:00:00Z", "stats", "health"}
	for _, c := range []struct {
		commands    []string
		own, other  string
		wrongServer string
		says        string
	}{
		{logCommands, "log", "mq", messages, "this server serves a commit log, and the request is for a segment log"},
		{mqCommands, "mq", "log", segments, "this server serves a segment log, and the request is for a commit log"},
	} {
		for _, command := range c.commands {
			line := c.own + " " + command + " --url "
			for _, server := range []struct{ url, says string }{
				{"http://" + c.wrongServer, c.says}, {"http://" + c.wrongServer, "simrun " + c.other},
				{foreign.URL, "no Lakebed store"}, {foreign.URL, "simrun " + c.own + " serve"},
			} {
				code, out, err := typed(t, "x\n", strings.Fields(line+server.url)...)
				if code != campaign.ExitUsage || strings.Contains(out, "a") && !strings.HasPrefix(out, "0 lines") || !strings.Contains(err, server.says) {
					t.Errorf("%s%s: exit code %d, %q, %q; want %q", line, server.url, code, out, err, server.says)
				}
			}
		}
	}
	if out := fine(t, "", "log stats --url http://"+segments) + fine(t, "", "mq stats --url http://"+messages); !strings.Contains(out, "1 topics, 1 partitions, 0 segments, 0 messages") ||
		!strings.Contains(out, "1, with 1 queues") || !strings.Contains(out, "bytes 0 to 0") {
		t.Errorf("the wrong servers were changed: %s", out)
	}
}

// badInput is a command line that no store can follow, and what is said about it.
type badInput struct{ line, says string }

// badInputs are of every command: what its numbers, names and flags cannot be.
func badInputs() []badInput {
	return []badInput{
		{"log create b --partitions 0", "--partitions 0: must be more"}, {"log create b --partitions -1", "--partitions -1: must be more"},
		{"log create b --partitions 10001", "want 1 to 10000"}, {"log create b --retention 1500ms", "whole seconds"},
		{"log create b --retention -1h", "must not be negative"}, {"log create b --retention-bytes 1", "must hold a segment"},
		{"log create a", "topic exists"}, {"log create ..", `topic name ".."`}, {"log create a/b", `topic name "a/b"`},
		{"log alter a", "alter needs --retention"}, {"log alter a --retention -1s", "must not be negative"}, {"log alter n --retention 1h", "topic n: no such topic"},
		{"log append n", "topic n: no such topic"}, {"log append a --partition 9", "which has 1: no such partition"}, {"log append a --partition -2", "from 0, or -1"},
		{"log append a --pack 0", "more than nothing"},
		{"log fetch n", "topic n: no such topic"}, {"log fetch a --partition 9", "which has 1: no such partition"}, {"log fetch a --partition -1", "--partition -1: must not be negative"},
		{"log fetch a --cursor -5", "--cursor -5: want a number from 0, or -1"}, {"log fetch a --cursor 5", "it ends at 0"}, {"log fetch a --messages -1", "must not be negative"},
		{"log fetch a --cursor 0 --time 1", "want one of them"}, {"log fetch a --time 18446744073709551615", "want a whole number"},
		{"log tail n", "topic n: no such topic"}, {"log tail a --partition 9", "has 1 partitions"}, {"log tail a --cursor -7", "from 0, or -1"}, {"log tail a --cursor 99", "it ends at 0"},
		{"log seek n --time 1", "topic n: no such topic"}, {"log seek a --partition -3", "must not be negative"}, {"log seek a --time 18446744073709551615", "want a whole number"},
		{"log stats --sync always", "--sync is a setting"}, {"log topics --segment-bytes 4096", "--segment-bytes is a setting"},
		{"log stats --free-bytes 0", "--free-bytes is a setting"}, {"log health a", "takes no arguments"},
		{"mq create b --queues 0", "--queues 0: must be more"}, {"mq create b --queues -1", "--queues -1: must be more"}, {"mq create b --queues 1000000", "may have 100000"},
		{"mq create ..", `topic's name ".."`}, {"mq create a/b", `topic's name "a/b"`},
		{"mq send n", "topic n: no such topic"}, {"mq send a --queue 9", "which has 1: no such queue"}, {"mq send a --queue -2", "from 0, or -1"},
		{"mq send a --key=", "without spaces"}, {"mq send a --tag a\x01b", "separator"},
		{"mq pull n", "topic n: no such topic"}, {"mq pull a --queue 9", "which has 1: no such queue"}, {"mq pull a --queue -1", "--queue -1: must not be negative"},
		{"mq pull a --offset -4", "--offset -4: must not be negative"}, {"mq pull a --offset 99", "the queue ends at 0"}, {"mq pull a --count -4", "--count -4: must not be negative"},
		{"mq pull a --tags ||", "want tags"},
		{"mq tail n", "topic n: no such topic"}, {"mq tail a --queue 9", "which has 1: no such queue"}, {"mq tail a --offset -3", "from 0, or -1"}, {"mq tail a --offset 99", "the queue ends at 0"},
		{"mq query n k", "topic n: no such topic"}, {"mq query a k --limit -1", "must not be negative"}, {"mq query a k --limit 65", "from 1 to 64"},
		{"mq offset n --time 2026-01-31T12:00:00Z", "topic n: no such topic"}, {"mq offset a --queue 9 --time 2026-01-31T12:00:00Z", "which has 1: no such queue"},
		{"mq offset a", "want a time such as"}, {"mq offset a --time 1066-01-31T12:00:00Z", "before 1970"}, {"mq offset a --queue -1 --time 2026-01-31T12:00:00Z", "must not be negative"},
		{"mq stats --flush always", "--flush is a setting"}, {"mq topics --file-bytes 8388608", "--file-bytes is a setting"}, {"mq health --preallocate sparse", "--preallocate is a setting"},
	}
}

// TestBadInputOfEveryCommandIsWrongUse: exit code 2, a reason that is said once, and with --json one JSON object on standard error.
func TestBadInputOfEveryCommandIsWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	servePage(t, strings.Fields("log serve --dir ms --listen 127.0.0.1:8080 --socket log.sock"))
	servePage(t, strings.Fields("mq serve --dir mq --file-bytes 8388608 --listen 127.0.0.1:8080 --socket mq.sock"))
	fine(t, "", "log create a --partitions 1 --socket log.sock")
	fine(t, "", "mq create a --queues 1 --socket mq.sock")
	for _, bad := range badInputs() {
		arguments := append(strings.Fields(bad.line), "--socket", strings.Fields(bad.line)[0]+".sock")
		code, _, said := typed(t, "x\n", arguments...)
		reason, see, _ := strings.Cut(said, "\nsee: simrun ")
		if code != campaign.ExitUsage || !strings.Contains(said, bad.says) || see == "" {
			t.Errorf("%s: exit code %d, %q; want %q", bad.line, code, said, bad.says)
		}
		if again := saidTwice(strings.TrimPrefix(reason, "simrun: ")); again != "" {
			t.Errorf("%s: %q is said twice: %s", bad.line, again, said)
		}
		code, _, told := typed(t, "x\n", append(arguments, "--json")...)
		var object struct {
			Error string `json:"error"`
			Code  int    `json:"exit_code"`
			See   string `json:"see"`
		}
		if err := json.Unmarshal([]byte(told), &object); err != nil || code != campaign.ExitUsage || object.Code != code || "simrun: "+object.Error != reason || object.See == "" {
			t.Errorf("%s --json: exit code %d, %v: %s", bad.line, code, err, told)
		}
	}
	if out := fine(t, "", "log stats --socket log.sock") + fine(t, "", "mq stats --socket mq.sock"); !strings.Contains(out, "1 topics, 1 partitions, 0 segments, 0 messages") || !strings.Contains(out, "1, with 1 queues") {
		t.Errorf("bad input has changed something: %s", out)
	}
}

// saidTwice is a part of a chain of errors that stands in it twice; empty if none does.
func saidTwice(chain string) string {
	seen := map[string]bool{}
	for _, part := range strings.Split(chain, ": ") {
		if seen[part] {
			return part
		}
		seen[part] = true
	}
	return ""
}

// TestAFlagWithoutItsValueIsRefused: a script whose variable is not set must not lose its page, or reach another store, in silence.
func TestAFlagWithoutItsValueIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("r.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"replay 1 --html=", "replay 1 --model=", "report r.json --html=", "report r.json --markdown=", "report r.json --out=", "campaign --jsonl=", "campaign --junit=",
		"log topics --dir=", "log topics --url=", "mq topics --socket=", "mq serve --dir d --listen=",
	} {
		flag := line[strings.LastIndex(line, "--") : len(line)-1]
		if code, out, err := simrun(t, strings.Fields(line)...); code != campaign.ExitUsage || out != "" || !strings.Contains(err, fmt.Sprintf("%s is given without a value", flag)) {
			t.Errorf("%s: exit code %d, %q, %q", line, code, out, err)
		}
	}
}

// TestTooFewFilesAreToldBeforeAnythingBegins: without that Go's runtime ends the program with its own stack and exit code 2.
func TestTooFewFilesAreToldBeforeAnythingBegins(t *testing.T) {
	c := exec.Command("bash", "-c", `ulimit -n 8; exec "$0" replay 1`, os.Args[0])
	out, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != campaign.ExitEnvironment || !strings.Contains(string(out), "may open 8 files") {
		t.Errorf("%v: %s", err, out)
	}
}
