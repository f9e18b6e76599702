package stuck

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/bounds"
)

// TestShutValvesHoldTheirCallsAndNoOthers: of one volume, of files that are open already and of new ones, in directories
// below it too; and opened they let all go.
func TestShutValvesHoldTheirCallsAndNoOthers(t *testing.T) {
	h, err := oshost.New(oshost.Config{
		Volumes: map[string]string{"wrapped": t.TempDir(), "other": t.TempDir()}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	v := NewValve("wrapped", Syncs)
	wrapped := v.Wrap(h)
	f, dir := fileOn(t, wrapped, "wrapped")
	other, _ := fileOn(t, wrapped, "other")
	v.Shut()
	for name, call := range map[string]func() error{
		"write":                 func() error { return host.WriteFullAt(f, []byte("x"), 0) },
		"size":                  func() error { _, err := f.Size(); return err },
		"sync of another":       other.Sync,
		"names, without a sync": func() error { return dir.Rename("file", "renamed") },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended := make(chan error, 2)
	go func() { ended <- f.Sync() }()
	go func() { ended <- dir.SyncDir() }()
	for v.Held() < 2 {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-ended:
		t.Error("a sync came back through a shut valve")
	case <-time.After(20 * time.Millisecond):
	}
	v.Open()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if v.Held() != 0 || v.Met() != 2 {
		t.Errorf("%d calls are held and %d were, want 0 and 2", v.Held(), v.Met())
	}
	if err := errors.Join(f.Sync(), f.Close(), other.Close(), h.Close()); err != nil {
		t.Error(err)
	}
}

// fileOn makes a file in a directory below a volume's root.
func fileOn(t *testing.T, h host.Host, volume string) (host.File, host.Dir) {
	t.Helper()
	root, err := h.Disk(volume)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := root.Sub("below")
	if err != nil {
		t.Fatal(err)
	}
	f, err := dir.Create("file")
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

// TestSumFollowsTheSettings: each setting that bounds memory under this load moves the sum by what it bounds.
func TestSumFollowsTheSettings(t *testing.T) {
	shape := Shape{Bookies: 4, Writers: 2, Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}}
	sum := func(edit func(c *client.Config, b *node.Config)) int64 {
		c, b := client.DefaultConfig(), node.DefaultConfig()
		if edit != nil {
			edit(&c, &b)
		}
		return bounds.Sum(Bounds(shape, &c, &b))
	}
	const mib = 1 << 20
	for _, c := range []struct {
		name string
		more int64
		edit func(c *client.Config, b *node.Config)
	}{
		{"windows, which may be left before the bytes are", 0, func(c *client.Config, _ *node.Config) { c.WindowBytes = mib }},
		{"bytes of entries", -248 * mib, func(c *client.Config, _ *node.Config) { c.AppendBytesMax = 8 * mib }},
		{"window entries", 2 * 13 * bounds.RecordBytes, func(c *client.Config, _ *node.Config) { c.WindowEntries++ }},
		{"output", 4 * 2 * mib, func(c *client.Config, _ *node.Config) { c.Pool.Channel.OutputBytesMax += mib }},
		{"requests", 4 * bounds.RecordBytes, func(c *client.Config, _ *node.Config) { c.Pool.Channel.RequestsMax++ }},
		{"input", 4 * 10, func(c *client.Config, _ *node.Config) { c.Pool.Channel.InputBufferBytes += 10 }},
		{"lines of what nobody lends", 0, func(c *client.Config, _ *node.Config) { c.Pool.ParkedBytesMax, c.Pool.ParkedMax = mib, 1 }},
		{"write cache", 4 * mib, func(_ *client.Config, b *node.Config) { b.Store.WriteCacheBytesMax += mib }},
		{"journal group", 4 * 3 * mib, func(_ *client.Config, b *node.Config) { b.Store.Journal.GroupBytesMax += mib }},
		{"batch", 4 * 3 * mib, func(_ *client.Config, b *node.Config) { b.Server.BatchBytesMax += mib }},
		{"items", 4 * bounds.ItemBytes, func(_ *client.Config, b *node.Config) { b.Store.EntryLog.ItemsMax++ }},
		{"batches", 4 * 512 * bounds.RecordBytes, func(_ *client.Config, b *node.Config) { b.Server.BatchesMax++ }},
		{"answers to reads, which nobody asks", 0, func(_ *client.Config, b *node.Config) { b.Server.AnswersBytesMax += mib }},
	} {
		if got := sum(c.edit) - sum(nil); got != c.more {
			t.Errorf("%s: the sum grows by %d, want %d", c.name, got, c.more)
		}
	}
}

// TestProblemsAreNamed: a report that is right in everything but one is told by that.
func TestProblemsAreNamed(t *testing.T) {
	right := func() Report {
		p := Phase{Seconds: 1, Appended: 10, Changes: 1, LongestPauseSeconds: 0.1}
		return Report{
			Before: p, During: p, After: p, Held: 1, Ledgers: 3, Spare: true, AddTimeout: time.Second,
			Memory: Memory{ResidentBytes: 100 << 20, HeapBytes: 90 << 20}, AllowedBytes: 100 << 20,
		}
	}
	for _, c := range []struct {
		edit func(*Report)
		want string
	}{
		{func(*Report) {}, ""},
		{func(r *Report) { r.Spare, r.During.Changes = false, 0 }, ""},
		{func(r *Report) { r.Held = 0 }, "proves nothing"},
		{func(r *Report) { r.During.Appended = 0 }, "nothing was acknowledged while"},
		{func(r *Report) { r.After.Appended = 0 }, "nothing was acknowledged after"},
		{func(r *Report) { r.During.Failed = 3 }, "3 appends failed while"},
		{func(r *Report) { r.During.LongestPauseSeconds = 4.1 }, "stood still for 4.1 s"},
		{func(r *Report) { r.During.Changes = 0 }, "never replaced"},
		{func(r *Report) { r.Memory.ResidentBytes++ }, "the process took 100 MiB"},
		{func(r *Report) { r.Memory.HeapBytes = 101 << 20 }, "heap took 101 MiB"},
	} {
		r := right()
		c.edit(&r)
		problems := r.Problems()
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("a report that is right has problems: %q", problems)
		case c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], c.want)):
			t.Errorf("got %q, want one about %q", problems, c.want)
		}
	}
}

