package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/trial/campaign"
)

// TestATakenAddressIsRefusedBeforeTheStoreIsOpened: exit code 3 that says so, and nothing on disk is made or changed, of a store that is
// there or not; nobody's socket is taken.
func TestATakenAddressIsRefusedBeforeTheStoreIsOpened(t *testing.T) {
	t.Chdir(t.TempDir())
	fine(t, "", "log create access --partitions 1 --dir old-log")
	fine(t, "one\n", "log append access --dir old-log")
	fine(t, "", "mq create orders --queues 1 --dir old-mq --file-bytes 8388608")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close() //nolint:errcheck // nothing came in
	unix, err := net.Listen("unix", "taken.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close() //nolint:errcheck // nothing came in
	before := tree(t)
	for _, line := range []string{"log serve --dir old-log", "mq serve --dir old-mq", "log serve --dir new", "mq serve --dir new --file-bytes 8388608"} {
		for address, says := range map[string]string{
			"--listen " + tcp.Addr().String() + " --socket own.sock": "address already in use",
			"--listen 127.0.0.1:0 --socket taken.sock":               "somebody listens there",
		} {
			code, out, said := typed(t, "", strings.Fields(line+" "+address)...)
			if code != campaign.ExitEnvironment || out != "" || !strings.Contains(said, says) {
				t.Errorf("%s %s: exit code %d, %q, %q", line, address, code, out, said)
			}
		}
	}
	if after := tree(t); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

// TestASocketMayLieInANewStoresDirectory, which is made for it.
func TestASocketMayLieInANewStoresDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	servePage(t, strings.Fields("log serve --dir new --listen 127.0.0.1:8080 --socket new/s"))
	fine(t, "", "log create access --partitions 1 --socket new/s")
}

// tree is each file below the working directory, with its length and when it was changed.
func tree(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
