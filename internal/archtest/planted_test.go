package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/internal/seamcheck/planted"
)

// A copy of the module, with the seam as its only engine package, passes `go test` of these rules; with every item of
// the forbidden list planted in every form, and with an import of the simulator, it fails and says the sentence of each
// rule at each place. The copy runs the tests that judge a tree, not this one, which would copy itself for ever.
func TestPlantedViolationsFail(t *testing.T) {
	dir := t.TempDir()
	if err := planted.WriteModule(dir); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"engine/host", "internal/archtest", "internal/seamcheck", "internal/seamcheck/planted", "internal/invariant"} {
		copyFolder(t, dir, folder)
	}
	write(t, dir, "sim/sim.go", "// Package sim is a stand-in.\npackage sim\n")
	if output, err := judge(dir); err != nil {
		t.Fatalf("the clean copy fails: %v\n%s", err, output)
	}

	plants := planted.All()
	if err := planted.Write(filepath.Join(dir, "engine/host/planted"), plants); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "engine/host/reach.go", "package host\n\nimport _ \"lakebed/sim\"\n")
	write(t, dir, "engine/host/renamed.go", "package host\n\nimport other \"lakebed/sim\"\n\nvar _ other.World\n")
	write(t, dir, "sim/sim.go", "// Package sim is a stand-in.\npackage sim\n\n// World is a stand-in.\ntype World int\n")
	output, err := judge(dir)
	if err == nil {
		t.Fatalf("the planted copy passes:\n%s", output)
	}
	for _, p := range plants {
		place := fmt.Sprintf("engine/host/planted/%s/%s:%d: ", p.Form, p.File, p.Line)
		if !says(output, place, string(p.Rule)) {
			t.Errorf("no sentence %q at %s for:\n%s", p.Rule, place, p.Source)
		}
	}
	for _, file := range []string{"engine/host/reach.go", "engine/host/renamed.go"} {
		if !says(output, "lakebed/engine/host imports lakebed/sim (in "+file+")", layerOf("engine").rule) {
			t.Errorf("no sentence for the import of sim in %s", file)
		}
	}
	if t.Failed() {
		t.Logf("output:\n%.4000s", output)
	}
}

// judge runs the rules on the module in dir, as `go test ./internal/...` does.
func judge(dir string) (string, error) {
	command := exec.Command("go", "test", "-vet=off", "-run=^(TestEngineKeepsToTheSeam|TestImportsRunOneWay)$", "./internal/...")
	command.Dir = dir
	output, err := command.CombinedOutput()
	return string(output), err
}

// says reports whether one line of output has both parts.
func says(output, place, rule string) bool {
	for line := range strings.Lines(output) {
		if strings.Contains(line, place) && strings.Contains(line, rule) {
			return true
		}
	}
	return false
}

// copyFolder copies the files of one folder of this tree, without the folders below it.
func copyFolder(t *testing.T, dir, folder string) {
	t.Helper()
	from := filepath.Join(here, filepath.FromSlash(folder))
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, folder+"/"+entry.Name(), string(text))
	}
}
