package oshost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/host"
)

func lockIn(t *testing.T, directory string) (*Host, func(), error) {
	t.Helper()
	h, err := New(Config{Volumes: map[string]string{"v": directory}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("v")
	if err != nil {
		t.Fatal(err)
	}
	release, err := d.Lock()
	return h, release, err
}

// TestTheSecondOfTwoNodesIsToldWhoHoldsTheLock, on one machine, and gets it when the first has ended.
func TestTheSecondOfTwoNodesIsToldWhoHoldsTheLock(t *testing.T) {
	directory := t.TempDir()
	first, _, err := lockIn(t, directory)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = lockIn(t, directory)
	if !errors.Is(err, host.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("second lock: error %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, release, err := lockIn(t, directory)
	if err != nil {
		t.Fatalf("lock after the first node ended: %v", err)
	}
	release()
}

// TestALockFileThatStayedBehindDoesNotLock: it is there after every crash.
func TestALockFileThatStayedBehindDoesNotLock(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, lockName), []byte("99999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, release, err := lockIn(t, directory)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestTheLockSurvivesAnAttemptToRemoveItsDirectory, which must fail and take nothing away.
func TestTheLockSurvivesAnAttemptToRemoveItsDirectory(t *testing.T) {
	parent := t.TempDir()
	h, err := New(Config{Volumes: map[string]string{"v": parent}})
	if err != nil {
		t.Fatal(err)
	}
	above, err := h.Disk("v")
	if err != nil {
		t.Fatal(err)
	}
	_, release, err := lockIn(t, filepath.Join(parent, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := above.Remove("sub"); !errors.Is(err, host.ErrLocked) {
		t.Errorf("remove of a locked directory: error %v", err)
	}
	if _, _, err := lockIn(t, filepath.Join(parent, "sub")); !errors.Is(err, host.ErrLocked) {
		t.Errorf("lock after the attempt: error %v", err)
	}
	release()
	if err := above.Remove("sub"); err != nil {
		t.Errorf("remove after the release: %v", err)
	}
}

// TestALockOnARemovedFileIsNoLock: the file was opened, then removed, then locked. Somebody else may hold its successor.
func TestALockOnARemovedFileIsNoLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), lockName)
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !sameFile(f, name) {
		t.Error("a file in place was taken for a removed one")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if sameFile(f, name) {
		t.Error("a removed file was taken for the one in place")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if sameFile(f, name) {
		t.Error("a removed file was taken for its successor")
	}
}

func TestTheNameOfTheLockIsReserved(t *testing.T) {
	h, release, err := lockIn(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	d, err := h.Disk("v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(lockName); !errors.Is(err, errName) {
		t.Errorf("create: error %v", err)
	}
	if err := d.Remove(lockName); !errors.Is(err, errName) {
		t.Errorf("remove: error %v", err)
	}
	if err := d.Rename(lockName, "other"); !errors.Is(err, errName) {
		t.Errorf("rename: error %v", err)
	}
}
