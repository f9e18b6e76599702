package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lakebed/service/wire"
)

// Request is one request that is being answered.
type Request struct {
	service *Service
	route   *Route
	http    *http.Request
	writer  http.ResponseWriter
	query   url.Values
	working bool // holds a slot of requests
}

// errorf makes an error of a class.
func errorf(class wire.Class, format string, arguments ...any) error {
	return wire.NewProblem(class, fmt.Errorf(format, arguments...))
}

// check refuses what the route does not declare.
func (r *Request) check() error {
	query, err := url.ParseQuery(r.http.URL.RawQuery)
	if err != nil {
		return errorf(wire.Invalid, "query: %w", err)
	}
	r.query = query
	var known []string
	for _, p := range r.route.Parameters {
		if p.In == InQuery {
			known = append(known, p.Name)
			if n := len(query[p.Name]); n > 1 && !p.Repeated {
				return errorf(wire.Invalid, "parameter %s is given %d times", p.Name, n)
			}
		}
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return errorf(wire.Invalid, "there is no parameter %q here; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func (r *Request) raw(p *Parameter) (text string, there bool) {
	if p.In == InPath {
		return r.http.PathValue(p.Name), true
	}
	return r.query.Get(p.Name), r.query.Has(p.Name)
}

// Number is a parameter that is a number, or its standard.
func (r *Request) Number(name string, in Place) (int64, error) {
	n, _, err := r.OptionalNumber(name, in)
	return n, err
}

// OptionalNumber is a parameter that is a number, and whether it is there.
func (r *Request) OptionalNumber(name string, in Place) (value int64, there bool, err error) {
	p := r.route.parameter(name, in)
	text, there := r.raw(p)
	switch {
	case !there && p.Needed:
		return 0, false, errorf(wire.Invalid, "parameter %s is missing: %s", name, p.About)
	case !there:
		return p.Standard, false, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < p.Min || n > p.Max {
		class := wire.Invalid
		if in == InPath {
			class = wire.NotFound
		}
		return 0, true, errorf(class, "%s %q: want a whole number from %d to %d", name, text, p.Min, p.Max)
	}
	return n, true, nil
}

// Text is a parameter that is a string; empty if it is absent.
func (r *Request) Text(name string, in Place) (string, error) {
	p := r.route.parameter(name, in)
	text, there := r.raw(p)
	if there && p.OneOf != "" && !slices.Contains(strings.Fields(p.OneOf), text) {
		return "", errorf(wire.Invalid, "%s %q: want one of: %s", name, text, p.OneOf)
	}
	if !there && !p.Optional {
		return "", errorf(wire.Invalid, "parameter %s is missing: %s", name, p.About)
	}
	return text, nil
}

// Texts are the values of a repeated parameter.
func (r *Request) Texts(name string) []string { return r.query[r.route.parameter(name, InQuery).Name] }

// Peer is where the request comes from: an address with a port, or something else for a unix socket.
func (r *Request) Peer() string { return r.http.RemoteAddr }

// Body reads the body, and says which of the route's media types it has.
func (r *Request) Body() (body []byte, mediaType string, err error) {
	mediaType, _, err = mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	var types []string
	for _, b := range r.route.Bodies {
		types = append(types, b.Type)
	}
	if err != nil || !slices.Contains(types, mediaType) {
		return nil, "", errorf(wire.UnsupportedType, "content type %q: want %s", r.http.Header.Get("Content-Type"), strings.Join(types, " or "))
	}
	limit := r.service.config.BodyBytesMax
	if r.http.ContentLength > limit {
		return nil, "", errorf(wire.TooLarge, "body of %d bytes, more than %d", r.http.ContentLength, limit)
	}
	control := http.NewResponseController(r.writer)
	if err := control.SetReadDeadline(time.Now().Add(r.service.config.BodyPatience)); err != nil {
		return nil, "", err
	}
	body, err = io.ReadAll(http.MaxBytesReader(r.writer, r.http.Body, limit))
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, "", errorf(wire.TooLarge, "body of more than %d bytes", limit)
	case err != nil:
		return nil, "", errorf(wire.Invalid, "read the body: %w", err)
	}
	return body, mediaType, control.SetReadDeadline(time.Time{})
}

// JSON decodes a body that is one JSON value. Members that the type does not have are refused.
func (r *Request) JSON(v any) error {
	body, _, err := r.Body()
	if err != nil {
		return err
	}
	return DecodeJSON(body, v)
}

// DecodeJSON decodes exactly one JSON value, and refuses members that its type does not have.
func DecodeJSON(body []byte, v any) error {
	if !utf8.Valid(body) {
		return errorf(wire.Invalid, "body: it is no UTF-8: send bytes that are no text as base64")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return errorf(wire.Invalid, "body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errorf(wire.Invalid, "body: something follows the value")
	}
	return nil
}

// Await runs f, which waits in the store, in a task of its own. Not over: the service drains. An error: there are too many waits, or
// the client has left. In both cases leave is called, which has f end soon and give back its slot.
func Await[T any](r *Request, leave func(), f func() (T, error)) (value T, over bool, err error) {
	s := r.service
	select {
	case s.waits <- struct{}{}:
	default:
		return value, false, errorf(wire.Busy, "%d requests wait for messages, which is the most there may be", cap(s.waits))
	}
	type result struct {
		value T
		err   error
	}
	ended := make(chan result, 1)
	r.rest()
	s.waiting.Go(func() {
		defer func() { <-s.waits }()
		v, err := f()
		ended <- result{v, err}
	})
	select {
	case got := <-ended:
		value, over, err = got.value, true, got.err
	case <-s.draining:
		leave()
	case <-r.http.Context().Done():
		leave()
		return value, false, errorf(wire.Unavailable, "the client has left: %w", r.http.Context().Err())
	}
	if err == nil {
		err = r.work()
	}
	return value, over, err
}

// rest gives the slot of requests back while a request waits for messages.
func (r *Request) rest() {
	if r.working {
		<-r.service.requests
		r.working = false
	}
}

// work takes a slot again: answers are made by so many at a time. Each of them comes to its end.
func (r *Request) work() error {
	select {
	case r.service.requests <- struct{}{}:
		r.working = true
		return nil
	case <-r.http.Context().Done():
		return errorf(wire.Unavailable, "the client has left: %w", r.http.Context().Err())
	}
}
