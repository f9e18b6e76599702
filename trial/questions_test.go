package trial

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryQuestionOfTheEngineIsInTheCatalogue: a campaign must tell of every place that asks the world for a rare branch
// whether the branch was ever taken.
func TestEveryQuestionOfTheEngineIsInTheCatalogue(t *testing.T) {
	asks := regexp.MustCompile(`\.Perhaps\((\w+)\)`)
	catalogue, err := os.ReadFile("questions.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	err = filepath.WalkDir("../engine", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(filepath.ToSlash(file), "/hosttest/") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, match := range asks.FindAllSubmatch(source, -1) {
			found++
			name := path.Base(filepath.ToSlash(filepath.Dir(file))) + "." + string(match[1])
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(catalogue) {
				t.Errorf("%s asks %s, which is not in the catalogue", file, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(storageQuestions(), serverQuestions(), clientQuestions(), segmentsQuestions(), messageQuestions())
	if found < len(all) {
		t.Errorf("the engine asks in %d places, the catalogue has %d questions", found, len(all))
	}
	for _, p := range all {
		if !slices.Contains(RequiredMarks(), string(p)) {
			t.Errorf("no campaign requires %s", p)
		}
	}
}
