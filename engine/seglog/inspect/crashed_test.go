package inspect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/inspect"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

// unsealedConfig has one long segment with checkpoints of a few messages each.
func unsealedConfig() seglog.Config {
	config := seglog.DefaultConfig()
	config.FreeBytesMin, config.FutureMax = 0, 0
	config.Partition.Sync, config.Partition.IndexBytes = partition.SyncInterval, 200
	config.Partition.CheckpointBytes, config.Partition.CheckpointBytesMin = 6<<10, 6<<10
	return config
}

// killed runs a store on a directory for so many appends more, and returns the directory as a kill would leave it then: with
// nothing sealed, and checkpoints of all but the last messages.
func killed(t *testing.T, dir string, config seglog.Config, appends int) string {
	t.Helper()
	left := ""
	err := oshost.Run(t.Context(), oshost.Config{Volumes: map[string]string{"disk0": dir}, Logger: slog.New(slog.DiscardHandler)}, func(h host.Host) error {
		s, err := seglog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		if err := s.CreateTopic("access", seglog.TopicConfig{Partitions: 1}); err != nil && !errors.Is(err, seglog.ErrTopicExists) {
			return err
		}
		for i := range appends {
			payload := message.Append(nil, []message.Group{{Time: message.Time(100 + i - 3*(i%5)), Payload: []byte(strings.Repeat("x", 10+7*(i%20)))}})
			if _, err := s.Append("access", 0, payload); err != nil {
				return err
			}
			if i%15 == 14 || i == appends-4 {
				h.Root().Sleep(20 * time.Millisecond) // the settling task makes a checkpoint: one that is not whole is another test's
			}
		}
		for end := h.Elapsed() + 10*time.Second; !settled(t, dir); h.Root().Sleep(time.Millisecond) {
			if h.Elapsed() > end {
				return errors.New("segments are not sealed in time")
			}
		}
		left = copied(t, dir)
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// settled reports whether all segments but the newest are sealed, and nothing is left of that.
func settled(t *testing.T, dir string) bool {
	t.Helper()
	counts, there := map[string]int{}, map[string]bool{}
	entries, err := os.ReadDir(partitionOf(dir))
	for _, e := range entries {
		there[e.Name()] = true
		counts[filepath.Ext(e.Name())]++
	}
	for name := range there {
		base, isCheckpoint := strings.CutSuffix(name, ".checkpoint")
		if isCheckpoint && there[base+".index"] {
			return false
		}
	}
	return err == nil && counts[".log"] == counts[".index"]+1 && counts[".new"] == 0
}

// TestAStoreThatWasKilledAndStartedAgainIsSound: a log that is not sealed ends where the next segment begins, whatever its
// file holds behind that; and checkpoints are files of a partition's.
func TestAStoreThatWasKilledAndStartedAgainIsSound(t *testing.T) {
	once := killed(t, t.TempDir(), unsealedConfig(), 90)
	twice := killed(t, copied(t, once), unsealedConfig(), 3)
	early := copied(t, twice) // the kill came before the first segment was sealed
	remove(t, partitionOf(early), "0.index", "0.timeindex", "sealed")
	copyFile(t, filepath.Join(partitionOf(once), "0.checkpoint"), filepath.Join(partitionOf(early), "0.checkpoint"))
	for name, dir := range map[string]string{"once": once, "twice": twice, "twice, and early": early} {
		r := look(t, dir)
		if len(r.Problems) != 0 {
			t.Errorf("killed %s: %s", name, text(t, r))
		}
	}
	if s := look(t, once).Topics[0].Partitions[0].Segments; len(s) != 1 || s[0].Durable == 0 || s[0].Next != 90 {
		t.Errorf("after one kill: %+v", s)
	}
	s := look(t, twice).Topics[0].Partitions[0].Segments
	if len(s) != 2 || s[0].Behind == 0 || s[0].Next != s[1].Base || s[1].Next != 93 {
		t.Errorf("after two: %+v", s)
	}
}

// partitionOf is the directory of the only partition.
func partitionOf(dir string) string {
	return filepath.Join(dir, "mstore", "partition", "access", "0")
}

// TestEveryByteOfCheckpointsIsChecked: whatever byte of their file is flipped, it is told; as damage if a later checkpoint
// proves that this one was whole.
func TestEveryByteOfCheckpointsIsChecked(t *testing.T) {
	dir := killed(t, t.TempDir(), unsealedConfig(), 60) // more, and one stands for all
	path := filepath.Join(partitionOf(dir), "0.checkpoint")
	info, err := os.Stat(path)
	if err != nil || info.Size() < 4*4096 {
		t.Fatalf("a file of checkpoints of several runs is wanted: %v, %v", info, err)
	}
	damaged, doubted := 0, 0
	for at := int64(3); at < info.Size(); at += 397 {
		flip(t, path, at)
		r := look(t, dir)
		told := false
		for _, p := range r.Problems {
			told = told || p.Class == inspect.BadCheckpoint
		}
		if !told {
			t.Errorf("byte %d: %s", at, text(t, r))
		}
		if r.Broken() {
			damaged++
		} else {
			doubted++
		}
		flip(t, path, at)
	}
	if damaged == 0 || doubted == 0 || doubted > damaged {
		t.Errorf("%d flips are damage, %d only doubted", damaged, doubted)
	}
}

// TestWhatACheckpointPromisesIsLookedFor: a log that has less than its checkpoint says, or other bytes, is damaged; so is one
// that is missing although its checkpoint is there.
func TestWhatACheckpointPromisesIsLookedFor(t *testing.T) {
	sound := killed(t, killed(t, t.TempDir(), unsealedConfig(), 90), unsealedConfig(), 90)
	s := look(t, sound).Topics[0].Partitions[0].Segments
	if len(s) != 2 || s[1].Durable == 0 {
		t.Fatalf("%+v", s)
	}
	log := fmt.Sprint(s[1].Base) + ".log"
	for name, c := range map[string]struct {
		spoil func(t *testing.T, p string)
		class inspection.Class
	}{
		"shortened":             {func(t *testing.T, p string) { cut(t, filepath.Join(p, log), s[1].Durable-600) }, inspect.Rot},
		"shortened to a record": {func(t *testing.T, p string) { cut(t, filepath.Join(p, log), 0) }, inspect.CheckpointMismatch},
		"rotten":                {func(t *testing.T, p string) { flip(t, filepath.Join(p, log), s[1].Durable/2) }, inspect.Rot},
		"missing":               {func(t *testing.T, p string) { remove(t, p, log) }, inspect.Missing},
		"of another segment": {func(t *testing.T, p string) {
			copyFile(t, filepath.Join(p, "0.index"), filepath.Join(p, fmt.Sprint(s[1].Base)+".checkpoint"))
		}, inspect.BadCheckpoint},
	} {
		dir := copied(t, sound)
		c.spoil(t, partitionOf(dir))
		told := false
		r := look(t, dir)
		for _, p := range r.Problems {
			told = told || p.Class == c.class
		}
		if !told || !r.Broken() && c.class != inspect.BadCheckpoint {
			t.Errorf("%s: no damage of class %s: %s", name, c.class, text(t, r))
		}
	}
}

// TestASegmentThatAStopHasSealedByHalfIsNotDamaged: one of its index files is there, and says what is in the log up to the filler that ends
// the last sector.
func TestASegmentThatAStopHasSealedByHalfIsNotDamaged(t *testing.T) {
	config := unsealedConfig()
	config.Partition.SegmentAge = 10 * time.Millisecond // as long as the life sleeps between some appends
	dir := killed(t, t.TempDir(), config, 60)
	s := look(t, dir).Topics[0].Partitions[0].Segments
	half := s[len(s)-2]
	if half.Fillers == 0 {
		t.Fatalf("%+v", half)
	}
	remove(t, partitionOf(dir), "sealed", fmt.Sprintf("%d.index", half.Base))
	r := look(t, dir)
	if len(r.Problems) != 1 || r.Broken() || r.Problems[0].Class != inspect.Missing {
		t.Error(text(t, r))
	}
}

// TestFilesThatAStartSetAsideAreTold, and are no damage: the start has said so, and goes by the rest.
func TestFilesThatAStartSetAsideAreTold(t *testing.T) {
	dir := killed(t, t.TempDir(), unsealedConfig(), 30)
	if err := os.WriteFile(filepath.Join(partitionOf(dir), "9000.index"), []byte("this was an index"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := look(t, dir); !r.Broken() {
		t.Errorf("before a start: %s", text(t, r))
	}
	r := look(t, killed(t, dir, unsealedConfig(), 3))
	if len(r.Problems) != 1 || r.Problems[0].Class != inspect.Aside || r.Broken() || !strings.Contains(r.Problems[0].File, "9000.index.aside") {
		t.Errorf("after one: %s", text(t, r))
	}
}

// TestWholeMessagesThatAStartWillCutOffAreCounted: behind the checkpoints of the newest log a rotten record is doubt, as a torn
// one is; what lies whole behind it is told.
func TestWholeMessagesThatAStartWillCutOffAreCounted(t *testing.T) {
	config := unsealedConfig()
	config.Partition.CheckpointBytes, config.Partition.CheckpointBytesMin = 1<<30, 1<<30
	dir := killed(t, t.TempDir(), config, 40)
	flip(t, filepath.Join(partitionOf(dir), "0.log"), 2100)
	r := look(t, dir)
	s := r.Topics[0].Partitions[0].Segments[0]
	if len(r.Problems) != 1 || r.Problems[0].Class != inspect.TornTail || r.Broken() || s.Stray == 0 || int64(s.Next)+1+s.Stray != 40 ||
		!strings.Contains(r.Problems[0].Message, fmt.Sprintf("a start cuts off what is behind the first: %d messages in a row", s.Stray)) {
		t.Errorf("%+v: %s", s, text(t, r))
	}
}
