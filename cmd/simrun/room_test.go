package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/service/messages"
	"lakebed/trial/campaign"
)

// TestFreeBytesSayWhenADirectoryIsFull: with a bound above what there is nothing is taken, and it is said; with none all is; below zero is
// wrong use.
func TestFreeBytesSayWhenADirectoryIsFull(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "log create access --partitions 1 --dir s --free-bytes 0")
	const much = " --free-bytes 4611686018427387904"
	for line, says := range map[string]string{"log append access --dir s": "less than 4611686018427387904", "log health --dir s": "no directory is in service"} {
		if code, _, said := typed(t, "one\n", strings.Fields(line+much)...); code != campaign.ExitEnvironment || !strings.Contains(said, says) {
			t.Errorf("%s: exit code %d, %q", line, code, said)
		}
	}
	if out := fine(t, "", "log fetch access --dir s"+much); out != "" {
		t.Errorf("%q", out)
	}
	fine(t, "one\n", "log append access --dir s --free-bytes 0")
	if out := fine(t, "", "log fetch access --dir s"+much); out != "one\n" {
		t.Errorf("%q", out)
	}
	if code, _, said := typed(t, "", strings.Fields("log health --dir s --free-bytes -1")...); code != campaign.ExitUsage || !strings.Contains(said, "free space -1") {
		t.Errorf("below zero: exit code %d, %q", code, said)
	}
}

// TestWhatAStartCutsOffIsInTheStats: how many bytes, in words and as JSON.
func TestWhatAStartCutsOffIsInTheStats(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "mq create orders --queues 1 --dir m --file-bytes 8388608")
	fine(t, strings.Repeat("one\n", 9), "mq send orders --dir m")
	if out := fine(t, "", "mq stats --dir m --json"); !strings.Contains(out, `"cut": 0`) {
		t.Error(out)
	}
	for _, name := range []string{"checkpoint", "checkpoint-b"} { // or it would be known what is durable
		if err := os.Remove(filepath.Join("m", name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join("m", "commitlog", "00000000000000000000"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("rotten"), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	server, _, _ := servePage(t, strings.Fields("mq serve --dir m --listen 127.0.0.1:8080 --socket s"))
	defer server.stop()
	var stats messages.Stats
	if err := json.Unmarshal([]byte(fine(t, "", "mq stats --socket s --json")), &stats); err != nil || stats.Cut <= 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if out := fine(t, "", "mq stats --socket s"); !strings.Contains(out, fmt.Sprintf("%d bytes at its end, which the start found damaged", stats.Cut)) {
		t.Error(out)
	}
}
