package defects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lakebed/trial/shrink"
)

// ShrinkOptions says which defects' failures to make small.
type ShrinkOptions struct {
	Sources    string        // a directory inside the module
	IDs        []string      // empty: the whole catalogue
	Workers    int           // defects side by side
	Seed       uint64        // first seed of each hunt
	CPUSeconds float64       // budget of each hunt
	Budget     time.Duration // for making each failure small
	Out        string        // directory for the small cases; it is made
	// Watch is told after each defect. Calls do not overlap.
	Watch func(ShrinkRow)
}

// ShrinkRow is what became of one defect's failure.
type ShrinkRow struct {
	ID         string  `json:"id"`
	Scenario   string  `json:"scenario"`
	Caught     bool    `json:"caught"`
	Seed       uint64  `json:"seed"`
	HuntCPU    float64 `json:"hunt_cpu_seconds"`
	smallTrial         // what simrun shrink says
	// Failure says why there is no small trial. Empty: there is.
	Failure string `json:"failure,omitempty"`
}

// smallTrial is the part of what simrun shrink --json prints that a table needs.
type smallTrial struct {
	Checker    string        `json:"checker"`
	Before     shrink.Size   `json:"before"`
	After      shrink.Size   `json:"after"`
	Ending     shrink.Ending `json:"ending"`
	Needed     int           `json:"needed"`
	Tries      int           `json:"tries"`
	Seconds    float64       `json:"seconds"`
	CPUSeconds float64       `json:"cpu_seconds"`
	File       string        `json:"file"`
	Replays    int           `json:"replays"`
	Alike      int           `json:"replays_alike"`
}

// ShrinkTable is what became of the failures of all defects.
type ShrinkTable struct {
	BudgetSeconds    float64     `json:"budget_seconds"`
	Shrunk           int         `json:"shrunk"`
	Minimal          int         `json:"minimal"`
	Alike            int         `json:"alike"` // in all their replays
	FaultsMedian     float64     `json:"faults_median"`
	OperationsMedian float64     `json:"operations_median"`
	SecondsMedian    float64     `json:"seconds_median"`
	Defects          []ShrinkRow `json:"defects"`
}

// ShrinkAll hunts for each defect once, makes the failure small and runs that again, all in processes of programs that have
// the defects.
func ShrinkAll(ctx context.Context, o ShrinkOptions) (*ShrinkTable, error) {
	chosen, err := choose(o.IDs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make room for the small trials: %w", err)
	}
	root, err := FindSources(o.Sources)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "lakebed-defects-")
	if err != nil {
		return nil, fmt.Errorf("make room for the overlay: %w", err)
	}
	defer os.RemoveAll(directory)
	s := shrinkAll{options: o, rows: make([]ShrinkRow, len(chosen))}
	if s.hunter, err = Build(ctx, root, directory, hunterFolder); err != nil {
		return nil, err
	}
	if s.simrun, err = Build(ctx, root, directory, simrunFolder); err != nil {
		return nil, err
	}
	s.all(ctx, chosen)
	return s.table(), ctx.Err()
}

const simrunFolder = "cmd/simrun"

type shrinkAll struct {
	options        ShrinkOptions
	hunter, simrun string

	mutex sync.Mutex
	rows  []ShrinkRow
}

func (s *shrinkAll) all(ctx context.Context, chosen []Defect) {
	places := make(chan int)
	var workers sync.WaitGroup
	for range max(s.options.Workers, 1) {
		workers.Go(func() {
			for i := range places {
				row := s.one(ctx, &chosen[i])
				s.mutex.Lock()
				s.rows[i] = row
				if s.options.Watch != nil {
					s.options.Watch(row)
				}
				s.mutex.Unlock()
			}
		})
	}
	for i := range chosen {
		places <- i
	}
	close(places)
	workers.Wait()
}

