package metatest

import (
	"errors"
	"fmt"
	"strconv"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

func races() []Contract {
	return []Contract{
		{"of those that expect one version at most one wins", oneWins},
		{"reads of a session never go back", neverBack},
	}
}

const (
	racers   = 4
	rounds   = 10
	triesMax = 100 * rounds // of one racer: the others win at most (racers-1)*rounds times for sure
)

// tally counts what became of the increments of one racer.
type tally struct {
	sure, unknown int
	err           error
}

// oneWins has several clients count up one key. If two of them ever won with the same version, increments are missing.
func oneWins(e *Env) error {
	s, err := e.store()
	if err != nil {
		return err
	}
	key := e.key("wins")
	if _, err := s.Create(key, []byte("0"), metadata.Persistent, e.scope()); err != nil {
		return err
	}
	g := e.Host.Root().New("racers")
	results := host.NewQueue[tally](e.Host, e.Host.Root(), "results", racers)
	for range racers {
		racer, err := e.store()
		if err != nil {
			return err
		}
		g.Go("racer", func() { results.Put(count(e, racer, key)) })
	}
	g.Wait()
	all, _ := results.Take(nil)
	var total tally
	for _, each := range all {
		total.sure, total.unknown, err = total.sure+each.sure, total.unknown+each.unknown, errors.Join(err, each.err)
	}
	if err != nil {
		return err
	}
	v, err := e.newest(s, key)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(string(v.Data)); err != nil || n < total.sure || n > total.sure+total.unknown {
		return fmt.Errorf("counted to %q with %d increments and %d of unknown outcome: %w", v.Data, total.sure, total.unknown, orNone(err))
	}
	return nil
}

// count adds one to the number at key, as often as it takes to be sure of rounds increments.
func count(e *Env, s metadata.Store, key string) tally {
	var t tally
	for tries := 0; t.sure < rounds && t.err == nil; tries++ {
		if tries == triesMax {
			t.err = fmt.Errorf("%d increments in %d tries", t.sure, tries)
			break
		}
		v, err := e.newest(s, key)
		n, bad := strconv.Atoi(string(v.Data))
		if err = errors.Join(err, bad); err == nil {
			_, err = s.Put(key, fmt.Append(nil, n+1), v.Version, e.scope())
		}
		switch {
		case err == nil:
			t.sure++
		case errors.Is(err, metadata.ErrOutcomeUnknown):
			t.unknown++
		case errors.Is(err, metadata.ErrVersion), errors.Is(err, metadata.ErrSessionExpired):
		default:
			t.err = err
		}
	}
	return t
}

// neverBack reads a growing number without a Sync. A smaller one than before counts only if the session is still the same.
func neverBack(e *Env) error {
	a, b, err := e.two()
	if err != nil {
		return err
	}
	session, err := e.session(b)
	if err != nil {
		return err
	}
	key := e.key("back")
	version, err := a.Create(key, []byte("0"), metadata.Persistent, e.scope())
	if err != nil {
		return err
	}
	last := 0
	for i := 1; i <= 5*rounds; i++ {
		if version, err = a.Put(key, fmt.Append(nil, i), version, e.scope()); err != nil {
			return err
		}
		v, err := b.Get(key, e.scope())
		if last == 0 && errors.Is(err, metadata.ErrNotExist) {
			continue
		}
		n, bad := strconv.Atoi(string(v.Data))
		if err == nil && (bad != nil || n < last || n > i) {
			err = fmt.Errorf("read %q after %d, while %d was written", v.Data, last, i)
		}
		if err := e.held(b, session, err); err != nil {
			return err
		}
		last = n
	}
	return nil
}
