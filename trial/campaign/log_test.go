package campaign

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestACampaignGoesOnWhereItsLogEnds: cut anywhere, in the middle of a line too, the log leads to the summary of a
// campaign that nobody interrupted, and to one line for each seed.
func TestACampaignGoesOnWhereItsLogEnds(t *testing.T) {
	o := mixed(120)
	o.Workers = 0
	path := logOf(t, o)
	whole := must(os.ReadFile(path))
	want := toJSON(t, conduct(t, o).Timeless())
	o.Log = path
	cuts := []int{0, 5, bytes.IndexByte(whole, '\n'), bytes.IndexByte(whole, '\n') + 1, len(whole) - 1, len(whole)}
	for at := 1000; at < len(whole); at += len(whole) / 12 {
		cuts = append(cuts, at, 1+at+bytes.IndexByte(whole[at:], '\n'))
	}
	for _, cut := range cuts {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		s := conduct(t, o)
		if got := toJSON(t, s.Timeless()); got != want {
			t.Fatalf("cut at %d of %d:\n%s\nuninterrupted:\n%s", cut, len(whole), got, want)
		}
		found, err := readLog(path) // which refuses a seed that stands twice
		if err != nil || found.closing == nil || len(found.book.done) != 120 || len(found.book.unanswered()) != 0 {
			t.Fatalf("cut at %d: %v, %+v", cut, err, found)
		}
	}
}

// TestAnInterruptedCampaignHasNoSummaryInItsLog and goes on, with the same options or with those that the log tells.
func TestAnInterruptedCampaignHasNoSummaryInItsLog(t *testing.T) {
	o := options("slow", 60)
	want := toJSON(t, conduct(t, o).Timeless())
	o.Log = filepath.Join(t.TempDir(), "log.jsonl")
	ctx, interrupt := context.WithCancel(t.Context())
	o.Watch = func(p Progress) {
		if p.Seeds == 20 {
			interrupt()
		}
	}
	if s, err := Run(ctx, o); err != nil || s.Outcome != Interrupted || !strings.Contains(s.next(), "--resume "+o.Log) {
		t.Fatalf("%v, %+v", err, s)
	}
	if found, err := readLog(o.Log); err != nil || found.closing != nil || len(found.book.done) < 20 {
		t.Fatalf("%v, %+v", err, found)
	}
	h := must(ReadHeader(o.Log))
	again := Options{Catalogue: o.Catalogue, Workers: 2, WorkerCommand: o.WorkerCommand, Log: o.Log}
	h.Apply(&again)
	for _, resumed := range []int64{20, 60} { // the second time there is nothing left to run
		s := conduct(t, again)
		if got := toJSON(t, s.Timeless()); got != want || s.Resumed < resumed || s.WallSeconds <= 0 || s.CPUSeconds <= 0 {
			t.Errorf("%d seeds resumed in %v s, %v CPU s:\n%s\nuninterrupted:\n%s", s.Resumed, s.WallSeconds, s.CPUSeconds, got, want)
		}
	}
}

// TestALogOfSomethingElseIsRefused and left as it is: another campaign, a damaged log, any other file, one in use.
func TestALogOfSomethingElseIsRefused(t *testing.T) {
	o := options("good", 20)
	o.Workers = 0
	path := logOf(t, o)
	whole := string(must(os.ReadFile(path)))
	lines := strings.SplitAfter(whole, "\n")
	o.Log = path
	seeds := lines[1 : len(lines)-2]
	for reason, text := range map[string]string{
		"different programs":   strings.Replace(whole, `"program":"`, `"program":"f`, 1),
		"different first seed": strings.Replace(whole, `"first_seed":1`, `"first_seed":2`, 1)[:strings.IndexByte(whole, '\n')+1],
		"different shards":     strings.Replace(lines[0], `{"index":1,"of":1}`, `{"index":1,"of":2}`, 1),
		"stands twice":         lines[0] + seeds[0] + seeds[0],
		"is none of shard":     lines[0] + strings.Replace(seeds[0], `"seed":1,`, `"seed":21,`, 1),
		"runs good and not":    lines[0] + strings.Replace(seeds[0], `"good"`, `"fine"`, 1),
		"nothing asks for":     lines[0] + strings.Replace(seeds[2], `"kind":"seed"`, `"kind":"again"`, 1),
		"unknown field":        lines[0] + strings.Replace(seeds[0], `"kind"`, `"surprise":1,"kind"`, 1),
		"behind the summary":   whole + seeds[0],
		"trace hash":           lines[0] + strings.Replace(seeds[0], `"trace_hash":"`, `"trace_hash":"x`, 1),
		"line 3":               lines[0] + seeds[0] + "{\"kind\":\n",
		"is no log":            "dear diary",
		"no log of a campaign": "{}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Run(t.Context(), o)
		if !errors.Is(err, ErrUsage) || s != nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
		if left := string(must(os.ReadFile(path))); left != text {
			t.Errorf("%s: the file was changed to %q", reason, left)
		}
	}
	log, _, err := openLog(filepath.Join(t.TempDir(), "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	o.Log = log.path
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two campaigns with one log: %v", err)
	}
}

// TestALogThatCannotBeWrittenEndsTheCampaign as a failure of the machine: what is not kept was not run.
func TestALogThatCannotBeWrittenEndsTheCampaign(t *testing.T) {
	for _, workers := range []int{0, 2} {
		o := options("good", 1000)
		o.Workers, o.Shard = workers, wholeCampaign
		m := must(newMix(o.Catalogue, o.Scenarios, nil))
		b := newBook(headerOf(&o, &m), newTally(Header{}, nil))
		b.log = &logFile{"full", must(os.OpenFile("/dev/full", os.O_WRONLY, 0))}
		r := &run{options: o, book: b, queue: newQueue(b, workers)}
		if err := r.work(t.Context()); !errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), "no space left") || b.tally.summary.Seeds > 10 {
			t.Errorf("%d workers: %v after %d seeds", workers, err, b.tally.summary.Seeds)
		}
		b.log.file.Close()
	}
	if _, err := readLog("/dev/zero"); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("a line without end: %v", err)
	}
}

// TestALimitInTimeCountsWhatWasSpentBefore: a night that was interrupted goes on for what is left of it.
func TestALimitInTimeCountsWhatWasSpentBefore(t *testing.T) {
	o := options("slow", 0)
	o.Time = 300 * time.Millisecond
	o.Log = logOf(t, o)
	whole := must(os.ReadFile(o.Log))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if err := os.WriteFile(o.Log, bytes.Join(lines[:len(lines)-2], nil), 0o644); err != nil { // without its summary
		t.Fatal(err)
	}
	first := len(must(readLog(o.Log)).book.done)
	s := conduct(t, o)
	if s.Resumed != int64(first) || s.Seeds > s.Resumed+int64(2*batchMax) || s.WallSeconds < 0.25 || s.Outcome != Passed {
		t.Errorf("%d seeds, then %d, in %v s: %s", first, s.Seeds, s.WallSeconds, s.Outcome)
	}
}
