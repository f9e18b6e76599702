package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lakebed/trial/campaign"
	"lakebed/trial/explore"
)

// TestASearchAnswersByItsExitCode, with a table for readers and one JSON object for programs.
func TestASearchAnswersByItsExitCode(t *testing.T) {
	for arguments, want := range map[string]struct {
		code   int
		ending explore.Ending
		worlds int
	}{
		"--shape 2/2/1":                          {campaign.ExitOK, explore.Kept, 1},
		"--held 0+1 --restarts 1":                {campaign.ExitOK, explore.Kept, 1},
		"--without 2614":                         {campaign.ExitBroken, explore.Broken, 1},
		"--without 1591,1591-loss":               {campaign.ExitBroken, explore.Broken, 2},
		"--without 2615 --shape 2/2/1":           {campaign.ExitOK, explore.Kept, 1},
		"--without 1591 --rule div --states 900": {campaign.ExitBroken, explore.Stopped, 1},
		"--states 500 --timeouts 1":              {campaign.ExitBroken, explore.Stopped, 1},
	} {
		code, out, err := simrun(t, append([]string{"explore", "--json"}, strings.Fields(arguments)...)...)
		var report explore.Report
		if parsed := json.Unmarshal([]byte(out), &report); parsed != nil {
			t.Fatalf("%s: %v: %q, %q", arguments, parsed, out, err)
		}
		if code != want.code || report.Ending != want.ending || len(report.Worlds) != want.worlds || report.States == 0 {
			t.Errorf("%s: exit code %d, %s, %d worlds", arguments, code, report.Ending, len(report.Worlds))
		}
	}
	code, out, _ := simrun(t, "explore", "--without", "1591")
	if code != campaign.ExitBroken || !strings.Contains(out, "  5  the writer hears of entry 0 from b3: stored\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestASearchThatMakesNoSenseIsWrongUse.
func TestASearchThatMakesNoSenseIsWrongUse(t *testing.T) {
	for arguments, reason := range map[string]string{
		"--shape 3/3":               "not of the form 3/3/2",
		"--bookies 9":               "must be 3 to 6",
		"--held 0+7":                "lies on bookie 7",
		"--held b0":                 "not of the form 0+1/0",
		"--without 2641":            "there are: 2614, 1591",
		"--large --without 2614":    "give it alone",
		"--large --entries 2":       "give it alone",
		"--rule luck":               "there are: divergence",
		"--timeout 1":               "did you mean --timeouts?",
		"--timeouts -1":             "must be 0 to",
		"world":                     "world",
		"--held 0 --entries 3":      "--entries",
		"--held 0 --close":          "cannot close",
		"--shape 5/3/2 --bookies 4": "see --bookies",
		"--shape 7/3/2":             "at most 6 bookies",
	} {
		code, out, err := simrun(t, append([]string{"explore"}, strings.Fields(arguments)...)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, reason) {
			t.Errorf("%s: exit code %d, %q, %q", arguments, code, out, err)
		}
	}
}

// TestTheHelpOfASearchTeaches which rules are searched for, and which can be taken out.
func TestTheHelpOfASearchTeaches(t *testing.T) {
	code, out, _ := simrun(t, "explore", "--help")
	for _, r := range explore.Rules() {
		if code != campaign.ExitOK || !strings.Contains(out, r.Name) || !strings.Contains(out, r.About) {
			t.Errorf("exit code %d, and %s is missing", code, r.Name)
		}
	}
	for _, a := range explore.Arms() {
		if !strings.Contains(out, a.ID+" ") || !strings.Contains(out, a.Title) {
			t.Errorf("%s is missing", a.ID)
		}
	}
}

// TestTheHelpOfACampaignListsItsScenarios.
func TestTheHelpOfACampaignListsItsScenarios(t *testing.T) {
	_, out, _ := simrun(t, "campaign", "--help")
	for _, s := range fakeCatalogue().Scenarios {
		if !strings.Contains(out, "  "+s.Name) || !strings.Contains(out, s.About) {
			t.Errorf("%s is missing", s.Name)
		}
	}
}
