package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
)

// Options say how to run experiments. The zero value runs the full form, with everything in this process.
type Options struct {
	// Quick runs seconds instead of minutes.
	Quick bool
	// Seed is the first of those that worlds and campaigns are made from. Zero: DefaultSeed.
	Seed uint64
	// Dir is where clusters on this machine keep their files, in directories of their own that go afterwards. Empty: the
	// working directory, which is more likely on a disk than the temporary one.
	Dir string
	// Workers is how many processes run trials. Zero: as many as there are processors.
	Workers int
	// Executable is a program that helps, as simrun does. Zero: everything runs in this process.
	Executable Program
	// Sources is a directory inside the module, to plant defects in. Empty: the working directory.
	Sources string
	// Watch is told what happens, a line at a time. Nil: nobody is.
	Watch io.Writer
	// Logger takes what engines on this machine log. Nil: warnings go to Watch.
	Logger *slog.Logger
}

// Program is how to start a process that helps: the command lines without what the experiment adds.
type Program struct {
	Self         string   // simrun itself, which has the commands of bookies and metadata stores; empty: there are no processes
	Worker       []string // ends up in ServeWorker
	Fingerprints []string // two numbers follow, the first seed and how many; ends up in WriteFingerprints
}

// DefaultSeed is the first seed of an experiment.
const DefaultSeed = 1

// ErrUnknown says that there is no experiment of this number.
var ErrUnknown = errors.New("no such experiment")

// run is one experiment under way: what it was told, and where its figures go.
type run struct {
	Options
	hypothesis *Hypothesis
	notes      []string
	synced     string // what was synced when, of an experiment on a disk
	*measured
}

// What is synced when, in most experiments and in those that read.
const (
	syncedGroups = "each group of adds, before they are acknowledged"
	syncedNever  = "what is read was written and synced before"
)

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = DefaultSeed
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.Sources == "" {
		o.Sources = "."
	}
	if o.Watch == nil {
		o.Watch = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(o.Watch, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	return o
}

// say tells whoever watches.
func (r *run) say(format string, arguments ...any) {
	fmt.Fprintf(r.Watch, "%s  %s\n", r.hypothesis.ID, fmt.Sprintf(format, arguments...))
}

// note adds what a reader of the result must know.
func (r *run) note(format string, arguments ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, arguments...))
}

// either is the full form's value, or the quick one's.
func either[T any](r *run, full, quick T) T {
	if r.Quick {
		return quick
	}
	return full
}

// inScratch has f work in a directory of its own, which is gone afterwards.
func (r *run) inScratch(ctx context.Context, f func(ctx context.Context, dir string) error) error {
	dir, err := os.MkdirTemp(r.Dir, "lakebed-experiment-")
	if err != nil {
		return fmt.Errorf("make room for a cluster's files: %w", err)
	}
	err = f(ctx, dir)
	if removed := os.RemoveAll(dir); err == nil && removed != nil {
		err = fmt.Errorf("remove a cluster's files: %w", removed)
	}
	return err
}
