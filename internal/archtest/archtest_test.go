package archtest

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lakebed/internal/seamcheck/planted"
)

var here = filepath.Join("..", "..")

// Imports of this tree run one way.
func TestImportsRunOneWay(t *testing.T) {
	sentences, err := Imports(here)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range sentences {
		t.Error(sentence)
	}
}

// Files and functions of the engine and the simulator fit in a head.
func TestFilesAndFunctionsStayShort(t *testing.T) {
	sentences, err := Sizes(here, ratchet)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range sentences {
		t.Error(sentence)
	}
}

// Every rule of the tables is broken once, and kept once, and the two are told apart.
func TestEachImportRuleIsEnforced(t *testing.T) {
	const engineRule, drivers = "nothing under engine imports the laboratory", "drivers and oshost are imported by"
	const public = "the root package is imported by cmd, trial/bench and tests only"
	for _, c := range []struct{ file, imported, rule string }{
		{"cmd/simrun/a.go", "trial/campaign", ""},
		{"cmd/simrun/a.go", "reports", ""},
		{"cmd/simrun/a.go", "engine/host/oshost", ""},
		{"cmd/simrun/a.go", "service/segments", ""},
		{"service/segmentserver/a.go", "engine/seglog", ""},
		{"service/segmentserver/a.go", "engine/host/oshost", drivers},
		{"service/segmentserver/a_test.go", "engine/host/oshost", ""},
		{"service/a.go", "sim", "service imports engine"},
		{"engine/seglog/a.go", "service", engineRule},
		{"trial/a.go", "service", "trial imports workloads"},
		{"cmd/simrun/a.go", "sim", "cmd imports trial, reports and engine"},
		{"cmd/simrun/a.go", "faults", "cmd imports trial, reports and engine"},
		{"cmd/simrun/a_test.go", "sim", ""},
		{"a.go", "engine/bookkeeper/client", ""},
		{"a.go", "engine/host/oshost", ""},
		{"a.go", "trial/bench", "the root package imports engine"},
		{"a.go", "model", "the root package imports engine"},
		{"a_test.go", "sim", "the root package imports engine"},
		{"external_test.go", "", ""},
		{"cmd/simrun/a.go", "", ""},
		{"trial/bench/ledgers/a.go", "", ""},
		{"trial/a.go", "", public},
		{"trial/a_test.go", "", ""},
		{"workloads/a.go", "", "workloads imports engine and model"},
		{"engine/record/a.go", "", engineRule},
		{"model/a_test.go", "", "model imports nothing of ours"},
		{"trial/a.go", "workloads", ""},
		{"trial/campaign/a.go", "trial", ""},
		{"trial/campaign/a.go", "trial/page", ""},
		{"trial/page/a.go", "engine/bookkeeper/wire", ""},
		{"trial/page/a.go", "reports", ""},
		{"trial/page/a.go", "engine/host/oshost", drivers},
		{"reports/a.go", "trial/page", "reports imports nothing of ours"},
		{"trial/a.go", "engine/topic/broker", ""},
		{"trial/a.go", "reports", ""},
		{"trial/a.go", "cmd/simrun", "trial imports workloads"},
		{"trial/a.go", "engine/host/oshost", drivers},
		{"trial/bench/a.go", "engine/host/oshost", ""},
		{"trial/bench/a.go", "engine/host/hosttest", "test support is imported by tests only"},
		{"reports/a.go", "model", "reports imports nothing of ours"},
		{"reports/a.go", "reports/page", ""},
		{"workloads/a.go", "engine/bookkeeper/client", ""},
		{"workloads/a.go", "model", ""},
		{"workloads/a.go", "sim", "workloads imports engine and model"},
		{"workloads/a_test.go", "sim", ""},
		{"workloads/a_test.go", "faults", "workloads imports engine and model"},
		{"faults/a.go", "sim/disk", ""},
		{"faults/a.go", "engine/host", "faults imports sim"},
		{"faults/a_test.go", "engine/host", ""},
		{"sim/a.go", "engine/host", ""},
		{"sim/a.go", "sim/disk", ""},
		{"sim/a.go", "engine/record", "sim imports engine/host only"},
		{"sim/a.go", "model", "sim imports engine/host only"},
		{"sim/a.go", "engine/host/oshost", drivers},
		{"sim/a_test.go", "engine/host/hosttest", ""},
		{"sim/a_test.go", "engine/record", "sim imports engine/host only"},
		{"model/a.go", "internal/invariant", ""},
		{"model/a.go", "engine/host", "model imports nothing of ours"},
		{"model/a_test.go", "sim", "model imports nothing of ours"},
		{"engine/record/a.go", "internal/invariant", ""},
		{"engine/record/a.go", "internal/seamcheck", engineRule},
		{"engine/record/a.go", "sim", engineRule},
		{"engine/record/a.go", "sim/disk", engineRule},
		{"engine/record/a.go", "faults", engineRule},
		{"engine/record/a.go", "model", engineRule},
		{"engine/record/a.go", "workloads", engineRule},
		{"engine/record/a.go", "trial", engineRule},
		{"engine/record/a.go", "reports", engineRule},
		{"engine/record/a_test.go", "sim", engineRule},
		{"engine/record/a_test.go", "engine/lake", ""},
		{"engine/record/external_test.go", "sim/disk", ""},
		{"engine/record/external_test.go", "faults", ""},
		{"engine/record/external_test.go", "model", ""},
		{"engine/record/external_test.go", "trial", engineRule},
		{"engine/record/external_test.go", "workloads", engineRule},
		{"engine/record/external_test.go", "reports", engineRule},
		{"engine/host/a.go", "engine/host/oshost", drivers},
		{"engine/host/oshost/a.go", "engine/host", ""},
		{"engine/host/hosttest/a.go", "engine/echo", ""},
		{"engine/host/hosttest/a.go", "engine/host/oshost", drivers},
		{"engine/host/hosttest/a.go", "sim", engineRule},
		{"engine/record/a.go", "engine/echo", ruleAside},
		{"engine/record/a.go", "engine/host/hosttest", "test support is imported by tests only"},
		{"engine/record/a_test.go", "engine/host/oshost", ""},
		{"engine/bookkeeper/bookie/journal/a.go", "engine/record", ""},
		{"engine/bookkeeper/bookie/journal/a.go", "engine/bookkeeper/bookie/entrylog", ""},
		{"engine/bookkeeper/bookie/a.go", "engine/bookkeeper/client", ruleOrder},
		{"engine/bookkeeper/client/a.go", "engine/bookkeeper/bookie", ruleOrder},
		{"engine/bookkeeper/wire/a.go", "engine/bookkeeper/metadata", ruleOrder},
		{"engine/record/a.go", "engine/lake", ruleOrder},
		{"engine/lake/a.go", "engine/tier/bucket", ""},
		{"engine/seglog/a.go", "engine/host", ""},
		{"engine/seglog/a.go", "engine/protobuf", ""},
		{"engine/seglog/a.go", "engine/openfiles", ""},
		{"engine/openfiles/a.go", "engine/seglog", ruleAside},
		{"engine/commitlog/a.go", "engine/commit", ""},
		{"engine/commit/a.go", "engine/commitlog", ruleAside},
		{"engine/seglog/a.go", "engine/record", ruleAside},
		{"engine/cdc/a.go", "engine/seglog", ruleAside},
		{"engine/unheard/a.go", "engine/host", rulePlace},
		{"engine/a.go", "engine/host", rulePlace},
		{"unheard/a.go", "engine/host", rulePlace},
		{"engine/record/a.go", "engine/record/testdata/hidden", ruleData},
		{"internal/seamcheck/a.go", "engine/host", "internal imports nothing of ours"},
		{"internal/archtest/a.go", "internal/seamcheck", ""},
	} {
		dir := t.TempDir()
		name := "x"
		if strings.HasSuffix(c.file, "external_test.go") {
			name = "x_test"
		}
		write(t, dir, "go.mod", "module lakebed\n")
		write(t, dir, c.file, fmt.Sprintf("package %s\n\nimport _ %q\n", name, path.Join("lakebed", c.imported)))
		sentences, err := Imports(dir)
		if err != nil {
			t.Fatal(err)
		}
		report := strings.Join(sentences, "\n")
		if c.rule == "" && report != "" {
			t.Errorf("%s may import %s, but: %s", c.file, c.imported, report)
		}
		if c.rule != "" && !(strings.Contains(report, c.rule) && strings.Contains(report, c.file)) {
			t.Errorf("%s imports %s, expected the rule %q, got %q", c.file, c.imported, c.rule, report)
		}
	}
}

