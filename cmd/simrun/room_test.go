package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"lakebed/trial/campaign"
)

// TestACommitLogThatIsLargerThanItsVolumeSaysSo: create and health name what there is no room for and what to do, and both end with exit
// code 3, as send does. Nothing of the sort is said of one that fits.
func TestACommitLogThatIsLargerThanItsVolumeSaysSo(t *testing.T) {
	const huge = 1 << 43
	t.Chdir(t.TempDir())
	var volume syscall.Statfs_t
	if err := syscall.Statfs(".", &volume); err != nil || int64(volume.Bavail)*volume.Bsize >= huge {
		t.Skipf("a volume that holds a log file of 8 TiB: %v", err)
	}
	for _, c := range []struct {
		line, out, says string
	}{
		{"mq create orders --queues 1 --dir m", "topic", "topic orders is made, and the store takes no message: prepare log file 00000000000000000000"},
		{"mq create orders --queues 1 --dir m", "topic", "--file-bytes"},
		{"mq health --dir m", "full\n", "the store takes no message: prepare log file"},
		{"mq health --json --dir m", `"why": "prepare log file`, "no space left"},
		{"mq send orders --dir m", "0 lines", "no space left"},
	} {
		code, out, said := typed(t, "one\n", strings.Fields(c.line+" --file-bytes 8796093022208")...)
		if code != campaign.ExitEnvironment || !strings.Contains(out, c.out) || !strings.Contains(said, c.says) || strings.Count(said, "environment failed") != 1 {
			t.Errorf("%s: exit code %d, %q, %q", c.line, code, out, said)
		}
	}
	if err := os.RemoveAll("m"); err != nil {
		t.Fatal(err)
	}
	fine(t, "", "mq create orders --queues 1 --dir m --file-bytes 8388608")
	if out := fine(t, "", "mq health --dir m"); out != "ok\n" {
		t.Errorf("%q", out)
	}
}
