package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/trial/campaign"
)

// TestFilesThatCannotBeWrittenAreToldBeforeTheWork, not after a night of it; and nothing is left of the attempt.
func TestFilesThatCannotBeWrittenAreToldBeforeTheWork(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"campaign steady --workers 0 --junit absent/a.xml", "campaign steady --workers 0 --junit .", "campaign steady --workers 0 --out file",
		"campaign steady --workers 0 --out file/below", "campaign merge a.jsonl --junit absent/a.xml",
		"shrink 1 --scenario crumbling --out absent/a.json", "replay 1 --html absent/a.html", "replay 1 --model .",
	} {
		code, out, err := simrun(t, strings.Fields(command)...)
		if code != campaign.ExitEnvironment || out != "" || !strings.Contains(err, "cannot be written") {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, err)
		}
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFilesThatWouldOverwriteEachOtherAreRefused: a log below JUnit XML, or a case below its own page, could not be got back.
func TestFilesThatWouldOverwriteEachOtherAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("case.json", []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"campaign steady --workers 0 --jsonl a --junit ./a", "replay 1 --html a --model a", "replay 1 --html a --trace=a",
		"replay case.json --html case.json", "replay case.json --trace=./case.json",
	} {
		code, out, err := simrun(t, strings.Fields(command)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, "would overwrite") {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, err)
		}
	}
	if text, err := os.ReadFile("case.json"); err != nil || string(text) != "{}" {
		t.Errorf("the case is now %q, %v", text, err)
	}
}
