package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lakebed/reports"
)

// Shelf is a directory with the last result of each experiment, a file X-07.json each, and the hand-written parts of the
// page that is made of them.
type Shelf string

// DefaultShelf is the repository's.
const DefaultShelf Shelf = "results"

// Entry is an experiment and its last result.
type Entry struct {
	Hypothesis
	Result *reports.Result // nil: it was not run yet
}

// State is how an experiment stands, in a word or two.
func (e *Entry) State() string {
	switch {
	case e.Result == nil:
		return "not run"
	case e.Result.Verdict == nil:
		return "not judged"
	}
	state := string(e.Result.Verdict.Word)
	if IsQuick(e.Result) {
		state += " (quick)"
	}
	if !e.Result.Build.Known() {
		state += " (commit unknown)"
	}
	return state
}

// When is the day of the last result, empty if there is none.
func (e *Entry) When() string {
	if e.Result == nil {
		return ""
	}
	return e.Result.Started.UTC().Format(time.DateOnly)
}

func (s Shelf) path(id ID) string { return filepath.Join(string(s), string(id)+".json") }

// Exists says whether there is such a directory. An empty shelf and none look the same to Entries.
func (s Shelf) Exists() bool {
	_, err := os.ReadDir(string(s))
	return err == nil
}

// Put writes a result in the place of the last one, on one line: most of it is samples, which nobody reads one by one.
func (s Shelf) Put(r *reports.Result) (path string, err error) {
	var text, compact bytes.Buffer
	if err := reports.WriteJSON(&text, r); err != nil {
		return "", err
	}
	if err := json.Compact(&compact, text.Bytes()); err != nil {
		return "", fmt.Errorf("write result %s: %w", r.ID, err)
	}
	compact.WriteByte('\n')
	if err := os.MkdirAll(string(s), 0o755); err != nil {
		return "", fmt.Errorf("make the directory for results: %w", err)
	}
	path = s.path(ID(r.ID))
	if err := replace(path, compact.Bytes()); err != nil {
		return "", fmt.Errorf("write result %s: %w", r.ID, err)
	}
	return path, nil
}

// replace writes a file whole or not at all: half a result in the place of the last one would make the shelf unreadable.
func replace(path string, text []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, text, 0o644); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return nil
}

// Entries returns all experiments in the order of their numbers. A shelf that does not exist is empty.
func (s Shelf) Entries() ([]Entry, error) {
	var all []Entry
	for _, h := range Hypotheses() {
		e := Entry{Hypothesis: h}
		r, err := reports.ReadResult(s.path(h.ID))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case r.ID != string(h.ID) || r.Kind != reports.KindExperiment:
			return nil, fmt.Errorf("%s holds a result of %s %s", s.path(h.ID), r.Kind, r.ID)
		default:
			e.Result = &r
		}
		all = append(all, e)
	}
	return all, nil
}
