package jvm

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"

	"lakebed/peers/stores"
)

// ErrMissing means that this machine lacks what a broker needs.
var ErrMissing = errors.New("missing")

//go:embed poms
var poms embed.FS

// completeMark is written last: a directory without it was left by a fetch that was interrupted.
const completeMark = "complete"

// Fetch returns the directory with a broker's jars, which Maven fetches if they are not there.
func Fetch(ctx context.Context, broker stores.Broker) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("java: %w: %w", ErrMissing, err)
	}
	pom, err := poms.ReadFile("poms/" + string(broker) + ".xml")
	if err != nil {
		return "", fmt.Errorf("there is no broker %q: %w", broker, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	dir := filepath.Join(cache, "lakebed-peers", fmt.Sprintf("%s-%08x", broker, crc32.ChecksumIEEE(pom)))
	if _, err := os.Stat(filepath.Join(dir, completeMark)); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		return "", fmt.Errorf("mvn, to fetch the jars of %s: %w: %w", broker, ErrMissing, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a directory for the jars of %s: %w", broker, err)
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return "", fmt.Errorf("write the list of jars: %w", err)
	}
	maven := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	maven.Dir = dir
	if out, err := maven.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: mvn does not get the jars of %s: %w\n%s", ErrMissing, broker, err, out)
	}
	return dir, os.WriteFile(filepath.Join(dir, completeMark), nil, 0o644)
}
