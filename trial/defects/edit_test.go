package defects

import (
	"errors"
	"strings"
	"testing"
)

const sample = `package sample

import "fmt"

type box[T any] struct{ value T }

func (b *box[T]) get(limit int) (int, error) {
	// a comment that says x++ must not count
	x := 1
	if x < limit {
		x++
		return x, fmt.Errorf("small: %d", x)
	}
	return x, nil
}

func get() int { return 1 }
`

// edit makes a planted edit of the sample's method.
func edit(id, original, result, replacement string) planted {
	return planted{id, &Edit{File: "sample.go", Function: "box.get", Original: original, Result: result, Replacement: replacement}}
}

// squeezed is a text without what gofmt decides.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestPlantingKeepsTheOriginalBesideTheDefect: statements, expressions, two in one place, one inside another.
func TestPlantingKeepsTheOriginalBesideTheDefect(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits []planted
		want  []string
	}{
		{"a statement", []planted{edit("a", "x++", "", "x--")},
			[]string{`if defect.On("a") { x-- } else { x++ }`}},
		{"nothing instead of a statement", []planted{edit("a", "x++", "", "")},
			[]string{`if defect.On("a") { } else { x++ }`}},
		{"an expression", []planted{edit("a", "x < limit", "bool", "return false")},
			[]string{`if func() bool { if defect.On("a") { return false } return x < limit }() {`}},
		{"two statements in one place", []planted{edit("a", "x++", "", "x--"), edit("b", "x++", "", "x = 0")},
			[]string{`if defect.On("a") { x-- } else if defect.On("b") { x = 0 } else { x++ }`}},
		{"two expressions in one place", []planted{edit("a", "x<limit", "bool", "return false"), edit("b", "x <\nlimit", "bool", "return true")},
			[]string{`if defect.On("a") { return false } if defect.On("b") { return true } return x < limit`}},
		{"one inside another", []planted{edit("a", "x++", "", "x--"), edit("b", "x++\nreturn x, fmt.Errorf(\"small: %d\", x)", "", "panic(1)")},
			[]string{`if defect.On("b") { panic(1) } else { if defect.On("a") { x-- } else { x++ } return x,`}},
	} {
		text, err := plant("sample.go", []byte(sample), c.edits)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range append(c.want, `import "lakebed/trial/defects/defect"`, "func get() int { return 1 }") {
			if !strings.Contains(squeezed(string(text)), want) {
				t.Errorf("%s: want %s in\n%s", c.name, want, text)
			}
		}
	}
}

// TestAPlaceThatIsNotThereOnceIsAnError: the catalogue must follow the engine.
func TestAPlaceThatIsNotThereOnceIsAnError(t *testing.T) {
	elsewhere := edit("a", "x++", "", "")
	elsewhere.Function = "get"
	missing := edit("a", "x++", "", "")
	missing.Function = "box.put"
	for _, c := range []struct {
		name  string
		edits []planted
	}{
		{"not there", []planted{edit("a", "x += 2", "", "")}},
		{"in a comment only", []planted{edit("a", "must not count", "", "")}},
		{"twice", []planted{edit("a", "return x,", "", "")}},
		{"in another function", []planted{elsewhere}},
		{"no such function", []planted{missing}},
		{"empty", []planted{edit("a", "", "", "x--")}},
		{"overlapping", []planted{edit("a", "x := 1\nif x < limit", "", ""), edit("b", "x < limit {\nx++", "", "")}},
		{"statement and expression in one place", []planted{edit("a", "x < limit", "bool", "return true"), edit("b", "x < limit", "", "")}},
	} {
		if _, err := plant("sample.go", []byte(sample), c.edits); !errors.Is(err, ErrPlace) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := plant("sample.go", []byte(sample), []planted{edit("a", "x++", "", "no go at all {")}); err == nil {
		t.Error("a replacement that is no Go was planted")
	}
}
