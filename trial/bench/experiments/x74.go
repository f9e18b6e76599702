package experiments

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"lakebed/reports"
	"lakebed/trial"
)

// the same seed twice gives the same trace, however the Go runtime schedules and collects.

// runtimes are the settings under which seeds run. The first is what the others are compared with.
func runtimes() []string {
	return []string{"GOMAXPROCS=1", "GOMAXPROCS=2", "GOGC=1", "GOGC=off", "GOGC=400"}
}

// mixed scenarios get this part of the seeds; bookie and cluster get all.
const mixedPart = 4

const figureCompared = "trials compared"

// WriteFingerprints runs seeds of the scenarios of the default mix and writes what must be equal wherever they run, a
// line a trial.
func WriteFingerprints(w io.Writer, first uint64, seeds int) error {
	out := bufio.NewWriter(w)
	for _, s := range trial.Scenarios() {
		if s.Weight == 0 || s.Canary {
			continue
		}
		n := seeds
		if s.Name != "bookie" && s.Name != "cluster" {
			n = max(seeds/mixedPart, 1)
		}
		for i := range uint64(n) {
			r := trial.Run(trial.Options{Scenario: s, Seed: first + i})
			fmt.Fprintf(out, "%s seed %d trace %016x events %d disks %016x %s\n", s.Name, first+i, r.Hash, r.Events, r.Image, r.Verdict)
		}
	}
	return out.Flush()
}

func measureDeterminism(ctx context.Context, r *run) error {
	seeds := either(r, 200, 1)
	g := r.group("The same seeds in other processes", "Trace hash, number of events, hash of all disks and verdict of each trial, against those with "+runtimes()[0]+".")
	var want []string
	for _, setting := range runtimes() {
		got, err := r.fingerprints(ctx, setting, seeds)
		if err != nil {
			return err
		}
		if want == nil {
			want = got
			r.say("%d trials with %s", len(want), setting)
			continue
		}
		differing := differences(want, got)
		if len(differing) > 0 {
			r.note("with %s: %s", setting, differing[0])
		}
		r.say("%d trials with %s, %d differ", len(got), setting, len(differing))
		c := g.cell(runtimeCell(setting), "runtime", setting)
		c.sample(count(figureCompared, reports.NeitherBetter), float64(len(want)))
		c.sample(count(figureDiffering, reports.LowerBetter), float64(len(differing)))
	}
	return nil
}

func runtimeCell(setting string) string { return "runtime/" + setting }

// fingerprints runs the seeds in a process of its own. Without a program to start they run here, which tells less.
func (r *run) fingerprints(ctx context.Context, setting string, seeds int) ([]string, error) {
	var out bytes.Buffer
	if len(r.Executable.Fingerprints) == 0 {
		err := WriteFingerprints(&out, r.Seed, seeds)
		return splitLines(out.String()), err
	}
	argv := append(r.Executable.Fingerprints, strconv.FormatUint(r.Seed, 10), strconv.Itoa(seeds))
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Env = append(os.Environ(), setting)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("run seeds with %s: %w: %s", setting, err, strings.TrimSpace(said.String()))
	}
	return splitLines(out.String()), nil
}

func splitLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// differences tells the trials of which two runs differ.
func differences(want, got []string) (differing []string) {
	for i := range max(len(want), len(got)) {
		a, b := "no such trial", "no such trial"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			differing = append(differing, fmt.Sprintf("%q, and %q", a, b))
		}
	}
	return differing
}
