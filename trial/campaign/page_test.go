package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/trial"
)

// Goal: beside the case of a failure lies its page, which names the case to replay; replaying with a page gives the same
// trace and the same page's verdict, and choosing a stretch of time changes no verdict.
func TestFailuresAreKeptWithTheirPage(t *testing.T) {
	canary, err := trial.Find("canary")
	if err != nil {
		t.Fatal(err)
	}
	canary.Canary, canary.Weight = false, 1
	real := Catalogue{Run: trial.Run, Scenarios: []trial.Scenario{canary}}
	s, err := Run(t.Context(), Options{Catalogue: real, Scenarios: []string{"canary"}, Seed: 3, Seeds: 1, Out: filepath.Join(t.TempDir(), "kept")})
	if err != nil || len(s.Failures) == 0 {
		t.Fatalf("%v, %d failures", err, len(s.Failures))
	}
	g := s.Failures[0]
	text, err := os.ReadFile(g.Page)
	if err != nil || !strings.Contains(string(text), "replay "+g.File) || !strings.Contains(string(text), g.Checker) {
		t.Fatalf("the page of %s: %v", g.File, err)
	}
	plain, err := Replay(ReplayOptions{Catalogue: real, Target: g.File})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := Replay(ReplayOptions{Catalogue: real, Target: g.File, Page: &PageOptions{From: 1e6, Until: 2e6}})
	if err != nil || shown.TraceHash != plain.TraceHash || shown.Verdict != plain.Verdict {
		t.Fatalf("%v: trace %s and %s, %s and %s", err, shown.TraceHash, plain.TraceHash, shown.Verdict, plain.Verdict)
	}
	name := filepath.Join(t.TempDir(), "page.html")
	if err := shown.WritePage(name); err != nil {
		t.Fatal(err)
	}
	if err := shown.WritePageModel(name + ".json"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "events are left out") {
		t.Errorf("a page of a millisecond does not say what it leaves out: %v", err)
	}
	if _, err := os.Stat(strings.TrimSuffix(name, ".html") + "-porcupine.html"); shown.page.Porcupine != "" && err != nil {
		t.Errorf("porcupine's picture is linked and not there: %v", err)
	}
	if err := shown.WritePage(filepath.Join(name, "under-a-file.html")); err == nil {
		t.Error("a page that cannot be written is no error")
	}
}
