package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"lakebed/trial"
	"lakebed/trial/shrink"
)

// ReplaysDefault is how often a trial that was made small is run again.
const ReplaysDefault = 10

// ShrinkOptions says which failing trial to make smaller.
type ShrinkOptions struct {
	ReplayOptions          // which trial; its trace and end are not used
	Checkers      []string // those whose finding counts; empty: that of the case, or the first
	Budget        time.Duration
	Tries         int
	// Out is the file of the small trial.
	Out string
	// Replays is how often it is run again, each time in a process of ReplayCommand with the file as its argument.
	Replays       int
	ReplayCommand []string
	Watch         func(shrink.Stage)
}

// Shrunk is a trial that was made smaller, and what became of it in other processes.
type Shrunk struct {
	*shrink.Report
	File          string  `json:"file"`
	Replay        string  `json:"replay"` // the command that shows it
	TraceHash     string  `json:"trace_hash"`
	Replays       int     `json:"replays"`
	Alike         int     `json:"replays_alike"` // that failed in the same way, with the same trace
	ReplaySeconds float64 `json:"replay_seconds"`
	Build         Build   `json:"build"`
}

// ExitCode is what a command that made this trial smaller should exit with.
func (s *Shrunk) ExitCode() int {
	if s.Alike < s.Replays {
		return ExitBroken
	}
	return ExitOK
}

// Shrink makes a failing trial smaller, keeps it as a case, and runs that again in fresh processes. When ctx ends it keeps
// what it has, and runs nothing again.
func Shrink(ctx context.Context, o ShrinkOptions) (*Shrunk, error) {
	options, _, err := o.trial()
	if err != nil {
		return nil, err
	}
	signature, err := o.signature()
	if err != nil {
		return nil, err
	}
	report, err := shrink.Run(ctx, shrink.Options{
		Trial: options, Run: o.Catalogue.Run, Checkers: o.Checkers, Signature: signature,
		Budget: o.Budget, Tries: o.Tries, Watch: o.Watch,
	})
	switch {
	case errors.Is(err, shrink.ErrPasses):
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	case err != nil:
		return nil, err
	}
	s := &Shrunk{Report: report, File: o.Out, Build: ThisBuild(), TraceHash: hexHash(report.Result.Hash)}
	s.Replay = "go run ./cmd/simrun replay " + o.Out
	if err := WriteCase(o.Out, s.asCase()); err != nil {
		return s, err
	}
	if report.Ending == shrink.Interrupted {
		return s, nil
	}
	return s, s.replay(ctx, o.ReplayCommand, o.Replays)
}

// signature is that of the case that the target is; empty if it is a seed.
func (o *ShrinkOptions) signature() (string, error) {
	if _, err := strconv.ParseUint(o.Target, 0, 64); err == nil {
		return "", nil
	}
	c, err := ReadCase(o.Target)
	if err != nil {
		return "", err
	}
	if c.Plan() == nil {
		return "", fmt.Errorf("%w: %s is a case of %s: there is no trial that ends with it each time, so none can be made smaller", ErrUsage, o.Target, c.Kind)
	}
	return c.Signature, nil
}

func (s *Shrunk) asCase() Case {
	return Case{
		Build: s.Build, Kind: Kind(s.Result.Verdict), Signature: s.Signature, Defect: s.Defect, Replay: s.Replay,
		Result: s.Result, Reduction: s.Trial.Reduction,
	}
}

// replay runs the case in processes of its own, and counts those that fail as it should.
func (s *Shrunk) replay(ctx context.Context, command []string, times int) error {
	begun := time.Now()
	defer func() { s.ReplaySeconds = time.Since(begun).Seconds() }()
	wanted := trial.Finding{Checker: s.Checker, Signature: s.Signature}
	for range times {
		again, err := replayApart(ctx, command, s.File)
		if err != nil {
			return err
		}
		s.Replays++
		if again.TraceHash != s.TraceHash {
			continue
		}
		for i := range again.Findings {
			if again.Findings[i].Class() == wanted.Class() {
				s.Alike++
				break
			}
		}
	}
	return nil
}

// replayApart runs a case in a process of its own.
func replayApart(ctx context.Context, command []string, file string) (*Replayed, error) {
	process := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], file)...)
	process.Env = append(os.Environ(), "GOMAXPROCS=1")
	var said bytes.Buffer
	process.Stderr = &said
	output, err := process.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == ExitBroken) {
		return nil, fmt.Errorf("%w: replay %s in a process of its own: %w: %s", ErrEnvironment, file, err, bytes.TrimSpace(said.Bytes()))
	}
	var again Replayed
	if err := json.Unmarshal(output, &again); err != nil {
		return nil, fmt.Errorf("%w: replay %s in a process of its own: %w", ErrEnvironment, file, err)
	}
	return &again, nil
}
