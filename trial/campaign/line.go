package campaign

import (
	"fmt"
	"strconv"
	"time"

	"lakebed/faults"
	"lakebed/trial"
)

// lineKind is what a line of a log tells.
type lineKind string

// The kinds of lines: the first and the last one; those between are named after the purpose of the trial they tell of.
const (
	headerLine  lineKind = "header"
	summaryLine lineKind = "summary"
)

// line is one answer as it is counted, and as it stands in a log: what a campaign found is a function of its header and
// its lines. Live or read from a file, they take the same way, so a campaign that was killed and went on, and one that
// was spread and merged, end with the same summary.
type line struct {
	Kind     lineKind `json:"kind"`
	Seed     uint64   `json:"seed"`
	Scenario string   `json:"scenario"`
	Outcome  Kind     `json:"outcome,omitempty"` // a verdict, hang or died
	// Signature groups failures. It is there for readers: whoever counts the line works it out again.
	Signature  string           `json:"signature,omitempty"`
	Trace      string           `json:"trace_hash,omitempty"`
	Image      string           `json:"image,omitempty"`
	Events     int64            `json:"events,omitempty"`
	Simulated  time.Duration    `json:"simulated_nanos,omitempty"`
	CPU        time.Duration    `json:"cpu_nanos"`     // of the trial
	Elapsed    time.Duration    `json:"elapsed_nanos"` // of the campaign, pauses between interrupt and resumption left out
	Operations int64            `json:"operations,omitempty"`
	Faults     map[string]int64 `json:"faults,omitempty"` // effective ones
	Marks      map[string]int64 `json:"marks,omitempty"`
	Answers    map[string]int64 `json:"answers,omitempty"`
	Findings   []trial.Finding  `json:"findings,omitempty"`
	Plan       *faults.Plan     `json:"plan,omitempty"`   // of a failure
	State      string           `json:"state,omitempty"`  // hang, died: how the worker ended
	Output     string           `json:"output,omitempty"` // hang, died: what it said last
	Text       string           `json:"text,omitempty"`   // of a bisection
}

// lineOf makes a line of an answer. What nobody counts is left out: of second runs that went well and of canaries only
// their cost and their fingerprint matter.
func lineOf(j job, a *answer) line {
	l := line{Kind: lineKind(j.Purpose), Seed: j.Seed, Scenario: j.Scenario, CPU: a.CPU, Text: a.Divergence}
	r := a.Result
	if r == nil {
		return l
	}
	l.Outcome, l.Trace, l.Image = Kind(r.Verdict), hexHash(r.Hash), hexHash(r.Image)
	l.Events, l.Simulated, l.Operations, l.Faults = r.Events, r.Simulated, r.Operations, r.Effects
	if j.Purpose == canary || j.Purpose == again && !r.Failed() {
		return l
	}
	l.Marks, l.Answers = r.Marks, r.Answers
	if r.Failed() {
		l.Findings, l.Plan, l.Signature = r.Findings, &r.Plan, failureOf(r).signature
	}
	return l
}

// lineOfLoss makes a line of a job that its worker did not survive.
func lineOfLoss(l *loss) line {
	return line{
		Kind: lineKind(l.job.Purpose), Seed: l.job.Seed, Scenario: l.job.Scenario, Outcome: l.kind,
		Signature: l.failure().signature, State: l.state, Output: l.output,
	}
}

// lost reports whether the worker did not survive.
func (l *line) lost() bool { return l.Outcome == Hang || l.Outcome == Died }

// loss is what lineOfLoss was made of.
func (l *line) loss() *loss {
	return &loss{job{Purpose: purpose(l.Kind), Scenario: l.Scenario, Seed: l.Seed}, l.Outcome, l.State, l.Output}
}

// result is what lineOf was made of.
func (l *line) result() (*trial.Result, error) {
	hash, err := strconv.ParseUint(l.Trace, 16, 64)
	if err != nil {
		return nil, fmt.Errorf("the trace hash of seed %d is %q: %w", l.Seed, l.Trace, err)
	}
	image, err := strconv.ParseUint(l.Image, 16, 64)
	if err != nil {
		return nil, fmt.Errorf("the disks' hash of seed %d is %q: %w", l.Seed, l.Image, err)
	}
	r := &trial.Result{
		Scenario: l.Scenario, Seed: l.Seed, Verdict: trial.Verdict(l.Outcome), Findings: l.Findings, Hash: hash, Events: l.Events, Image: image,
		Simulated: l.Simulated, Operations: l.Operations, Answers: l.Answers, Effects: l.Faults, Marks: l.Marks,
	}
	if l.Plan != nil {
		r.Plan = *l.Plan
	}
	return r, nil
}

// closing is the last line of a log, of a campaign that ran to its end.
type closing struct {
	Kind    lineKind `json:"kind"`
	Early   []string `json:"early,omitempty"` // why it stopped before its end, if it did
	Summary *Summary `json:"summary"`
}
