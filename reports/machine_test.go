package reports

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Goal: a commit is named only if it is that of this module, and changes are admitted.
func TestCommitIsThatOfACheckoutOfThisModule(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run := func(arguments ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, arguments...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, out)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if commit, _ := commitAt(dir); commit != unknown {
		t.Errorf("outside of a checkout the commit is %s", commit)
	}
	run("init", "-q")
	write("module lakebed\n")
	run("add", ".")
	run("commit", "-q", "-m", "one")
	commit, modified := commitAt(dir)
	if len(commit) != 40 || modified {
		t.Errorf("a clean checkout is %s (modified %v)", commit, modified)
	}
	write("module lakebed\n\ngo 1.26.0\n")
	if again, modified := commitAt(dir); again != commit || !modified {
		t.Errorf("with a change it is %s (modified %v)", again, modified)
	}
	write("module other\n")
	if commit, _ := commitAt(dir); commit != unknown {
		t.Errorf("the commit of another module was taken: %s", commit)
	}
}

// Goal: the stamp of a build is believed before anything else.
func TestStampOfTheBuildIsTaken(t *testing.T) {
	b := Build{Commit: unknown}
	if b.stamped([]debug.BuildSetting{{Key: "GOOS", Value: "linux"}}) {
		t.Errorf("a build without a stamp is %+v", b)
	}
	if !b.stamped([]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}) || b.Commit != "abc" || !b.Modified {
		t.Errorf("a stamped build is %+v", b)
	}
	if this := ThisBuild(); this.Commit == "" || !strings.HasPrefix(this.Go, "go") && !strings.HasPrefix(this.Go, "devel") || this.Arch == "" {
		t.Errorf("this build is %+v", this)
	}
}

// Goal: what this machine says of itself passes the check of results.
func TestThisMachineCanBeReported(t *testing.T) {
	watch := WatchOthers()
	r := sampleBench()
	r.Build, r.Machine = ThisBuild(), ThisMachine()
	disk, err := DiskOf(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.Disk = &disk
	if share := watch.Share(); share != OthersUnknown && (share < 0 || share > 1) {
		t.Errorf("others used the share %v", share)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if r.Machine.MemoryBytes == 0 || disk.FileSystem == unknown || disk.FreeBytes == 0 {
		t.Errorf("machine %+v, disk %+v", r.Machine, disk)
	}
	if relative, err := DiskOf("."); err != nil || relative.FileSystem == unknown {
		t.Errorf("the disk of a relative directory: %+v, %v", relative, err)
	}
	if _, err := DiskOf(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing directory has a disk")
	}
}

// Goal: of nested mounts the nearest counts, of two at one place the later.
func TestNearestMountIsFound(t *testing.T) {
	const mounts = `22 1 8:1 / / rw - ext4 /dev/vda rw
23 22 0:5 / /data rw,noatime shared:1 - xfs /dev/vdb rw
24 23 0:6 / /data/with\040blank rw - tmpfs tmpfs rw
25 22 0:7 / /data rw - btrfs /dev/vdc rw
broken line
`
	for dir, want := range map[string]string{
		"/": "ext4 /dev/vda", "/database": "ext4 /dev/vda", "/data/a": "btrfs /dev/vdc", "/data/with blank/a": "tmpfs tmpfs",
	} {
		fileSystem, device := mountOf(mounts, dir)
		if got := fileSystem + " " + device; got != want {
			t.Errorf("%s is on %s, not %s", dir, got, want)
		}
	}
}

// Goal: the processor is named on all kinds of machines, and /proc/stat is read in ticks.
func TestProcIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: AMD EPYC 7B13\n": "AMD EPYC 7B13",
		"processor\t: 0\nModel\t\t: Raspberry Pi 5\n":   "Raspberry Pi 5",
		"model name\t:\n": unknown, "": unknown,
	} {
		if got := processorModel(text); got != want {
			t.Errorf("%q names %q, not %q", text, got, want)
		}
	}
	if got := busyTime("cpu  100 0 50 900 7 1 2 3 0 0\ncpu0 1"); got.Seconds() != 1.56 {
		t.Errorf("the processors worked for %v", got)
	}
	if got := busyTime("nothing"); got != 0 {
		t.Errorf("nothing worked for %v", got)
	}
}

// Goal: a result of an unknown commit says so wherever it is shown.
func TestAnUnknownCommitIsWarnedOf(t *testing.T) {
	r := sampleBench()
	if !r.Build.Known() || len(r.warnings()) != 0 {
		t.Errorf("warnings: %q", r.warnings())
	}
	r.Build.Commit = unknown
	if said := r.warnings(); r.Build.Known() || len(said) != 1 || !strings.Contains(said[0], "no commit is known") {
		t.Errorf("warnings: %q", said)
	}
}
