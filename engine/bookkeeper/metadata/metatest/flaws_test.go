package metatest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/metatest"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

// flawed is a store that is wrong in one way: what is set replaces the right method.
type flawed struct {
	metadata.Store
	get    func(right metadata.Store, key string, s *host.Scope) (metadata.Value, error)
	create func(right metadata.Store, key string, data []byte, kind metadata.Kind, s *host.Scope) (metadata.Version, error)
	put    func(right metadata.Store, key string, data []byte, expected metadata.Version, s *host.Scope) (metadata.Version, error)
	remove func(right metadata.Store, key string, expected metadata.Version, s *host.Scope) error
	list   func(right metadata.Store, key string, s *host.Scope) ([]string, error)
	watch  func(right metadata.Store, key string, g host.Group) (metadata.Watch, error)
	close  func(right metadata.Store) error
}

func (f *flawed) Get(key string, s *host.Scope) (metadata.Value, error) {
	if f.get != nil {
		return f.get(f.Store, key, s)
	}
	return f.Store.Get(key, s)
}

func (f *flawed) Create(key string, data []byte, kind metadata.Kind, s *host.Scope) (metadata.Version, error) {
	if f.create != nil {
		return f.create(f.Store, key, data, kind, s)
	}
	return f.Store.Create(key, data, kind, s)
}

func (f *flawed) Put(key string, data []byte, expected metadata.Version, s *host.Scope) (metadata.Version, error) {
	if f.put != nil {
		return f.put(f.Store, key, data, expected, s)
	}
	return f.Store.Put(key, data, expected, s)
}

func (f *flawed) Delete(key string, expected metadata.Version, s *host.Scope) error {
	if f.remove != nil {
		return f.remove(f.Store, key, expected, s)
	}
	return f.Store.Delete(key, expected, s)
}

func (f *flawed) List(key string, s *host.Scope) ([]string, error) {
	if f.list != nil {
		return f.list(f.Store, key, s)
	}
	return f.Store.List(key, s)
}

func (f *flawed) Watch(key string, g host.Group) (metadata.Watch, error) {
	if f.watch != nil {
		return f.watch(f.Store, key, g)
	}
	return f.Store.Watch(key, g)
}

func (f *flawed) Close() error {
	if f.close != nil {
		return f.close(f.Store)
	}
	return f.Store.Close()
}

// deaf is a watch that is never told.
type deaf struct{ metadata.Watch }

func (d deaf) WaitFor(time.Duration) host.Woke { return host.TimedOut }

// flaws are stores that are wrong in one way each.
func flaws() map[string]func(right metadata.Store) *flawed {
	return map[string]func(metadata.Store) *flawed{
		"a read never changes": func(right metadata.Store) *flawed {
			seen := make(map[string]metadata.Value)
			return &flawed{Store: right, get: func(right metadata.Store, key string, s *host.Scope) (metadata.Value, error) {
				if v, ok := seen[key]; ok {
					return v, nil
				}
				v, err := right.Get(key, s)
				if err == nil {
					seen[key] = v
				}
				return v, err
			}}
		},
		"every fourth read is one from before": func(right metadata.Store) *flawed {
			n, old := 0, metadata.Value{}
			return &flawed{Store: right, get: func(right metadata.Store, key string, s *host.Scope) (metadata.Value, error) {
				if n++; n > 4 && n%4 == 0 {
					return old, nil
				}
				v, err := right.Get(key, s)
				if n%4 == 1 {
					old = v
				}
				return v, err
			}}
		},
		"a put does not look at the version": func(right metadata.Store) *flawed {
			return &flawed{Store: right, put: func(right metadata.Store, key string, data []byte, _ metadata.Version, s *host.Scope) (metadata.Version, error) {
				return right.Put(key, data, metadata.AnyVersion, s)
			}}
		},
		"a delete does not look at the version": func(right metadata.Store) *flawed {
			return &flawed{Store: right, remove: func(right metadata.Store, key string, _ metadata.Version, s *host.Scope) error {
				return right.Delete(key, metadata.AnyVersion, s)
			}}
		},
		"a create replaces": func(right metadata.Store) *flawed {
			return &flawed{Store: right, create: func(right metadata.Store, key string, data []byte, kind metadata.Kind, s *host.Scope) (metadata.Version, error) {
				v, err := right.Create(key, data, kind, s)
				if errors.Is(err, metadata.ErrExist) {
					return right.Put(key, data, metadata.AnyVersion, s)
				}
				return v, err
			}}
		},
		"ephemeral keys are persistent": func(right metadata.Store) *flawed {
			return &flawed{Store: right, create: func(right metadata.Store, key string, data []byte, _ metadata.Kind, s *host.Scope) (metadata.Version, error) {
				return right.Create(key, data, metadata.Persistent, s)
			}}
		},
		"lists are in another order": func(right metadata.Store) *flawed {
			return &flawed{Store: right, list: func(right metadata.Store, key string, s *host.Scope) ([]string, error) {
				names, err := right.List(key, s)
				slices.Reverse(names)
				return names, err
			}}
		},
		"scopes are ignored": func(right metadata.Store) *flawed {
			return &flawed{Store: right, get: func(right metadata.Store, key string, _ *host.Scope) (metadata.Value, error) {
				return right.Get(key, nil)
			}}
		},
		"watches are never told": func(right metadata.Store) *flawed {
			return &flawed{Store: right, watch: func(right metadata.Store, key string, g host.Group) (metadata.Watch, error) {
				w, err := right.Watch(key, g)
				return deaf{w}, err
			}}
		},
		"a close leaves the session": func(right metadata.Store) *flawed {
			return &flawed{Store: right, close: func(metadata.Store) error { return nil }}
		},
	}
}

// check runs all contracts on a store that wrap makes of a right one, and returns the names of those that failed.
func check(t *testing.T, wrap func(metadata.Store) metadata.Store) []string {
	t.Helper()
	var failed []string
	for _, contract := range metatest.Contracts() {
		w := sim.New(sim.Config{Seed: 1})
		server := w.NewNode("metadata")
		server.SetDaemon(true)
		server.Start(func(h host.Host) error {
			listener, err := h.Net().Listen("metadata:2181")
			if err != nil {
				return err
			}
			_, err = service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
			host.AwaitStop(h.Root())
			return err
		})
		n := w.NewNode("client")
		n.Start(func(h host.Host) error {
			var right []*service.Client
			err := contract.Check(&metatest.Env{
				Host: h,
				Open: func() (metadata.Store, error) {
					c, err := service.Connect(h, h.Root(), service.DefaultClientConfig("metadata:2181"))
					right = append(right, c)
					return wrap(c), err
				},
				Crash:       func(metadata.Store) { right[len(right)-2].Abandon() }, // contracts crash the first of two
				Patience:    time.Minute,
				AttemptsMax: 1,
			})
			for _, c := range right {
				err = errors.Join(err, c.Close())
			}
			return err
		})
		if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
			failed = append(failed, contract.Name)
		}
	}
	return failed
}

// TestContractsFindEveryFlaw: a right store passes, and one that is wrong in one way fails.
func TestContractsFindEveryFlaw(t *testing.T) {
	if failed := check(t, func(right metadata.Store) metadata.Store { return right }); len(failed) != 0 {
		t.Fatalf("a right store fails: %q", failed)
	}
	for name, flaw := range flaws() {
		t.Run(name, func(t *testing.T) {
			failed := check(t, func(right metadata.Store) metadata.Store { return flaw(right) })
			if len(failed) == 0 {
				t.Error("no contract noticed")
			}
			t.Logf("found by %q", failed)
		})
	}
}
