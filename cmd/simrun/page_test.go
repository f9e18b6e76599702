package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/trial/campaign"
)

// block is one block of a page that is set apart as code.
type block struct {
	kind string // what stands behind the marks
	text string
	line int
}

// blocksOf cuts a page.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for n, line := range strings.Split(string(text), "\n") {
		switch kind, fence := strings.CutPrefix(line, "```"); {
		case fence && inside:
			inside = false
		case fence:
			inside = true
			blocks = append(blocks, block{kind: kind, line: n + 1})
		case inside:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	return blocks
}

// ofTheMoment are members of answers that no page can know.
var ofTheMoment = []string{"stored_millis", "born_millis", "born_host"}

// settled replaces what only the moment knows by what kind of thing it is.
func settled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = settled(value); slices.Contains(ofTheMoment, name) {
				v[name] = fmt.Sprintf("%T", value)
			}
		}
	case []any:
		for i := range v {
			v[i] = settled(v[i])
		}
	}
	return v
}

// TestThePageOfCurlIsTrue: every command of docs/http.md is run, by bash and curl, against the servers that the page starts, over TCP and
// unix sockets, and prints what the page says. Then the servers end in good order.
func TestThePageOfCurlIsTrue(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: the commands of docs/http.md: %s is not installed", tool)
		}
	}
	blocks := blocksOf(t, filepath.Join("..", "..", "docs", "http.md"))
	t.Chdir(t.TempDir())
	var servers []*daemonRun
	ports := strings.NewReplacer()
	commands, answers := 0, 0
	var replaced []string
	for i, b := range blocks {
		if b.kind != "sh" {
			continue
		}
		if arguments, ok := strings.CutPrefix(b.text, "simrun "); ok {
			d, from, to := servePage(t, strings.Fields(strings.TrimSuffix(strings.TrimSpace(arguments), "&")))
			servers = append(servers, d)
			replaced = append(replaced, from, to)
			ports = strings.NewReplacer(replaced...)
			continue
		}
		commands++
		out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", ports.Replace(b.text)).Output()
		if err != nil {
			t.Fatalf("line %d: %v\n%s", b.line, err, b.text)
		}
		if i+1 == len(blocks) || blocks[i+1].kind != "json" {
			t.Errorf("line %d: the page does not say what this prints: %s", b.line, out)
			continue
		}
		answers++
		var got, want any
		if err := json.Unmarshal([]byte(blocks[i+1].text), &want); err != nil {
			t.Errorf("line %d: %v", blocks[i+1].line, err)
		} else if err := json.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(settled(got), settled(want)) {
			t.Errorf("line %d: %v, it prints\n%s", b.line, err, out)
		}
	}
	if len(servers) != 2 || commands < 15 || answers != commands {
		t.Errorf("%d servers, %d commands and %d answers: the page was not understood", len(servers), commands, answers)
	}
	for _, d := range servers {
		d.stop()
		if code := <-d.code; code != campaign.ExitOK || !strings.Contains(d.out.String(), "stopped") {
			t.Errorf("exit code %d: %s%s", code, d.out, d.err)
		}
	}
}

// servePage starts a server as the page does, but for its port, and returns the page's address and the one that it has.
func servePage(t *testing.T, arguments []string) (d *daemonRun, from, to string) {
	t.Helper()
	for i := range arguments {
		if arguments[i] == "--listen" {
			from, arguments[i+1] = arguments[i+1], "127.0.0.1:0"
		}
	}
	d = startDaemon(arguments...)
	t.Cleanup(d.stop)
	for range 3000 {
		if _, rest, ok := strings.Cut(d.out.String(), "http://"); ok {
			return d, from, strings.Fields(rest)[0]
		}
		select {
		case code := <-d.code:
			t.Fatalf("%s ended with exit code %d: %s", arguments, code, d.err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not serve: %s", arguments, d.err)
	return nil, "", ""
}
