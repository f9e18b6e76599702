package hosttest

import (
	"errors"
	"fmt"
	"io"
	"time"

	"lakebed/engine/host"
)

// must be nil: err of a step that the contract only needs and does not test.
func must(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// fails says that doing must have failed with class. The ends of files and streams are compared as they are, because
// that is how every reader of package io asks for them.
func fails(doing string, err, class error) error {
	plain := class == io.EOF || class == io.ErrUnexpectedEOF
	if err == class || !plain && errors.Is(err, class) {
		return nil
	}
	return fmt.Errorf("%s: got error %v, want %q", doing, err, class)
}

// refused says that doing must have failed, for whatever reason.
func refused(doing string, err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%s: succeeded, want an error", doing)
}

// equal says that what was got must be what was wanted.
func equal[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}

// that says that cond must hold.
func that(cond bool, format string, args ...any) error {
	if cond {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// patience bounds how long a contract waits for something that must come. Only a broken world ever uses it up.
const patience = 20 * time.Second

// eventually waits until cond holds.
func eventually(h host.Host, what string, cond func() bool) error {
	for end := h.Elapsed() + patience; !cond(); {
		if h.Elapsed() > end {
			return fmt.Errorf("%s: still not so after %v", what, patience)
		}
		if !h.Root().Sleep(time.Millisecond) {
			return fmt.Errorf("%s: the node was stopped first", what)
		}
	}
	return nil
}

// shared is a value that tasks of a contract hand to each other.
type shared[T any] struct {
	mutex host.Mutex
	value T
}

func newShared[T any](h host.Host, name string) *shared[T] {
	return &shared[T]{mutex: h.NewMutex("hosttest." + name)}
}

func (s *shared[T]) change(f func(value *T)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	f(&s.value)
}

func (s *shared[T]) get() T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.value
}

// pattern fills n bytes that tell their offset, so that shifted or lost bytes show.
func pattern(n int, salt byte) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i) ^ byte(i>>8)*7 ^ byte(i>>16)*13 ^ salt
	}
	return p
}
