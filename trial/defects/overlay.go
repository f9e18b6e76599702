package defects

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// switchFile is replaced as a whole: with the overlay a program knows that it has defects.
const switchFile = "trial/defects/defect/compiled.go"

const switchCompiled = `package defect

import "os"

// Compiled says that the planted bugs are part of this program.
const Compiled = true

func fromEnvironment() string { return os.Getenv(Variable) }
`

// overlay is what go build -overlay reads.
type overlay struct{ Replace map[string]string }

// WriteOverlay plants all defects of the catalogue in copies of the sources of the module at root. It writes them below
// directory and returns the path of the file for go build -overlay.
func WriteOverlay(root, directory string) (string, error) {
	return writeOverlay(root, directory, All())
}

func writeOverlay(root, directory string, all []Defect) (string, error) {
	files := map[string][]planted{}
	var names []string // in the order of the catalogue, so that the first error is the same each time
	for i := range all {
		for k := range all[i].Edits {
			e := planted{all[i].ID, &all[i].Edits[k]}
			if files[e.File] == nil {
				names = append(names, e.File)
			}
			files[e.File] = append(files[e.File], e)
		}
	}
	o := overlay{Replace: map[string]string{}}
	var lost []error
	for _, name := range names {
		original := filepath.Join(root, filepath.FromSlash(name))
		text, err := plantFile(original, name, files[name])
		if err == nil {
			o.Replace[original], err = store(directory, name, text)
		}
		lost = append(lost, err)
	}
	if err := errors.Join(lost...); err != nil {
		return "", err
	}
	path, err := store(directory, switchFile, []byte(switchCompiled))
	if err != nil {
		return "", err
	}
	o.Replace[filepath.Join(root, filepath.FromSlash(switchFile))] = path
	text, err := json.MarshalIndent(o, "", "\t")
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return store(directory, "overlay.json", text)
}

func plantFile(path, name string, edits []planted) ([]byte, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("plant defects: %w: %w", ErrPlace, err)
	}
	return plant(name, source, edits)
}

// store writes a file of the overlay. All lie in one directory, under names that tell where they belong.
func store(directory, name string, text []byte) (string, error) {
	path := filepath.Join(directory, strings.ReplaceAll(name, "/", "-"))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return path, nil
}
