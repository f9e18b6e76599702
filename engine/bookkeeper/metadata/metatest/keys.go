package metatest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

func keys() []Contract {
	return []Contract{
		{"a key goes through its life", life},
		{"a session sees its own writes", ownWrites},
		{"a refused write changes nothing, and what was in its way is seen", refusals},
		{"after a Sync what others did is seen", syncSees},
		{"children keep their parent, and are listed by name", children},
		{"keys and values at their bounds are kept, and beyond them refused", bounds},
		{"a call ends with its scope", scopes},
		{"a closed store says so", closed},
	}
}

func life(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	key := e.key("life")
	for range 2 { // the second life is like the first
		first, err := s.Create(key, []byte("one"), metadata.Persistent, e.scope())
		if err != nil {
			return err
		}
		second, err := s.Put(key, []byte("two"), first, e.scope())
		if err != nil {
			return err
		}
		if first == second {
			return fmt.Errorf("version %d before the put and after it", first)
		}
		third, err := s.Put(key, nil, metadata.AnyVersion, e.scope())
		if err != nil {
			return err
		}
		v, err := e.newest(s, key)
		if err := shows("an empty value", v, err, "", third); err != nil {
			return err
		}
		if err := want("delete at an old version", s.Delete(key, second, e.scope()), metadata.ErrVersion); err != nil {
			return err
		}
		if err := s.Delete(key, third, e.scope()); err != nil {
			return err
		}
		if _, err := e.newest(s, key); !errors.Is(err, metadata.ErrNotExist) {
			return want("get after the delete", err, metadata.ErrNotExist)
		}
	}
	return nil
}

func ownWrites(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	session, err := e.session(s)
	if err != nil {
		return err
	}
	key := e.key("own")
	version, err := s.Create(key, []byte("0"), metadata.Persistent, e.scope())
	for i := 0; err == nil && i < 10; i++ {
		v, getErr := s.Get(key, e.scope())
		if err := e.held(s, session, shows("own write", v, getErr, fmt.Sprint(i), version)); err != nil {
			return err
		}
		names, listErr := s.List(metadata.Parent(key), e.scope())
		if listErr != nil {
			return listErr
		}
		if !slices.Equal(names, []string{"key"}) {
			return e.held(s, session, fmt.Errorf("own key is not in the list %q", names))
		}
		version, err = s.Put(key, fmt.Append(nil, i+1), version, e.scope())
	}
	return err
}

func refusals(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	session, err := e.session(b)
	if err != nil {
		return err
	}
	key := e.key("refusals")
	_, err = b.Put(key, nil, metadata.AnyVersion, e.scope())
	missing := want("put", err, metadata.ErrNotExist)
	missing = errors.Join(missing, want("delete", b.Delete(key, metadata.AnyVersion, e.scope()), metadata.ErrNotExist))
	if missing != nil {
		return missing
	}
	old, err := a.Create(key, []byte("old"), metadata.Persistent, e.scope())
	if err != nil {
		return err
	}
	now, err := a.Put(key, []byte("now"), old, e.scope())
	if err != nil {
		return err
	}
	refusals := []func() error{
		func() error {
			_, err := b.Create(key, nil, metadata.Persistent, e.scope())
			return want("create", err, metadata.ErrExist)
		},
		func() error {
			_, err := b.Put(key, nil, old, e.scope())
			return want("put", err, metadata.ErrVersion)
		},
		func() error { return want("delete", b.Delete(key, old, e.scope()), metadata.ErrVersion) },
	}
	for _, refused := range refusals {
		if err := refused(); err != nil {
			return err
		}
		v, err := b.Get(key, e.scope())
		if err := e.held(b, session, shows("after the refusal", v, err, "now", now)); err != nil {
			return err
		}
	}
	return nil
}

func syncSees(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	key := e.key("sync")
	version, err := a.Create(key, []byte("0"), metadata.Persistent, e.scope())
	for i := 0; err == nil && i < 10; i++ {
		session, err := e.session(b)
		if err != nil {
			return err
		}
		v, getErr := e.newest(b, key)
		if err := e.held(b, session, shows("after a Sync", v, getErr, fmt.Sprint(i), version)); err != nil {
			return err
		}
		if version, err = a.Put(key, fmt.Append(nil, i+1), version, e.scope()); err != nil {
			return err
		}
	}
	return err
}

