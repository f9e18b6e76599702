package campaign

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lakebed/trial"
	"lakebed/trial/page"
)

// ReplayOptions says which trial to run again.
type ReplayOptions struct {
	Catalogue Catalogue
	// Target is a seed, decimal or 0x hexadecimal, or the file of a case.
	Target string
	// Scenario of the seed. Empty: the one that the default campaign runs with it.
	Scenario string
	Defect   string
	Trace    io.Writer     // one line an event; nil: none
	Until    time.Duration // virtual time at which to stop; zero: run to the end
	Page     *PageOptions  // nil: no page is made. Else the world runs to its end: a page without a verdict explains nothing
}

// Replayed is a trial that was run again. Its JSON form is what simrun replay --json prints.
type Replayed struct {
	Scenario         string           `json:"scenario"`
	Seed             uint64           `json:"seed"`
	Defect           string           `json:"defect,omitempty"`
	Scheduler        string           `json:"scheduler"`
	Verdict          trial.Verdict    `json:"verdict"`
	TraceHash        string           `json:"trace_hash"`
	Events           int64            `json:"events"`
	Image            string           `json:"image"` // hash of all disks at the end
	SimulatedSeconds float64          `json:"simulated_seconds"`
	WallSeconds      float64          `json:"wall_seconds"`
	ClientOperations int64            `json:"client_operations"`
	Findings         []trial.Finding  `json:"findings"`
	Excused          []trial.Finding  `json:"excused"` // what the plan destroyed beyond what can survive; no failure
	Damage           []trial.Wound    `json:"damage"`  // places where the plan destroyed synced bytes, or was kept from it
	Answers          map[string]int64 `json:"answers"`
	Faults           map[string]int64 `json:"faults"`
	Marks            map[string]int64 `json:"marks"`
	// Recorded is the trace hash that the case file has; empty for a seed, and where the trial had not ended.
	Recorded string `json:"recorded_trace_hash,omitempty"`
	Build    Build  `json:"build"`

	page    *page.Page // nil: none was asked for
	course  *trial.Course
	result  trial.Result
	partial bool // stopped by Until, not by its own end
}

// ExitCode is what a command that replayed this trial should exit with.
func (r *Replayed) ExitCode() int {
	if r.result.Failed() {
		return ExitBroken
	}
	return ExitOK
}

// Replay runs a trial again, in this process.
func Replay(o ReplayOptions) (*Replayed, error) {
	if o.Until < 0 {
		return nil, fmt.Errorf("%w: a trial cannot stop before its begin, at %s", ErrUsage, o.Until)
	}
	options, recorded, err := o.trial()
	if err != nil {
		return nil, err
	}
	var seen *page.Recorder
	if o.Page != nil {
		seen = page.Watch(&options)
	}
	start := time.Now()
	result := o.Catalogue.Run(options)
	r := &Replayed{
		Scenario: options.Scenario.Name, Seed: options.Seed, Defect: options.Defect,
		Scheduler: result.Scheduler, Verdict: result.Verdict, TraceHash: hexHash(result.Hash), Events: result.Events, Image: hexHash(result.Image),
		SimulatedSeconds: result.Simulated.Seconds(), WallSeconds: time.Since(start).Seconds(),
		ClientOperations: result.Operations, Findings: result.Findings,
		Excused: result.Excused, Damage: result.Damage,
		Answers: result.Answers, Faults: result.Effects, Marks: result.Marks,
		Recorded: recorded, Build: ThisBuild(), result: result, partial: o.Until > 0 && result.Simulated >= o.Until,
	}
	if r.partial && result.Verdict == trial.OK {
		r.Verdict = Cut
	}
	r.fillEmpty()
	if seen != nil {
		r.course = options.Course
		if r.page = makePage(&options, &result, seen, o.command(&options), *o.Page); r.page == nil {
			return nil, fmt.Errorf("%w: scenario %s tells no course, so there is no page of it", ErrUsage, options.Scenario.Name)
		}
	}
	return r, nil
}

