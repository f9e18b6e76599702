package inspect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/inspection"
	"lakebed/engine/seglog/inspect"
	"lakebed/engine/seglog/partition"
)

// TestZerosAheadAreTheEndOnlyWhereALogMayEnd: zeros up to the end of the newest log are told as a number. With a byte among them they
// are a torn tail; where a checkpoint promises messages, or in a log whose next segment begins later, they are damage.
func TestZerosAheadAreTheEndOnlyWhereALogMayEnd(t *testing.T) {
	config := unsealedConfig()
	config.Partition.Sync = partition.SyncGroup
	sound := killed(t, killed(t, t.TempDir(), config, 90), config, 90)
	r := look(t, sound)
	s := r.Topics[0].Partitions[0].Segments
	if len(s) != 2 || s[1].Zeros == 0 || s[1].Behind != 0 || s[1].Durable == 0 || len(r.Problems) != 0 ||
		!strings.Contains(text(t, r), fmt.Sprintf("%d bytes of zeros ahead", s[1].Zeros)) {
		t.Fatalf("%s", text(t, r))
	}
	file := func(p string, segment int) string { return filepath.Join(p, fmt.Sprint(s[segment].Base)+".log") }
	for name, c := range map[string]struct {
		spoil    func(t *testing.T, p string)
		severity inspection.Severity
		class    inspection.Class
	}{
		"a byte among the zeros":            {func(t *testing.T, p string) { flip(t, file(p, 1), s[1].Bytes+s[1].Zeros-1) }, inspection.Doubt, inspect.TornTail},
		"messages that a checkpoint covers": {func(t *testing.T, p string) { blank(t, file(p, 1), s[1].Durable/2) }, inspection.Damage, inspect.Rot},
		"messages before the next segment": {func(t *testing.T, p string) {
			remove(t, p, fmt.Sprint(s[0].Base)+".index", fmt.Sprint(s[0].Base)+".timeindex")
			blank(t, file(p, 0), s[0].Bytes/2)
		}, inspection.Damage, inspect.Rot},
		"messages of a sealed log": {func(t *testing.T, p string) { blank(t, file(p, 0), s[0].Bytes/2) }, inspection.Damage, inspect.Rot},
	} {
		dir := copied(t, sound)
		c.spoil(t, partitionOf(dir))
		told := false
		r := look(t, dir)
		for _, p := range r.Problems {
			told = told || p.Severity == c.severity && p.Class == c.class
		}
		if !told {
			t.Errorf("%s: no %s of class %s: %s", name, c.severity, c.class, text(t, r))
		}
	}
}

// blank writes zeros from an offset to the end of a file.
func blank(t *testing.T, path string, from int64) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		clear(content[from:])
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
