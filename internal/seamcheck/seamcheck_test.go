package seamcheck_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/internal/seamcheck"
	"lakebed/internal/seamcheck/planted"
)

// The engine of this tree asks the machine for nothing except through engine/host.
func TestEngineKeepsToTheSeam(t *testing.T) {
	findings, err := seamcheck.Check(seamcheck.Lakebed(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
}

// Each forbidden item is found, with its own rule, on its own line, however it was brought into the file.
func TestEveryForbiddenItemIsReported(t *testing.T) {
	dir := module(t)
	plants := planted.All()
	must(t, planted.Write(filepath.Join(dir, "engine"), plants))
	found := map[string]bool{}
	for _, finding := range check(t, dir) {
		found[key(finding.File, finding.Line, finding.Rule)] = true
	}
	fired := map[seamcheck.Rule]bool{}
	forms := map[string]int{}
	for _, p := range plants {
		if !found[key("engine/"+p.Form+"/"+p.File, p.Line, p.Rule)] {
			t.Errorf("no finding on line %d for the rule %q in:\n%s", p.Line, p.Rule, p.Source)
		}
		fired[p.Rule] = true
		forms[p.Form]++
	}
	for _, rule := range seamcheck.Rules() {
		if !fired[rule] {
			t.Errorf("no plant for the rule %q", rule)
		}
	}
	for _, form := range []string{"plain", "alias", "dot", "value", "syntax"} {
		if forms[form] < 30 {
			t.Errorf("%d plants of the form %s: the catalogue has shrunk", forms[form], form)
		}
	}
}

// What the engine needs every day is not reported: a rule that cries wolf would be switched off.
func TestAllowedVocabularyPasses(t *testing.T) {
	dir := module(t)
	must(t, planted.WriteFile(filepath.Join(dir, "engine/allowed/allowed.go"), allowedSource))
	must(t, planted.WriteFile(filepath.Join(dir, "engine/allowed/allowed_test.go"),
		"package allowed\n\nimport \"os\"\n\nvar shared = map[string]int{os.TempDir(): 1}\n"))
	for _, finding := range check(t, dir) {
		t.Error(finding)
	}
}

const allowedSource = `package allowed

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

const idle = 3 * time.Second

var (
	ErrGone    = errors.New("gone")
	ErrWrapped = fmt.Errorf("wrapped: %w", ErrGone)
	ErrEnd     = io.EOF
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	magic      = [4]byte{'L', 'A', 'K', 'E'}
	names      = [...]string{"one", "two"}
	limits     = struct{ low, high int }{1, 2}

	_ fmt.Stringer = code(0)

	errCode error = code(7)
)

type code int

func (c code) String() string { return names[c%2] }

func (c code) Error() string { return fmt.Sprintf("%d %% per second, 50 % pages, %v", int(c), limits.low) }

func sum(random *rand.Rand, d time.Duration, m map[string]int, keys []string) (uint32, error) {
	local := magic
	local[0] = byte(random.IntN(9))
	copied := maps.Clone(m)
	delete(copied, "one")
	total := 0
	for _, key := range slices.Sorted(slices.Values(keys)) {
		total += copied[key]
	}
	sort.Ints([]int{total})
	for range names {
		total++
	}
	if d.Seconds() > 1 || d > idle {
		return 0, errCode
	}
	return crc32.Checksum(local[:], castagnoli), nil
}
`

// A file that the go command leaves out is reported, since its content was not seen.
func TestSourcesOutOfSightAreReported(t *testing.T) {
	dir := module(t)
	for name, text := range map[string]string{
		"engine/mixed/plain.go":         "package mixed\n",
		"engine/mixed/tagged.go":        "//go:build never\n\npackage mixed\n",
		"engine/mixed/port_plan9.go":    "package mixed\n",
		"engine/only/tagged.go":         "//go:build never\n\npackage only\n",
		"engine/assembly/plain.go":      "package assembly\n",
		"engine/assembly/fast_amd64.s":  "// nothing\n",
		"engine/mixed/tagged_test.go":   "//go:build never\n\npackage mixed\n",
		"engine/mixed/testdata/data.go": "package data\n",
	} {
		must(t, planted.WriteFile(filepath.Join(dir, name), text))
	}
	var got []string
	for _, finding := range check(t, dir) {
		if finding.Rule != seamcheck.HiddenFile {
			t.Errorf("unexpected: %v", finding)
		}
		got = append(got, finding.File)
	}
	want := "engine/assembly/fast_amd64.s engine/mixed/port_plan9.go engine/mixed/tagged.go engine/only/tagged.go"
	if strings.Join(got, " ") != want {
		t.Errorf("reported %v, want %s", got, want)
	}
}

// cgo and code in folders that the wildcard ./... passes over are found as soon as the engine uses them.
func TestSideDoorsAreReported(t *testing.T) {
	dir := module(t)
	must(t, planted.WriteFile(filepath.Join(dir, "engine/native/native.go"), "package native\n\nimport \"C\"\n"))
	must(t, planted.WriteFile(filepath.Join(dir, "engine/user/user.go"),
		"package user\n\nimport _ \"lakebed/engine/user/testdata/hidden\"\n"))
	must(t, planted.WriteFile(filepath.Join(dir, "engine/user/testdata/hidden/hidden.go"),
		"package hidden\n\nfunc f() { go f() }\n"))
	report := fmt.Sprint(check(t, dir))
	for _, want := range []string{
		"engine/native/native.go:1: file left out of the check: " + string(seamcheck.HiddenFile),
		"engine/user/testdata/hidden/hidden.go:3: go statement: " + string(seamcheck.GoStatement),
	} {
		if !strings.Contains(report, want) {
			t.Errorf("missing %q in %s", want, report)
		}
	}
}

// Only the packages of the list are exempt: a neighbour with a longer name is not, and neither is a test-support
// package; and the one function that may walk a map is free from that rule alone.
func TestExemptionsReachNoFurtherThanTheyName(t *testing.T) {
	dir := module(t)
	task := "\n\nfunc f() { go f() }\n"
	walk := "\n\nfunc SortedKeys(m map[int]int) {\n\tfor range m {\n\t\tgo print()\n\t}\n}\n\nfunc other(m map[int]int) {\n\tfor range m {\n\t}\n}\n"
	for name, text := range map[string]string{
		"engine/host/oshost/a.go":      "package oshost" + task,
		"engine/host/oshost/deep/a.go": "package deep" + task,
		"engine/host/oshost2/a.go":     "package oshost2" + task,
		"engine/host/hosttest/a.go":    "package hosttest\n\nimport _ \"testing\"" + task,
		"engine/host/sorted.go":        "package host" + walk,
		"engine/else/sorted.go":        "package other" + walk,
	} {
		must(t, planted.WriteFile(filepath.Join(dir, name), text))
	}
	var got []string
	for _, f := range check(t, dir) {
		got = append(got, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.What))
	}
	want := []string{
		"engine/else/sorted.go:4 range over a map",
		"engine/else/sorted.go:5 go statement",
		"engine/else/sorted.go:5 print",
		"engine/else/sorted.go:10 range over a map",
		"engine/host/hosttest/a.go:5 go statement",
		"engine/host/oshost2/a.go:3 go statement",
		"engine/host/sorted.go:5 go statement",
		"engine/host/sorted.go:5 print",
		"engine/host/sorted.go:10 range over a map",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A check that could not be made says so, and never looks like a pass.
func TestUncheckedTreesAreErrors(t *testing.T) {
	dir := module(t)
	config := seamcheck.Config{Dir: dir, Roots: []string{"engine"}}
	if _, err := seamcheck.Check(config); err == nil {
		t.Error("no error for a missing folder")
	}
	must(t, os.Mkdir(filepath.Join(dir, "engine"), 0o755))
	if _, err := seamcheck.Check(config); !errors.Is(err, seamcheck.ErrNothing) {
		t.Errorf("error for an empty folder: %v", err)
	}
	must(t, planted.WriteFile(filepath.Join(dir, "engine/a.go"), "package engine\n\nvar x int = \"\"\n"))
	if _, err := seamcheck.Check(config); err == nil || !strings.Contains(err.Error(), "does not build") {
		t.Errorf("error for a package that does not build: %v", err)
	}
}

func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, planted.WriteModule(dir))
	return dir
}

func check(t *testing.T, dir string) []seamcheck.Finding {
	t.Helper()
	findings, err := seamcheck.Check(seamcheck.Config{Dir: dir, Roots: []string{"engine"}, Exempt: seamcheck.Drivers()})
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func key(file string, line int, rule seamcheck.Rule) string {
	return fmt.Sprintf("%s:%d: %s", file, line, rule)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
