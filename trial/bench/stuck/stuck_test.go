package stuck

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
)

// childEnvironment has the test binary be a process that runs one cluster and prints what it found: memory is that of a
// process that does nothing else.
const childEnvironment = "LAKEBED_STUCK_OPTIONS"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnvironment); text != "" {
		child(text)
	}
	os.Exit(m.Run())
}

func child(text string) {
	o := DefaultOptions()
	err := json.Unmarshal([]byte(text), &o)
	if err != nil {
		panic(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	r, err := Run(context.Background(), o)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// inChild runs a cluster in a process of its own.
func inChild(t *testing.T, o Options) Report {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.HeapProfile, o.LazyCollector = os.Getenv("LAKEBED_STUCK_PROFILE"), os.Getenv("LAKEBED_STUCK_LAZY") != ""
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), childEnvironment+"="+string(text))
	var out, errors bytes.Buffer
	c.Stdout, c.Stderr = &out, &errors
	if err := c.Run(); err != nil {
		t.Fatalf("the process of the cluster: %v\n%s", err, errors.Bytes())
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("what the process of the cluster printed: %v\n%s", err, out.Bytes())
	}
	var tables strings.Builder
	if err := r.Print(&tables); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + tables.String())
	return r
}

// brief is the form for tests: a few seconds, and timeouts of half a second so that the same happens in them.
// LAKEBED_STUCK_SECONDS makes it the form for measuring: that many seconds with the disk stuck, and timeouts as configured.
func brief(t *testing.T) Options {
	o := DefaultOptions()
	o.Before, o.During, o.After = 500*time.Millisecond, 3*time.Second, 500*time.Millisecond
	o.LedgerTime, o.AddTimeout = time.Second, 500*time.Millisecond
	if text := os.Getenv("LAKEBED_STUCK_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("LAKEBED_STUCK_SECONDS=%q: %v", text, err)
		}
		o.Before, o.During, o.After = 10*time.Second, time.Duration(seconds)*time.Second, 10*time.Second
		o.LedgerTime, o.AddTimeout = 5*time.Second, 0
	}
	return o
}

// TestAppendsGoOnBesideAStuckDiskWithinBounds: one bookie's disk hangs, in one way or another. Appends go on on others, or
// on two of three where there is no other, and the process stays within the sum of its bounds and some slack.
func TestAppendsGoOnBesideAStuckDiskWithinBounds(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs memory of its own")
	}
	for _, c := range []struct {
		name  string
		short bool // part of the quick form
		edit  func(*Options)
	}{
		{"journal sync, one spare", true, func(*Options) {}},
		{"journal sync, no spare", true, func(o *Options) { o.Bookies = 3 }},
		{"journal write, one spare", false, func(o *Options) { o.Call = Writes }},
		{"entry log sync, one spare", false, func(o *Options) { o.Volume = bookie.LedgerVolume }},
		{"journal sync, long entries", false, func(o *Options) { o.PayloadBytes = 64 << 10 }},
		{"journal sync, short entries", false, func(o *Options) { o.PayloadBytes = 100 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && !c.short {
				t.Skip("one of many kinds")
			}
			o := brief(t)
			c.edit(&o)
			r := inChild(t, o)
			for _, problem := range r.Problems() {
				t.Error(problem)
			}
		})
	}
}

// TestMissingBoundsAreSeen: with windows that are no bounds, judged by the bounds of the others, a stuck disk is told by
// the memory that it takes. All three bookies must acknowledge, so that everything piles up behind the one that hangs.
func TestMissingBoundsAreSeen(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs memory of its own")
	}
	o := brief(t)
	o.Bookies, o.Quorum = 3, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 3}
	o.PayloadBytes, o.Unbounded, o.AddTimeout, o.During = 64<<10, true, 10*time.Second, 2*time.Second
	r := inChild(t, o)
	if text := strings.Join(r.Problems(), "; "); !strings.Contains(text, "the process took") || !strings.Contains(text, "heap took") {
		t.Errorf("expected to be told of too much memory, got %q", text)
	}
}
