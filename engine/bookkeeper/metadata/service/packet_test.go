package service_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
)

var goldenRequests = []struct {
	request service.Request
	frame   string
}{
	{service.Request{Operation: service.Hello, Sequence: 1, Session: 0x0102, Timeout: 10 * time.Second, Seen: 7},
		"00000022 01 0000000000000001 01 0000000000000102 0000000000002710 0000000000000007"},
	{service.Request{Operation: service.Ping, Sequence: 2}, "00000009 02 0000000000000002"},
	{service.Request{Operation: service.Bye, Sequence: 3}, "00000009 03 0000000000000003"},
	{service.Request{Operation: service.Get, Sequence: 4, Key: "/a/b"}, "0000000f 04 0000000000000004 0004 2f612f62"},
	{service.Request{Operation: service.Sync, Sequence: 5}, "00000009 05 0000000000000005"},
	{service.Request{Operation: service.Create, Sequence: 6, Kind: metadata.Ephemeral, Key: "/a", Data: []byte("xyz")},
		"00000015 06 0000000000000006 01 0002 2f61 00000003 78797a"},
	{service.Request{Operation: service.Put, Sequence: 7, Expected: metadata.AnyVersion, Key: "/a"},
		"00000019 07 0000000000000007 ffffffffffffffff 0002 2f61 00000000"},
	{service.Request{Operation: service.Delete, Sequence: 8, Expected: 3, Key: "/a"},
		"00000015 08 0000000000000008 0000000000000003 0002 2f61"},
	{service.Request{Operation: service.List, Sequence: 9, Key: "/"}, "0000000c 09 0000000000000009 0001 2f"},
	{service.Request{Operation: service.Watch, Sequence: 10, Key: "/"}, "0000000c 0a 000000000000000a 0001 2f"},
	{service.Request{Operation: service.Unwatch, Sequence: 11, Key: "/"}, "0000000c 0b 000000000000000b 0001 2f"},
}

var goldenResponses = []struct {
	response service.Response
	frame    string
}{
	{service.Response{Operation: service.Hello, Sequence: 1, Index: 5, Session: 0x0102, Timeout: 10 * time.Second},
		"00000022 01 0000000000000001 00 0000000000000005 0000000000000102 0000000000002710"},
	{service.Response{Operation: service.Hello, Sequence: 1, Code: service.Behind, Index: 5},
		"00000012 01 0000000000000001 08 0000000000000005"},
	{service.Response{Operation: service.Get, Sequence: 4, Index: 5, Version: 2, Data: []byte("xyz")},
		"00000021 04 0000000000000004 00 0000000000000005 0000000000000002 00000003 78797a"},
	{service.Response{Operation: service.Create, Sequence: 6, Index: 5, Version: 0},
		"0000001a 06 0000000000000006 00 0000000000000005 0000000000000000"},
	{service.Response{Operation: service.Put, Sequence: 7, Code: service.WrongVersion, Index: 5},
		"00000012 07 0000000000000007 03 0000000000000005"},
	{service.Response{Operation: service.List, Sequence: 9, Index: 5, Names: []string{"a", "bc"}},
		"0000001d 09 0000000000000009 00 0000000000000005 00000002 0001 61 0002 6263"},
	{service.Response{Operation: service.Notice, Index: 6, Key: "/a"},
		"00000016 0c 0000000000000000 00 0000000000000006 0002 2f61"},
}

func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// TestPacketsHaveTheseBytes fixes the format, since both ends could otherwise change it together. Every cut of a packet,
// and every byte too many, is malformed.
func TestPacketsHaveTheseBytes(t *testing.T) {
	for _, g := range goldenRequests {
		frame := unhex(g.frame)
		if got := g.request.Append([]byte("before"))[6:]; !bytes.Equal(got, frame) {
			t.Errorf("%s: got %x, want %x", g.request.Operation, got, frame)
		}
		got, err := service.DecodeRequest(frame[4:])
		if err != nil || !reflect.DeepEqual(got, g.request) {
			t.Errorf("%s: decoded to %+v, %v", g.request.Operation, got, err)
		}
		for cut := 4; cut < len(frame); cut++ {
			if _, err := service.DecodeRequest(frame[4:cut]); !errors.Is(err, service.ErrMalformed) {
				t.Errorf("%s cut to %d bytes: %v", g.request.Operation, cut, err)
			}
		}
		if _, err := service.DecodeRequest(append(frame[4:], 0)); !errors.Is(err, service.ErrMalformed) {
			t.Errorf("%s with a byte too many: %v", g.request.Operation, err)
		}
	}
	for _, g := range goldenResponses {
		frame := unhex(g.frame)
		if got := g.response.Append([]byte("before"))[6:]; !bytes.Equal(got, frame) {
			t.Errorf("%s: got %x, want %x", g.response.Operation, got, frame)
		}
		got, err := service.DecodeResponse(frame[4:])
		if err != nil || !reflect.DeepEqual(got, g.response) {
			t.Errorf("%s: decoded to %+v, %v", g.response.Operation, got, err)
		}
		for cut := 4; cut < len(frame); cut++ {
			if _, err := service.DecodeResponse(frame[4:cut]); !errors.Is(err, service.ErrMalformed) {
				t.Errorf("%s cut to %d bytes: %v", g.response.Operation, cut, err)
			}
		}
	}
}

