package sameness

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host/oshost"
	"lakebed/reports"
)

// The in-process worlds of these tests are nodes of oshost: goroutines, files and sockets, for the race detector too.
var _ oshost.Config

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recordedScript(t *testing.T) (*Script, State) {
	t.Helper()
	s, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Expected()
	if err != nil {
		t.Fatal(err)
	}
	return &s, want
}

// TestRecordedWorkloadEndsInOneState: the simulated worlds of several seeds, a cluster in this process, and one of processes
// end in the state that follows from the script.
func TestRecordedWorkloadEndsInOneState(t *testing.T) {
	o := Options{Dir: t.TempDir(), Worlds: 3}
	if !testing.Short() {
		o.Executable = filepath.Join(t.TempDir(), "simrun")
		if out, err := exec.Command("go", "build", "-o", o.Executable, "lakebed/cmd/simrun").CombinedOutput(); err != nil {
			t.Fatalf("build simrun: %v\n%s", err, out)
		}
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Word != reports.Confirmed {
		t.Errorf("%s: %s", r.Verdict.Word, r.Verdict.Reason)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
}

// small is a script for tests that play it often.
const small = `script seed 5 bookies 4
create a 3/3/3 crc32c
create b 3/3/2 mac
append a 30 1..200
append b 30 1..200
kill a 1
append a 30 1..200
abandon b
recover b
restart
close a`

// TestPlantedDifferencesAreReported: one byte of one entry, an entry that is missing in the middle or at the end, or one
// more, in either world, is a refutation that names the ledger.
func TestPlantedDifferencesAreReported(t *testing.T) {
	s, err := Parse(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ledger string
		twist        Twist
	}{
		{"a byte", "a", func(n Name, e ledger.EntryID, p []byte) []byte {
			if n == "a" && e == 41 {
				p[len(p)-1] ^= 1
			}
			return p
		}},
		{"an entry in the middle", "b", func(n Name, e ledger.EntryID, p []byte) []byte {
			if n == "b" && e == 11 {
				return nil
			}
			return p
		}},
		{"the last entry", "a", func(n Name, e ledger.EntryID, p []byte) []byte {
			if n == "a" && e == 59 {
				return nil
			}
			return p
		}},
		{"a byte more", "b", func(n Name, e ledger.EntryID, p []byte) []byte {
			if n == "b" && e == 0 {
				return append(p, 0)
			}
			return p
		}},
	} {
		for _, w := range []World{Simulated, Local} {
			t.Run(c.name+" in the world "+string(w), func(t *testing.T) {
				if w == Local && testing.Short() {
					t.Skip("each takes some seconds")
				}
				r, err := Run(t.Context(), Options{Dir: t.TempDir(), Worlds: 1, Script: &s, twist: c.twist, twistWorld: w})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict.Word != reports.Refuted || !strings.Contains(r.Verdict.Reason, `"`+c.ledger+`: `) {
					t.Errorf("got %s: %s", r.Verdict.Word, r.Verdict.Reason)
				}
			})
		}
	}
}

// TestDrawnWorkloadsEndAsTheyMust: what Expected says of scripts that nobody chose is what simulated worlds end in.
func TestDrawnWorkloadsEndAsTheyMust(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	for seed := range uint64(12) {
		s := Draw(seed, true)
		want, err := s.Expected()
		if err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		got, err := Simulate(&s, seed, withTwist(nil))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s)
		}
		if d := Difference("the world", got, "the script", want); d != "" {
			t.Errorf("seed %d: %s\n%s", seed, d, s)
		}
	}
}

// TestDrawnScriptsLeaveSomethingToCompare: most ledgers end closed and hold entries, whether bookies are killed or not; an
// earlier draw deleted nearly all of them, and what was compared was that nothing was left.
func TestDrawnScriptsLeaveSomethingToCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	for _, kills := range []bool{false, true} {
		count := map[string]int{}
		for seed := range uint64(8) {
			s := Draw(seed, kills)
			want, err := s.Expected()
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(want)) {
				_, what, _ := strings.Cut(line, ": ")
				word, rest, _ := strings.Cut(what, ",")
				if word == "closed" && !strings.HasPrefix(rest, " last entry -1,") {
					count["filled"]++
				}
				count["all"]++
			}
			for _, step := range s.Steps {
				count[string(step.Verb)]++
			}
		}
		if count["filled"]*2 <= count["all"] || count["delete"] == 0 || count["recover"] < 5 || count["takeover"] < 5 {
			t.Errorf("kills %v: %v", kills, count)
		}
		if kills != (count["kill"] > 20) {
			t.Errorf("kills %v: %d bookies are killed", kills, count["kill"])
		}
	}
}

