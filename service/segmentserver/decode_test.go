package segmentserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/service/wire"
)

// FuzzLines: any body is messages that the store takes, or a problem of the caller's; what comes out again is what went in.
func FuzzLines(f *testing.F) {
	for _, body := range []string{
		`{"payload":"x"}`, `{"time":5,"source":"s","columns":[{"name":"c","type":1}],"compression":1,"payload":{"base64":"/w=="},"topic":"t"}`,
		`[{"payload":""},{"payload":"y","source":{"base64":""}}]` + "\n" + `{"payload":"z"}`, `[]`, `null`, `{"payload":"\ud800"}`, "", "\xff", `{"payload":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, err := decodeLines(body, 5, 77)
		if err != nil {
			if !errors.Is(err, wire.Invalid) && !errors.Is(err, wire.TooLarge) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		for _, m := range messages {
			if _, err := message.NewestTime(m); err != nil {
				t.Fatalf("%q became a message that the store refuses: %v", body, err)
			}
			groups, err := groupsOf(m)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(groups)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeLines(text, 1, 0)
			if err != nil || !bytes.Equal(again[0], m) {
				t.Fatalf("%q became %s, which becomes something else: %v", body, text, err)
			}
		}
	})
}

// TestTheUnknownGoesBeforeAllElse: whatever else an error is, if its outcome is unknown it may not look like a refusal; and every class
// of the store's is told apart.
func TestTheUnknownGoesBeforeAllElse(t *testing.T) {
	for sentinel, want := range map[error]wire.Class{
		seglog.ErrNoTopic: wire.NotFound, seglog.ErrNoPartition: wire.NotFound, seglog.ErrTopicExists: wire.Exists, seglog.ErrTooLarge: wire.TooLarge,
		seglog.ErrInvalid: wire.Invalid, seglog.ErrMalformed: wire.Invalid, seglog.ErrTrimmed: wire.Trimmed, seglog.ErrBeyond: wire.Beyond,
		seglog.ErrClosed: wire.Stopping, host.ErrNoSpace: wire.NoSpace, seglog.ErrEjected: wire.Unavailable, seglog.ErrNoDirectory: wire.Unavailable,
		seglog.ErrUnavailable: wire.Unavailable, seglog.ErrCorrupt: wire.Corrupt, errors.New("else"): wire.Internal,
	} {
		if got := classified(fmt.Errorf("append: %w", sentinel)); !errors.Is(got, want) {
			t.Errorf("%v is %v, want %s", sentinel, got, want)
		}
		if got := classified(fmt.Errorf("append: %w: %w", sentinel, seglog.ErrOutcomeUnknown)); !errors.Is(got, wire.OutcomeUnknown) {
			t.Errorf("%v with unknown outcome is %v", sentinel, got)
		}
	}
	if got := classified(fmt.Errorf("read: %w: %w", seglog.ErrUnavailable, host.ErrNoSpace)); !errors.Is(got, wire.Unavailable) {
		t.Errorf("a read of what there is no room to settle is %v", got)
	}
	if classified(nil) != nil {
		t.Error("no error became one")
	}
}

// TestAnEncodedLineIsWhatItsMembersSay, a time that is left out the server's.
func TestAnEncodedLineIsWhatItsMembersSay(t *testing.T) {
	body := `{"payload":"a"} [{"time":5,"payload":{"base64":"/w=="}},{"time":6,"source":"s","columns":[{"name":"c","type":2}],"compression":3,"payload":"b","topic":"t"}]`
	got, err := decodeLines([]byte(body), 2, 77)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	want := [][]message.Group{
		{{Time: 77, Payload: []byte("a")}},
		{{Time: 5, Payload: []byte{0xff}}, {Time: 6, Source: []byte("s"), Columns: []message.Column{{Name: []byte("c"), Type: 2}}, Compression: 3, Payload: []byte("b"), Topic: "t"}},
	}
	for i := range want {
		if !bytes.Equal(got[i], message.Append(nil, want[i])) {
			t.Errorf("message %d is %x", i, got[i])
		}
	}
}