// Build constraints do not hide an import; nested modules and data are not ours to judge.
func TestAllSourcesOfTheModuleAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module lakebed\n")
	for _, name := range []string{"engine/record/a.go", "tools/a.go", "engine/record/testdata/a.go", "engine/record/_a.go"} {
		write(t, dir, name, "//go:build never\n\npackage a\n\nimport renamed \"lakebed/sim\"\n\nvar _ renamed.World\n")
	}
	write(t, dir, "tools/go.mod", "module lakebed/tools\n")
	sentences, err := Imports(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(sentences) != 1 || !strings.Contains(sentences[0], "lakebed/engine/record imports lakebed/sim (in engine/record/a.go)") {
		t.Errorf("got %q", sentences)
	}
}

// A tree that cannot be read is an error and not a pass.
func TestUnreadableTreesAreErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Imports(dir); err == nil {
		t.Error("no error without go.mod")
	}
	write(t, dir, "go.mod", "go 1.26\n")
	if _, err := Imports(dir); err == nil {
		t.Error("no error for go.mod without a module")
	}
	write(t, dir, "go.mod", "module lakebed\n")
	write(t, dir, "engine/record/a.go", "package\n")
	if _, err := Imports(dir); err == nil {
		t.Error("no error for a file that does not parse")
	}
}

