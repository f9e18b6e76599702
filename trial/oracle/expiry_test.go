package oracle_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/trial/oracle"
)

// steal ends a client's session from outside: it says Hello in its name, which cuts the client, and then Bye.
func steal(h host.Host, session metadata.SessionID) error {
	conn, err := h.Net().Dial(oracle.Address, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := wire.NewInput(h.Memory(), 128, service.ResponseBytesMax)
	defer in.Release()
	hello := service.Request{Operation: service.Hello, Sequence: 1, Session: session, Timeout: 10 * time.Second}
	bye := service.Request{Operation: service.Bye, Sequence: 2}
	if err := conn.WriteBuffers([][]byte{bye.Append(hello.Append(nil))}); err != nil {
		return err
	}
	for range 2 {
		for {
			packet, err := in.Next()
			if err != nil {
				return err
			}
			if packet != nil {
				break
			}
			if err := in.Fill(conn); err != nil {
				return err
			}
		}
	}
	return nil
}

// fragile is a client whose session ends just before its n-th call, or just after it. The client does not know at once.
type fragile struct {
	*service.Client
	h     host.Host
	calls int
	n     int
	after bool
	err   error
}

// around makes a call.
func (f *fragile) around(call func()) {
	f.calls++
	hit := f.calls == f.n
	if hit && !f.after {
		f.end()
	}
	call()
	if hit && f.after {
		f.end()
	}
}

func (f *fragile) end() {
	if session := f.Session(); session != 0 {
		f.err = errors.Join(f.err, steal(f.h, session))
	}
}

func (f *fragile) Get(key string, s *host.Scope) (v metadata.Value, err error) {
	f.around(func() { v, err = f.Client.Get(key, s) })
	return v, err
}

func (f *fragile) Sync(s *host.Scope) (err error) {
	f.around(func() { err = f.Client.Sync(s) })
	return err
}

func (f *fragile) Create(key string, data []byte, kind metadata.Kind, s *host.Scope) (v metadata.Version, err error) {
	f.around(func() { v, err = f.Client.Create(key, data, kind, s) })
	return v, err
}

func (f *fragile) Put(key string, data []byte, expected metadata.Version, s *host.Scope) (v metadata.Version, err error) {
	f.around(func() { v, err = f.Client.Put(key, data, expected, s) })
	return v, err
}

func (f *fragile) Delete(key string, expected metadata.Version, s *host.Scope) (err error) {
	f.around(func() { err = f.Client.Delete(key, expected, s) })
	return err
}

func (f *fragile) List(key string, s *host.Scope) (names []string, err error) {
	f.around(func() { names, err = f.Client.List(key, s) })
	return names, err
}

func (f *fragile) Watch(key string, g host.Group) (w metadata.Watch, err error) {
	f.around(func() { w, err = f.Client.Watch(key, g) })
	return w, err
}

// atEachCall runs something with a session that ends before and after each call, until a run makes fewer calls.
func atEachCall(t *testing.T, something func(w *world, h host.Host, store *fragile) error) {
	t.Helper()
	runs := 0
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			untouched := false
			config := oracle.Tame()
			config.StalePermille, config.StaleMax = 800, time.Minute // the next session begins in the past
			_, err := run(uint64(n), config, func(w *world, h host.Host) error {
				store, err := connect(h)
				if err != nil {
					return err
				}
				if err := store.Sync(nil); err != nil {
					return err
				}
				f := &fragile{Client: store, h: h, n: n, after: after}
				err = something(w, h, f)
				untouched = f.calls < n
				return errors.Join(err, f.err, store.Close())
			})
			if err != nil {
				t.Errorf("the session ends at call %d, after it: %v: %v", n, after, err)
				break
			}
			runs++
			if untouched {
				break
			}
		}
	}
	t.Logf("%d runs", runs)
}

