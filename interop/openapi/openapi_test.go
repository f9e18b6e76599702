package openapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/messageserver"
	"lakebed/service/segmentserver"
)

// served is a service on this machine's disk, with its document.
type served struct {
	base     string
	document *openapi3.T
	router   routers.Router
	used     map[string][]int // of each operation, the statuses that it has answered with
}

// serve starts a service of what open opens, and takes its document.
func serve(t *testing.T, volumes []string, open func(host.Host) (*service.Service, func() error, error)) *served {
	t.Helper()
	dirs := map[string]string{}
	for _, v := range volumes {
		dirs[v] = filepath.Join(t.TempDir(), v)
	}
	h, err := oshost.New(oshost.Config{Volumes: dirs, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, closeStore, err := open(h)
	if err != nil {
		t.Fatal(err)
	}
	l, err := service.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		err := errors.Join(<-ended, closeStore())
		s.Join()
		h.Root().Stop()
		if err := errors.Join(err, h.Close()); err != nil {
			t.Error(err)
		}
	})
	made := &served{base: "http://" + l.Addr().(*net.TCPAddr).String(), used: map[string][]int{}}
	made.take(t)
	return made
}

// take validates the document.
func (s *served) take(t *testing.T) {
	t.Helper()
	response, err := http.Get(s.base + service.DocumentPath)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if s.document, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := s.document.Validate(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s.document.Servers = openapi3.Servers{{URL: s.base}}
	if s.router, err = gorillamux.NewRouter(s.document); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request, and validates it and its answer. One that is wrong on purpose is not validated itself.
func (s *served) ask(t *testing.T, method, path, mediaType, body string, want int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	route, parameters, err := s.router.FindRoute(request)
	if err != nil {
		t.Fatalf("%s %s is not in the document: %v", method, path, err)
	}
	input := &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route}
	input.Options = &openapi3filter.Options{
		SkipSettingDefaults: true,                                // it would write numbers as fractions into the request
		ExcludeRequestBody:  mediaType == "application/x-ndjson", // which the library does not read
	}
	if err := openapi3filter.ValidateRequest(t.Context(), input); (err == nil) != (want < 400 || want == 404 || want == 409 || want == 416) {
		t.Errorf("%s %s: the document says of the request: %v, and %d is expected", method, path, err, want)
	}
	if request.Body, err = request.GetBody(); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != want {
		t.Errorf("%s %s: %s, want %d: %s, %v", method, path, response.Status, want, text, err)
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(text)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
		t.Errorf("%s %s: the answer %s is not what the document says: %v", method, path, text, err)
	}
	s.used[route.Operation.OperationID] = append(s.used[route.Operation.OperationID], response.StatusCode)
}

// everythingWasUsed: no operation of the document was left out, and each has succeeded.
func (s *served) everythingWasUsed(t *testing.T) {
	t.Helper()
	operations := 0
	for path, item := range s.document.Paths.Map() {
		for method, operation := range item.Operations() {
			operations++
			if !slices.ContainsFunc(s.used[operation.OperationID], func(status int) bool { return status < 300 }) {
				t.Errorf("%s %s has not succeeded in this test", method, path)
			}
		}
	}
	if operations < 9 {
		t.Errorf("the document has %d operations", operations)
	}
}

// TestTheSegmentLogDoesWhatItsDocumentSays, each operation with success, and refusals where the document's bounds are broken.
func TestTheSegmentLogDoesWhatItsDocumentSays(t *testing.T) {
	s := serve(t, []string{"disk0"}, func(h host.Host) (*service.Service, func() error, error) {
		config := seglog.DefaultConfig()
		config.FreeBytesMin = 0
		store, err := seglog.Open(h, h.Root(), config)
		if err != nil {
			return nil, nil, err
		}
		made, err := segmentserver.New(store, segmentserver.DefaultConfig())
		return made, store.Close, err
	})
	const objects, lines, fetch = "application/json", "application/x-ndjson", "/v1/topics/a/partitions/0/messages"
	s.ask(t, "GET", "/openapi.json", "", "", 200)
	s.ask(t, "GET", "/v1/topics", "", "", 200)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":"a"}`, 201)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":"a"}`, 409)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":"b","more":1}`, 400)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":5}`, 400)
	s.ask(t, "PATCH", "/v1/topics/a", objects, `{"retention_seconds":60,"retention_bytes":0}`, 200)
	s.ask(t, "PATCH", "/v1/topics/a", objects, `{"retention_seconds":60}`, 400)
	s.ask(t, "POST", "/v1/topics/a/messages", lines, `{"payload":"x","columns":[{"name":"c","type":1}]} [{"payload":{"base64":"/w=="},"time":5}]`, 201)
	s.ask(t, "POST", "/v1/topics/a/messages?partition=-1", lines, `{"payload":"x"}`, 400)
	s.ask(t, "GET", "/v1/topics/a", "", "", 200)
	s.ask(t, "GET", "/v1/topics/b", "", "", 404)
	s.ask(t, "GET", fetch, "", "", 200)
	s.ask(t, "GET", fetch+"?form=raw&cursor=1&messages=1&bytes=1&wait_ms=1", "", "", 200)
	s.ask(t, "GET", fetch+"?cursor=2&wait_ms=1", "", "", 200)
	s.ask(t, "GET", fetch+"?cursor=9", "", "", 416)
	s.ask(t, "GET", fetch+"?form=xml", "", "", 400)
	s.ask(t, "GET", fetch+"?messages=0", "", "", 400)
	s.ask(t, "GET", fetch+"?wait_ms=30001", "", "", 400)
	s.ask(t, "GET", "/v1/topics/a/partitions/0/cursor?time=5", "", "", 200)
	s.ask(t, "GET", "/v1/topics/a/partitions/0/cursor", "", "", 400)
	s.ask(t, "GET", "/v1/stats", "", "", 200)
	s.ask(t, "GET", "/v1/health", "", "", 200)
	s.everythingWasUsed(t)
}

