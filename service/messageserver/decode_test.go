package messageserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/service/wire"
)

// FuzzMessage: any body is a message that can be stored and is read back as it was sent, or an error of the caller's.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		`{"body":"x"}`, `{"body":{"base64":"/w=="},"tag":"t","keys":["a","b"],"properties":{"p":"q","":"r"},"flag":-1,"born_millis":5}`,
		`{"body":""}`, `{"body":"x","keys":[""]}`, `{"body":"x","tag":"\u0002"}`, `{"body":null}`, `[]`, "\xff", `{"body":"x","keys":["a\u0085b"]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent, err := decodeMessage(body)
		var encoded []byte
		if err == nil {
			encoded, err = properties(&sent)
		}
		if err != nil {
			if err = classified(err); !errors.Is(err, wire.Invalid) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		m := message.Message{Topic: []byte("a"), Flag: sent.Flag, Body: sent.Body, Properties: encoded}
		if m.Check() != nil {
			return // too long: the store says so
		}
		stored, err := message.Decode(message.Append(nil, &m), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := told(&stored)
		if !bytes.Equal(got.Body, sent.Body) || got.Tag != sent.Tag || !same(got.Keys, sent.Keys) || !same(got.Properties, sent.Properties) || got.Flag != sent.Flag {
			text, _ := json.Marshal(got)
			t.Fatalf("%q came back as %s", body, text)
		}
	})
}

// same holds nothing for equal to none.
func same[T any](a, b T) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Len() == 0 && y.Len() == 0 || reflect.DeepEqual(a, b)
}

// TestTheUnknownGoesBeforeAllElse: whatever else an error is, if its outcome is unknown it may not look like a refusal; and every class
// of the store's is told apart.
func TestTheUnknownGoesBeforeAllElse(t *testing.T) {
	for sentinel, want := range map[error]wire.Class{
		commitlog.ErrNoQueue: wire.NotFound, commitlog.ErrIllegal: wire.Invalid, commitlog.ErrFailed: wire.Failed, commitlog.ErrStopped: wire.Stopping,
		commitlog.ErrNoIndex: wire.Invalid, commitlog.ErrCorrupt: wire.Corrupt, host.ErrNoSpace: wire.NoSpace, errors.New("else"): wire.Internal,
	} {
		if got := classified(fmt.Errorf("append: %w", sentinel)); !errors.Is(got, want) {
			t.Errorf("%v is %v, want %s", sentinel, got, want)
		}
		if got := classified(fmt.Errorf("append: %w: %w", sentinel, commitlog.ErrOutcomeUnknown)); !errors.Is(got, wire.OutcomeUnknown) {
			t.Errorf("%v with unknown outcome is %v", sentinel, got)
		}
	}
}

// TestWhereAMessageComesFromIsKept, of both kinds of internet addresses.
func TestWhereAMessageComesFromIsKept(t *testing.T) {
	for peer, want := range map[string]string{"10.1.2.3:55": "10.1.2.3:55", "[2001:db8::1]:7": "[2001:db8::1]:7", "[::ffff:10.0.0.1]:9": "10.0.0.1:9", "@": "", "": ""} {
		var m message.Message
		comesFrom(&m, peer)
		m.Topic = []byte("a")
		stored, err := message.Decode(message.Append(nil, &m), 0)
		if got := hostOf(&stored); err != nil || got != want {
			t.Errorf("%s became %q, %v", peer, got, err)
		}
	}
}
