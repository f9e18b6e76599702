package bench

import (
	"os"
	"path/filepath"
	"testing"
)

const mounts = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:5 / /dev rw - devtmpfs devtmpfs rw
24 22 0:20 / /data rw - xfs /dev/vdb rw
25 22 0:21 / /data rw shared:1 - tmpfs scratch rw
26 22 0:22 / /data/deep rw - btrfs /dev/vdc rw
a broken line
`

// TestTheMountOfADirectoryIsTheNearestAboveIt; a later one at the same path covers the earlier.
func TestTheMountOfADirectoryIsTheNearestAboveIt(t *testing.T) {
	for _, c := range []struct{ dir, fileSystem, device string }{
		{"/", "ext4", "/dev/vda"},
		{"/database", "ext4", "/dev/vda"},
		{"/data", "tmpfs", "scratch"},
		{"/data/x", "tmpfs", "scratch"},
		{"/data/deep/x", "btrfs", "/dev/vdc"},
		{"/data/deeper", "tmpfs", "scratch"},
	} {
		if fileSystem, device := mountOf(mounts, c.dir); fileSystem != c.fileSystem || device != c.device {
			t.Errorf("%s is on %s (%s), want %s (%s)", c.dir, fileSystem, device, c.fileSystem, c.device)
		}
	}
	if fileSystem, _ := mountOf("", "/x"); fileSystem != "unknown" {
		t.Errorf("without mounts a directory is on %s", fileSystem)
	}
}

// TestADirectoryInMemoryIsToldFromOneOnADisk on this machine, as far as it has one.
func TestADirectoryInMemoryIsToldFromOneOnADisk(t *testing.T) {
	p, err := placeOf(t.TempDir())
	if err != nil || p.FreeBytes <= 0 || p.FileSystem == "unknown" {
		t.Errorf("place %+v, error %v", p, err)
	}
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("this machine has no /dev/shm")
	}
	if p, err = placeOf("/dev/shm"); err != nil || !p.InMemory {
		t.Errorf("/dev/shm: %+v, error %v", p, err)
	}
	if _, err := placeOf(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing directory has a place")
	}
}
