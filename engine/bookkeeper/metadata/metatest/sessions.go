package metatest

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/metadata"
)

func sessions() []Contract {
	return []Contract{
		{"ephemeral keys go when their store is closed", func(e *Env) error {
			return ephemeral(e, "closed", func(s metadata.Store) { _ = s.Close() })
		}},
		{"ephemeral keys go when their client has crashed", func(e *Env) error {
			return ephemeral(e, "crashed", e.Crash)
		}},
		{"ephemeral keys stay while their session lives, and have no children", staying},
		{"two clients have two sessions", twoSessions},
		{"an idle session stays alive", idle},
	}
}

// ephemeral makes two ephemeral keys and a persistent one, ends the session, and waits until only the last is left.
func ephemeral(e *Env, name string, end func(metadata.Store)) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	session, err := e.session(a)
	if err != nil {
		return err
	}
	top := metadata.Parent(e.key(name))
	_, err1 := a.Create(top+"/e1", []byte(name), metadata.Ephemeral, e.scope())
	_, err2 := a.Create(top+"/e2", []byte(name), metadata.Ephemeral, e.scope())
	_, err3 := a.Create(top+"/p", []byte(name), metadata.Persistent, e.scope())
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if now, err := e.session(a); err != nil || now != session {
		return errors.Join(err, errMoved) // the keys belong to two sessions
	}
	end(a)
	err = e.eventually("ephemeral keys go", func() (bool, error) {
		if err := b.Sync(e.scope()); err != nil {
			return false, err
		}
		names, err := b.List(top, e.scope())
		if len(names) == 2 {
			err = errors.Join(err, fmt.Errorf("keys of one session went one by one: %q are left", names))
		}
		return len(names) == 1, err
	})
	if err != nil {
		return err
	}
	_, err = e.newest(b, top+"/p")
	return err
}

func staying(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	session, err := e.session(a)
	if err != nil {
		return err
	}
	key := e.key("staying")
	version, err := a.Create(key, []byte("here"), metadata.Ephemeral, e.scope())
	if err != nil {
		return err
	}
	_, err = a.Create(key+"/child", nil, metadata.Persistent, e.scope())
	if err := e.held(a, session, want("child of an ephemeral key", err, metadata.ErrInvalid)); err != nil {
		return err
	}
	for range 10 {
		e.Host.Root().Sleep(e.Patience / 50)
		v, err := e.newest(b, key)
		if err := e.held(a, session, shows("ephemeral key", v, err, "here", version)); err != nil {
			return err
		}
	}
	return nil
}

func twoSessions(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	first, err := e.session(a)
	if err != nil {
		return err
	}
	second, err := e.session(b)
	if err == nil && (first == second || first == 0 || second == 0) {
		err = fmt.Errorf("sessions %d and %d", first, second)
	}
	return err
}

// idle: a store that expires sessions at will makes this prove nothing, one that forgets to ping fails every attempt.
func idle(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	before, err := e.session(s)
	if err != nil {
		return err
	}
	e.Host.Root().Sleep(e.Patience / 2)
	after, err := e.session(s)
	if err == nil && before != after {
		err = errMoved
	}
	return err
}
