package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// TestATrialThatDoesNotAnswerIsAHang with the stacks of its worker, and the seeds behind it run all the same.
func TestATrialThatDoesNotAnswerIsAHang(t *testing.T) {
	for scenario, place := range map[string]string{"asleep": "campaign.perish", "busy": "lakebed/trial/campaign.spin"} {
		o := options(scenario, 20)
		o.HangAfter, o.Out = 1500*time.Millisecond, t.TempDir()
		s := conduct(t, o)
		g := onlyGroup(t, s)
		if s.Outcome != Broken || g.Kind != Hang || g.Count != 2 || s.Seeds != 20 || s.Verdicts["ok"] != 18 || s.Verdicts["hang"] != 2 {
			t.Errorf("%s: %s, %+v, verdicts %v", scenario, s.Outcome, g, s.Verdicts)
		}
		if g.Seed != 5 || g.Replay != "go run ./cmd/simrun replay 5 --scenario "+scenario {
			t.Errorf("%s: seed %d, %s", scenario, g.Seed, g.Replay)
		}
		c, err := ReadCase(g.File)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(c.Output, place) || !strings.HasPrefix(c.Output, "goroutine ") {
			t.Errorf("%s: these are not the worker's own stacks, or do not show the place:\n%s", scenario, c.Output)
		}
		if scenario == "busy" && g.Signature != "hang in "+place {
			t.Errorf("the signature does not name the busy place: %s", g.Signature)
		}
		if c.Plan() != nil {
			t.Error("a trial that told no plan must draw it again")
		}
	}
}

// TestATrialThatKillsItsWorkerIsAFailure named after the panic.
func TestATrialThatKillsItsWorkerIsAFailure(t *testing.T) {
	o := options("mortal", 40)
	o.Out = t.TempDir()
	s := conduct(t, o)
	g := onlyGroup(t, s)
	if g.Kind != Died || g.Signature != "worker died: panic: the disk is on fire" || g.Count != 4 || s.Seeds != 40 || s.Verdicts["ok"] != 36 {
		t.Errorf("%+v, verdicts %v", g, s.Verdicts)
	}
	c, err := ReadCase(g.File)
	if err != nil || !strings.Contains(c.Output, "campaign.perish") {
		t.Errorf("%v, output: %s", err, c.Output)
	}
}

// TestACampaignThatLosesManyWorkersStops instead of losing one with each tenth of a million seeds.
func TestACampaignThatLosesManyWorkersStops(t *testing.T) {
	s := conduct(t, options("mortal", 1_000_000))
	if s.Outcome != Broken || s.Violations < lostWorkersMax || s.Violations > lostWorkersMax+1 || s.Interrupted {
		t.Errorf("%s after %d violations", s.Outcome, s.Violations)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), "workers were lost") {
		t.Errorf("notes: %q", s.Notes)
	}
}

// TestWorkersAreFrugalAndDiscreet: one thread, few collections, and what engine code prints is no answer.
func TestWorkersAreFrugalAndDiscreet(t *testing.T) {
	for _, scenario := range []string{"lavish", "talkative"} {
		if s := conduct(t, options(scenario, 10)); s.Outcome != Passed || s.Seeds != 10 {
			t.Errorf("%s: %s after %d seeds, %+v", scenario, s.Outcome, s.Seeds, s.Failures)
		}
	}
}

// TestAnInterruptDoesNotWaitForAHungTrial and does not count it.
func TestAnInterruptDoesNotWaitForAHungTrial(t *testing.T) {
	ctx, interrupt := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer interrupt()
	o := options("asleep", 1000)
	o.HangAfter = time.Hour
	s, err := Run(ctx, o)
	if err != nil || s.Outcome != Interrupted || s.Violations != 0 || s.WallSeconds > (endPatience-time.Second).Seconds() {
		t.Errorf("%v, %s with %d violations after %v s", err, s.Outcome, s.Violations, s.WallSeconds)
	}
}

// TestAWorkerEndsWithItsInput and answers each job of a batch in turn.
func TestAWorkerEndsWithItsInput(t *testing.T) {
	var in, out bytes.Buffer
	batch := []job{{Purpose: sweep, Scenario: "good", Seed: 3}, {Purpose: sweep, Scenario: "bad", Seed: 5}}
	if err := json.NewEncoder(&in).Encode(request{Batch: batch}); err != nil {
		t.Fatal(err)
	}
	if err := Serve(&in, &out, fakeCatalogue()); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	var ready, first, second, none answer
	for _, a := range []*answer{&ready, &first, &second} {
		if err := lines.Decode(a); err != nil {
			t.Fatal(err)
		}
	}
	if !ready.Ready || first.Result.Seed != 3 || second.Result.Seed != 5 || len(second.Result.Findings) != 2 {
		t.Errorf("%+v, %+v, %+v", ready, first.Result, second.Result)
	}
	if err := lines.Decode(&none); err != io.EOF {
		t.Errorf("more than was asked: %v, %+v", err, none)
	}
}

// TestAWorkerRefusesWhatIsNoRequest and a scenario that it does not know.
func TestAWorkerRefusesWhatIsNoRequest(t *testing.T) {
	for _, in := range []string{"nonsense", `{"batch":[{"purpose":"sweep","scenario":"unheard","seed":1}]}`} {
		if err := Serve(strings.NewReader(in), io.Discard, fakeCatalogue()); err == nil {
			t.Errorf("%s: accepted", in)
		}
	}
}

// TestAnExcerptKeepsBothEnds and says how much is between them.
func TestAnExcerptKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		bytes int
		left  string
	}{{100, ""}, {2 * excerptHalfMaxBytes, ""}, {2*excerptHalfMaxBytes + 7, "[7 bytes left out]"}, {20 * excerptHalfMaxBytes, "bytes left out]"}} {
		var e excerpt
		text := "begin" + strings.Repeat("x", c.bytes-8) + "end"
		for rest := text; rest != ""; {
			n := min(len(rest), 1000)
			e.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got := e.String()
		if !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || !strings.Contains(got, c.left) {
			t.Errorf("%d bytes: the ends are lost, or %q is not said", c.bytes, c.left)
		}
		if c.left == "" && got != text {
			t.Errorf("%d bytes: changed", c.bytes)
		}
		if len(got) > 2*excerptHalfMaxBytes+100 || len(e.tail) > 3*excerptHalfMaxBytes {
			t.Errorf("%d bytes: kept %d and %d", c.bytes, len(got), len(e.tail))
		}
	}
}