// WritePage writes the page into a file, and beside it porcupine's own picture if porcupine could be asked.
func (r *Replayed) WritePage(name string) error {
	picture, err := r.page.Search(r.course)
	if err == nil && picture != nil {
		beside := strings.TrimSuffix(name, filepath.Ext(name)) + "-porcupine.html"
		r.page.Porcupine = filepath.Base(beside)
		err = os.WriteFile(beside, picture, 0o644)
	}
	if err == nil {
		err = r.page.WriteFile(name)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	return nil
}

// WritePageModel writes what is on the page into a file, as JSON.
func (r *Replayed) WritePageModel(name string) error {
	if err := r.page.WriteModel(name); err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	return nil
}

// command is what runs this trial again.
func (o *ReplayOptions) command(options *trial.Options) string {
	if _, err := strconv.ParseUint(o.Target, 0, 64); err != nil {
		command := "go run ./cmd/simrun replay " + o.Target
		if o.Defect != "" {
			command += " --defect " + o.Defect
		}
		return command
	}
	return replayCommand(options.Scenario.Name, options.Seed, options.Defect)
}

// Cut is the verdict on a world that ended early: nothing was broken until then, and the rest was not looked at.
const Cut trial.Verdict = "cut"

// fillEmpty has JSON say [] and {} where there is nothing: null asks every reader for a special case.
func (r *Replayed) fillEmpty() {
	if r.Findings == nil {
		r.Findings = []trial.Finding{}
	}
	if r.Excused == nil {
		r.Excused = []trial.Finding{}
	}
	if r.Damage == nil {
		r.Damage = []trial.Wound{}
	}
	for _, counts := range []*map[string]int64{&r.Answers, &r.Faults, &r.Marks} {
		if *counts == nil {
			*counts = map[string]int64{}
		}
	}
}

func hexHash(hash uint64) string { return fmt.Sprintf("%016x", hash) }

// trial finds out what to run, and which trace hash it had before.
func (o *ReplayOptions) trial() (options trial.Options, recorded string, err error) {
	options = trial.Options{Defect: o.Defect, Trace: o.Trace, Until: o.Until}
	name := o.Scenario
	if seed, err := strconv.ParseUint(o.Target, 0, 64); err == nil {
		options.Seed = seed
	} else if errors.Is(err, strconv.ErrRange) {
		return options, "", fmt.Errorf("%w: %s: a seed is a whole number from 0 to 2^64-1", ErrUsage, o.Target)
	} else if _, missing := os.Stat(o.Target); errors.Is(missing, os.ErrNotExist) {
		return options, "", fmt.Errorf("%w: %q is neither a seed nor a file that exists", ErrUsage, o.Target)
	} else {
		c, err := ReadCase(o.Target)
		if err != nil {
			return options, "", err
		}
		if name != "" && name != c.Result.Scenario {
			return options, "", fmt.Errorf("%w: %s is a case of scenario %s, not %s", ErrUsage, o.Target, c.Result.Scenario, name)
		}
		name, options.Seed, options.Plan, options.Reduction = c.Result.Scenario, c.Result.Seed, c.Plan(), c.Reduction
		if o.Defect == "" {
			options.Defect = c.Defect
		}
		if c.Result.Hash != 0 {
			recorded = hexHash(c.Result.Hash)
		}
	}
	if options.Scenario, err = o.scenario(name, options.Seed); err != nil {
		return options, recorded, err
	}
	if err = checkCase(&options); err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrUsage, o.Target, err)
	}
	return options, recorded, err
}

// checkCase reports why the trial of a case that was edited cannot be run. A plan that was written by hand for a whole
// trial may do more than the promises survive: that is for its writer to know.
func checkCase(o *trial.Options) error {
	if o.Reduction != nil {
		return o.Check()
	}
	return o.CheckNames()
}

func (o *ReplayOptions) scenario(name string, seed uint64) (trial.Scenario, error) {
	if name != "" {
		return o.Catalogue.find(name)
	}
	m, err := newMix(o.Catalogue, nil, nil)
	if err != nil {
		return trial.Scenario{}, err
	}
	return m.of(seed), nil
}
