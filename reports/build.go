package reports

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

const (
	modulePath  = "lakebed"
	unknown     = "unknown"
	gitTimeLong = 5 * time.Second // git answers at once, or something is wrong with the disk
)

// ThisBuild describes the running program. "go build" stamps the commit into it. "go run" and "go test" do not: then git is
// asked, but only if the working directory lies in a checkout of this module, for any other commit would be a wrong one.
func ThisBuild() Build {
	b := Build{Commit: unknown, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok && b.stamped(info.Settings) {
		return b
	}
	b.Commit, b.Modified = commitAt(".")
	return b
}

// Known says whether it is known which commit was built.
func (b Build) Known() bool { return b.Commit != unknown }

// stamped takes the commit from what the go command wrote into the program.
func (b *Build) stamped(settings []debug.BuildSetting) bool {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b.Commit != unknown
}

// commitAt asks git about the checkout that holds a directory.
func commitAt(dir string) (commit string, modified bool) {
	root, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil || !isOurs(root) {
		return unknown, false
	}
	commit, err = git(dir, "rev-parse", "HEAD")
	if err != nil || commit == "" {
		return unknown, false
	}
	changes, err := git(dir, "status", "--porcelain", "--untracked-files=no")
	return commit, err != nil || changes != ""
}

func git(dir string, arguments ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), gitTimeLong)
	defer stop()
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, arguments...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// isOurs says whether a directory is the root of this module.
func isOurs(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == modulePath
		}
	}
	return false
}
