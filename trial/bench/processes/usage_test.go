package processes

import (
	"testing"
	"time"
)

// TestProcessorTimeIsReadWhateverTheProgramIsCalled: its name may hold what separates fields.
func TestProcessorTimeIsReadWhateverTheProgramIsCalled(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20"
	for text, want := range map[string]time.Duration{
		"17 (simrun)" + rest: 3 * time.Second, "17 (a) b (c))" + rest: 3 * time.Second, "17 (simrun) S 1 2": -1, "": -1,
		"17 (simrun) S 1 2 3 4 5 6 7 8 9 10 x 50": -1,
	} {
		if got, err := parseStat([]byte(text)); (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if used, err := consumedBy(1 << 30); err == nil {
		t.Errorf("a process that there is not: %v", used)
	}
}

// TestOnlyTheEndOfALogIsKept, however much a child writes.
func TestOnlyTheEndOfALogIsKept(t *testing.T) {
	var log tail
	for range 100 {
		if n, err := log.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := log.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	if text := log.text(); len(text) > saidBytesMax || text[len(text)-7:] != "the end" {
		t.Errorf("%d bytes, ending in %q", len(text), text[max(0, len(text)-20):])
	}
}
