package campaign

import (
	"fmt"
	"strings"

	"lakebed/trial"
)

// Kind is what a failure is: a verdict of a trial that failed, or one of those that only a campaign can give.
type Kind string

// The kinds beside the verdicts of trials.
const (
	Hang           Kind = "hang"           // no answer in time
	Died           Kind = "died"           // the worker process ended with it
	Nondeterminism Kind = "nondeterminism" // two runs of the seed differ
)

// failure is one seed that failed in one way.
type failure struct {
	kind      Kind
	signature string
	checker   string
	text      string
	result    trial.Result // at least scenario and seed
	first     *fingerprint // nondeterminism: the run that result differs from
	output    string       // hang, died: what the worker said last
}

// group is where the failure belongs.
func (f *failure) group() groupKey { return groupKey{f.kind, f.checker, f.signature} }

// failureOf is a trial that failed. Its first finding names it: later ones are often consequences.
func failureOf(r *trial.Result) failure {
	f := failure{kind: Kind(r.Verdict), signature: string(r.Verdict), result: *r}
	if len(r.Findings) > 0 {
		first := r.Findings[0]
		f.checker, f.text = first.Checker, first.Text
		if first.Signature != "" {
			f.signature = first.Signature
		}
	}
	if r.Verdict == trial.Crashed {
		if frames := panicFrames(f.text); len(frames) > 0 {
			f.signature = "panic in " + strings.Join(frames, ", called by ")
		}
	}
	return f
}

// panicFrames are the innermost of our functions below a panic. A panic is known by them and not by its words, which name
// entries, indexes and lengths of this one trial.
func panicFrames(text string) []string {
	_, stack, found := strings.Cut(text, "\npanic(")
	if !found {
		return nil
	}
	var frames []string
	for line := range strings.Lines(stack) {
		if line == "\n" {
			break // another stack may follow
		}
		function, ours := ourFunction(line)
		if ours && !strings.HasPrefix(function, "lakebed/internal/") && !strings.HasPrefix(function, "lakebed/sim.") {
			frames = append(frames, strings.TrimPrefix(function, "lakebed/"))
		}
		if len(frames) == framesOfPanicMax {
			break
		}
	}
	return frames
}

// ourFunction is the function that a line of a stack names, if it is one of this module.
func ourFunction(line string) (function string, ours bool) {
	if !strings.HasPrefix(line, "lakebed/") {
		return "", false
	}
	function = strings.TrimSpace(line)
	if arguments := strings.LastIndexByte(function, '('); arguments > 0 {
		function = function[:arguments]
	}
	return function, true
}

func nondeterminismOf(j job, second *trial.Result) failure {
	now := fingerprintOf(second)
	return failure{
		kind: Nondeterminism, signature: "two runs of " + j.Scenario + " differ in " + difference(j.first, now),
		text: fmt.Sprintf("once:  %s\nagain: %s", j.first, now), result: *second, first: &j.first,
	}
}

// difference names the first thing in which two runs differ; later ones follow from it.
func difference(a, b fingerprint) string {
	switch {
	case a.Hash != b.Hash || a.Events != b.Events:
		return "their trace"
	case a.Image != b.Image:
		return "what is on their disks"
	default:
		return "the verdict on them"
	}
}

// failure names a loss after what the worker said last.
func (l *loss) failure() failure {
	f := failure{
		kind: l.kind, text: l.state, output: l.output,
		result: trial.Result{Scenario: l.job.Scenario, Seed: l.job.Seed},
	}
	if l.kind == Hang {
		f.signature = "hang of " + l.job.Scenario
		if place := busyPlace(l.output); place != "" {
			f.signature = "hang in " + place
		}
		return f
	}
	f.signature = "worker died: " + l.state
	if line := lastWords(l.output); line != "" {
		f.signature = "worker died: " + line
	}
	return f
}

// lastWords is the line with which the runtime says why a program ends.
func lastWords(output string) string {
	for line := range strings.Lines(output) {
		for _, prefix := range []string{"panic: ", "fatal error: ", "runtime: out of memory"} {
			if strings.HasPrefix(line, prefix) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// busyPlace is the innermost of our functions in a goroutine that was running when the stacks were taken.
func busyPlace(stacks string) string {
	for goroutine := range strings.SplitSeq(stacks, "\n\n") {
		header, frames, _ := strings.Cut(goroutine, "\n")
		if !strings.Contains(header, "[runn") { // running or runnable
			continue
		}
		for line := range strings.Lines(frames) {
			if function, ours := ourFunction(line); ours && !strings.Contains(line, "campaign.dumpOnQuit") && !strings.Contains(line, "campaign.endWithParent") {
				return function
			}
		}
	}
	return ""
}
