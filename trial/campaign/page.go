package campaign

import (
	"fmt"
	"strings"
	"time"

	"lakebed/trial"
	"lakebed/trial/page"
)

// pagesMax is for how many kinds of failures a campaign makes pages: each runs one trial more, in this process.
const pagesMax = 12

// PageOptions say what is on the page of a trial that is run again.
type PageOptions struct {
	// From and Until choose the events on the lanes, by virtual time. Until zero: to the end.
	From, Until time.Duration
}

// makePage is the page of a trial that was run with the recorder. Nil: the runner does not tell a trial's course.
func makePage(o *trial.Options, result *trial.Result, seen *page.Recorder, replay string, window PageOptions) *page.Page {
	if len(o.Course.Nodes) == 0 {
		return nil
	}
	return page.New(page.Source{
		Scenario: o.Scenario, Defect: o.Defect, Result: result, Course: o.Course, Recorder: seen, Replay: replay,
		Limits: page.DefaultLimits(), From: window.From, Until: window.Until,
	})
}

// writePage runs the trial of a failure once more and writes its page beside its case. A trial that took its worker with
// it is left alone, and one that goes another way this time has no page: it would show something else.
func (g *Group) writePage(c Catalogue, defect, file string) error {
	switch g.Kind {
	case Hang, Died, Nondeterminism:
		return nil
	}
	if c.Run == nil {
		return nil // who merges need not be able to run trials
	}
	scenario, err := c.find(g.Scenario)
	if err != nil {
		return err
	}
	plan := g.shortest.result.Plan
	o := trial.Options{Scenario: scenario, Seed: g.Seed, Defect: defect, Plan: &plan}
	seen := page.Watch(&o)
	result := c.Run(o)
	p := makePage(&o, &result, seen, "go run ./cmd/simrun replay "+file, PageOptions{})
	if p == nil || result.Hash != g.shortest.result.Hash {
		return nil
	}
	name := strings.TrimSuffix(file, ".json") + ".html"
	if err := p.WriteFile(name); err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	g.Page = name
	return nil
}
