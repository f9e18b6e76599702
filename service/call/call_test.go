package call_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/service/call"
	"lakebed/service/wire"
)

type answer struct {
	Text string `json:"text"`
}

func client(t *testing.T, config call.Config) *call.Client {
	t.Helper()
	c, err := call.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func change(c *call.Client, ctx context.Context, changes bool) error {
	var a answer
	return c.Do(ctx, call.Request{Doing: "change it", Method: http.MethodPost, Path: []string{"v1", "x"}, Type: "text/plain", Body: []byte("body"), Changes: changes}, &a)
}

// TestARequestWithoutAnAnswerHasAnUnknownOutcomeAndIsSentOnce, whatever comes instead of the answer, on a fresh connection and on one
// that was used before.
func TestARequestWithoutAnAnswerHasAnUnknownOutcomeAndIsSentOnce(t *testing.T) {
	for name, spoil := range map[string]func(w http.ResponseWriter){
		"closed":    func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"half":      func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = w.Write([]byte("{")) },
		"no JSON":   func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
		"a proxy's": func(w http.ResponseWriter) { http.Error(w, "upstream", http.StatusBadGateway) },
		"too long":  func(w http.ResponseWriter) { _, _ = w.Write([]byte(`"` + strings.Repeat("x", 2000) + `"`)) },
	} {
		for _, warm := range []bool{false, true} {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n := requests.Add(1); warm && n == 1 {
					_, _ = w.Write([]byte(`{"text":"fine"}`))
					return
				}
				spoil(w)
			}))
			c := client(t, call.Config{URL: server.URL, AnswerBytesMax: 1000})
			want := int32(1)
			if warm {
				want = 2
				if err := change(c, t.Context(), true); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := change(c, t.Context(), true); !errors.Is(err, wire.OutcomeUnknown) || requests.Load() != want {
				t.Errorf("%s, warm %v: %d requests, %v", name, warm, requests.Load(), err)
			}
			if err := change(c, t.Context(), false); !errors.Is(err, wire.Unavailable) {
				t.Errorf("%s, and nothing would change: %v", name, err)
			}
			server.Close()
		}
	}
}

// TestWithoutAConnectionNothingWasSent, over TCP and a socket; and a context that has ended sends nothing.
func TestWithoutAConnectionNothingWasSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, config := range []call.Config{{URL: "http://" + address}, {Socket: t.TempDir() + "/none"}} {
		if err := change(client(t, config), t.Context(), true); !errors.Is(err, wire.Unreachable) || errors.Is(err, wire.OutcomeUnknown) {
			t.Errorf("%v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := change(client(t, call.Config{URL: "http://" + address}), ended, true); !errors.Is(err, context.Canceled) || errors.Is(err, wire.OutcomeUnknown) {
		t.Errorf("%v", err)
	}
}

// TestAContextEndsACall that the server does not answer; what has become of it is not known.
func TestAContextEndsACall(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := change(client(t, call.Config{URL: server.URL}), short, true)
	if !errors.Is(err, wire.OutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "change it at "+server.URL) {
		t.Errorf("%v", err)
	}
}

// TestRefusalsAndRedirects: a refusal that is no answer of a store stored nothing, and a redirect is not followed.
func TestRefusalsAndRedirects(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusTemporaryRedirect} {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		if err := change(client(t, call.Config{URL: server.URL}), t.Context(), true); !errors.Is(err, wire.Invalid) || requests.Load() != 1 {
			t.Errorf("%d: %d requests, %v", status, requests.Load(), err)
		}
		server.Close()
	}
}

// TestAServerIsNamedOnce, and so that one can reach it.
func TestAServerIsNamedOnce(t *testing.T) {
	for _, config := range []call.Config{{}, {URL: "http://a:1", Socket: "s"}, {URL: "a:1"}, {URL: "ftp://a"}, {URL: "http://"}, {URL: "http://a?x=1"}} {
		if _, err := call.New(config); !errors.Is(err, wire.Invalid) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}

// TestWhatIsNoStoreIsTold: an answer that does not name its service is no acknowledgement, a refusal by it is wrong use, and one that is
// no HTTP at all is told as such. Where something in between may have answered, the outcome of a change stays open.
func TestWhatIsNoStoreIsTold(t *testing.T) {
	for status, want := range map[int][2]error{ // of a change, of a question
		http.StatusOK: {wire.OutcomeUnknown, wire.Foreign}, http.StatusNotFound: {wire.Foreign, wire.Foreign},
		http.StatusNotImplemented: {wire.Foreign, wire.Foreign}, http.StatusBadGateway: {wire.OutcomeUnknown, wire.Unavailable},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"text":"fine"}`))
		}))
		c := client(t, call.Config{URL: server.URL, Service: "segment log"})
		for i, changes := range []bool{true, false} {
			if err := change(c, t.Context(), changes); !errors.Is(err, want[i]) {
				t.Errorf("%d, changes %v: %v, want %v", status, changes, err, want[i])
			}
		}
		server.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it ends with the test
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Write([]byte("220 mail.example ESMTP\r\n"))
		}
	}()
	if err := change(client(t, call.Config{URL: "http://" + l.Addr().String(), Service: "segment log"}), t.Context(), true); !errors.Is(err, wire.Foreign) {
		t.Errorf("a server of mail: %v", err)
	}
}
