package property_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lakebed/trial"
	"lakebed/trial/campaign"
	"lakebed/trial/defects"
	"lakebed/trial/defects/defect"
	"lakebed/trial/property"
)

// plantedBug is the one that the package's documentation switches on: a start does not replay the journal's last file.
const plantedBug = "last-file-not-replayed"

// documented returns the test that stands in the package's documentation, as a file.
func documented(t *testing.T) string {
	t.Helper()
	file, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var code strings.Builder
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, indented := strings.CutPrefix(lines.Text(), "//\t")
		switch {
		case indented:
			code.WriteString(line + "\n")
		case lines.Text() == "//" && code.Len() > 0:
			code.WriteString("\n")
		case code.Len() > 0:
			return code.String() // the first block is the test
		}
	}
	t.Fatal("doc.go shows no test")
	return ""
}

// module makes a module of somebody else's, with the documented test, that takes lakebed from this clone.
func module(t *testing.T, root string) string {
	t.Helper()
	directory := t.TempDir()
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	goSum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// What "go mod tidy" would write, without asking a registry: the versions are those of lakebed.
	mine := strings.Replace(string(goMod), "module lakebed", "module mine", 1) +
		"\nrequire lakebed v0.0.0\n\nreplace lakebed => " + strconv.Quote(root) + "\n"
	for name, text := range map[string]string{"go.mod": mine, "go.sum": string(goSum), "mine_test.go": documented(t)} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// build builds the tests of a module with all bugs planted.
func build(t *testing.T, directory, plan string) (program string) {
	t.Helper()
	program = filepath.Join(directory, "mine.test")
	command := exec.CommandContext(context.Background(), "go", "test", "-mod=mod", "-overlay", plan, "-c", "-o", program, ".")
	command.Dir = directory
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build a test of a user's own: %v\n%s", err, text)
	}
	return program
}

// run runs the tests of a module with a planted bug, none if its name is empty.
func run(program, bug string) (output string, passed bool) {
	command := exec.CommandContext(context.Background(), program, "-rapid.seed=1", "-rapid.checks=400", "-rapid.shrinktime=1s")
	command.Dir = filepath.Dir(program)
	command.Env = append(os.Environ(), defect.Variable+"="+bug)
	text, err := command.CombinedOutput()
	return string(text), err == nil
}

// TestTheDocumentedTestFailsOnAPlantedBugAndShrinks: the documentation shows a test of a user's own, in a module of its own.
// It passes on this engine, and fails on one with a planted bug, with a few faults and operations left.
func TestTheDocumentedTestFailsOnAPlantedBugAndShrinks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the engine once more")
	}
	root, err := defects.FindSources(".")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := defects.WriteOverlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := build(t, module(t, root), plan)
	if text, passed := run(program, ""); !passed {
		t.Fatalf("with no bug switched on the test fails:\n%s", text)
	}
	text, passed := run(program, plantedBug)
	left := regexp.MustCompile(`with (\d+) faults? and (\d+) operations?: violation`).FindStringSubmatch(text)
	if passed || left == nil {
		t.Fatalf("the journal's last file is not replayed, and the test says:\n%s", text)
	}
	t.Logf("faults left: %s, operations: %s", left[1], left[2])
	nFaults, _ := strconv.Atoi(left[1]) // digits, the expression says
	nOperations, _ := strconv.Atoi(left[2])
	if nFaults > 5 || nOperations > 8 {
		t.Errorf("%d faults and %d operations are left", nFaults, nOperations)
	}
	checkKept(t, root, plan, filepath.Join(filepath.Dir(program), property.FailuresDirectory, "TestNothingAcknowledgedIsLost.json"))
}

// checkKept runs the trial that a failing test has kept once more, in the program that has the bug.
func checkKept(t *testing.T, root, plan, file string) {
	t.Helper()
	c, err := campaign.ReadCase(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Defect != plantedBug || c.Reduction == nil || len(c.Reduction.Operations) > 8 {
		t.Errorf("the kept case: defect %q, reduction %+v", c.Defect, c.Reduction)
	}
	command := exec.CommandContext(t.Context(), "go", "run", "-overlay", plan, "./cmd/simrun", "replay", file)
	command.Dir, command.Env = root, append(os.Environ(), defect.Variable+"="+plantedBug)
	text, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(text), c.Result.Findings[0].Checker) {
		t.Errorf("the kept case does not fail again: %v\n%s", err, text)
	}
}

// TestABugThatIsNotThereIsNotSoughtInVain: without the overlay the variable switches nothing on, and a test that passed
// then would seem to see nothing.
func TestABugThatIsNotThereIsNotSoughtInVain(t *testing.T) {
	if defect.Compiled {
		t.Skip("this program has planted bugs")
	}
	t.Setenv(defect.Variable, plantedBug)
	set(t, "rapid.nofailfile", "true")
	scenario, err := trial.Find("bookie")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{TB: t}
	rapid.Check(w, func(t *rapid.T) { property.Run(t, property.Draw(t, scenario)) })
	if !w.failed {
		t.Error("a bug that is not there was asked for, and the test passed")
	}
}
