package page

import (
	"os"
	"testing"

	"lakebed/trial"
)

func TestDraft(t *testing.T) {
	s, _ := trial.Find("cluster")
	o := trial.Options{Scenario: s, Seed: 3}
	rec := Watch(&o)
	r := trial.Run(o)
	p := New(Source{Scenario: s, Result: &r, Course: o.Course, Recorder: rec, Replay: "simrun replay 3", Limits: DefaultLimits()})
	if err := p.WriteFile("/tmp/h/page/draft.html"); err != nil {
		t.Fatal(err)
	}
	i, _ := os.Stat("/tmp/h/page/draft.html")
	t.Log(len(p.Events), i.Size())
}
