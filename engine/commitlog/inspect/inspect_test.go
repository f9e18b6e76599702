package inspect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/inspect"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/inspection"
)

const messages = 600

// written makes the directory of a store that has written messages of two topics into several files, and was closed.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := commitlog.DefaultConfig()
	config.FileBytes, config.BodyBytesMax, config.PropertiesMax, config.SectorBytes = 32<<10, 1<<10, 1<<10, 512
	config.Flush = commitlog.FlushNever                                                                 // a close syncs
	config.QueueFileUnits, config.IndexSlots, config.IndexEntries = 128, 8, 200                         // whole sectors of units
	config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1 // whatever disk this is
	err := oshost.Run(t.Context(), oshost.Config{Volumes: map[string]string{commitlog.StoreVolume: dir}, Logger: slog.New(slog.DiscardHandler)}, func(h host.Host) error {
		s, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		for i := range messages {
			p, err := message.AppendProperties(nil, message.Property{Name: message.PropertyTags, Value: fmt.Sprint("t", i%3)},
				message.Property{Name: message.PropertyKeys, Value: fmt.Sprint("k", i)})
			if err != nil {
				return err
			}
			m := message.Message{Topic: []byte([]string{"orders", "bills"}[i/(messages-20)]), Queue: int32(i % 2), Body: []byte(strings.Repeat("x", 10+i%50)), Properties: p}
			if _, err := s.Append(m); err != nil {
				return err
			}
		}
		return s.Close()
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
	r, err := inspect.Store(d)
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

// TestWhatAStoreHasWrittenIsSound, and all of it is told.
func TestWhatAStoreHasWrittenIsSound(t *testing.T) {
	r := look(t, written(t))
	complete := 0
	for _, x := range r.Indexes {
		if x.Complete {
			complete++
		}
	}
	if len(r.Problems) != 0 || r.Messages != messages || len(r.Files) < 2 || len(r.Queues) < 4 || complete < 2 || r.Checkpoint == nil || !r.Checkpoint.Clean {
		t.Fatalf("%d complete files of the key index\n%s", complete, text(t, r))
	}
	if told := text(t, r); !strings.HasPrefix(told, "sound: 600 messages, ") || !strings.Contains(told, "closed cleanly") {
		t.Errorf("%s", told)
	}
}

// TestEveryFlippedBitThatCountsIsDamage: of the checkpoint, of all records, of units, and of what an entry of the key index says of
// its message.
func TestEveryFlippedBitThatCountsIsDamage(t *testing.T) {
	dir := written(t)
	end := look(t, dir).End
	flips := 0
	try := func(path string, at int64) {
		flip(t, path, at)
		if r := look(t, dir); !r.Broken() {
			t.Errorf("byte %d of %s: %s", at, path, text(t, r))
		}
		flip(t, path, at)
		flips++
	}
	sweep := func(pattern string, from, step int64) {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := from; at < info.Size(); at += step {
				try(path, at)
			}
		}
	}
	sweep("checkpoint*", 3, 601)
	sweep("consumequeue/*/*/*", 5, 401)
	for _, at := range []int64{0, 5, 9, 40, 90, 100, 120} {
		try(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", 0)), at)
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "index", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range indexes[:len(indexes)-1] {
		stride := int64(3)
		if testing.Short() {
			stride = 29
		}
		for at := int64(0); at < 40+4*8+20*9; at += stride { // header, slots, entry 0, and entries
			if in := at - 40 - 4*8 - 20; in >= 0 && in%20 >= 12 && in%20 < 16 {
				continue // of the times in entries nothing is known
			}
			try(path, at)
		}
	}
	if r := look(t, dir); len(r.Problems) != 0 || flips < 25 || r.End != end {
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
	for _, c := range []struct {
		name     string
		spoil    func(dir string) error
		severity inspection.Severity
		class    inspection.Class
	}{
		{"a file of the log is gone", func(dir string) error { return os.Remove(filepath.Join(dir, secondFile)) }, inspection.Damage, inspect.Missing},
		{"a file of a queue is gone", func(dir string) error {
			paths, err := filepath.Glob(filepath.Join(dir, "consumequeue/*/*/*"))
			return errors.Join(err, os.Remove(paths[0]))
		}, inspection.Damage, inspect.Missing},
		{"the first complete file of the key index is gone", func(dir string) error { return removeIndex(dir, 0) }, inspection.Damage, inspect.Missing},
		{"the newest complete file of the key index is gone", func(dir string) error { return removeIndex(dir, 1) }, inspection.Damage, inspect.Missing},
		{"the file of the key index that is being filled is gone", func(dir string) error { return removeIndex(dir, 2) }, inspection.Damage, inspect.Missing},
		{"both checkpoints are gone", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "checkpoint")), os.Remove(filepath.Join(dir, "checkpoint-b")))
		}, inspection.Note, inspect.NoCheckpoint},
		{"the log's begin was overwritten", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "commitlog/00000000000000000000"), make([]byte, 32768), 0o600)
		}, inspection.Damage, inspect.Rot},
		{"a foreign file", func(dir string) error { return os.WriteFile(filepath.Join(dir, "commitlog/notes"), nil, 0o600) }, inspection.Note, inspect.Orphan},
		{"a start was interrupted", func(dir string) error { return os.WriteFile(filepath.Join(dir, "tail"), nil, 0o600) }, inspection.Note, inspect.Interrupted},
	} {
		dir := copied(t, sound)
		if err := c.spoil(dir); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := look(t, dir)
		told := false
		for _, p := range r.Problems {
			told = told || p.Severity == c.severity && p.Class == c.class
		}
		if !told {
			t.Errorf("%s: no %s of class %s: %s", c.name, c.severity, c.class, text(t, r))
		}
	}
}

