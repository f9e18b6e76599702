package metatest

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

func watches() []Contract {
	return []Contract{
		{"who watches sees the last change of a key", lastChange},
		{"a watch is told that a key comes and goes", comesAndGoes},
		{"a watch is told that children come and go", childrenMove},
		{"a wait ends with the watch, the group and the store", waitsEnd},
	}
}

// await looks until it likes what it sees, each time a watch says so. A watch that misses the change it waits for fails.
func (e *Env) await(what string, w metadata.Watch, like func() (bool, error)) error {
	deadline := e.Host.Elapsed() + e.Patience
	for {
		done, err := like()
		if done || err != nil {
			return err
		}
		if woke := w.WaitFor(deadline - e.Host.Elapsed()); woke != host.Signalled {
			return fmt.Errorf("%s: the watch was not told within %s", what, e.Patience)
		}
	}
}

func lastChange(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	key := e.key("last")
	version, err := a.Create(key, []byte("0"), metadata.Persistent, e.scope())
	if err != nil {
		return err
	}
	w, err := b.Watch(key, e.Host.Root())
	if err != nil {
		return err
	}
	defer w.Close()
	for i := range 20 {
		data := fmt.Sprint(i + 1)
		if version, err = a.Put(key, []byte(data), version, e.scope()); err != nil {
			return err
		}
		if i%5 != 4 {
			continue // several changes may be told at once
		}
		err = e.await("value "+data, w, func() (bool, error) {
			v, err := b.Get(key, e.scope())
			if errors.Is(err, metadata.ErrNotExist) {
				return false, nil
			}
			return string(v.Data) == data, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func comesAndGoes(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	key := e.key("comes")
	w, err := b.Watch(key, e.Host.Root())
	if err != nil {
		return err
	}
	defer w.Close()
	there := func(yes bool) func() (bool, error) {
		return func() (bool, error) {
			_, err := b.Get(key, e.scope())
			if errors.Is(err, metadata.ErrNotExist) {
				return !yes, nil
			}
			return yes, err
		}
	}
	for range 3 {
		if _, err := a.Create(key, nil, metadata.Persistent, e.scope()); err != nil {
			return err
		}
		if err := e.await("created", w, there(true)); err != nil {
			return err
		}
		if err := a.Delete(key, metadata.AnyVersion, e.scope()); err != nil {
			return err
		}
		if err := e.await("deleted", w, there(false)); err != nil {
			return err
		}
	}
	return nil
}

func childrenMove(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	session, err := e.session(a)
	if err != nil {
		return err
	}
	key := e.key("children-move")
	top := metadata.Parent(key)
	w, err := b.Watch(top, e.Host.Root())
	if err != nil {
		return err
	}
	defer w.Close()
	other, err := b.Watch(top, e.Host.Root()) // a second one of the same key does not take the first one's news
	if err != nil {
		return err
	}
	defer other.Close()
	count := func(n int) func() (bool, error) {
		return func() (bool, error) {
			names, err := b.List(top, e.scope())
			return len(names) == n, err
		}
	}
	if _, err := a.Create(key, nil, metadata.Ephemeral, e.scope()); err != nil {
		return err
	}
	err = errors.Join(e.await("first", w, count(1)), e.await("first, again", other, count(1)))
	if err := e.held(a, session, err); err != nil {
		return err
	}
	if _, err := a.Create(key+"-2", nil, metadata.Persistent, e.scope()); err != nil {
		return err
	}
	e.Crash(a)
	err = errors.Join(e.await("ephemeral one gone", w, func() (bool, error) {
		names, err := b.List(top, e.scope())
		return len(names) == 1 && names[0] == "key-2", err
	}), e.await("gone, again", other, count(1)))
	return err
}

func waitsEnd(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	g := e.Host.Root().New("waiters")
	ended := e.Host.NewCounter("ended")
	wait := func(in host.Group) (metadata.Watch, error) {
		w, err := s.Watch(e.key("ends"), in)
		if err == nil {
			g.Go("wait", func() {
				for w.Wait() {
				}
				ended.Add(1)
			})
		}
		return w, err
	}
	stops := e.Host.Root().New("stops")
	first, err := wait(g)
	_, err2 := wait(stops)
	_, err3 := wait(g)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	endedAre := func(n int64) func() (bool, error) {
		return func() (bool, error) { return ended.Load() == n, nil }
	}
	first.Close()
	first.Close()
	problem := e.eventually("a closed watch ends its wait", endedAre(1))
	stops.Stop()
	problem = errors.Join(problem, e.eventually("a stopped group ends its wait", endedAre(2)), s.Close())
	g.Stop()
	g.Wait()
	return errors.Join(problem, e.eventually("a closed store ends the waits", endedAre(3)))
}
