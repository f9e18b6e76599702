package campaign

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/faults"
	"lakebed/trial"
)

// TestAKeptCaseRunsAgainWithItsPlan and is compared with what was recorded.
func TestAKeptCaseRunsAgainWithItsPlan(t *testing.T) {
	o := options("bad", 30)
	o.Out = filepath.Join(t.TempDir(), "made", "when", "needed")
	s := conduct(t, o)
	var asked trial.Options
	catalogue := fakeCatalogue()
	catalogue.Run = func(o trial.Options) trial.Result {
		asked = o
		return runFake(o)
	}
	r, err := Replay(ReplayOptions{Catalogue: catalogue, Target: s.Failures[0].File})
	if err != nil {
		t.Fatal(err)
	}
	if asked.Plan == nil || strings.Join(asked.Plan.IDs(), " ") != "cut-1" || asked.Seed != 30 || asked.Scenario.Name != "bad" {
		t.Errorf("asked for %+v", asked)
	}
	if r.ExitCode() != ExitBroken || r.Recorded != r.TraceHash || r.TraceHash != hexHash(scatter(30)) || len(r.Findings) != 2 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "as recorded") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestAReplayOfASeedDrawsItsPlan and takes the scenario that is named.
func TestAReplayOfASeedDrawsItsPlan(t *testing.T) {
	var asked trial.Options
	catalogue := fakeCatalogue()
	catalogue.Run = func(o trial.Options) trial.Result {
		asked = o
		return runFake(o)
	}
	r, err := Replay(ReplayOptions{Catalogue: catalogue, Target: "11", Scenario: "bad", Until: 5, Defect: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if asked.Plan != nil || asked.Seed != 11 || asked.Until != 5 || asked.Defect != "d" || r.Scenario != "bad" {
		t.Errorf("asked for %+v, got %+v", asked, r)
	}
	if r.ExitCode() != ExitOK || r.Recorded != "" {
		t.Errorf("%+v", r)
	}
}

// TestAWorldThatWasCutIsNotCalledSound: only the part that ran was looked at.
func TestAWorldThatWasCutIsNotCalledSound(t *testing.T) {
	catalogue := fakeCatalogue()
	catalogue.Run = func(o trial.Options) trial.Result {
		r := runFake(o)
		r.Simulated, r.Verdict = 5, trial.OK
		return r
	}
	for until, want := range map[time.Duration]trial.Verdict{0: trial.OK, 5: Cut, 6: trial.OK} {
		r, err := Replay(ReplayOptions{Catalogue: catalogue, Target: "11", Scenario: "bad", Until: until})
		var text strings.Builder
		if err != nil || r.WriteText(&text) != nil || r.Verdict != want || r.ExitCode() != ExitOK {
			t.Errorf("until %s: %v, %+v", until, err, r)
		}
		if strings.HasPrefix(text.String(), "CUT: ") != (want == Cut) {
			t.Errorf("until %s: %s", until, text.String())
		}
	}
}

// TestACaseTellsItsDefect, and a seed has none.
func TestACaseTellsItsDefect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "case.json")
	if err := WriteCase(path, Case{Defect: "no-sync", Result: trial.Result{Scenario: "bad"}}); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{path: "no-sync", "17": "", "0x11": ""} {
		if defect, err := DefectOf(target); err != nil || defect != want {
			t.Errorf("%s: %q, %v", target, defect, err)
		}
	}
	if _, err := DefectOf("absent.json"); err == nil {
		t.Error("a file that is not there has a case")
	}
}

// TestWhatIsNeitherSeedNorCaseIsRefused with a reason that helps.
func TestWhatIsNeitherSeedNorCaseIsRefused(t *testing.T) {
	directory := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := Case{Kind: "violation", Result: trial.Result{Scenario: "bad", Seed: 5}}
	kept := filepath.Join(directory, "kept.json")
	if err := WriteCase(kept, good); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := good
	elsewhere.Result.Plan.Elements = []faults.Element{{ID: "a", Kind: faults.Kill, Target: faults.Target{Node: "boookie"}}}
	edited := filepath.Join(directory, "edited.json")
	if err := WriteCase(edited, elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, scenario, reason string }{
		{edited, "", `no node "boookie"`},
		{"-3", "", "neither a seed nor a file"},
		{"18446744073709551616", "", "from 0 to 2^64-1"},
		{filepath.Join(directory, "absent.json"), "", "neither a seed nor a file"},
		{file("empty", ""), "", "not a case"},
		{file("other.json", `{"format":"something/1"}`), "", "not a case"},
		{file("nothing.json", `{"format":"`+caseFormat+`"}`), "", "names no scenario"},
		{file("long.json", string(text)+"{}"), "", "behind the case"},
		{file("mistyped.json", strings.Replace(string(text), `"seed"`, `"sede"`, 1)), "", "sede"},
		{kept, "good", "case of scenario bad, not good"},
		{"3", "unheard", "no scenario"},
	} {
		_, err := Replay(ReplayOptions{Catalogue: fakeCatalogue(), Target: c.target, Scenario: c.scenario})
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", c.target, err)
		}
	}
	if _, err := Replay(ReplayOptions{Catalogue: fakeCatalogue(), Target: kept, Scenario: "bad"}); err != nil {
		t.Error(err)
	}
}

// TestTwoGroupsWithOneSeedKeepTwoFiles instead of one overwriting the other.
func TestTwoGroupsWithOneSeedKeepTwoFiles(t *testing.T) {
	s := Summary{Failures: []Group{
		{Kind: "violation", Signature: "a", Scenario: "bad", Seed: 5, shortest: failure{result: trial.Result{Scenario: "bad", Seed: 5}}},
		{Kind: "violation", Signature: "b", Scenario: "bad", Seed: 5, shortest: failure{result: trial.Result{Scenario: "bad", Seed: 5}}},
	}}
	if err := s.save(fakeCatalogue(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for i, signature := range []string{"a", "b"} {
		c, err := ReadCase(s.Failures[i].File)
		if err != nil || c.Signature != signature {
			t.Errorf("file %s: %v, signature %q", s.Failures[i].File, err, c.Signature)
		}
	}
}

// TestASoundCampaignLeavesNoFiles, and one whose files cannot be written says so and keeps its summary.
func TestASoundCampaignLeavesNoFiles(t *testing.T) {
	o := options("good", 5)
	o.Workers, o.Out = 0, filepath.Join(t.TempDir(), "failures")
	conduct(t, o)
	if _, err := os.Stat(o.Out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of failures was made: %v", err)
	}
	if err := os.WriteFile(o.Out, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Scenarios = []string{"bad"}
	s, err := Run(t.Context(), o)
	if !errors.Is(err, ErrEnvironment) || s == nil || s.Outcome != Broken {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestReplayJSONHasItsKeys: other programs compare trace_hash.
func TestReplayJSONHasItsKeys(t *testing.T) {
	r, err := Replay(ReplayOptions{Catalogue: fakeCatalogue(), Target: "1"})
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(toJSON(t, r)), &object); err != nil {
		t.Fatal(err)
	}
	if object["trace_hash"] != hexHash(scatter(1)) || object["verdict"] != "ok" || object["events"] != 1001.0 || object["image"] != hexHash(1) {
		t.Errorf("%v", object)
	}
}
