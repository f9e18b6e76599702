package metamorphic

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"

	"lakebed/trial/bench/sameness"
	"lakebed/trial/defects/defect"
)

// Defaults of Options.
const (
	DefaultSeed      = 1
	DefaultSeeds     = 10
	DefaultRealSeeds = 1
)

// Options say what is tried.
type Options struct {
	Relations []Relation // none: all
	Seed      uint64     // the first
	Seeds     int        // simulated scripts, of consecutive seeds
	RealSeeds int        // scripts that are played on real goroutines, files and sockets too
	Dir       string     // for the files of those; empty: the system's directory for temporary files
	Defect    string     // planted bug to switch on; only builds with the defects overlay have any
	// Progress is told of each script that has been played in all ways. Nil: nobody asks.
	Progress func(w World, seed uint64)

	twist func(Name) sameness.Twist // plants a difference, for tests
}

// World is where a script was played.
type World string

// The worlds.
const (
	Simulated World = "simulated"
	Real      World = "real"
)

// Run plays scripts under all relations. The error is about what hindered it, and the report about what was seen until
// then; a broken relation is none.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Defect != "" {
		defer defect.Choose(o.Defect)()
	}
	if len(o.Relations) == 0 {
		o.Relations = All()
	}
	r := newReport(&o)
	for i := range o.Seeds {
		if err := r.script(ctx, Simulated, o.Seed+uint64(i)); err != nil {
			return r, err
		}
	}
	for i := range o.RealSeeds {
		if err := r.script(ctx, Real, o.Seed+uint64(i)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// script plays what a seed draws, unchanged and under each relation.
func (r *Report) script(ctx context.Context, w World, seed uint64) error {
	s := sameness.Draw(seed, seed%2 == 1)
	want, err := s.Expected()
	if err != nil {
		return fmt.Errorf("work out what the script of seed %d leaves: %w", seed, err)
	}
	same := Relation{Name: Unchanged}
	base, err := r.play(ctx, w, seed, &s, &same)
	if err != nil {
		return err
	}
	if base == nil {
		return nil // nothing to compare with, and it is told
	}
	r.compare(w, seed, &same, *base, want, "the script")
	for i := range r.options.Relations {
		relation := &r.options.Relations[i]
		if !relation.triedIn(w) {
			continue
		}
		changed, err := relation.changed(s)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		state, err := r.play(ctx, w, seed, &changed, relation)
		if err != nil {
			return err
		}
		if state != nil {
			r.compare(w, seed, relation, *state, *base, "the unchanged run")
		}
	}
	if r.options.Progress != nil {
		r.options.Progress(w, seed)
	}
	return nil
}

func (r *Relation) triedIn(w World) bool {
	return r.Where == Anywhere || r.Where == InSimulation && w == Simulated || r.Where == OnRealGoroutines && w == Real
}

// changed is the script that a relation makes of one, which stays as it is.
func (r *Relation) changed(s sameness.Script) (sameness.Script, error) {
	s.Steps = slices.Clone(s.Steps)
	if r.script == nil {
		return s, nil
	}
	r.script(&s)
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("relation %s makes of a script one without a single outcome: %w", r.Name, err)
	}
	return s, nil
}

// play returns what a script leaves under a relation; nil if its simulated world did not come to an end, which is told.
func (r *Report) play(ctx context.Context, w World, seed uint64, s *sameness.Script, relation *Relation) (*sameness.State, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	settings := sameness.DefaultSettings()
	if relation.settings != nil {
		relation.settings(&settings)
	}
	if r.options.twist != nil {
		settings.Twist = r.options.twist(relation.Name)
	}
	if w == Simulated {
		state, err := sameness.Simulate(s, seed, &settings)
		if err != nil {
			r.broken(w, seed, relation, "it did not come to its end: "+err.Error())
			return nil, nil
		}
		return &state, nil
	}
	state, err := r.playReal(ctx, s, relation, &settings)
	if err != nil {
		return nil, fmt.Errorf("play the script of seed %d under relation %s on this machine: %w", seed, relation.Name, err)
	}
	return &state, nil
}

func (r *Report) playReal(ctx context.Context, s *sameness.Script, relation *Relation, settings *sameness.Settings) (sameness.State, error) {
	directory, err := os.MkdirTemp(r.options.Dir, "lakebed-metamorphic-")
	if err != nil {
		return "", fmt.Errorf("make room for a cluster: %w", err)
	}
	defer os.RemoveAll(directory)
	if relation.processors > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(relation.processors))
	}
	return sameness.InProcess(ctx, directory, s, settings)
}
