package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"lakebed/service/wire"
)

// Defaults of Config.
const (
	answerBytesMax = 64 << 20
	connectionsMax = 64
	dialPatience   = 10 * time.Second

	notHTTP = "malformed HTTP" // how net/http begins to tell of an answer in another protocol: it has no error of its own for it
)

// Config says where a server is. Exactly one of URL, Socket and Dial says it.
type Config struct {
	URL    string                                  // "http://host:port"
	Socket string                                  // path of a unix socket
	Dial   func(context.Context) (net.Conn, error) // any other way

	Service string // which service is meant; a server of another one refuses the requests. Empty: whatever answers

	AnswerBytesMax int64 // longest answer; default 64 MiB
	ConnectionsMax int   // at a time; further requests wait for one; default 64
}

// Client sends requests to one server.
type Client struct {
	http *http.Client
	base string
	name string // of the server, for errors
	most int64

	service string
}

// New makes a client. It connects to nothing yet.
func New(c Config) (*Client, error) {
	dialer := &net.Dialer{Timeout: dialPatience}
	transport := &http.Transport{MaxIdleConnsPerHost: connectionsMax, MaxConnsPerHost: connectionsMax, IdleConnTimeout: time.Minute, DisableCompression: true}
	if c.ConnectionsMax > 0 {
		transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = c.ConnectionsMax, c.ConnectionsMax
	}
	made := &Client{http: &http.Client{Transport: transport, CheckRedirect: refuseRedirect}, base: "http://localhost", most: c.AnswerBytesMax, service: c.Service}
	if made.most <= 0 {
		made.most = answerBytesMax
	}
	ways := 0
	if c.URL != "" {
		ways++
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
			return nil, fmt.Errorf("server %q: want http://HOST:PORT: %w", c.URL, wire.Invalid)
		}
		made.base, made.name = strings.TrimSuffix(c.URL, "/"), c.URL
		transport.DialContext = dialer.DialContext
	}
	if c.Socket != "" {
		ways++
		made.name = c.Socket
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", c.Socket)
		}
	}
	if c.Dial != nil {
		ways++
		made.name = "the server in this process"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) }
	}
	if ways != 1 {
		return nil, fmt.Errorf("a server is named by its URL or by its socket, not by %d of them: %w", ways, wire.Invalid)
	}
	return made, nil
}

// refuseRedirect: a redirect would repeat a request elsewhere.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close closes the connections that are idle. Requests under way end as they would.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one request.
type Request struct {
	Doing   string // for errors
	Method  string
	Path    []string // its segments, not escaped
	Query   url.Values
	Type    string // media type of the body
	Body    []byte
	Changes bool // it may take effect on the server
}

// Do sends a request, once, and decodes the answer.
func (c *Client) Do(ctx context.Context, r Request, answer any) error {
	if err := c.send(ctx, &r, answer); err != nil {
		var p *wire.Problem
		if errors.As(err, &p) {
			p.Detail = strings.TrimPrefix(p.Detail, r.Doing+": ") // which is said here
		}
		return fmt.Errorf("%s at %s: %w", r.Doing, c.name, err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, r *Request, answer any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var handed atomic.Bool // to a connection
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { handed.Store(true) }})
	address := c.base
	for _, segment := range r.Path {
		address += "/" + url.PathEscape(segment)
	}
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	var body io.Reader = http.NoBody
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(traced, r.Method, address, body)
	if err != nil {
		return fmt.Errorf("%w: %w", wire.Invalid, err)
	}
	if r.Type != "" {
		request.Header.Set("Content-Type", r.Type)
	}
	if c.service != "" {
		request.Header.Set(wire.ServiceHeader, c.service)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return lost(r, handed.Load(), err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.most+1))
	if err == nil && int64(len(text)) > c.most {
		err = fmt.Errorf("answer of more than %d bytes", c.most)
	}
	if err != nil {
		return lost(r, true, err)
	}
	if c.service != "" && response.Header.Get(wire.ServiceHeader) == "" {
		return foreign(r, response)
	}
	return understand(r, response, text, answer)
}

// foreign sorts an answer that does not name its service. Where something in between may have made it, what the store has done is open.
func foreign(r *Request, response *http.Response) error {
	refused := response.StatusCode/100 == 3 || response.StatusCode/100 == 4 || response.StatusCode == http.StatusNotImplemented
	if refused || response.StatusCode/100 == 2 && !r.Changes {
		return fmt.Errorf("%w: it says %s, and no header %s", wire.Foreign, response.Status, wire.ServiceHeader)
	}
	return lost(r, true, fmt.Errorf("%s without the header %s, which is no answer of a store", response.Status, wire.ServiceHeader))
}

// lost sorts the failure of a request that has no answer.
func lost(r *Request, handed bool, err error) error {
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err // without the address, which the caller says in his words
	}
	switch {
	case strings.Contains(err.Error(), notHTTP):
		return fmt.Errorf("%w: it does not speak HTTP: %w", wire.Foreign, err)
	case !handed:
		return fmt.Errorf("%w: %w", wire.Unreachable, err)
	case r.Changes:
		return fmt.Errorf("%w: no answer: %w", wire.OutcomeUnknown, err)
	}
	return fmt.Errorf("%w: no answer: %w", wire.Unavailable, err)
}

// understand decodes an answer. What is neither an answer of ours nor one of our problems comes from something in between, and says
// nothing about what the store has done, unless it is a refusal.
func understand(r *Request, response *http.Response, text []byte, answer any) error {
	if response.StatusCode/100 == 2 {
		err := json.Unmarshal(text, answer)
		if err == nil {
			return nil
		}
		return lost(r, true, fmt.Errorf("answer %s cannot be decoded: %w", response.Status, err))
	}
	var p *wire.Problem
	if response.Header.Get("Content-Type") == wire.ProblemType && json.Unmarshal(text, &p) == nil && p != nil && p.Class != "" {
		return p
	}
	if class := response.StatusCode / 100; class == 3 || class == 4 {
		return fmt.Errorf("%w: %s, which is no answer of a store", wire.Invalid, response.Status)
	}
	return lost(r, true, fmt.Errorf("%s, which is no answer of a store", response.Status))
}
