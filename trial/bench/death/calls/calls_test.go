package calls_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/trial/bench/death/calls"
)

// hexed prints bytes as strace -xx does.
func hexed(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String()
}

const (
	address = "127.0.0.1:3181"
	journal = "/data/journal"
	// Targets, as -yy prints them.
	connection = "<TCP:[127.0.0.1:3181->127.0.0.1:50000]>"
)

func file(name string) string { return "<" + hexed([]byte(journal+"/"+name)) + ">" }

// entryBytes is what stands for an entry in the journal.
func entryBytes(n int) []byte { return fmt.Appendf(nil, "entry%04d", n) }

func find(data []byte) (keys []calls.Key) {
	for n := range 10 {
		if bytes.Contains(data, entryBytes(n)) {
			keys = append(keys, calls.Key{Ledger: 7, Entry: ledger.EntryID(n)})
		}
	}
	return keys
}

func answer(code wire.Code, entries ...int) (b []byte) {
	for _, n := range entries {
		r := wire.Response{Version: wire.VersionCurrent, Operation: wire.Add, Code: code, Ledger: 7, Entry: ledger.EntryID(n)}
		b = r.Append(b)
	}
	return b
}

func written(name string, entries ...int) string {
	var vectors []string
	total := 0
	for _, n := range entries {
		vectors = append(vectors, fmt.Sprintf(`{iov_base="%s", iov_len=9}`, hexed(entryBytes(n))))
		total += 9
	}
	return fmt.Sprintf("pwritev(8%s, [%s], %d, 4096) = %d", file(name), strings.Join(vectors, ", "), len(entries), total)
}

func sent(b []byte) string {
	return fmt.Sprintf(`write(9%s, "%s", %d) = %d`, connection, hexed(b), len(b), len(b))
}

func synced(name string) string { return fmt.Sprintf("fdatasync(8%s) = 0", file(name)) }

// trace makes a trace of calls. A number in front is the thread, 1 if there is none.
func trace(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		thread := "1"
		if line[0] >= '1' && line[0] <= '9' {
			thread, line = line[:1], line[2:]
		}
		fmt.Fprintf(&b, "%s  12:00:00.%06d %s\n", thread, i, line)
	}
	return b.String()
}

