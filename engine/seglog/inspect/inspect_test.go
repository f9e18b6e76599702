package inspect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/inspect"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

// written makes a data directory in which a store has written two topics, the first with several segments, and was closed.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := seglog.DefaultConfig()
	config.FreeBytesMin, config.FutureMax, config.Partition.Sync = 0, 0, partition.SyncInterval // a close syncs, and groups are padded
	config.Partition.MappedAppends = false                                                      // and a log ends where its messages do: behind them nothing is promised
	config.Partition.SegmentBytes, config.Partition.IndexBytes, config.Partition.PadBytes = 8<<10, 200, 512
	config.Partition.MessageBytesMax, config.Partition.BatchBytesMax, config.Partition.GroupBytesMax = 1<<10, 1<<11, 1<<10
	err := oshost.Run(t.Context(), oshost.Config{Volumes: map[string]string{"disk0": dir}, Logger: slog.New(slog.DiscardHandler)}, func(h host.Host) error {
		s, err := seglog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		for _, name := range []string{"access", "other"} {
			if err := s.CreateTopic(name, seglog.TopicConfig{Partitions: 2}); err != nil {
				return err
			}
		}
		for i := range 60 {
			times := []int{100 + i, 100 + i - 3*(i%5)} // clocks go back now and then
			payload := message.Append(nil, []message.Group{{Time: message.Time(times[i%2]), Payload: []byte(strings.Repeat("x", 10+7*(i%20)))}})
			if _, err := s.Append("access", i%8/7, payload); err != nil {
				return err
			}
		}
		_, err = s.Append("other", 1, message.Append(nil, []message.Group{{Time: 5}})) // fewer than its time index could speak of
		return errors.Join(err, s.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func look(t *testing.T, dir string) *inspect.Report {
	t.Helper()
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{"x": dir}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := inspect.Volume(d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *inspect.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWhatAStoreHasWrittenIsSound, and all of it is told; looking changes nothing.
func TestWhatAStoreHasWrittenIsSound(t *testing.T) {
	dir := written(t)
	before := files(t, dir)
	r := look(t, dir)
	if len(r.Problems) != 0 || len(r.Topics) != 2 || r.Broken() {
		t.Fatalf("%s", text(t, r))
	}
	messages, segments, items := 0, 0, 0
	for _, p := range r.Topics[0].Partitions {
		for _, s := range p.Segments {
			segments++
			items += s.Items
			messages += int(s.Next - s.Base)
		}
	}
	if messages != 60 || segments < 4 || items < 20 || r.Topics[0].Name != "access" || len(r.Topics[0].Volumes) != 2 {
		t.Errorf("%d messages, %d segments, %d items\n%s", messages, segments, items, text(t, r))
	}
	if told := text(t, r); !strings.HasPrefix(told, "sound: 2 topics, ") || !strings.Contains(told, "61 messages") {
		t.Errorf("%s", told)
	}
	if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v became %v", before, after)
	}
}

// files are the names and sizes of all files below a directory.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && info.Name() != "LOCK" {
			all[path] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryFlippedBitOfEveryFileIsDamage: checksums and comparisons leave no byte out. All segments are sealed, since the store was closed.
func TestEveryFlippedBitOfEveryFileIsDamage(t *testing.T) {
	dir := written(t)
	flips := 0
	for path, size := range files(t, dir) {
		for at := int64(len(path)) % 11; at < size; at += max(97, size/3) {
			flip(t, path, at)
			r := look(t, dir)
			// The list of sealed segments is a shortcut: what it does not say is in the index files.
			if listed := filepath.Base(path) == "sealed"; len(r.Problems) == 0 || r.Broken() == listed {
				t.Errorf("byte %d of %s: %s", at, path, text(t, r))
			}
			flip(t, path, at)
			flips++
		}
	}
	if r := look(t, dir); len(r.Problems) != 0 || flips < 40 {
		t.Errorf("after %d flips, all of them taken back:\n%s", flips, text(t, r))
	}
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	b[0] ^= 0x10
	if err == nil {
		_, err = f.WriteAt(b[:], at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestEachKindOfTroubleHasItsClass.
func TestEachKindOfTroubleHasItsClass(t *testing.T) {
	sound := written(t)
	const newest, severe = "the newest segment", inspection.Damage
	for _, c := range []struct {
		name     string
		spoil    func(t *testing.T, partition string, bases []string)
		severity inspection.Severity
		class    inspection.Class
	}{
		{"a segment in the middle is gone", func(t *testing.T, p string, b []string) { remove(t, p, b[1]+".log", b[1]+".index", b[1]+".timeindex") }, severe, inspect.Gap},
		{"indexes of a former segment are gone", func(t *testing.T, p string, b []string) { remove(t, p, b[1]+".index") }, severe, inspect.Missing},
		{"the first log is gone, and its indexes are not", func(t *testing.T, p string, b []string) { remove(t, p, b[0]+".log") }, inspection.Note, inspect.Orphan},
		{"another log is gone, and its indexes are not", func(t *testing.T, p string, b []string) { remove(t, p, b[len(b)-1]+".log") }, severe, inspect.Missing},
		{"a sealed log is cut", func(t *testing.T, p string, b []string) { cut(t, filepath.Join(p, b[1]+".log"), 600) }, severe, inspect.IndexMismatch},
		{"an index of another segment", func(t *testing.T, p string, b []string) {
			copyFile(t, filepath.Join(p, b[0]+".index"), filepath.Join(p, b[1]+".index"))
		}, severe, inspect.IndexMismatch},
		{"a time index in the place of an index", func(t *testing.T, p string, b []string) {
			copyFile(t, filepath.Join(p, b[0]+".timeindex"), filepath.Join(p, b[0]+".index"))
		}, severe, inspect.BadIndex},
		{newest + " is torn", func(t *testing.T, p string, b []string) {
			last := b[len(b)-1]
			remove(t, p, last+".index", last+".timeindex")
			cut(t, filepath.Join(p, last+".log"), 300)
		}, inspection.Doubt, inspect.TornTail},
		{"a foreign file", func(t *testing.T, p string, _ []string) {
			copyFile(t, filepath.Join(p, "..", "topic"), filepath.Join(p, "07.log"))
		}, inspection.Note, inspect.Orphan},
		{"a topic's file of another topic", func(t *testing.T, p string, _ []string) {
			copyFile(t, filepath.Join(p, "..", "..", "other", "topic"), filepath.Join(p, "..", "topic"))
		}, severe, inspect.BadTopic},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copied(t, sound)
			partition := filepath.Join(dir, "mstore", "partition", "access", "0")
			var bases []string
			for _, s := range look(t, dir).Topics[0].Partitions[0].Segments {
				bases = append(bases, fmt.Sprint(s.Base))
			}
			if len(bases) < 3 {
				t.Fatalf("segments %v", bases)
			}
			c.spoil(t, partition, bases)
			r := look(t, dir)
			told := false
			for _, p := range r.Problems {
				told = told || p.Severity == c.severity && p.Class == c.class
			}
			if !told {
				t.Errorf("no %s of class %s: %s", c.severity, c.class, text(t, r))
			}
		})
	}
}

// TestWhatLiesBehindARottenRecordIsRead: one rotten record in the middle of a sealed log is told, with how many bytes are skipped
// and where; all behind it is counted and compared, and nothing else is called damaged. So it is where a record's head is
// rotten, and where two are.
func TestWhatLiesBehindARottenRecordIsRead(t *testing.T) {
	sound := written(t)
	before := look(t, sound).Topics[0].Partitions[0].Segments
	for name, at := range map[string][]int64{"payload": {1300}, "size": {1024 + 9}, "all": {1024 + 2, 1024 + 9, 1024 + 18}, "two records": {1300, 3000}} {
		dir := copied(t, sound)
		for _, a := range at {
			flip(t, filepath.Join(partitionOf(dir), fmt.Sprint(before[1].Base)+".log"), a)
		}
		r := look(t, dir)
		want := 1
		if name == "two records" {
			want = 2
		}
		s := r.Topics[0].Partitions[0].Segments
		if len(r.Problems) != want || r.Counts.Damage != want || len(s) != len(before) || s[1].Next != before[1].Next || s[1].Bytes != before[1].Bytes || s[1].Skipped == 0 {
			t.Errorf("%s: %+v, want %+v\n%s", name, s, before, text(t, r))
			continue
		}
		if p := r.Problems[0]; p.Class != inspect.Rot || p.Offset < 1024 || p.Offset > at[0] ||
			!strings.Contains(p.Message, "bytes are skipped: the next whole record, of cursor ") || s[1].Skipped > int64(want)*1024 {
			t.Errorf("%s: %d bytes are skipped: %s", name, s[1].Skipped, text(t, r))
		}
	}
}

// TestProblemsAreCountedAndTheFirstAreListed: what is everywhere fills no memory, and how much it is is told.
func TestProblemsAreCountedAndTheFirstAreListed(t *testing.T) {
	dir := written(t)
	for i := range 1500 {
		if err := os.WriteFile(filepath.Join(partitionOf(dir), fmt.Sprintf("foreign-%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := look(t, dir)
	if len(r.Problems) != 1000 || r.Counts != (inspection.Counts{Note: 1500, Unlisted: 500}) {
		t.Errorf("%d are listed of %+v", len(r.Problems), r.Counts)
	}
	if told := text(t, r); !strings.HasPrefix(told, "0 damaged, 0 in doubt, 1500 notes") || !strings.HasSuffix(told, "and 500 problems more, which are not listed\n") {
		t.Errorf("%s", told)
	}
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func cut(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNoSegmentLogIsForeign, and nothing is made there.
func TestWhatIsNoSegmentLogIsForeign(t *testing.T) {
	dir := t.TempDir()
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{"x": dir}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inspect.Volume(d); !errors.Is(err, inspect.ErrForeign) {
		t.Errorf("%v", err)
	}
	if _, err := inspect.PartitionDir("x", d); !errors.Is(err, inspect.ErrForeign) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// copied is a copy of a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
