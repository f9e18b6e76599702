package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"lakebed/engine/record"
	"lakebed/reports"
)

// Bounds within which the ratio of fio to the raw line is expected.
const (
	fioRatioLow  = 0.9
	fioRatioHigh = 1.1
)

// fioGroupBytes is used where no arm has been measured that says how large groups are.
const fioGroupBytes = 128 << 10

// figureFioByRaw is the figure that says whether the raw line is what others would measure.
const figureFioByRaw = "fio by raw"

// fioResult compares the raw line with fio, which others trust.
type fioResult struct {
	missing    string // why there is no figure
	version    string
	command    string
	groupBytes int64
	fios, raws []float64 // bytes a second, in pairs
	hots       []float64 // of a raw line that, like fio, writes one buffer again and again
}

// fio interleaves fio with the raw line, at one group size, on the same blocks of the same file.
func (r *run) fio(ctx context.Context) error {
	if !r.plan.fio {
		return nil
	}
	r.step("fio beside the raw line")
	result := &fioResult{groupBytes: r.typicalGroup()}
	r.fioFound = result
	program, err := exec.LookPath("fio")
	if err != nil {
		result.missing = "fio is not installed (Debian: apt-get install fio); the raw line stands without a witness"
		return nil
	}
	version, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return fmt.Errorf("%w: ask %s for its version: %w", ErrEnvironment, program, err)
	}
	result.version = strings.TrimSpace(string(version))
	arguments := fioArguments(r.raw, result.groupBytes, r.pace.fioRound)
	result.command = "fio " + strings.Join(arguments, " ")
	return r.fioPairs(ctx, result, program, arguments)
}

func (r *run) fioPairs(ctx context.Context, result *fioResult, program string, arguments []string) error {
	group := []int64{result.groupBytes}
	rate := func(line *rawLine) (float64, error) {
		round, err := line.run(group, r.pace.fioRound)
		return perSecond(round.bytes, round.elapsed), err
	}
	hotLine := r.raw.withOneBuffer(result.groupBytes)
	measureFio := func() (float64, error) { return runFio(ctx, program, arguments) }
	measureRaw := func() (float64, error) { return rate(r.raw) }
	for i := range r.pace.fioPairs {
		hot, err := rate(hotLine)
		if err != nil {
			return err
		}
		fio, raw, err := inTurn(i, measureFio, measureRaw)
		if err != nil {
			return err
		}
		result.fios, result.raws, result.hots = append(result.fios, fio), append(result.raws, raw), append(result.hots, hot)
	}
	return nil
}

func (f *fioResult) ratios(by []float64) []float64 {
	var ratios []float64
	for i, fio := range f.fios {
		ratios = append(ratios, fio/by[i])
	}
	return ratios
}

func (f *fioResult) cell(m maker) reports.Cell {
	return reports.Cell{
		Name: string(FioLine), Labels: []reports.Setting{{Name: "program", Value: f.version}, {Name: "group", Value: fmt.Sprintf("%d B", f.groupBytes)}},
		Figures: []reports.Figure{
			m.wall("fio", unitBytesRate, reports.NeitherBetter, f.fios), m.wall("raw", unitBytesRate, reports.HigherBetter, f.raws),
			m.wall(figureFioByRaw, unitRatio, reports.NeitherBetter, f.ratios(f.raws)),
			m.wall("by raw of one buffer", unitRatio, reports.NeitherBetter, f.ratios(f.hots)),
		},
	}
}

// note says whether the two agree.
func (f *fioResult) note(m maker) string {
	if f.missing != "" {
		return "NO FIO FIGURE: " + f.missing
	}
	cell := f.cell(m)
	ratio, _ := cell.Figure(figureFioByRaw)
	verdict := "overlaps"
	if ratio.High < fioRatioLow || ratio.Low > fioRatioHigh {
		verdict = "DOES NOT OVERLAP"
	}
	return fmt.Sprintf("fio by raw %s %.1f to %.1f; as it was run: %s", verdict, fioRatioLow, fioRatioHigh, f.command)
}

// inTurn measures two things, first one first, then the other first.
func inTurn(i int, a, b func() (float64, error)) (first, second float64, err error) {
	if i%2 == 0 {
		if first, err = a(); err == nil {
			second, err = b()
		}
		return first, second, err
	}
	if second, err = b(); err == nil {
		first, err = a()
	}
	return first, second, err
}

// typicalGroup is the usual group of the arm of 1 KiB in batches, in whole pages.
func (r *run) typicalGroup() int64 {
	for i := range r.appends {
		if a := &r.appends[i]; a.arm == (Arm{Journal, outstandingMost, Batches, 1 << 10}) {
			return max(record.Align, int64(reports.Median(a.each(pair.groupMean)))&^(record.Align-1))
		}
	}
	return fioGroupBytes
}

// fioArguments make fio do what the raw line does: pwritev and fdatasync of one group after the other over blocks
// that were written before, whose pages are cached.
func fioArguments(raw *rawLine, groupBytes int64, length time.Duration) []string {
	span := (raw.bytes - record.FileHeaderBytes) / groupBytes * groupBytes
	return []string{
		"--name=line", "--filename=" + raw.path, "--ioengine=pvsync", "--rw=write", "--fdatasync=1",
		fmt.Sprintf("--bs=%d", groupBytes), fmt.Sprintf("--offset=%d", record.FileHeaderBytes), fmt.Sprintf("--size=%d", span),
		fmt.Sprintf("--runtime=%dms", length.Milliseconds()), "--time_based", "--fallocate=none", "--invalidate=0",
		"--thread", "--output-format=json",
	}
}

// runFio returns fio's bytes per second.
func runFio(ctx context.Context, program string, arguments []string) (float64, error) {
	out, err := exec.CommandContext(ctx, program, arguments...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return 0, fmt.Errorf("%w: run fio: %w", ErrEnvironment, err)
	}
	return parseFio(out)
}

// parseFio reads the rate of the only job out of fio's JSON. Notes that fio prints before it are passed over.
func parseFio(out []byte) (float64, error) {
	var parsed struct {
		Jobs []struct {
			Error int `json:"error"`
			Write struct {
				Bytes  int64   `json:"io_bytes"`
				Millis float64 `json:"runtime"`
			} `json:"write"`
		} `json:"jobs"`
	}
	text := string(out)
	at := strings.Index(text, "{")
	if at < 0 {
		return 0, fmt.Errorf("%w: fio printed no JSON: %.100q", ErrEnvironment, text)
	}
	if err := json.Unmarshal([]byte(text[at:]), &parsed); err != nil {
		return 0, fmt.Errorf("%w: fio's JSON: %w", ErrEnvironment, err)
	}
	if len(parsed.Jobs) != 1 || parsed.Jobs[0].Error != 0 || parsed.Jobs[0].Write.Millis <= 0 {
		return 0, fmt.Errorf("%w: fio reports no finished job", ErrEnvironment)
	}
	w := parsed.Jobs[0].Write
	return float64(w.Bytes) / (w.Millis / 1e3), nil
}