// TestScriptsAreReadAsTheyAreWritten: text and steps are the same thing, whatever the script.
func TestScriptsAreReadAsTheyAreWritten(t *testing.T) {
	recorded, _ := recordedScript(t)
	for _, s := range []Script{*recorded, Draw(1, true), Draw(2, false)} {
		again, err := Parse(strings.NewReader(s.String()))
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != s.String() {
			t.Errorf("got\n%s\nwant\n%s", again, s)
		}
	}
}

// TestScriptsWithoutOneOutcomeAreRefused: with the line, the verb, and what is wrong.
func TestScriptsWithoutOneOutcomeAreRefused(t *testing.T) {
	const head = "script seed 1 bookies 4\n"
	for _, c := range []struct{ text, want string }{
		{"", "0 bookies"},
		{"create a 3/3/2 crc32c", "line 1"},
		{"script seed 1 bookies 17", "bookies must be 1 to 16"},
		{head + "destroy a", "unknown verb"},
		{head + "create a 3/3/2", "3 words, want 4"},
		{head + "create a 3/2 crc32c", "quorums must be E/Qw/Qa"},
		{head + "create a 2/3/2 crc32c", "step 1"},
		{head + "create a 5/3/2 crc32c", "fewer bookies"},
		{head + "create a 3/3/2 md5", "unknown digest"},
		{head + "append a 1 1..1", "no such ledger"},
		{head + "create a 3/3/2 crc32c\nappend a 0 1..1", "0 entries"},
		{head + "create a 3/3/2 crc32c\nappend a 1 9..1", "9 to 1 bytes"},
		{head + "create a 3/3/2 crc32c\nappend a 1 9", "FROM..TO"},
		{head + "create a 3/3/2 crc32c\nclose a\nappend a 1 1..1", "no writer"},
		{head + "create a 3/3/2 crc32c\nrecover a", "not abandoned"},
		{head + "create a 3/3/2 crc32c\ndelete a", "has a writer"},
		{head + "create a 3/3/2 crc32c\nkill a 3", "no such index"},
		{head + "create a 3/3/2 crc32c\nkill a 1\nkill a 1", "killed already"},
		{head + "create a 3/3/2 crc32c\nkill a 1\nkill a 2", "could not replace"},
		{head + "create a 2/2/1 crc32c\nkill a 1\ntakeover a", "too many bookies are down"},
		{head + "restart", "no bookie is down"},
	} {
		_, err := Parse(strings.NewReader(c.text))
		if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want something about %q", c.text, err, c.want)
		}
	}
}

// FuzzScript: no text makes Parse panic, or gives a script that is not what its own text says.
func FuzzScript(f *testing.F) {
	f.Add(small)
	f.Add("script seed 1 bookies 4\ncreate a 3/3/2 crc32c\nkill a -1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := Parse(strings.NewReader(s.String()))
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is read as %q, and that as %q, %v", text, s, again, err)
		}
	})
}

// TestVerdictsFollowFromWhatWasSeen: each of the words can be reached.
func TestVerdictsFollowFromWhatWasSeen(t *testing.T) {
	const want = State("a: deleted\n")
	both := []played{{name: "one", world: Simulated, state: want}, {name: "two", world: Local, state: want}}
	for _, c := range []struct {
		name string
		all  []played
		word reports.VerdictWord
	}{
		{"all the same", both, reports.Confirmed},
		{"another one differs", append(slices.Clone(both), played{name: "three", world: Processes, state: "a: open\n"}), reports.Refuted},
		{"one did not end", append(slices.Clone(both), played{name: "three", world: Processes, err: context.Canceled}), reports.Undecided},
		{"no real world", both[:1], reports.Undecided},
		{"a ledger more", []played{both[0], {name: "two", world: Local, state: want + "b: deleted\n"}}, reports.Refuted},
	} {
		if v := judge(c.all, want); v.Word != c.word {
			t.Errorf("%s: got %s, %s", c.name, v.Word, v.Reason)
		}
	}
}

// TestCancelledRunsAreUndecided: a context that has ended is an error, and no verdict about what was not seen.
func TestCancelledRunsAreUndecided(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Run(ctx, Options{Dir: t.TempDir(), Worlds: 1})
	if !errors.Is(err, context.Canceled) || r.Verdict.Word != reports.Undecided {
		t.Errorf("got %v, %+v", err, r.Verdict)
	}
}