func children(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	top := metadata.Parent(e.key("children"))
	session, err := e.session(s)
	if err != nil {
		return err
	}
	for _, name := range []string{"b", "a", "c/deep/er", "a-1", "c-1"} {
		if _, err := s.Create(top+"/"+name, nil, metadata.Persistent, e.scope()); err != nil {
			return err
		}
	}
	for _, c := range []struct{ key, names string }{
		{top, "a a-1 b c c-1"}, {top + "/c", "deep"}, {top + "/a", ""}, {top + "/nothing", ""},
	} {
		names, err := s.List(c.key, e.scope())
		if err != nil {
			return err
		}
		if got := strings.Join(names, " "); got != c.names {
			return e.held(s, session, fmt.Errorf("children of %s: %q, want %q", c.key, got, c.names))
		}
	}
	if err := want("delete", s.Delete(top, metadata.AnyVersion, e.scope()), metadata.ErrNotEmpty); err != nil {
		return err
	}
	return s.Delete(top+"/c/deep/er", metadata.AnyVersion, e.scope())
}

func bounds(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	long := metadata.Parent(e.key("bounds")) + "/"
	long += strings.Repeat("k", metadata.KeyBytesMax-len(long))
	value := bytes.Repeat([]byte{7}, metadata.ValueBytesMax)
	version, err := s.Create(long, value, metadata.Persistent, e.scope())
	if err != nil {
		return err
	}
	v, err := e.newest(s, long)
	if err := shows("the longest", v, err, string(value), version); err != nil {
		return fmt.Errorf("the longest value came back changed, or not: %w", cut(err))
	}
	_, err = s.Create(long+"k", nil, metadata.Persistent, e.scope())
	err = want("longer key", err, metadata.ErrInvalid)
	_, put := s.Put(long, append(value, 7), version, e.scope())
	err = errors.Join(err, want("longer value", put, metadata.ErrInvalid))
	for _, key := range []string{"", "a", "/a/", "//a", "/a//b", "/.", "/a/..", "/\x00"} {
		_, create := s.Create(key, nil, metadata.Persistent, e.scope())
		_, get := s.Get(key, e.scope())
		err = errors.Join(err, want("create "+key, create, metadata.ErrInvalid), want("get "+key, get, metadata.ErrInvalid))
	}
	return err
}

// cut keeps a megabyte out of a message.
func cut(err error) error {
	if text := err.Error(); proves(err) && len(text) > 200 {
		return errors.New(text[:200])
	}
	return err
}

func scopes(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	over := &host.Scope{Deadline: 1} // long ago
	_, err = s.Get(e.key("scopes"), over)
	problem := errors.Join(ends("get", err, metadata.ErrUnavailable), ends("sync", s.Sync(over), metadata.ErrUnavailable))
	_, err = s.Create(e.key("scopes"), nil, metadata.Persistent, over)
	stopped := e.Host.Root().New("stopped")
	stopped.Stop()
	sync := s.Sync(&host.Scope{Group: stopped})
	if !errors.Is(sync, host.ErrStopping) {
		problem = errors.Join(problem, fmt.Errorf("a stopped scope: got %v", sync))
	}
	return errors.Join(problem, ends("create", err, metadata.ErrUnavailable, metadata.ErrOutcomeUnknown))
}

// ends checks the error of a call whose scope was over. Its text alone is kept, since it would pass for one that proves
// nothing.
func ends(what string, err error, classes ...error) error {
	is := func(class error) bool { return errors.Is(err, class) }
	if !is(host.ErrTimeout) || !slices.ContainsFunc(classes, is) {
		return fmt.Errorf("%s beyond its scope: got %v", what, err)
	}
	return nil
}

func closed(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("second close: %w", err)
	}
	_, get := s.Get("/a", nil)
	_, create := s.Create("/a", nil, metadata.Persistent, nil)
	_, watch := s.Watch("/a", e.Host.Root())
	for _, err := range []error{get, create, watch} {
		if !errors.Is(err, metadata.ErrUnavailable) || !errors.Is(err, host.ErrClosed) {
			return fmt.Errorf("after the close: got %v", err)
		}
	}
	return nil
}