// TestAcknowledgementsBeforeTheSyncAreFound, in whichever way they are early, and no others.
func TestAcknowledgementsBeforeTheSyncAreFound(t *testing.T) {
	whole := synced("1.journal")
	begun, rest := strings.TrimSuffix(whole, ") = 0")+" <unfinished ...>", "<... fdatasync resumed>) = 0"
	write := written("1.journal", 0)
	writeBegun, _, _ := strings.Cut(write, ", 1, 4096")
	for name, c := range map[string]struct {
		lines []string
		acked int
		early []ledger.EntryID
	}{
		"in order":                  {[]string{write, whole, sent(answer(0, 0))}, 1, nil},
		"a group":                   {[]string{written("1.journal", 0, 1, 2), whole, sent(answer(0, 0, 1, 2))}, 3, nil},
		"not synced":                {[]string{write, sent(answer(0, 0)), whole}, 1, []ledger.EntryID{0}},
		"never synced":              {[]string{write, sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"never written":             {[]string{whole, sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"written later":             {[]string{whole, sent(answer(0, 0)), write, whole}, 1, []ledger.EntryID{0}},
		"synced before the write":   {[]string{whole, write, sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"sync of another file":      {[]string{write, synced("2.journal"), sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"sync that failed":          {[]string{write, strings.TrimSuffix(whole, "0") + "-1 EIO (Input/output error)", sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"refusals promise nothing":  {[]string{sent(answer(wire.Fenced, 0))}, 0, nil},
		"one early of two":          {[]string{write, whole, written("1.journal", 1), sent(answer(0, 0, 1)), whole}, 2, []ledger.EntryID{1}},
		"sync begun during write":   {[]string{"1 " + writeBegun + " <unfinished ...>", "2 " + begun, "1 <... pwritev resumed>, 1, 4096) = 9", "2 " + rest, sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"sync begun after write":    {[]string{"1 " + writeBegun + " <unfinished ...>", "1 <... pwritev resumed>, 1, 4096) = 9", "2 " + begun, "3 " + "--- SIGURG {} ---", "2 " + rest, "3 " + sent(answer(0, 0))}, 1, nil},
		"sent before sync returned": {[]string{write, "2 " + begun, "3 " + sent(answer(0, 0)), "2 " + rest}, 1, []ledger.EntryID{0}},
		"a short write":             {[]string{strings.TrimSuffix(write, "= 9") + "= 4", whole, sent(answer(0, 0))}, 1, []ledger.EntryID{0}},
		"an answer in two sends":    {[]string{write, sent(answer(0, 0)[:10]), whole, sent(answer(0, 0)[10:])}, 1, nil},
		"half an answer":            {[]string{write, whole, sent(answer(0, 0)[:10])}, 0, nil},
		"the end of a thread":       {[]string{write, whole, sent(answer(0, 0)), "+++ exited with 0 +++"}, 1, nil},
		"a call that never returns": {[]string{write, whole, sent(answer(0, 0)), "2 " + begun, "2 +++ killed by SIGKILL +++"}, 1, nil},
	} {
		all, err := calls.Parse(strings.NewReader(trace(c.lines...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := calls.Check(all, calls.Bookie{Address: address, Journal: journal, Find: find})
		if err != nil || r.Acknowledged != c.acked || len(r.Violations) != len(c.early) {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		for i, v := range r.Violations {
			if v.Key.Entry != c.early[i] || v.Why == "" || v.Time == "" {
				t.Errorf("%s: %v", name, v)
			}
		}
	}
}

// TestACutBufferIsNoProof: of answers it is an error, of the journal it counts as not written.
func TestACutBufferIsNoProof(t *testing.T) {
	text := trace(fmt.Sprintf(`write(9%s, "%s"..., 48) = 48`, connection, hexed(answer(0, 0))))
	all, err := calls.Parse(strings.NewReader(text))
	if err != nil || !all[0].Cut {
		t.Fatal(all, err)
	}
	if _, err := calls.Check(all, calls.Bookie{Address: address, Journal: journal, Find: find}); !errors.Is(err, calls.ErrTrace) {
		t.Errorf("%v", err)
	}
}

// TestForeignTextIsRefused with the line it is in.
func TestForeignTextIsRefused(t *testing.T) {
	for _, text := range []string{
		"hello\n", "1 12:00:00 hello\n", "1 12:00:00 <... write resumed>) = 1\n", `1 12:00:00 write(1</dev/tty>, "abc\n", 4) = 4` + "\n",
		`1 12:00:00 write(1<\x2>, "", 0) = 0` + "\n", `1 12:00:00 write(1, "\x41, 1) = 1` + "\n", "1 12:00:00 close(3) = x\n",
		"1 12:00:00 write(99999999999999999999) = 0\n",
	} {
		if all, err := calls.Parse(strings.NewReader(text)); !errors.Is(err, calls.ErrTrace) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %+v, %v", text, all, err)
		}
	}
	if _, err := calls.Check([]calls.Call{{Target: "TCP:[" + address + "->x]", Data: answer(0, 0)[:23], Result: 23}, {Target: "TCP:[" + address + "->x]", Data: make([]byte, 400), Result: 400}},
		calls.Bookie{Address: address, Journal: journal, Find: find}); err == nil {
		t.Error("bytes that are no answers pass")
	}
}

// FuzzParse: no text makes the reader of traces, or what follows it, do anything but return.
func FuzzParse(f *testing.F) {
	f.Add(trace(written("1.journal", 0), synced("1.journal"), sent(answer(0, 0))))
	f.Add("1 1 <... write resumed>) = 1\n1 1 write(1<TCP:[a->b]>, \"\\x00\", 1 <unfinished ...>\n1 1 +++ exited")
	f.Add("1 1 a(1<) = ")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := calls.Parse(strings.NewReader(text))
		if err == nil {
			_, _ = calls.Check(all, calls.Bookie{Address: address, Journal: journal, Find: find})
		}
	})
}
