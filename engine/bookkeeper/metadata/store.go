package metadata

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"lakebed/engine/host"
)

// Version tells one state of a key from another. It is opaque: only equality means anything, and a key that was deleted
// and created again starts anew, so that an old version may come back.
type Version int64

// AnyVersion stands for whatever version a key has.
const AnyVersion Version = -1

// SessionID names a session. Zero: there was none yet.
type SessionID int64

// Value is what a key holds.
type Value struct {
	Data    []byte // the caller's own copy
	Version Version
}

// Kind says how long a key lives.
type Kind uint8

const (
	// Persistent keys live until they are deleted.
	Persistent Kind = iota
	// Ephemeral keys are deleted when the session that created them ends. They have no children.
	Ephemeral
)

func (k Kind) String() string {
	switch k {
	case Persistent:
		return "persistent"
	case Ephemeral:
		return "ephemeral"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// Store is a client's session with a metadata store. Any number of tasks may call it. The scope bounds how long a call
// waits; nil: until it has an answer or the store is closed. The package comment says what may be relied on.
type Store interface {
	// Get returns the value of a key, or ErrNotExist. It may be stale; Sync first where that matters.
	Get(key string, s *host.Scope) (Value, error)
	// Sync returns when all later calls of Get and List in its session see what was done before it was called, by anybody.
	// The session may end before they are made: see Latest.
	Sync(s *host.Scope) error
	// Create makes a key, and its parents if need be; ErrExist.
	Create(key string, data []byte, kind Kind, s *host.Scope) (Version, error)
	// Put replaces the value of a key that has the expected version; ErrVersion, ErrNotExist. It returns the new version.
	Put(key string, data []byte, expected Version, s *host.Scope) (Version, error)
	// Delete deletes a key that has the expected version and no children; ErrVersion, ErrNotEmpty, ErrNotExist.
	Delete(key string, expected Version, s *host.Scope) error
	// List returns the names of the children of a key, sorted, without the path. It may be stale. A key that does not
	// exist has no children.
	List(key string, s *host.Scope) ([]string, error)
	// Watch watches a key, which need not exist, and the coming and going of its children. It returns at once; waiters
	// wake when g stops.
	Watch(key string, g host.Group) (Watch, error)
	// Session is the present session. It changes when the store has opened a new one because the old one expired.
	Session() SessionID
	// Close ends the session, which deletes its ephemeral keys, and returns when no task is left.
	Close() error
}

// Watch says when it is time to look again, and not what has changed. Use it in this order: Watch, look, Wait, look,
// Wait. Every change that the look before did not see is told by the Wait after it. One task waits.
type Watch interface {
	// Wait returns true when something may have changed, or when the session or the connection was lost in between.
	// False: the group stops, or the watch or the store was closed.
	Wait() bool
	// WaitFor is Wait with a time limit.
	WaitFor(d time.Duration) host.Woke
	// Close ends the watch. It may be called again.
	Close()
}

// The classes of failure that a caller may branch on. All but ErrOutcomeUnknown mean that nothing was changed.
var (
	ErrExist    = errors.New("key exists")
	ErrNotExist = errors.New("key does not exist")
	ErrVersion  = errors.New("key has another version")
	ErrNotEmpty = errors.New("key has children")
	// ErrOutcomeUnknown: the write may have been done, or may still be done later, or never.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrUnavailable: no answer within the scope, or the store was closed. A write was not and will not be done.
	ErrUnavailable = errors.New("metadata store unavailable")
	// ErrSessionExpired: the session ended before the write was taken up. The store opens a new one by itself; the caller
	// may ask again.
	ErrSessionExpired = errors.New("session expired")
	// ErrInvalid: no store accepts such a request.
	ErrInvalid = errors.New("invalid request")
	// ErrLimit: a bound of the store is reached.
	ErrLimit = errors.New("limit of the metadata store")
)

// Bounds on what a store takes.
const (
	KeyBytesMax   = 1 << 10
	ValueBytesMax = 1 << 20
)

// ValidateKey says whether a key can name anything: "/" or "/name/name…", without empty names, ".", ".." and zero bytes.
func ValidateKey(key string) error {
	switch {
	case len(key) > KeyBytesMax:
		return fmt.Errorf("key of %d bytes, %d are allowed: %w", len(key), KeyBytesMax, ErrInvalid)
	case key == "/":
		return nil
	case !strings.HasPrefix(key, "/"):
		return fmt.Errorf("key %q does not begin with a slash: %w", key, ErrInvalid)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("key %q has a zero byte: %w", key, ErrInvalid)
	}
	for rest := key; rest != ""; {
		name, after, more := strings.Cut(rest[1:], "/")
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("key %q has the name %q: %w", key, name, ErrInvalid)
		}
		if rest = ""; more {
			rest = "/" + after
		}
	}
	return nil
}

// ValidateValue says whether a value is short enough.
func ValidateValue(data []byte) error {
	if len(data) > ValueBytesMax {
		return fmt.Errorf("value of %d bytes, %d are allowed: %w", len(data), ValueBytesMax, ErrInvalid)
	}
	return nil
}

// Parent is the key above, "/" for keys at the top, and "" for "/".
func Parent(key string) string {
	if key == "/" {
		return ""
	}
	return key[:max(1, strings.LastIndexByte(key, '/'))]
}

// Name is the last name of a key.
func Name(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
