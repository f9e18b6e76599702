package metatest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Env is where a contract runs.
type Env struct {
	Host host.Host
	// Open makes a client of the store with a session of its own.
	Open func() (metadata.Store, error)
	// Crash ends a client without ending its session.
	Crash func(metadata.Store)
	// Patience is how long to wait for what must happen at some time. Several times the sessions' timeout.
	Patience time.Duration
	// AttemptsMax is how often a contract is tried before its store counts as useless.
	AttemptsMax int

	attempt int
	open    []metadata.Store
}

// Contract is one promise of a store. Its name is the sentence that holds.
type Contract struct {
	Name  string
	check func(*Env) error
}

// Contracts is the whole list.
func Contracts() []Contract {
	return slices.Concat(keys(), sessions(), watches(), races())
}

// Harness runs a check in a node that has a store, and returns its error or the world's.
type Harness func(check func(*Env) error) error

// Run checks every contract as a subtest.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, contract := range Contracts() {
		t.Run(contract.Name, func(t *testing.T) {
			if err := newHarness(t)(contract.Check); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check makes attempts until one proves something.
func (c Contract) Check(e *Env) error {
	var err error
	for e.attempt = 1; e.attempt <= e.AttemptsMax; e.attempt++ {
		err = c.check(e)
		for _, store := range e.open {
			_ = store.Close()
		}
		e.open = nil
		if !proves(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("attempt %d: %w", e.attempt, err)
		}
		return nil
	}
	return fmt.Errorf("no attempt of %d proved anything: %w", e.AttemptsMax, err)
}

// errMoved: the session was another in the end than in the beginning.
var errMoved = errors.New("the session has changed")

// proves says whether an attempt that ended with err means anything.
func proves(err error) bool {
	for _, freedom := range []error{
		metadata.ErrOutcomeUnknown, metadata.ErrUnavailable, metadata.ErrSessionExpired, errMoved,
	} {
		if errors.Is(err, freedom) {
			return false
		}
	}
	return true
}

// key is a key that no other attempt uses.
func (e *Env) key(contract string) string { return fmt.Sprintf("/%s-%d/key", contract, e.attempt) }

// store opens a client that is closed with the attempt.
func (e *Env) store() (metadata.Store, error) {
	s, err := e.Open()
	if err == nil {
		e.open = append(e.open, s)
	}
	return s, err
}

// two opens two clients.
func (e *Env) two() (a, b metadata.Store, err error) {
	if a, err = e.store(); err == nil {
		b, err = e.store()
	}
	return a, b, err
}

// scope bounds one call.
func (e *Env) scope() *host.Scope { return host.Within(e.Host, e.Host.Root(), e.Patience) }

// session waits until a client has a session, and returns it.
func (e *Env) session(s metadata.Store) (metadata.SessionID, error) {
	err := s.Sync(e.scope())
	return s.Session(), err
}

// held returns problem, unless the session of s has ended since it was before.
func (e *Env) held(s metadata.Store, before metadata.SessionID, problem error) error {
	if problem == nil || !proves(problem) {
		return problem
	}
	now, err := e.session(s)
	if err != nil {
		return err
	}
	if now != before {
		return errMoved
	}
	return problem
}

// eventually asks until the answer is yes.
func (e *Env) eventually(what string, yes func() (bool, error)) error {
	deadline := e.Host.Elapsed() + e.Patience
	for {
		done, err := yes()
		if done || err != nil {
			return err
		}
		if e.Host.Elapsed() > deadline {
			return fmt.Errorf("%s: not within %s", what, e.Patience)
		}
		e.Host.Root().Sleep(e.Patience / 200)
	}
}

// newest reads a key after a Sync.
func (e *Env) newest(s metadata.Store, key string) (metadata.Value, error) {
	if err := s.Sync(e.scope()); err != nil {
		return metadata.Value{}, err
	}
	return s.Get(key, e.scope())
}

// want checks the class of an error; what proves nothing is passed on.
func want(what string, err, class error) error {
	if !errors.Is(err, class) {
		return fmt.Errorf("%s: got %w, want %v", what, orNone(err), class)
	}
	return nil
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// shows checks a value that was read.
func shows(what string, v metadata.Value, err error, data string, version metadata.Version) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if string(v.Data) != data || v.Version != version {
		return fmt.Errorf("%s: got %q at version %d, want %q at version %d", what, v.Data, v.Version, data, version)
	}
	return nil
}
