package defects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/trial/defects/defect"
)

const (
	enumeration       = "TestEveryCrashPointKeepsWhatWasAcknowledged"
	enumerationFolder = "engine/bookkeeper/bookie"
)

// TestTheCrashEnumerationFindsMistakesOfOrder runs the bookie's own crash test with each mistake that it is there for.
// Left alone the test passes, in the same binary.
func TestTheCrashEnumerationFindsMistakesOfOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the crash test six times")
	}
	directory := t.TempDir()
	overlay, err := WriteOverlay(root(t), directory)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(directory, "bookie.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, "./"+enumerationFolder)
	build.Dir = root(t)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the crash test with defects: %v\n%s", err, output)
	}
	enumerate := func(id string) (string, error) {
		c := exec.Command(binary, "-test.run", "^"+enumeration+"$", "-test.short", "-test.timeout", "5m")
		c.Dir = filepath.Join(root(t), filepath.FromSlash(enumerationFolder))
		c.Env = append(os.Environ(), defect.Variable+"="+id)
		output, err := c.CombinedOutput()
		return string(output), err
	}
	if output, err := enumerate(""); err != nil {
		t.Fatalf("without a defect: %v\n%s", err, output)
	}
	for _, id := range []string{"no-sync", "mark-before-index", "no-syncdir", "table-left-out", "trim-before-index"} {
		output, err := enumerate(id)
		if err == nil || !strings.Contains(output, "--- FAIL: "+enumeration) {
			t.Errorf("%s: the enumeration did not notice: %v\n%s", id, err, output)
		}
	}
}
