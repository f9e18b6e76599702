package defects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoSources says that the sources of the module, or the go command, are not at hand: without them there is nothing to
// plant defects in.
var ErrNoSources = errors.New("planting defects takes the sources of lakebed and the go command")

const modulePath = "lakebed"

// FindSources returns the root of the module that directory lies in.
func FindSources(directory string) (string, error) {
	at, err := filepath.Abs(directory)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoSources, err)
	}
	for from := at; ; {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && declares(string(text)) {
			return at, nil
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", fmt.Errorf("%w: run this inside a clone of the repository, which %s is not", ErrNoSources, from)
		}
		at = parent
	}
}

func declares(goMod string) bool {
	for line := range strings.Lines(goMod) {
		if strings.TrimSpace(line) == "module "+modulePath {
			return true
		}
	}
	return false
}

// Build builds a package of the module at root with all defects planted, as a program in directory, where it also leaves
// the overlay.
func Build(ctx context.Context, root, directory, folder string) (program string, err error) {
	plan, err := WriteOverlay(root, directory)
	if err != nil {
		return "", err
	}
	program = filepath.Join(directory, filepath.Base(folder))
	command := exec.CommandContext(ctx, "go", "build", "-overlay", plan, "-o", program, "./"+folder)
	command.Dir = root
	output, err := command.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%w: %w", ErrNoSources, err)
	case err != nil:
		return "", fmt.Errorf("build %s with defects: %w\n%s", folder, err, output)
	}
	return program, nil
}
