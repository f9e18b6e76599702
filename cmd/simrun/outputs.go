package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lakebed/trial/campaign"
)

// outputFile is a file that a command writes when its work is done, under the flag that names it.
type outputFile struct {
	flag, path string
	opened     bool // by the command itself, before its work
}

// checkOutputs reports files that cannot be written, or that would overwrite each other, before the work begins: a night's
// result must not be lost to a mistyped path. Empty paths are files that nobody asked for.
func checkOutputs(outputs ...outputFile) error {
	for i, o := range outputs {
		if o.path == "" {
			continue
		}
		for _, other := range outputs[:i] {
			if sameFile(o.path, other.path) {
				return fmt.Errorf("%w: %s and %s are both %s: one would overwrite the other", campaign.ErrUsage, other.flag, o.flag, o.path)
			}
		}
		if o.opened {
			continue
		}
		if err := checkWritable(o.path); err != nil {
			return fmt.Errorf("%w: %s cannot be written: %w", campaign.ErrEnvironment, o.flag, err)
		}
	}
	return nil
}

// sameFile reports whether two paths are one file, which need not be there yet.
func sameFile(a, b string) bool {
	if b == "" {
		return false
	}
	infoA, failedA := os.Stat(a)
	infoB, failedB := os.Stat(b)
	if failedA == nil && failedB == nil {
		// A terminal or a pipe may take both: nothing is lost there.
		return infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
	}
	absoluteA, failedA := filepath.Abs(a)
	absoluteB, failedB := filepath.Abs(b)
	return failedA == nil && failedB == nil && absoluteA == absoluteB
}

// checkWritable opens a file and leaves it as it was.
func checkWritable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe waits for whoever reads it
	}
	file, opened := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if opened != nil {
		return opened
	}
	opened = file.Close()
	if errors.Is(err, fs.ErrNotExist) {
		opened = errors.Join(opened, os.Remove(path))
	}
	return opened
}

// checkDirectory reports that a directory which is made when it is needed cannot be made, or takes no files.
func checkDirectory(flag, path string) error {
	at := path
	for {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	file, err := os.CreateTemp(at, ".simrun-*")
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(file.Name()))
	}
	if err != nil {
		return fmt.Errorf("%w: %s %s cannot be written: %w", campaign.ErrEnvironment, flag, path, err)
	}
	return nil
}
