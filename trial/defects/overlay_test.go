package defects

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lakebed/trial"
	"lakebed/trial/defects/defect"
)

// root is the module's.
func root(t *testing.T) string {
	t.Helper()
	at, err := FindSources(".")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTheOverlayReplacesCopiesOnly: sources stay as they are, and each replaced file has what replaces it.
func TestTheOverlayReplacesCopiesOnly(t *testing.T) {
	directory := t.TempDir()
	path, err := WriteOverlay(root(t), directory)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var o overlay
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	for original, replacement := range o.Replace {
		source, err := os.ReadFile(original)
		if err != nil || strings.Contains(string(source), switchImport) {
			t.Errorf("%s: %v, or the source itself asks for defects", original, err)
		}
		if filepath.Dir(replacement) != directory {
			t.Errorf("%s is replaced by %s", original, replacement)
		}
	}
	if len(o.Replace) < 10 {
		t.Errorf("only %d files are replaced", len(o.Replace))
	}
}

// TestAnEntryThatHasLostItsPlaceIsAnError, as after a change of the engine.
func TestAnEntryThatHasLostItsPlaceIsAnError(t *testing.T) {
	all := All()
	for _, lose := range []func(e *Edit){
		func(e *Edit) { e.Original += " + 1" },
		func(e *Edit) { e.Function += "X" },
		func(e *Edit) { e.File += "x" },
	} {
		e := all[0].Edits[0]
		lose(&e)
		changed := Defect{ID: "lost", Edits: []Edit{e}}
		if _, err := writeOverlay(root(t), t.TempDir(), []Defect{changed}); !errors.Is(err, ErrPlace) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// hunterDirectory is where the overlay program is, once a test has asked for it.
var hunterDirectory string

// hunter builds the overlay program once for all tests.
var hunter = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "lakebed-hunter-")
	if err != nil {
		return "", err
	}
	hunterDirectory = directory
	at, err := FindSources(".")
	if err != nil {
		return "", err
	}
	return Build(testContext, at, directory, hunterFolder)
})

func builtHunter(t *testing.T) string {
	t.Helper()
	program, err := hunter()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestWithoutADefectThePlantedProgramRunsAsThePlainOne, event by event and to the last byte on the disks.
func TestWithoutADefectThePlantedProgramRunsAsThePlainOne(t *testing.T) {
	seeds := int64(20)
	if testing.Short() {
		seeds = 4
	}
	for _, s := range trial.Scenarios() {
		h := Hunt{Scenario: s.Name, Seed: 17, SeedsMax: seeds}
		plain, err := h.Run()
		if err != nil {
			t.Fatal(err)
		}
		planted, err := runHunter(testContext, builtHunter(t), h)
		if err != nil {
			t.Fatal(err)
		}
		if planted.Hash != plain.Hash || planted.Seeds != plain.Seeds || plain.Seeds != seeds {
			t.Errorf("%s: plain %016x after %d seeds, planted %016x after %d", s.Name, plain.Hash, plain.Seeds, planted.Hash, planted.Seeds)
		}
	}
}

// TestAnOrdinaryBuildHasNoDefect to choose.
func TestAnOrdinaryBuildHasNoDefect(t *testing.T) {
	if defect.Compiled || defect.On("no-sync") {
		t.Fatal("this build has defects")
	}
	defer func() {
		if recover() == nil || defect.On("no-sync") {
			t.Error("a defect was chosen that is not there")
		}
	}()
	defect.Choose("no-sync")
}

// TestSourcesAreFoundFromInsideOnly.
func TestSourcesAreFoundFromInsideOnly(t *testing.T) {
	inside := root(t)
	if again, err := FindSources(filepath.Join(inside, "engine", "record")); err != nil || again != inside {
		t.Errorf("%s, %v", again, err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FindSources(other); !errors.Is(err, ErrNoSources) {
		t.Errorf("%v", err)
	}
}
