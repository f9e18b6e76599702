package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/reports"
)

// sampleResults are files with one result each.
const (
	sampleBenchFile      = "../../reports/testdata/bench.json"
	sampleExperimentFile = "../../reports/testdata/experiment.json"
)

func reported(t *testing.T, arguments ...string) (out, problems string, code int) {
	t.Helper()
	var o, p strings.Builder
	a := &app{out: &o, err: &p}
	code = a.run(t.Context(), append([]string{"report"}, arguments...))
	return o.String(), p.String(), code
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Goal: one result is shown as Markdown; a directory stands for all results below it, in the order of their names.
func TestReportShowsFilesAndDirectories(t *testing.T) {
	out, problems, code := reported(t, sampleBenchFile)
	if code != 0 || !strings.HasPrefix(out, "# Ledgers over loopback TCP\n") || !strings.Contains(out, "| met |") {
		t.Errorf("exit %d, %s%.200s", code, problems, out)
	}
	dir := t.TempDir()
	copied(t, sampleExperimentFile, filepath.Join(dir, "b", "x.json"))
	copied(t, sampleBenchFile, filepath.Join(dir, "c.json"))
	copied(t, sampleBenchFile, filepath.Join(dir, ".hidden", "d.json"))
	copied(t, sampleBenchFile, filepath.Join(dir, "notes.txt"))
	out, problems, code = reported(t, dir)
	experiment, bench := strings.Index(out, "\n## X-45"), strings.Index(out, "\n## Ledgers")
	if code != 0 || !strings.HasPrefix(out, "# 2 results\n") || experiment < 0 || bench < experiment {
		t.Errorf("exit %d, %sX-45 at %d, bench at %d", code, problems, experiment, bench)
	}
}

// Goal: --out, --markdown and --html write what they say and name it; --json gives a list that report reads again.
func TestReportWritesFiles(t *testing.T) {
	dir := t.TempDir()
	out, problems, code := reported(t, sampleBenchFile, sampleExperimentFile, "--out", filepath.Join(dir, "new", "public"), "--html", filepath.Join(dir, "page.html"))
	if code != 0 || !strings.HasPrefix(out, "2 results in ") || !strings.Contains(out, reportPage) {
		t.Errorf("exit %d: %s%s", code, problems, out)
	}
	for name, want := range map[string]string{"new/public/report.md": "# 2 results", "new/public/report.html": "<!doctype html>", "page.html": "<!doctype html>"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %v, %.40q", name, err, text)
		}
	}
	out, _, code = reported(t, sampleBenchFile, sampleExperimentFile, "--json")
	list := filepath.Join(dir, "all.json")
	if err := os.WriteFile(list, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	if results, err := reports.ReadResults(list); code != 0 || err != nil || len(results) != 2 {
		t.Errorf("exit %d, %d results in the list: %v", code, len(results), err)
	}
	if out, _, code = reported(t, list); code != 0 || !strings.HasPrefix(out, "# 2 results") {
		t.Errorf("exit %d, the list is shown as %.40q", code, out)
	}
}

// Goal: wrong use ends with 2 and says what is wrong with which file; what cannot be written ends with 3.
func TestReportExplainsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"schema": 9}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"nothing":     {nil, 2, "needs a file or a directory"},
		"missing":     {[]string{filepath.Join(dir, "gone")}, 2, "no such file"},
		"empty":       {[]string{t.TempDir()}, 2, "there are no results in"},
		"newer":       {[]string{bad}, 2, bad + " is not a result: its schema is 9"},
		"in a dir":    {[]string{dir}, 2, bad + " is not a result"},
		"unwritable":  {[]string{sampleBenchFile, "--html", filepath.Join(dir, "gone", "page.html")}, 3, "write the report"},
		"other flags": {[]string{sampleBenchFile, "--htm", "x"}, 2, "did you mean --html?"},
	} {
		if _, problems, code := reported(t, c.arguments...); code != c.code || !strings.Contains(problems, c.want) {
			t.Errorf("%s: exit %d, %q does not say %q", name, code, problems, c.want)
		}
	}
}
