package memory

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// session is a client that is thought to live until its deadline. The deadline is the caller's clock, and not part of
// what commands say.
type session struct {
	timeout  time.Duration
	deadline time.Duration
	owned    []string // ephemeral keys, sorted
}

func (s *session) own(key string, yes bool) {
	i, _ := slices.BinarySearch(s.owned, key)
	if yes {
		s.owned = slices.Insert(s.owned, i, key)
	} else {
		s.owned = slices.Delete(s.owned, i, i+1)
	}
}

// openSession opens a session under an id of the caller's choice, which must be new. It does not expire before it is
// touched for the first time.
func (t *Tree) openSession(id metadata.SessionID, timeout time.Duration) error {
	switch {
	case id == 0 || t.sessions[id] != nil || timeout <= 0:
		return metadata.ErrInvalid
	case len(t.sessions) >= t.limits.SessionsMax:
		return fmt.Errorf("%d sessions: %w", len(t.sessions), metadata.ErrLimit)
	}
	t.sessions[id] = &session{timeout: timeout, deadline: math.MaxInt64}
	return nil
}

func (t *Tree) endSession(id metadata.SessionID) error {
	if id == 0 {
		return metadata.ErrInvalid
	}
	for _, key := range slices.Clone(t.sessions[id].owned) {
		t.install(key, nil)
	}
	delete(t.sessions, id)
	return nil
}

// Touch says that a session's client was heard of. False: there is no such session.
func (t *Tree) Touch(id metadata.SessionID, now time.Duration) bool {
	s := t.sessions[id]
	if s == nil {
		return false
	}
	s.deadline = now + s.timeout
	return true
}

// Overdue returns the sessions whose deadline has passed, which the caller should end, and the next deadline after
// now; math.MaxInt64 if there is none.
func (t *Tree) Overdue(now time.Duration) (overdue []metadata.SessionID, next time.Duration) {
	next = math.MaxInt64
	for _, id := range host.SortedKeys(t.sessions) {
		if d := t.sessions[id].deadline; d <= now {
			overdue = append(overdue, id)
		} else {
			next = min(next, d)
		}
	}
	return overdue, next
}

// Sessions returns the ids of all sessions, sorted.
func (t *Tree) Sessions() []metadata.SessionID { return host.SortedKeys(t.sessions) }

// Alive says whether there is such a session.
func (t *Tree) Alive(id metadata.SessionID) bool { return t.sessions[id] != nil }

// TimeoutOf is the timeout of a session; zero if there is none.
func (t *Tree) TimeoutOf(id metadata.SessionID) time.Duration {
	if s := t.sessions[id]; s != nil {
		return s.timeout
	}
	return 0
}
