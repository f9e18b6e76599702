package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"lakebed/peers/measure"
	"lakebed/reports"
)

// TestMain lets this binary be its own worker, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == measure.WorkerArgument {
		if measure.Work(os.Stdin, measure.AnswerFile()) != nil {
			os.Exit(exitEnvironment)
		}
		os.Exit(exitOK)
	}
	os.Exit(m.Run())
}

// TestTheExitCodeSaysWhatWentWrong: wrong use is told from a bad environment, and both before anything is measured.
func TestTheExitCodeSaysWhatWentWrong(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		code      int
	}{
		{[]string{"--help"}, exitOK},
		{[]string{"--nothing"}, exitUsage},
		{[]string{"nothing"}, exitUsage},
		{[]string{"--rounds", "-1"}, exitUsage},
		{[]string{"--brokers", "some"}, exitUsage},
		{[]string{"--stores", "nothing"}, exitUsage},
		{[]string{"--only", "nothing"}, exitUsage},
		{[]string{"--compare", "/nothing"}, exitUsage},
		{[]string{"--dir", "/nothing", "--brokers", "none"}, exitEnvironment},
	} {
		var out, problems bytes.Buffer
		if code := run(t.Context(), test.arguments, &out, &problems); code != test.code || out.Len() > 0 {
			t.Errorf("%v: exit %d instead of %d, printed %q and %q", test.arguments, code, test.code, &out, &problems)
		}
	}
}

// TestAQuickRunMeasuresEveryGoStore, in workers of their own, leaves nothing behind, and prints a result that can be read and
// compared with itself.
func TestAQuickRunMeasuresEveryGoStore(t *testing.T) {
	dir := t.TempDir()
	arguments := []string{"--quick", "--brokers", "none", "--rounds", "1", "--length", "10ms", "--dir", dir, "--json"}
	if testing.Short() {
		arguments = append(arguments, "--stores", "raw,seglog", "--only", "unsynced")
	}
	var out, problems bytes.Buffer
	if code := run(t.Context(), arguments, &out, &problems); code != exitOK {
		t.Fatalf("exit %d: %s", code, &problems)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	file := filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := reports.ReadResult(file)
	if err != nil {
		t.Fatal(err)
	}
	if skipped := measure.Skipped(&result); len(skipped) > 0 {
		t.Errorf("skipped: %v", skipped)
	}
	if !testing.Short() {
		checkCells(t, &result)
	}
}

func checkCells(t *testing.T, result *reports.Result) {
	t.Helper()
	const goStores, points = 6, 5
	count := 0
	for _, g := range result.Groups {
		count += len(g.Cells)
	}
	if count != goStores*points {
		t.Errorf("%d cells instead of %d", count, goStores*points)
	}
	const pointGoals, rawGoals = 2 * 4, 2
	if len(result.Goals) != pointGoals+rawGoals {
		t.Errorf("%d goals", len(result.Goals))
	}
	if changes := reports.Compare(result, result); len(changes) == 0 {
		t.Error("nothing can be compared with itself")
	}
}