// The bounds hold to the line, the ratchet lets pass exactly what it lists, and turns only one way.
func TestSizesAreHeldByARatchet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module lakebed\n")
	body := func(lines int) string { return "{" + strings.Repeat("\n", lines-1) + "}\n" }
	short := "package a\n\nfunc f() " + body(70)
	write(t, dir, "engine/a/short.go", short+strings.Repeat("\n", 600-strings.Count(short, "\n")))
	write(t, dir, "engine/a/function.go", "package a\n\nfunc (b *box[K, V]) g() "+body(71))
	write(t, dir, "sim/file.go", "package sim"+strings.Repeat("\n", 601))
	write(t, dir, "sim/file_test.go", "package sim"+strings.Repeat("\n", 900))
	write(t, dir, "trial/file.go", "package trial"+strings.Repeat("\n", 900))
	const function, file = "engine/a/function.go:box.g", "sim/file.go"
	for _, c := range []struct {
		allowed Ratchet
		want    []string
	}{
		{Ratchet{}, []string{function + " has 71 lines, more than 70", file + " has 601 lines, more than 600"}},
		{Ratchet{function: 71, file: 601}, nil},
		{Ratchet{function: 72, file: 600}, []string{function + " has shrunk to 71 lines", file + " has grown to 601 lines"}},
		{Ratchet{function: 71, file: 601, "sim/gone.go": 700}, []string{"the ratchet lists sim/gone.go"}},
	} {
		got, err := Sizes(dir, c.allowed)
		if err != nil {
			t.Fatal(err)
		}
		match := slices.EqualFunc(got, c.want, strings.HasPrefix)
		if !match {
			t.Errorf("ratchet %v: got %q, want %q", c.allowed, got, c.want)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := planted.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
		t.Fatal(err)
	}
}
