package oracle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/trial/oracle"
)

const registerKey = "/register"

// recorder writes down what clients do to one key. Tasks of a world never run at once, so it needs no lock.
type recorder struct {
	clock    model.Stamp
	value    uint64
	fresh    model.ClientID
	sessions map[metadata.SessionID]model.ClientID
	ops      []model.RegisterOp
}

func (r *recorder) now() model.Stamp {
	r.clock++
	return r.clock
}

// session numbers the session that an operation belongs to. One during which the session changed belongs to none: it gets
// a number of its own, which binds nobody.
func (r *recorder) session(before, after metadata.SessionID) model.ClientID {
	if before != after || before == 0 {
		r.fresh++
		return r.fresh
	}
	if r.sessions[after] == 0 {
		r.fresh++
		r.sessions[after] = r.fresh
	}
	return r.sessions[after]
}

// client is a session that acts at random.
type client struct {
	*recorder
	store   metadata.Store
	random  *rand.Rand
	version metadata.Version // last seen
}

func (c *client) act() error {
	op := model.RegisterOp{Call: c.now(), Return: model.Never, Expected: model.NoVersion}
	before := c.store.Session()
	err := c.do(&op)
	op.Return = c.now()
	op.Client = c.session(before, c.store.Session())
	switch {
	case err == nil && op.Kind == model.RegisterGet:
		op.Outcome = model.Found
	case err == nil:
		op.Outcome = model.OK
	case op.Kind == model.RegisterGet && errors.Is(err, metadata.ErrNotExist):
		op.Outcome = model.NoEntry
	case errors.Is(err, metadata.ErrOutcomeUnknown):
		op.Outcome, op.Return = model.Unknown, model.Never
	case errors.Is(err, metadata.ErrExist), errors.Is(err, metadata.ErrNotExist), errors.Is(err, metadata.ErrVersion):
		op.Outcome = model.Fenced
	case errors.Is(err, metadata.ErrSessionExpired):
		op.Outcome = model.Failed
	default:
		return err
	}
	c.ops = append(c.ops, op)
	return nil
}

func (c *client) do(op *model.RegisterOp) error {
	c.value++
	op.Value = c.value
	data := fmt.Append(nil, op.Value)
	switch c.random.IntN(8) {
	case 0:
		op.Kind = model.RegisterCreate
		v, err := c.store.Create(registerKey, data, metadata.Persistent, nil)
		op.Version, c.version = model.MetadataVersion(v), v
		return err
	case 1:
		op.Kind = model.RegisterDelete
		op.Expected = model.MetadataVersion(c.version)
		return c.store.Delete(registerKey, c.version, nil)
	case 2:
		op.Kind = model.RegisterSync
		return c.store.Sync(nil)
	case 3, 4:
		op.Kind, op.Expected = model.RegisterPut, model.MetadataVersion(c.version)
		v, err := c.store.Put(registerKey, data, c.version, nil)
		if op.Version = model.MetadataVersion(v); err == nil {
			c.version = v
		}
		return err
	default:
		op.Kind = model.RegisterGet
		v, err := c.store.Get(registerKey, nil)
		if err == nil {
			op.Value, err = strconv.ParseUint(string(v.Data), 10, 64)
			op.Version, c.version = model.MetadataVersion(v.Version), v.Version
		}
		return err
	}
}

// history records what four clients do in a world.
func history(seed uint64, config oracle.Config, steps int) (*recorder, *world, error) {
	r := &recorder{sessions: make(map[metadata.SessionID]model.ClientID)}
	w, err := run(seed, config, func(_ *world, h host.Host) error {
		g := h.Root().New("clients")
		problems := make([]error, 4)
		for i := range problems {
			store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
			if err != nil {
				return err
			}
			g.Go("client", func() {
				c := &client{recorder: r, store: store, random: h.Rand(fmt.Sprint("client ", i))}
				for range steps {
					g.Sleep(time.Duration(c.random.IntN(2000)) * time.Millisecond)
					problems[i] = errors.Join(problems[i], c.act())
				}
				_ = store.Close()
			})
		}
		g.Wait()
		return errors.Join(problems...)
	})
	return r, w, err
}

// TestHistoriesHaveAnExplanation: with all its freedoms, writes to one key are linearizable, and reads are as stale as
// sessions allow. A search decides it that knows nothing of how the oracle works. Without the freedom to be stale some of
// the same histories have none: the search can say no.
func TestHistoriesHaveAnExplanation(t *testing.T) {
	stale, undecided := 0, 0
	for seed := range uint64(60) {
		r, _, err := history(seed, hostile(), 10)
		if err != nil {
			t.Fatal(err)
		}
		switch model.CheckRegister(r.ops, true, 5*time.Second) {
		case porcupine.Illegal:
			t.Errorf("seed %d: no explanation for %+v", seed, r.ops)
		case porcupine.Unknown:
			undecided++
		}
		if model.CheckRegister(r.ops, false, time.Second) == porcupine.Illegal {
			stale++
		}
	}
	if stale == 0 || undecided > 6 {
		t.Errorf("%d histories of 60 are stale, %d undecided", stale, undecided)
	}
	t.Logf("%d histories of 60 are stale, %d undecided", stale, undecided)
}

// TestTheLogOfWritesIsTheHistoryOfTheState: each change begins where the last one of its key ended, indexes grow, and what
// is left in the end is what the store has.
func TestTheLogOfWritesIsTheHistoryOfTheState(t *testing.T) {
	for seed := range uint64(20) {
		_, w, err := history(seed, hostile(), 30)
		if err != nil {
			t.Fatal(err)
		}
		last := make(map[string]oracle.Write)
		writes := w.oracle.Writes()
		for i, write := range writes {
			if write.Before != last[write.Key].After {
				t.Fatalf("seed %d: write %d of %s does not begin where the last one ended", seed, i, write.Key)
			}
			if i > 0 && (write.Index < writes[i-1].Index || write.At < writes[i-1].At) {
				t.Fatalf("seed %d: write %d comes before the one that it follows", seed, i)
			}
			last[write.Key] = write
		}
		for key, write := range last {
			if w.oracle.Get(key) != write.After {
				t.Errorf("seed %d: %s is not what was written last", seed, key)
			}
		}
		if len(writes) == 0 || len(w.oracle.WritesSince(len(writes)-1)) != 1 || len(w.oracle.WritesSince(len(writes)+1)) != 0 {
			t.Errorf("seed %d: %d writes", seed, len(writes))
		}
	}
}
