package defects

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTheCoveragePageNamesEntriesThatExist: a row of docs/defects.md that points at nothing covers nothing.
func TestTheCoveragePageNamesEntriesThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "defects.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z]+(?:-[a-z]+)+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 60 {
		t.Errorf("only %d names of entries: the expression has lost the page's form", len(names))
	}
	for _, name := range names {
		if _, err := Find(name[1]); err != nil {
			t.Errorf("docs/defects.md: %v", err)
		}
	}
}
