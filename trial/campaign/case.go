package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"lakebed/faults"
	"lakebed/trial"
)

// caseFormat is the first thing in a case file, so that nothing else is taken for one.
const caseFormat = "lakebed-case/1"

// Case is a failing trial as it is kept in a file: enough to run it again, and to see what it looked like.
type Case struct {
	Format    string       `json:"format"`
	Build     Build        `json:"build"`
	Kind      Kind         `json:"kind"`
	Signature string       `json:"signature"`
	Defect    string       `json:"defect,omitempty"`
	Replay    string       `json:"replay,omitempty"`
	Result    trial.Result `json:"result"`
	// Reduction makes the trial smaller than scenario and seed do. Nil: not at all.
	Reduction *trial.Reduction `json:"reduction,omitempty"`
	// First is the run that Result differs from, when two runs of the seed differed.
	First      *fingerprint `json:"first_run,omitempty"`
	Divergence string       `json:"divergence,omitempty"`
	// Output is what the worker said last, when it did not survive the trial.
	Output string `json:"output,omitempty"`
}

// Plan is the plan to run the trial with again. Nil: it is drawn from the seed once more, because nothing came back
// that could tell it.
func (c *Case) Plan() *faults.Plan {
	if f := (failure{kind: c.Kind}); f.noAnswer() {
		return nil
	}
	plan := c.Result.Plan
	return &plan
}

func (g *Group) asCase(defect string) Case {
	f := &g.shortest
	return Case{
		Format: caseFormat, Build: ThisBuild(), Kind: g.Kind, Signature: g.Signature, Defect: defect, Replay: g.Replay,
		Result: f.result, First: f.first, Divergence: g.Divergence, Output: f.output,
	}
}

// WriteCase writes a case for ReadCase.
func WriteCase(path string, c Case) error {
	c.Format = caseFormat
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("%w: write the case of seed %d: %w", ErrEnvironment, c.Result.Seed, err)
	}
	return nil
}

// ReadCase reads what WriteCase wrote, or what somebody made of it.
func ReadCase(path string) (Case, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Case{}, fmt.Errorf("%w: there is no file %s", ErrUsage, path)
	case errors.Is(err, syscall.EISDIR):
		return Case{}, fmt.Errorf("%w: %s is a directory; a campaign keeps each failure in a file, such as failures/bookie-17-violation.json", ErrUsage, path)
	}
	if err != nil {
		return Case{}, fmt.Errorf("%w: read a case: %w", ErrEnvironment, err)
	}
	var c Case
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return Case{}, fmt.Errorf("%w: %s is not a case that a campaign has kept, or was edited into something else (%w)", ErrUsage, path, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Case{}, fmt.Errorf("%w: %s has something behind the case", ErrUsage, path)
	}
	switch {
	case c.Format != caseFormat:
		return Case{}, fmt.Errorf("%w: %s is not a case of a campaign: format %q, not %q", ErrUsage, path, c.Format, caseFormat)
	case c.Result.Scenario == "":
		return Case{}, fmt.Errorf("%w: %s names no scenario", ErrUsage, path)
	}
	return c, nil
}

// DefectOf is the planted bug of the case in a file; empty if there was none, or if target is a seed.
func DefectOf(target string) (string, error) {
	if _, err := strconv.ParseUint(target, 0, 64); err == nil {
		return "", nil
	}
	c, err := ReadCase(target)
	return c.Defect, err
}

// save writes one file for each group of failures, and a page beside it.
func (s *Summary) save(c Catalogue, directory string) error {
	if directory == "" || len(s.Failures) == 0 {
		return nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("%w: keep the failures: %w", ErrEnvironment, err)
	}
	taken := map[string]bool{}
	for i := range s.Failures {
		g := &s.Failures[i]
		path := filepath.Join(directory, g.fileName(taken))
		if err := WriteCase(path, g.asCase(s.Defect)); err != nil {
			return err
		}
		g.File = path
		if i < pagesMax {
			if err := g.writePage(c, s.Defect, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileName depends on the failure alone, so that a campaign run again overwrites its own files. One seed may stand for
// two groups.
func (g *Group) fileName(taken map[string]bool) string {
	base := fmt.Sprintf("%s-%d-%s", g.Scenario, g.Seed, g.Kind)
	name := base + ".json"
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s-%d.json", base, i)
	}
	taken[name] = true
	return name
}