// TestResidentSizeIsReadFromTheStatusOfTheProcess: the line of the peak, and errors instead of a zero.
func TestResidentSizeIsReadFromTheStatusOfTheProcess(t *testing.T) {
	scan := func(text string) (int64, error) { return peakIn(bufio.NewScanner(strings.NewReader(text))) }
	if got, err := scan("Name:\tx\nVmRSS:\t 1 kB\nVmHWM:\t    2048 kB\n"); got != 2<<20 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := scan("Name:\tx\n"); !errors.Is(err, errNoPeak) {
		t.Errorf("got %v", err)
	}
	if _, err := scan("VmHWM:\tmuch\n"); err == nil {
		t.Error("no error for a line that is no number")
	}
	if own, err := residentPeak(); own < 1<<20 || err != nil {
		t.Errorf("this process takes %d bytes, %v", own, err)
	}
}

// TestReportsArePrintedWithAllBounds: whoever reads the sum sees what it is made of.
func TestReportsArePrintedWithAllBounds(t *testing.T) {
	c, b := client.DefaultConfig(), node.DefaultConfig()
	r := Report{Bounds: Bounds(Shape{Bookies: 1, Writers: 1}, &c, &b)}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(r.Bounds, func(b bounds.Bound) bool { return !strings.Contains(text.String(), b.Name) }) {
		t.Errorf("a bound is missing in\n%s", text.String())
	}
}
