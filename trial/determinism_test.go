package trial

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// fingerprintsOf runs seeds and says what must be equal wherever they run: so many of one bookie and of a cluster, and a
// quarter as many of each other scenario of the default mix.
func fingerprintsOf(t testing.TB, seeds int) string {
	var out strings.Builder
	clusters := 0
	for _, s := range Scenarios() {
		count := seeds
		if s.Name != "bookie" && s.Name != "cluster" {
			count = max(seeds/4, 1)
		}
		if s.Weight == 0 || s.Canary {
			continue
		}
		for seed := range uint64(count) {
			r := Run(Options{Scenario: s, Seed: seed})
			fmt.Fprintf(&out, "%s seed %d hash %016x events %d image %016x %s\n", s.Name, seed, r.Hash, r.Events, r.Image, r.Verdict)
			if s.Cluster != nil {
				clusters++
			}
		}
	}
	if clusters <= seeds { // "cluster" and another one
		t.Fatalf("only %d of the trials are of clusters", clusters)
	}
	return out.String()
}

// seedCount is how many seeds the determinism tests run: few in passing, more when asked by LAKEBED_SEEDS.
func seedCount(t testing.TB, few int) int {
	text := os.Getenv("LAKEBED_SEEDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LAKEBED_SEEDS=%q: %v", text, err)
	}
	return n
}

// TestSeedsRepeatInOtherProcesses runs the same seeds in processes with one processor, with a garbage collector that
// never rests, and with one that never runs: whatever the Go runtime does must not show.
func TestSeedsRepeatInOtherProcesses(t *testing.T) {
	seeds := seedCount(t, 8)
	if os.Getenv("LAKEBED_CHILD") != "" {
		if err := os.WriteFile(os.Getenv("LAKEBED_CHILD"), []byte(fingerprintsOf(t, seeds)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := fingerprintsOf(t, seeds)
	if name := os.Getenv("LAKEBED_FINGERPRINTS"); name != "" { // for comparing builds, with and without -race
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range []string{"GOGC=100", "GOMAXPROCS=1", "GOGC=1", "GOGC=off"} {
		if got := inChild(t, setting); got != want {
			t.Errorf("with %s:\n%s", setting, firstDifference(want, got))
		}
	}
}

func inChild(t *testing.T, setting string) string {
	file := t.TempDir() + "/fingerprints"
	c := exec.Command(os.Args[0], "-test.run=^TestSeedsRepeatInOtherProcesses$")
	c.Env = append(os.Environ(), setting, "LAKEBED_CHILD="+file)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("child with %s: %v\n%s", setting, err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("want %s\ngot  %s", a[i], strings.Join(b[min(i, len(b)-1):min(i+1, len(b))], ""))
		}
	}
	return "more seeds than wanted"
}
