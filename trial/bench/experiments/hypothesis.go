package experiments

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"lakebed/trial/tomlfile"
)

// ID is an experiment's number, such as "X-07".
type ID string

// Mode says where an experiment runs.
type Mode string

// The modes of the requirements.
const (
	Simulated Mode = "S" // virtual time: counts, orders, safety, and time under a stated model of costs
	Device    Mode = "D" // a real disk and TCP, by the wall clock
	Both      Mode = "B"
)

// Hypothesis is what is claimed, and what would refute it. It is written before anything is measured.
type Hypothesis struct {
	ID         ID       `toml:"id"`
	Title      string   `toml:"title"`
	Source     string   `toml:"source"` // the requirement and where its claim comes from
	Mode       Mode     `toml:"mode"`
	Hypothesis string   `toml:"hypothesis"`
	Arms       []string `toml:"arms"` // what is varied, a line each
	Measured   string   `toml:"measured"`

	// The rule of the verdict in words. judges.go says the same in code.
	Refuted   string `toml:"refuted"`
	Confirmed string `toml:"confirmed"`
	Undecided string `toml:"undecided"`

	// Promise: what is claimed is a promise of this engine or of its laboratory. To see it refuted is to have found a bug.
	Promise bool `toml:"promise"`

	Minutes  float64 `toml:"minutes"`   // that the full form takes, about
	CannotBe string  `toml:"cannot_be"` // what cannot be decided here
}

// Command is the one that runs the experiment.
func (h *Hypothesis) Command() string { return "go run ./cmd/simrun experiment run " + string(h.ID) }

//go:embed hypotheses/*.toml
var files embed.FS

// Hypotheses returns all of them, by their numbers.
func Hypotheses() []Hypothesis {
	entries, err := files.ReadDir("hypotheses")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var all []Hypothesis
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("hypotheses", e.Name()))
		if err != nil {
			panic(err)
		}
		h, err := ParseHypothesis(text)
		if err != nil {
			panic(fmt.Sprintf("hypothesis file %s: %v", e.Name(), err)) // held by a test
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Hypothesis) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

// ParseHypothesis decodes a hypothesis file. Unknown keys, and keys that are missing, are errors.
func ParseHypothesis(text []byte) (Hypothesis, error) {
	var h Hypothesis
	if err := tomlfile.Decode(text, &h); err != nil {
		return h, fmt.Errorf("hypothesis: %w", err)
	}
	if h.Mode != Simulated && h.Mode != Device && h.Mode != Both {
		return h, fmt.Errorf("hypothesis %s: mode %q is none of S, D and B", h.ID, h.Mode)
	}
	for _, must := range []struct{ key, value string }{
		{"id", string(h.ID)}, {"title", h.Title}, {"source", h.Source}, {"hypothesis", h.Hypothesis}, {"measured", h.Measured},
		{"refuted", h.Refuted}, {"confirmed", h.Confirmed}, {"undecided", h.Undecided}, {"cannot_be", h.CannotBe},
	} {
		if strings.TrimSpace(must.value) == "" {
			return h, fmt.Errorf("hypothesis %s: %s must not be empty", h.ID, must.key)
		}
	}
	if len(h.Arms) == 0 || h.Minutes <= 0 {
		return h, fmt.Errorf("hypothesis %s: it has arms, and takes some minutes", h.ID)
	}
	return h, nil
}
