package reports

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func sampleText(t *testing.T) string {
	t.Helper()
	r := sampleBench()
	var b bytes.Buffer
	if err := WriteJSON(&b, &r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Goal: what was written is read again unchanged, alone and in a list.
func TestResultsAreReadAsWritten(t *testing.T) {
	want := sampleBench()
	got, err := ReadResult(written(t, sampleText(t)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("the result that was read differs from the one written")
	}
	var b bytes.Buffer
	if err := WriteAllJSON(&b, []Result{want, sampleExperiment()}); err != nil {
		t.Fatal(err)
	}
	list := written(t, b.String())
	both, err := ReadResults(list)
	if err != nil || len(both) != 2 || !reflect.DeepEqual(both[0], want) {
		t.Errorf("a list of two was read as %d (%v)", len(both), err)
	}
	if _, err := ReadResult(list); !errors.Is(err, ErrNotResult) {
		t.Errorf("a list was read as one result: %v", err)
	}
}

// Goal: what is no result, or no trustworthy one, is refused with the reason, and the file is named.
func TestWhatIsNoResultIsRefused(t *testing.T) {
	good := sampleText(t)
	replaced := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample does not hold %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "unexpected end of JSON input"},
		"no json":          {"hello", "invalid character"},
		"a number":         {"4", "cannot unmarshal number"},
		"null":             {"null", `no "schema"`},
		"no schema":        {"{}", `no "schema"`},
		"newer schema":     {replaced(`"schema": 1`, `"schema": 2`), "its schema is 2, and this program reads up to 1"},
		"old schema":       {replaced(`"schema": 1`, `"schema": 0`), "its schema is 0"},
		"unknown field":    {replaced(`"schema": 1`, `"schema": 1, "colour": 3`), `unknown field "colour"`},
		"more behind":      {good + "{}", "after top-level value"},
		"in a list":        {"[" + good + ", {}]", "element 1 of the list"},
		"kind":             {replaced(`"kind": "bench"`, `"kind": "poem"`), `its kind is "poem"`},
		"unit":             {replaced(`"unit": "1/s"`, `"unit": ""`), "it has no unit"},
		"clock":            {replaced(`"clock": "wall"`, `"clock": ""`), "by which clock"},
		"strange clock":    {replaced(`"clock": "wall"`, `"clock": "sun"`), `clock "sun"`},
		"better":           {replaced(`"better": "higher"`, `"better": "blue"`), `better is "blue"`},
		"too large":        {replaced(`"seconds": 171.4`, `"seconds": 1e999`), "1e999"},
		"huge":             {replaced(`"seconds": 171.4`, `"seconds": 1e200`), "took 1e+200 seconds"},
		"negative time":    {replaced(`"seconds": 171.4`, `"seconds": -1`), "took -1 seconds"},
		"never started":    {replaced(`2026-03-01T09:30:00Z`, `0001-01-01T00:00:00Z`), "when it was started"},
		"not the median":   {replaced(`"samples": [`, `"samples": [1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9,`), "samples is 1e+09"},
		"low above value":  {replaced(`"low": 9.115408326285008`, `"low": 9.9`), "outside of its interval"},
		"goal of another":  {strings.Replace(good, `"wanted": "at least 8",`+"\n      \"value\": 9.51", `"wanted": "at least 8",`+"\n      \"value\": 9.55", 1), "was judged by 9.55"},
		"goal of nothing":  {replaced(`"cell": "read/batch/100"`, `"cell": "gone"`), `the cell "gone", which is not there`},
		"cell twice":       {replaced(`"name": "write/1-1-1/100B/10"`, `"name": "write/1-1-1/100B/1"`), "two cells called"},
		"other labels":     {replaced(`"name": "in flight"`, `"name": "outstanding"`), "has other labels"},
		"name of a plot":   {replaced(`"name": "latency"`, `"name": "../x"`), "names of plots are lower case"},
		"no axis unit":     {strings.Replace(good, `"label": "p99",`+"\n        \"unit\": \"s\"", `"label": "p99",`+"\n        \"unit\": \"\"", 1), "an axis has no unit"},
		"no processor":     {replaced(`"cpus": 2`, `"cpus": 0`), "0 processors"},
		"share of others":  {replaced(`"others_share": 0.03`, `"others_share": 3`), "others used the share 3"},
		"beside the names": {replaced(`"x": 2,`, `"x": 3,`), "it stands at 3, and the axis has the 3 names 0 to 2"},
	} {
		path := written(t, c.text)
		_, err := ReadResult(path)
		if !errors.Is(err, ErrNotResult) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q does not say %q of %s", name, err, c.want, path)
		}
	}
	if _, err := ReadResult(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotResult) {
		t.Errorf("a missing file: %v", err)
	}
}

// Goal: a file longer than any result is not read into memory.
func TestLongFilesAreRefused(t *testing.T) {
	path := written(t, "")
	if err := os.Truncate(path, fileBytesMax+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResult(path); !errors.Is(err, ErrNotResult) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long file: %v", err)
	}
}

// Goal: nothing is written that could not be read again.
func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	r := sampleBench()
	r.Groups[0].Cells[0].Figures[0].Unit = ""
	var b bytes.Buffer
	if err := WriteJSON(&b, &r); err == nil || b.Len() > 0 {
		t.Errorf("a figure without a unit was written: %v, %d bytes", err, b.Len())
	}
}

// FuzzRead feeds the decoder anything: it refuses, or what it read can be shown in every form and written again.
func FuzzRead(f *testing.F) {
	// Small, so that a change of a byte is likely to change something that matters.
	f.Add([]byte(`{"schema":1,"kind":"bench","id":"a","title":"b","command":"c","started":"2026-03-01T09:30:00Z","seconds":1,` +
		`"build":{"commit":"d","go":"e"},"machine":{"cpus":2,"others_share":-1},"groups":[{"name":"f","cells":[{"name":"g",` +
		`"labels":[{"name":"h","value":"i"}],"figures":[{"name":"j","unit":"s","clock":"wall","value":2,"low":1,"high":3}]}]}],` +
		`"plots":[{"name":"k","title":"l","x":{"label":"m","unit":"1","log":true},"y":{"label":"n","unit":"s","log":true},` +
		`"lines":[{"name":"o","points":[{"x":1,"y":1,"low":1,"high":1},{"x":9,"y":5,"low":3,"high":8}]}]}]}`))
	f.Add([]byte(`{"schema":1,"kind":"experiment","id":"a","title":"b","command":"c","started":"2026-03-01T09:30:00Z","seconds":1,` +
		`"build":{"commit":"d","go":"e"},"machine":{"cpus":2,"others_share":0},"groups":[],"verdict":{"word":"refuted","reason":"f"},` +
		`"plots":[{"name":"k","title":"l","x":{"label":"m","names":["p","q"]},"y":{"label":"n","unit":"B"},"bars":true,"ideal":4,` +
		`"lines":[{"name":"o","points":[{"x":0,"y":-1,"low":-2,"high":1},{"x":1,"y":5,"low":3,"high":8}]}]}]}`))
	f.Add([]byte(`{"schema":2}`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			t.Skip("drawing that much teaches nothing more")
		}
		results, err := decode(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteAllJSON(&b, results); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err := MarkdownAll(&b, results); err != nil {
			t.Fatal(err)
		}
		if err := Page(&b, results); err != nil {
			t.Fatal(err)
		}
		for i := range results {
			if err := results[i].Print(&b); err != nil {
				t.Fatal(err)
			}
		}
	})
}