// TestPacketsThatAreWrongInOneWay are refused.
func TestPacketsThatAreWrongInOneWay(t *testing.T) {
	for name, packet := range map[string]string{
		"no operation":             "00 0000000000000001",
		"a notice as a request":    "0c 0000000000000001 0001 2f",
		"another protocol version": "01 0000000000000001 02 0000000000000102 0000000000002710 0000000000000007",
		"a timeout below zero":     "01 0000000000000001 01 0000000000000102 ffffffffffffffff 0000000000000007",
		"a timeout of centuries":   "01 0000000000000001 01 0000000000000102 0fffffffffffffff 0000000000000007",
		"an unknown kind":          "06 0000000000000006 02 0002 2f61 00000000",
		"a key without a slash":    "04 0000000000000004 0001 61",
		"an empty key":             "04 0000000000000004 0000",
		"a value longer than said": "06 0000000000000006 01 0002 2f61 00000001 7879",
		"a value beyond the bound": "06 0000000000000006 01 0002 2f61 00100001 78",
		"a value of 4 GiB":         "06 0000000000000006 01 0002 2f61 ffffffff 78",
	} {
		if _, err := service.DecodeRequest(unhex(packet)); !errors.Is(err, service.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, packet := range map[string]string{
		"an unknown code":           "02 0000000000000001 09 0000000000000005",
		"an unknown operation":      "0d 0000000000000001 00 0000000000000005",
		"a numbered notice":         "0c 0000000000000001 00 0000000000000006 0002 2f61",
		"an unnumbered response":    "02 0000000000000000 00 0000000000000005",
		"more names than bytes":     "09 0000000000000009 00 0000000000000005 ffffffff 0001 61",
		"names out of order":        "09 0000000000000009 00 0000000000000005 00000002 0001 62 0001 61",
		"a name twice":              "09 0000000000000009 00 0000000000000005 00000002 0001 61 0001 61",
		"an empty name":             "09 0000000000000009 00 0000000000000005 00000001 0000 61",
		"a name with a slash":       "09 0000000000000009 00 0000000000000005 00000001 0002 2f61",
		"any version as a key's":    "04 0000000000000004 00 0000000000000005 ffffffffffffffff 00000000",
		"any version as a put's":    "07 0000000000000004 00 0000000000000005 ffffffffffffffff",
		"a refusal that has a body": "04 0000000000000004 02 0000000000000005 0000000000000002 00000000",
	} {
		if _, err := service.DecodeResponse(unhex(packet)); !errors.Is(err, service.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryErrorHasACode that comes back as the same class.
func TestEveryErrorHasACode(t *testing.T) {
	for c := service.Exist; c <= service.Behind; c++ {
		if got := service.CodeOf(c.Err()); got != c {
			t.Errorf("code %d became %d", c, got)
		}
	}
	if service.CodeOf(nil) != service.OK || service.OK.Err() != nil || service.CodeOf(errors.New("other")) != service.Invalid {
		t.Error("no error, or one that nobody knows")
	}
}

// FuzzRequest: no packet makes the decoder panic, what is refused is malformed, and what is accepted encodes to the same
// bytes again.
func FuzzRequest(f *testing.F) {
	for _, g := range goldenRequests {
		f.Add(unhex(g.frame)[4:])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := service.DecodeRequest(packet)
		if err != nil {
			if !errors.Is(err, service.ErrMalformed) {
				t.Fatalf("%v is not ErrMalformed", err)
			}
			return
		}
		if again := r.Append(nil)[4:]; !bytes.Equal(again, packet) {
			t.Fatalf("%x became %x", packet, again)
		}
	})
}

// FuzzResponse is FuzzRequest for the other direction.
func FuzzResponse(f *testing.F) {
	for _, g := range goldenResponses {
		f.Add(unhex(g.frame)[4:])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := service.DecodeResponse(packet)
		if err != nil {
			if !errors.Is(err, service.ErrMalformed) {
				t.Fatalf("%v is not ErrMalformed", err)
			}
			return
		}
		if again := r.Append(nil)[4:]; !bytes.Equal(again, packet) {
			t.Fatalf("%x became %x", packet, again)
		}
	})
}

// TestTimeoutsThatNoPacketHoldsAreRefused by both configurations: the other side would take them for malformed.
func TestTimeoutsThatNoPacketHoldsAreRefused(t *testing.T) {
	client, server := service.DefaultClientConfig("a:1"), service.DefaultServerConfig()
	client.SessionTimeout, server.SessionTimeoutMax = 366*24*time.Hour, 366*24*time.Hour
	if client.Validate() == nil || server.Validate() == nil {
		t.Errorf("%v, %v", client.Validate(), server.Validate())
	}
	client.SessionTimeout, server.SessionTimeoutMax = 365*24*time.Hour, 365*24*time.Hour
	if client.Validate() != nil || server.Validate() != nil {
		t.Errorf("%v, %v", client.Validate(), server.Validate())
	}
}
