package inspection_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/host/oshost"
	"lakebed/engine/inspection"
)

// A store that is bad everywhere is counted to the end, and listed to a bound.
func TestAllProblemsAreCountedAndTheFirstListed(t *testing.T) {
	f := inspection.NoFindings()
	if f.Broken() || f.Verdict() != "sound" {
		t.Errorf("without problems: broken %v, %q", f.Broken(), f.Verdict())
	}
	if p, err := json.Marshal(f); err != nil || !strings.Contains(string(p), `"problems":[]`) {
		t.Errorf("without problems: %s, %v", p, err)
	}
	f.Found(inspection.Note, "orphan", "a", 0, "left")
	f.Found(inspection.Doubt, "torn-tail", "b", 7, "ends at %d", 7)
	if f.Broken() {
		t.Error("a doubt is taken for damage")
	}
	for range inspection.ListedMax {
		f.Found(inspection.Damage, "rot", "c", 9, "no record")
	}
	want := inspection.Counts{Note: 1, Doubt: 1, Damage: inspection.ListedMax, Unlisted: 2}
	if f.Counts != want || len(f.Problems) != inspection.ListedMax || !f.Broken() {
		t.Errorf("%+v with %d listed, want %+v", f.Counts, len(f.Problems), want)
	}
	if got := f.Verdict(); got != "1000 damaged, 1 in doubt, 1 notes" {
		t.Errorf("verdict %q", got)
	}
	var text bytes.Buffer
	f.WriteLines(&text)
	for _, line := range []string{"doubt: torn-tail: b at 7: ends at 7\n", "and 2 problems more, which are not listed\n"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the lines lack %q", line)
		}
	}
}

// A reader gives the bytes that are there, wherever it is put, and takes no memory for those that are not.
func TestReaderBelievesNoLength(t *testing.T) {
	dir, content := t.TempDir(), make([]byte, 3*inspection.ChunkBytes+5)
	for i := range content {
		content[i] = byte(i * 7 >> 3)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{"disk": dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close() //nolint:errcheck // nothing runs
	d, err := h.Disk("disk")
	if err != nil {
		t.Fatal(err)
	}
	file, err := d.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	behind, size := errors.New("behind"), int64(len(content))
	r := inspection.NewReader(file, size, behind)
	for _, c := range []struct{ at, n int64 }{
		{0, 16}, {8, 100}, {inspection.ChunkBytes - 3, 6}, {5, 2 * inspection.ChunkBytes}, {size - 1, 1}, {size, 0}, {3, 0},
	} {
		r.At = c.at
		if got, err := r.Bytes(c.n); err != nil || !bytes.Equal(got, content[c.at:c.at+c.n]) {
			t.Errorf("%d bytes at %d: %d bytes, right %v, error %v", c.n, c.at, len(got), bytes.Equal(got, content[c.at:c.at+c.n]), err)
		}
	}
	for _, c := range []struct{ at, n int64 }{{0, size + 1}, {size - 1, 2}, {0, -1}, {9, 1<<63 - 1}} {
		r.At = c.at
		if _, err := r.Bytes(c.n); err != behind {
			t.Errorf("%d bytes at %d: error %v", c.n, c.at, err)
		}
	}
	if got, err := inspection.ReadAll(d, "f", size); err != nil || !bytes.Equal(got, content) {
		t.Errorf("all of it: %d bytes, error %v", len(got), err)
	}
	if _, err := inspection.ReadAll(d, "f", size-1); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file that is too long: error %v", err)
	}
}
