package everything

import (
	"io"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lakebed/engine/host/oshost"
)

// Its nodes are those of oshost: this test is one of those that the race detector is for.
var _ oshost.Config

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEverythingAtOnceIsRight: everything at once, for some seconds, under -race too. LAKEBED_RACE_SECONDS makes it longer.
func TestEverythingAtOnceIsRight(t *testing.T) {
	o := DefaultOptions()
	if text := os.Getenv("LAKEBED_RACE_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("LAKEBED_RACE_SECONDS=%q: %v", text, err)
		}
		o.Duration = time.Duration(seconds) * time.Second
	}
	o.Dir, o.Logger = t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	for _, v := range r.Violations {
		t.Errorf("%s: %s\n%s", v.Checker, v.Signature, v.Explanation)
	}
	for _, one := range r.Stuck {
		t.Errorf("in the end, with all bookies, it cannot be opened: %s", one)
	}
	if missing := r.Weak(); len(missing) > 0 {
		t.Errorf("the run proves little without %q; there were %v", missing, r.Answers)
	}
	t.Logf("%d operations; %d restarts, %d hangs with %d calls held, %d ledgers, %d ensemble changes: %v",
		r.Operations, r.Restarts, r.Hangs, r.Held, r.Ledgers, r.Changes, r.Answers)
}

// TestWeakRunsSayWhatWasMissing: each operation and each disturbance that did not happen is named, and nothing else.
func TestWeakRunsSayWhatWasMissing(t *testing.T) {
	full := func() Report {
		r := Report{Answers: map[string]int64{}, Restarts: 1, Hangs: 1, Held: 1, Changes: 1}
		for _, answer := range wanted() {
			r.Answers[answer] = 1
		}
		return r
	}
	if r := full(); len(r.Weak()) > 0 {
		t.Errorf("a full run is weak: %q", r.Weak())
	}
	for _, answer := range wanted() {
		r := full()
		delete(r.Answers, answer)
		if missing := r.Weak(); len(missing) != 1 || missing[0] != answer {
			t.Errorf("without %q: got %q", answer, missing)
		}
	}
	for _, c := range []struct {
		want string
		edit func(*Report)
	}{
		{"restart of a bookie", func(r *Report) { r.Restarts = 0 }},
		{"journal that does not sync", func(r *Report) { r.Hangs = 0 }},
		{"journal that does not sync", func(r *Report) { r.Held = 0 }},
		{"change of an ensemble", func(r *Report) { r.Changes = 0 }},
	} {
		r := full()
		c.edit(&r)
		if missing := r.Weak(); len(missing) != 1 || missing[0] != c.want {
			t.Errorf("got %q, want %q", missing, c.want)
		}
	}
}