// secondFile is the log's second file.
const secondFile = "commitlog/00000000000000032768"

// TestWhatLiesBehindARottenRecordIsRead: one rotten record in the middle of the log is told, with how many bytes are skipped and
// where; all messages behind it are counted and compared, in its file and the next, and nothing is called damaged but that, and
// that its queue misses a message.
func TestWhatLiesBehindARottenRecordIsRead(t *testing.T) {
	sound := written(t)
	before := look(t, sound)
	content, err := os.ReadFile(filepath.Join(sound, secondFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, flips := range map[string][]int64{"one": {10*512 + 100}, "three": {10*512 + 100, 20*512 + 100, 40*512 + 100}, "the last of a file": {int64(len(content)) - 412}} {
		dir := copied(t, sound)
		for _, at := range flips {
			flip(t, filepath.Join(dir, secondFile), at)
		}
		r := look(t, dir)
		rot := 0
		for _, p := range r.Problems {
			switch p.Class {
			case inspect.Rot:
				rot++
			case inspect.Gap:
			default:
				t.Errorf("%s: %+v", name, p)
			}
		}
		if n := len(flips); rot != n || r.Messages != before.Messages-int64(n) || r.End != before.End || r.Skipped < 100*int64(n) || r.Skipped > 1000*int64(n) {
			t.Errorf("%s: %d messages of %d, %d bytes skipped\n%s", name, r.Messages, before.Messages, r.Skipped, text(t, r))
		}
		if name == "one" && !strings.Contains(text(t, r), fmt.Sprintf("%d bytes are skipped: the next whole record lies at ", r.Skipped)) {
			t.Errorf("%s", text(t, r))
		}
	}
}

// TestBehindAMissingFileTheLogIsRead: what the next files hold is counted.
func TestBehindAMissingFileTheLogIsRead(t *testing.T) {
	dir := written(t)
	before := look(t, dir)
	if err := os.Remove(filepath.Join(dir, secondFile)); err != nil {
		t.Fatal(err)
	}
	r := look(t, dir)
	if r.End != before.End || r.Messages < before.Messages/2 || !r.Broken() {
		t.Errorf("%s", text(t, r))
	}
	for _, p := range r.Problems {
		if p.Class != inspect.Missing && p.Class != inspect.Gap {
			t.Errorf("%+v", p)
		}
	}
}

// TestWholeMessagesThatAStartWillCutOffAreCounted: without a checkpoint nothing is known to be durable, and a rotten record may be a
// torn one. What lies whole behind it in its file is told.
func TestWholeMessagesThatAStartWillCutOffAreCounted(t *testing.T) {
	dir := written(t)
	for _, name := range []string{"checkpoint", "checkpoint-b"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", 0)), 10*512+100)
	r := look(t, dir)
	if r.Broken() || r.Counts.Doubt != 1 || r.Stray < 50 || !strings.Contains(text(t, r), fmt.Sprintf("behind the first, %d messages in a row", r.Stray)) {
		t.Errorf("%d stray: %s", r.Stray, text(t, r))
	}
}

// TestProblemsAreCountedAndTheFirstAreListed: what is everywhere fills no memory, and how much it is is told.
func TestProblemsAreCountedAndTheFirstAreListed(t *testing.T) {
	dir := written(t)
	for i := range 1500 {
		if err := os.WriteFile(filepath.Join(dir, "commitlog", fmt.Sprint("foreign-", i)), nil, 0o600); err != nil {
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

// removeIndex removes a file of the key index: two are complete, the third is being filled.
func removeIndex(dir string, file int) error {
	paths, err := filepath.Glob(filepath.Join(dir, "index/[0-9]*"))
	if err != nil {
		return err
	}
	return os.Remove(paths[file])
}

// TestATornTailIsInDoubt: bytes that are no record, behind what is known to be durable.
func TestATornTailIsInDoubt(t *testing.T) {
	dir := written(t)
	r := look(t, dir)
	base := r.End - r.End%(32<<10)
	f, err := os.OpenFile(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", base)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("half a record"), r.End-base)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if r = look(t, dir); r.Broken() || len(r.Problems) != 1 || r.Problems[0].Severity != inspection.Doubt || r.Problems[0].Class != inspect.TornTail {
		t.Errorf("%s", text(t, r))
	}
}

// TestAStaleBlankBeforeMessagesIsInDoubt: behind what is known to be durable lies a blank of the file's former life, and a message behind it. The
// message is behind a hole, which is told, and not taken for one of the log.
func TestAStaleBlankBeforeMessagesIsInDoubt(t *testing.T) {
	for _, shift := range []int64{0, 1 << 20} { // the checksum is wrong, or the offset
		dir := written(t)
		r := look(t, dir)
		base := r.End - r.End%(32<<10)
		stale := message.AppendBlank(nil, r.End+shift, 512)
		if shift == 0 {
			stale[message.BlankBytes-1]++
		}
		m := message.Message{Topic: []byte("orders"), PhysicalOffset: r.End + 512, Body: []byte("behind")}
		f, err := os.OpenFile(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", base)), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(stale, r.End-base)
		_, written := f.WriteAt(message.Append(nil, &m), r.End-base+512)
		if err = errors.Join(err, written, f.Close()); err != nil {
			t.Fatal(err)
		}
		end := r.End
		if r = look(t, dir); r.Broken() || r.End != end || r.Stray != 1 || len(r.Problems) != 1 || r.Problems[0].Severity != inspection.Doubt || r.Problems[0].Class != inspect.TornTail {
			t.Errorf("offset shifted by %d: %s", shift, text(t, r))
		}
	}
}

// TestWhatIsNoCommitLogIsForeign, and nothing is made there.
func TestWhatIsNoCommitLogIsForeign(t *testing.T) {
	dir := t.TempDir()
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{"x": dir}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inspect.Store(d); !errors.Is(err, inspect.ErrForeign) {
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