func (s *shrinkAll) one(ctx context.Context, d *Defect) ShrinkRow {
	row := ShrinkRow{ID: d.ID, Scenario: d.Scenario}
	found, err := runHunter(ctx, s.hunter, Hunt{
		Defect: d.ID, Scenario: d.Scenario, Checkers: d.Checkers, Seed: s.options.Seed, SeedsMax: seedsOfHuntsMax,
		CPUSeconds: s.options.CPUSeconds,
	})
	row.Caught, row.Seed, row.HuntCPU = found.Caught, found.Seed, found.CPUSeconds
	switch {
	case err != nil:
		row.Failure = err.Error()
	case !found.Caught:
		row.Failure = "not caught within its budget"
	default:
		if row.smallTrial, err = s.shrink(ctx, d, found.Seed); err != nil {
			row.Failure = err.Error()
		}
	}
	return row
}

// tries is the default number of trials, more of them with a longer budget.
func (s *shrinkAll) tries() int {
	return shrink.TriesDefault * max(1, int(s.options.Budget/shrink.BudgetDefault))
}

// shrink has simrun make one failure small.
func (s *shrinkAll) shrink(ctx context.Context, d *Defect, seed uint64) (smallTrial, error) {
	command := exec.CommandContext(ctx, s.simrun, "shrink", strconv.FormatUint(seed, 10), "--scenario="+d.Scenario, "--defect="+d.ID,
		"--budget="+s.options.Budget.String(), fmt.Sprintf("--tries=%d", s.tries()), "--out="+filepath.Join(s.options.Out, d.ID+".json"), "--json")
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && len(output) > 0) {
		return smallTrial{}, fmt.Errorf("shrink seed %d: %w: %s", seed, err, lastWords(said.String()))
	}
	var small smallTrial
	if err := json.Unmarshal(output, &small); err != nil {
		return smallTrial{}, fmt.Errorf("shrink seed %d: read the answer: %w", seed, err)
	}
	return small, nil
}

func (s *shrinkAll) table() *ShrinkTable {
	t := &ShrinkTable{BudgetSeconds: s.options.Budget.Seconds(), Defects: s.rows}
	var faults, operations, seconds []float64
	for i := range s.rows {
		r := &s.rows[i]
		if r.Failure != "" || r.ID == "" {
			continue
		}
		t.Shrunk++
		if r.Ending == shrink.Minimal {
			t.Minimal++
		}
		if r.Alike == r.Replays && r.Replays > 0 {
			t.Alike++
		}
		faults, operations = append(faults, float64(r.After.Faults)), append(operations, float64(r.After.Operations))
		seconds = append(seconds, r.Seconds)
	}
	t.FaultsMedian, t.OperationsMedian, t.SecondsMedian = middle(faults), middle(operations), middle(seconds)
	return t
}

// middle is the median; zero of nothing.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

// OK reports whether each failure was made small and fails alike in all replays.
func (t *ShrinkTable) OK() bool { return t.Shrunk == len(t.Defects) && t.Alike == t.Shrunk }

// WriteText prints the table.
func (t *ShrinkTable) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d failures made small: median %g faults and %g operations, in %.3g s; %d are minimal, %d fail alike in each replay\n\n",
		t.Shrunk, len(t.Defects), t.FaultsMedian, t.OperationsMedian, t.SecondsMedian, t.Minimal, t.Alike)
	fmt.Fprintf(&b, "%-38s %-16s %9s %16s %19s %8s %8s %7s %8s\n", "defect", "scenario", "seed", "faults", "operations", "ended", "replays", "trials", "seconds")
	for i := range t.Defects {
		r := &t.Defects[i]
		if r.Failure != "" {
			first, _, _ := strings.Cut(r.Failure, "\n")
			fmt.Fprintf(&b, "%-38s %-16s %9d %s\n", r.ID, r.Scenario, r.Seed, first)
			continue
		}
		fmt.Fprintf(&b, "%-38s %-16s %9d %16s %19s %8s %8s %7d %8.1f\n", r.ID, r.Scenario, r.Seed,
			fmt.Sprintf("%d -> %d", r.Before.Faults, r.After.Faults), fmt.Sprintf("%d -> %d", r.Before.Operations, r.After.Operations),
			r.Ending, fmt.Sprintf("%d/%d", r.Alike, r.Replays), r.Tries, r.Seconds)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
