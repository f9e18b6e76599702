package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lakebed/service/wire"
)

// ErrDrainOverdue says that requests were under way when DrainMax had passed. Their connections were closed: what they have
// done is not known to their clients.
var ErrDrainOverdue = errors.New("requests took too long to end")

// Service answers the requests of one store.
type Service struct {
	config   Config
	routes   []Route
	mux      *http.ServeMux
	name     string
	document []byte
	logger   *slog.Logger

	requests chan struct{} // a slot for each request under way
	waits    chan struct{} // a slot for each that waits for messages
	waiting  sync.WaitGroup
	draining chan struct{} // closed when the service begins to end
}

// Info is what the document says of the whole service.
type Info struct {
	Title, About, Version string
	Service               string // what wire.ServiceHeader says
}

// New makes a service of routes. A nil logger stands for slog.Default.
func New(config Config, info Info, routes []Route, logger *slog.Logger) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if logger == nil {
		logger = slog.Default()
	}
	s := &Service{
		config: config, routes: routes, mux: http.NewServeMux(), name: info.Service, logger: logger,
		requests: make(chan struct{}, config.RequestsMax), waits: make(chan struct{}, config.WaitsMax), draining: make(chan struct{}),
	}
	var err error
	if s.document, err = document(info, routes); err != nil {
		return nil, fmt.Errorf("service: document: %w", err)
	}
	for i := range routes {
		route := &routes[i]
		s.mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(route, w, r) })
	}
	s.mux.HandleFunc("GET "+DocumentPath, func(w http.ResponseWriter, _ *http.Request) {
		s.write(w, http.StatusOK, "application/json", s.document)
	})
	s.mux.HandleFunc("/", s.nowhere)
	return s, nil
}

// Load is how many requests are under way and wait, at this moment.
func (s *Service) Load() (requests, waits int) { return len(s.requests), len(s.waits) }

// Handler answers requests, for whoever has a server of his own. Then only the bounds of requests and waits hold.
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.answer) }

// answer refuses what is meant for another service: an append that two services understand would be stored in the wrong one.
func (s *Service) answer(w http.ResponseWriter, r *http.Request) {
	if s.name != "" {
		w.Header().Set(wire.ServiceHeader, s.name)
		if meant := r.Header.Get(wire.ServiceHeader); meant != "" && meant != s.name {
			s.refuse(w, errorf(wire.WrongService, "this server serves a %s, and the request is for a %s", s.name, meant))
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// Serve answers what comes in through these listeners, until the context ends, and drains then. It closes the listeners. It may
// be called once.
func (s *Service) Serve(ctx context.Context, listeners ...net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: s.config.HeaderPatience, IdleTimeout: s.config.IdlePatience,
		MaxHeaderBytes: s.config.HeaderBytesMax, ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, len(listeners))
	slots := make(chan struct{}, s.config.ConnectionsMax)
	for _, l := range listeners {
		go func() { ended <- server.Serve(newBounded(l, slots)) }()
	}
	var failed error
	left := len(listeners)
	select {
	case <-ctx.Done():
	case err := <-ended:
		left--
		failed = fmt.Errorf("accept connections: %w", err)
	}
	close(s.draining)
	failed = errors.Join(failed, s.drain(server))
	for range left {
		<-ended // http.ErrServerClosed: the listener is closed
	}
	return failed
}

// drain waits for the requests under way, within bounds.
func (s *Service) drain(server *http.Server) error {
	bounded, cancel := context.WithTimeout(context.Background(), s.config.DrainMax)
	defer cancel()
	err := server.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: longer than %v", ErrDrainOverdue, s.config.DrainMax)
	}
	if err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// Join waits for what was left waiting in the store. The store must be closed.
func (s *Service) Join() { s.waiting.Wait() }

// serve answers a request to a route.
func (s *Service) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	request := &Request{service: s, route: route, http: r, writer: w}
	defer request.rest()
	answer, err := s.handle(request)
	if err != nil {
		s.refuse(w, err)
		return
	}
	body, err := encode(answer)
	if err != nil {
		s.refuse(w, fmt.Errorf("encode the answer: %w", err))
		return
	}
	s.write(w, route.Status, "application/json", body)
}

func (s *Service) handle(r *Request) (any, error) {
	select {
	case s.requests <- struct{}{}:
		r.working = true
	default:
		return nil, errorf(wire.Busy, "%d requests are under way, which is the most there may be", cap(s.requests))
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.route.Handle(r)
}

// encode makes JSON as people like to read it: < and > stay what they are.
func encode(v any) ([]byte, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return []byte(out.String()), err
}

// refuse answers with a problem. An error without a class is a slip of ours, and is logged.
func (s *Service) refuse(w http.ResponseWriter, err error) {
	var p *wire.Problem
	if !errors.As(err, &p) {
		s.logger.Error("request failed in a way that has no class", "error", err)
		p = wire.NewProblem(wire.Internal, err)
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	body, err := encode(p)
	if err != nil {
		s.logger.Error("a problem cannot be encoded", "error", err)
	}
	s.write(w, p.Status, wire.ProblemType, body)
}

// write sends an answer. A client that does not take it loses its connection.
func (s *Service) write(w http.ResponseWriter, status int, mediaType string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.AnswerPatience)) // none on a writer of tests
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who does not hear it cannot be told
}

// nowhere answers requests that no route takes.
func (s *Service) nowhere(w http.ResponseWriter, r *http.Request) {
	var methods []string
	for i := range s.routes {
		other := r.Clone(r.Context())
		other.Method = s.routes[i].Method
		if _, pattern := s.mux.Handler(other); strings.HasPrefix(pattern, other.Method+" ") && !slices.Contains(methods, other.Method) {
			methods = append(methods, other.Method)
		}
	}
	if len(methods) == 0 {
		s.refuse(w, errorf(wire.NotFound, "there is no %s; %s lists what there is", r.URL.Path, DocumentPath))
		return
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	s.refuse(w, errorf(wire.NotAllowed, "%s %s: want %s", r.Method, r.URL.Path, strings.Join(methods, " or ")))
}