// TestARegistrationOutlivesAnExpiryAtEachCall: within moments the key is there again, of the session that lives, in the mode
// that is asked for, and nothing else.
func TestARegistrationOutlivesAnExpiryAtEachCall(t *testing.T) {
	atEachCall(t, func(w *world, h host.Host, store *fragile) error {
		r := metadata.Register(h, h.Root(), store, registrationOf("a:1"))
		for _, mode := range []metadata.Mode{metadata.Writable, metadata.ReadOnly, metadata.Writable} {
			r.SetMode(mode)
			if err := r.Await(host.Within(h, nil, time.Minute)); err != nil {
				return err
			}
			key := map[metadata.Mode]string{
				metadata.Writable: layout().WritableKey("a:1"), metadata.ReadOnly: layout().ReadOnlyKey("a:1"),
			}[mode]
			begun := h.Elapsed()
			err := comes(h, "the key of "+mode.String(), func() bool {
				node := w.oracle.Get(key)
				return node != nil && node.Owner == store.Session() && keysOf(w.oracle, "a:1") == mode.String()+" "
			})
			if took := h.Elapsed() - begun; err != nil || took > 5*time.Second {
				return fmt.Errorf("it took %v: %w", took, err)
			}
		}
		r.Close(host.Within(h, nil, time.Minute))
		if keys := keysOf(w.oracle, "a:1"); keys != "" {
			return fmt.Errorf("in the end %q is left", keys)
		}
		return nil
	})
}

// TestAViewOutlivesAnExpiryAtEachCall: what came meanwhile is seen within moments.
func TestAViewOutlivesAnExpiryAtEachCall(t *testing.T) {
	atEachCall(t, func(w *world, h host.Host, store *fragile) error {
		other, err := connect(h)
		if err != nil {
			return err
		}
		view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
		for i := range 3 {
			if _, err := other.Create(layout().WritableKey(ledger.BookieID(fmt.Sprintf("b%d:1", i))), nil, metadata.Ephemeral, nil); err != nil {
				return err
			}
			begun := h.Elapsed()
			err := comes(h, "the view", func() bool { return len(view.Writable()) == i+1 })
			if took := h.Elapsed() - begun; err != nil || took > 5*time.Second {
				return fmt.Errorf("it took %v: %w", took, err)
			}
		}
		view.Close()
		return other.Close()
	})
}

// TestLedgersAndCookiesOutliveAnExpiryAtEachCall: what was answered is so, and what is read is the latest.
func TestLedgersAndCookiesOutliveAnExpiryAtEachCall(t *testing.T) {
	atEachCall(t, func(w *world, h host.Host, store *fragile) error {
		l := ledgersOn(h, store, "fragile")
		c := metadata.NewCookies(h, h.Root(), store, layout(), metadata.DefaultRetry())
		instance, err := c.Initialize(nil)
		if err != nil {
			return err
		}
		cookie := metadata.Cookie{Bookie: "a:1", JournalDir: "j", LedgerDirs: "1\tl", InstanceID: instance}
		if err := c.Create(cookie, nil); err != nil {
			return err
		}
		found, version, err := c.Read("a:1", nil)
		if err != nil || found != cookie {
			return fmt.Errorf("read %+v: %w", found, err)
		}
		var made []ledger.ID
		for range 4 {
			stored, err := l.Create(aLedger(), nil)
			if err != nil {
				return err
			}
			made = append(made, stored.ID)
			stored.Metadata.Created = 7
			if _, err = l.Write(stored.ID, stored.Metadata, stored.Version, nil); errors.Is(err, metadata.ErrOutcomeUnknown) {
				_, err = l.Write(stored.ID, stored.Metadata, stored.Version, nil) // was it done?
				if errors.Is(err, metadata.ErrVersion) {
					err = nil
				}
			}
			if err != nil {
				return err
			}
			if latest, err := l.ReadLatest(stored.ID, nil); err != nil || latest.Metadata.Created != 7 {
				return fmt.Errorf("read %+v: %w", latest, err)
			}
		}
		if all, err := l.List(nil); err != nil || len(all) != len(made) {
			return fmt.Errorf("listed %v of %v: %w", all, made, err)
		}
		for _, id := range made {
			stored, err := l.ReadLatest(id, nil)
			if err == nil {
				err = l.Delete(id, stored.Version, nil)
			}
			if err != nil {
				return err
			}
		}
		for {
			err := c.Delete("a:1", version, nil)
			if err == nil || errors.Is(err, metadata.ErrNotExist) {
				break
			}
			if !errors.Is(err, metadata.ErrOutcomeUnknown) {
				return err
			}
			if _, version, err = c.Read("a:1", nil); err != nil && !errors.Is(err, metadata.ErrNotExist) {
				return err
			}
		}
		if keys := w.oracle.Ledgers(layout()); len(keys) > 0 || w.oracle.Get(layout().CookieKey("a:1")) != nil {
			return fmt.Errorf("%v are left", keys)
		}
		return nil
	})
}