// TestTheCommitLogDoesWhatItsDocumentSays, likewise.
func TestTheCommitLogDoesWhatItsDocumentSays(t *testing.T) {
	s := serve(t, []string{commitlog.StoreVolume}, func(h host.Host) (*service.Service, func() error, error) {
		config := commitlog.DefaultConfig()
		config.FileBytes, config.AckAfterDispatch, config.AutoCreateTopic, config.SuspendMax = 8<<20, true, false, time.Second
		config.IndexSlots, config.IndexEntries = 100, 1000
		config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1 // whatever disk this is
		store, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return nil, nil, err
		}
		made, err := messageserver.New(store, messageserver.DefaultConfig(config))
		return made, store.Close, err
	})
	const objects, octets, send, pull = "application/json", "application/octet-stream", "/v1/topics/a/messages", "/v1/topics/a/queues/0/messages"
	s.ask(t, "GET", "/openapi.json", "", "", 200)
	s.ask(t, "GET", "/v1/topics", "", "", 200)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":"a","queues":1}`, 201)
	s.ask(t, "POST", "/v1/topics", objects, `{"name":"b"}`, 400)
	s.ask(t, "POST", send, objects, `{"body":"x","tag":"t","keys":["k"],"properties":{"p":"q"},"flag":1,"born_millis":5}`, 201)
	s.ask(t, "POST", send+"?queue=0&tag=t&key=k&key=l", octets, "x", 201)
	s.ask(t, "POST", send, objects, `{"body":5}`, 400)
	s.ask(t, "POST", send, objects, `{"tag":"t"}`, 400)
	s.ask(t, "GET", "/v1/topics/a", "", "", 200)
	s.ask(t, "GET", "/v1/topics/b", "", "", 404)
	s.ask(t, "GET", pull, "", "", 200)
	s.ask(t, "GET", pull+"?offset=2&wait_ms=1&count=1&bytes=1&tags="+url.QueryEscape("t || u"), "", "", 200)
	s.ask(t, "GET", pull+"?count=33", "", "", 400)
	s.ask(t, "GET", send+"?key=k&limit=1&from_ms=0&to_ms=9000000000000", "", "", 200)
	s.ask(t, "GET", send, "", "", 400)
	s.ask(t, "GET", "/v1/topics/a/queues/0/offset?time_ms=5&boundary=upper", "", "", 200)
	s.ask(t, "GET", "/v1/topics/a/queues/0/offset", "", "", 400)
	s.ask(t, "GET", "/v1/stats", "", "", 200)
	s.ask(t, "GET", "/v1/health", "", "", 200)
	s.everythingWasUsed(t)
}
