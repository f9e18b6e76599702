package service_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/service"
	"lakebed/service/wire"
)

type answer struct {
	Text string `json:"text"`
}

// start serves one route, which takes what the handler takes.
func start(t *testing.T, change func(*service.Config), handle func(*service.Request) (any, error)) (s *service.Service, address string, stop func() error) {
	t.Helper()
	config := service.DefaultConfig()
	if change != nil {
		change(&config)
	}
	s, err := service.New(config, service.Info{Title: "test", Version: "1"}, []service.Route{{
		Method: http.MethodPost, Path: "/v1/do", Name: "do", Summary: "do", Status: http.StatusOK, Answer: answer{},
		Bodies: []service.Body{{Type: "text/plain", About: "text"}}, Handle: handle,
	}}, slog.New(slog.DiscardHandler))
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
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = stop() })
	return s, l.Addr().String(), stop
}

func do(address string) (status int, text string, err error) {
	response, err := http.Post("http://"+address+"/v1/do", "text/plain", strings.NewReader("x"))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// TestAStopGivesEachRequestUnderWayItsAnswer, takes no new one, and has a bound.
func TestAStopGivesEachRequestUnderWayItsAnswer(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	_, address, stop := start(t, nil, func(*service.Request) (any, error) {
		inside <- struct{}{}
		<-leave
		return answer{"done"}, nil
	})
	answered := make(chan string, 1)
	go func() {
		status, text, err := do(address)
		if status != http.StatusOK || err != nil {
			text = http.StatusText(status) + ": " + text
		}
		answered <- text
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until nobody listens any more
		c, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-stopped:
		t.Errorf("the service ended with a request under way: %v", err)
	default:
	}
	close(leave)
	if text := <-answered; text != "{\"text\":\"done\"}\n" {
		t.Errorf("the request under way got %q", text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestADrainThatTakesTooLongIsGivenUp, and says so.
func TestADrainThatTakesTooLongIsGivenUp(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	_, address, stop := start(t, func(c *service.Config) { c.DrainMax = 20 * time.Millisecond }, func(*service.Request) (any, error) {
		inside <- struct{}{}
		<-leave
		return answer{}, nil
	})
	lost := make(chan error, 1)
	go func() {
		_, _, err := do(address)
		lost <- err
	}()
	<-inside
	if err := stop(); !errors.Is(err, service.ErrDrainOverdue) {
		t.Errorf("%v", err)
	}
	if err := <-lost; err == nil {
		t.Error("a request whose connection was closed got an answer")
	}
	close(leave)
}

// TestErrorsOfHandlersAndPanics: one without a class is internal, and a panic ends its request alone and gives the slot back.
func TestErrorsOfHandlersAndPanics(t *testing.T) {
	var calls atomic.Int32
	s, address, _ := start(t, func(c *service.Config) { c.RequestsMax = 1 }, func(*service.Request) (any, error) {
		if calls.Add(1) == 1 {
			panic("a slip")
		}
		return nil, errors.New("no class")
	})
	if status, _, err := do(address); err == nil {
		t.Errorf("a panic was answered with %d", status)
	}
	for requests := 1; requests > 0; time.Sleep(time.Millisecond) {
		requests, _ = s.Load()
	}
	if status, text, err := do(address); status != 500 || !strings.Contains(text, string(wire.Internal)) || err != nil {
		t.Errorf("%d, %s, %v", status, text, err)
	}
}

// TestOneRequestTooManyIsRefusedAtOnce, with the hint to come back, and is taken when there is room.
func TestOneRequestTooManyIsRefusedAtOnce(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	s, address, _ := start(t, func(c *service.Config) { c.RequestsMax = 1 }, func(*service.Request) (any, error) {
		inside <- struct{}{}
		<-leave
		return answer{"done"}, nil
	})
	go func() { _, _, _ = do(address) }()
	<-inside
	response, err := http.Post("http://"+address+"/v1/do", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != 503 || response.Header.Get("Retry-After") == "" || !strings.Contains(string(body), string(wire.Busy)) || err != nil {
		t.Errorf("%s, %s, %v", response.Status, body, err)
	}
	_ = response.Body.Close()
	close(leave)
	for requests := 1; requests > 0; time.Sleep(time.Millisecond) {
		requests, _ = s.Load()
	}
	go func() { <-inside }()
	if status, _, err := do(address); status != 200 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

// TestConnectionsBeyondTheBoundWait for one to end, and are served then.
func TestConnectionsBeyondTheBoundWait(t *testing.T) {
	_, address, _ := start(t, func(c *service.Config) { c.ConnectionsMax = 1 }, func(*service.Request) (any, error) { return answer{"done"}, nil })
	idle, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(idle, "POST /v1/do HTTP/1.1\r\nHost: x\r\n"); err != nil { // half a head
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // until it is accepted
	second := make(chan int, 1)
	go func() {
		status, _, _ := do(address)
		second <- status
	}()
	select {
	case status := <-second:
		t.Errorf("a second connection was served beside the only one there may be: %d", status)
	case <-time.After(100 * time.Millisecond):
	}
	_ = idle.Close()
	if status := <-second; status != 200 {
		t.Errorf("%d", status)
	}
}

// TestABodyThatDoesNotComeIsGivenUp after BodyPatience.
func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	_, address, _ := start(t, func(c *service.Config) { c.BodyPatience = 30 * time.Millisecond }, func(r *service.Request) (any, error) {
		_, _, err := r.Body()
		return answer{}, err
	})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /v1/do HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(text), "400 Bad Request") || !strings.Contains(string(text), "read the body") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestASocketsFileIsTakenOverOnlyFromTheDead: one that nobody listens on is replaced; one in use, and what is no socket, stays.
func TestASocketsFileIsTakenOverOnlyFromTheDead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	first, err := service.ListenSocket(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := service.ListenSocket(path, 0o600); !errors.Is(err, service.ErrSocketInUse) {
		t.Errorf("a socket in use: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // as a process leaves it that is killed
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := service.ListenSocket(path, 0o660)
	if err != nil {
		t.Fatalf("a socket of the dead: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a socket that was closed is left: %v", err)
	}
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := service.ListenSocket(path, 0o600); !errors.Is(err, service.ErrNoSocket) {
		t.Errorf("a file was taken for a socket, or for one in use: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "notes" || err != nil {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := service.ListenSocket(filepath.Join(dir, strings.Repeat("x", 200)), 0o600); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("a path that is too long: %v", err)
	}
}
