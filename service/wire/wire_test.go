package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"lakebed/service/wire"
)

// TestEveryByteComesBackThroughJSON, and text stays readable on the way.
func TestEveryByteComesBackThroughJSON(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, want := range []wire.Bytes{{}, wire.Bytes("a <b> & c\n"), wire.Bytes("größer 🙂"), all, {0xff}, wire.Bytes("\u2028")} {
		text, err := json.Marshal(want)
		var got wire.Bytes
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q became %s became %q: %v", want, text, got, err)
		}
	}
	if text, err := wire.Bytes("größer 🙂").MarshalJSON(); err != nil || string(text) != `"größer 🙂"` {
		t.Errorf("%s, %v", text, err)
	}
}

// TestWhatIsNoBytesIsRefused, and not taken for something near.
func TestWhatIsNoBytesIsRefused(t *testing.T) {
	for _, text := range []string{`5`, `{}`, `{"base64":"!"}`, `{"base64":"YQ==","x":1}`, `null`, `[1]`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83dx"`, "\"\xff\""} {
		var b wire.Bytes
		if err := b.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s became %q", text, b)
		}
	}
	for text, want := range map[string]string{`"\ud83d\ude42"`: "🙂", `"\\ud800"`: `\ud800`} {
		var b wire.Bytes
		if err := json.Unmarshal([]byte(text), &b); err != nil || string(b) != want {
			t.Errorf("%s became %q, %v", text, b, err)
		}
	}
}

// TestClassesAreErrorsOnBothSides: a class survives the document that carries it, and OutcomeUnknown shares its status with
// no other, nor with what tools repeat by themselves.
func TestClassesAreErrorsOnBothSides(t *testing.T) {
	repeated := map[int]bool{408: true, 429: true, 500: true, 502: true, 503: true, 504: true}
	for _, class := range wire.Classes() {
		text, err := json.Marshal(wire.NewProblem(class, errors.New("disk 3 is gone")))
		if err != nil {
			t.Fatal(err)
		}
		var p *wire.Problem
		if err := json.Unmarshal(text, &p); err != nil || !errors.Is(fmt.Errorf("append: %w", p), class) {
			t.Errorf("%s: %v, %s", class, err, text)
		}
		own := class == wire.OutcomeUnknown
		if (class.Status() == 520) != own || own && repeated[class.Status()] {
			t.Errorf("%s has the status %d", class, class.Status())
		}
		if class.Error() == string(class) && class != "too-large" {
			t.Errorf("%s has no words", class)
		}
	}
}

// An error is told as the first meaning that fits, one that has a class keeps it, and what nobody knows is internal.
func TestClassifiedTakesTheFirstMeaning(t *testing.T) {
	unknown, invalid, other := errors.New("outcome unknown"), errors.New("invalid"), errors.New("other")
	meanings := []wire.Meaning{{Sentinel: unknown, Class: wire.OutcomeUnknown}, {Sentinel: invalid, Class: wire.Invalid, Brief: true}}
	for _, c := range []struct {
		err    error
		class  wire.Class
		detail string
	}{
		{fmt.Errorf("append: %w: %w", invalid, unknown), wire.OutcomeUnknown, "append: invalid: outcome unknown"},
		{fmt.Errorf("topic x: %w", invalid), wire.Invalid, "topic x"},
		{fmt.Errorf("read: %w", other), wire.Internal, "read: other"},
		{fmt.Errorf("in all: %w", wire.NewProblem(wire.TooLarge, invalid)), wire.TooLarge, "invalid"},
	} {
		var p *wire.Problem
		if err := wire.Classified(c.err, meanings); !errors.As(err, &p) || p.Class != c.class || p.Detail != c.detail {
			t.Errorf("%v is told as %v", c.err, err)
		}
	}
	if err := wire.Classified(nil, meanings); err != nil {
		t.Errorf("no error is told as %v", err)
	}
}
