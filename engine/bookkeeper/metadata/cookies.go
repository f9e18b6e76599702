package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/protobuf"
)

const (
	cookieVersion  = "5"
	cookieBytesMax = 64 << 10
)

// Cookie says which directories belong to a bookie: BookKeeper's Cookie. It lies in the store and, in the same words, in
// each directory. As long as the store has it, a bookie of that name without its directories is refused: it would answer
// "absent" for what it had acknowledged.
type Cookie struct {
	Bookie     ledger.BookieID
	JournalDir string // joined with commas
	LedgerDirs string // count, tab, directory, tab, directory…
	IndexDirs  string // as LedgerDirs; "" if they are the same
	InstanceID string
}

// Encode returns the cookie's text: the version, then CookieFormat as protobuf text.
func (c Cookie) Encode() []byte {
	b := []byte(cookieVersion + "\n")
	b = protobuf.AppendText(b, "bookieHost", c.Bookie)
	b = protobuf.AppendText(b, "journalDir", c.JournalDir)
	b = protobuf.AppendText(b, "ledgerDirs", c.LedgerDirs)
	if c.InstanceID != "" {
		b = protobuf.AppendText(b, "instanceId", c.InstanceID)
	}
	if c.IndexDirs != "" {
		b = protobuf.AppendText(b, "indexDirs", c.IndexDirs)
	}
	return b
}

// DecodeCookie reads a cookie's text; ErrContent. Fields it does not know are an error: they might be another reason to
// refuse a bookie.
func DecodeCookie(text []byte) (Cookie, error) {
	if len(text) > cookieBytesMax {
		return Cookie{}, fmt.Errorf("cookie of %d bytes: %w", len(text), ErrContent)
	}
	version, body, _ := strings.Cut(string(text), "\n")
	if version != cookieVersion {
		return Cookie{}, fmt.Errorf("cookie version %.20q, want %q: %w", version, cookieVersion, ErrContent)
	}
	fields, err := protobuf.ParseText([]byte(body))
	if err != nil {
		return Cookie{}, fmt.Errorf("cookie: %w: %w", ErrContent, err)
	}
	var c Cookie
	required := 0
	for i, f := range fields {
		for _, earlier := range fields[:i] {
			if earlier.Name == f.Name {
				return Cookie{}, fmt.Errorf("cookie field %.40q is there twice: %w", f.Name, ErrContent)
			}
		}
		raw, err := f.Raw()
		if err != nil {
			return Cookie{}, fmt.Errorf("cookie: %w: %w", ErrContent, err)
		}
		value := string(raw)
		switch f.Name {
		case "bookieHost":
			c.Bookie = ledger.BookieID(value)
			required++
		case "journalDir":
			c.JournalDir = value
			required++
		case "ledgerDirs":
			c.LedgerDirs = value
			required++
		case "instanceId":
			c.InstanceID = value
		case "indexDirs":
			c.IndexDirs = value
		default:
			return Cookie{}, fmt.Errorf("cookie field %.40q is not known: %w", f.Name, ErrContent)
		}
	}
	if required != 3 {
		return Cookie{}, fmt.Errorf("cookie without host, journal or ledger directory: %w", ErrContent)
	}
	return c, nil
}

// Cookies keeps the cookies of a cluster's bookies, and the cluster's own identity.
type Cookies struct {
	h      host.Host
	g      host.Group
	store  Store
	layout Layout
	retry  RetryConfig
	random *rand.Rand
}

// NewCookies makes Cookies on a store, for one task. Waits between attempts end when g stops.
func NewCookies(h host.Host, g host.Group, store Store, layout Layout, retry RetryConfig) *Cookies {
	return &Cookies{h: h, g: g, store: store, layout: layout, retry: retry, random: h.Rand("instance-id")}
}

// InstanceID returns the latest identity of the cluster; see the function of this name.
func (c *Cookies) InstanceID(s *host.Scope) (string, error) { return InstanceID(c.store, c.layout, s) }

// Initialize makes what is missing of the cluster and returns its identity. Any number may do it at once: the first one
// wins, and all return the same. The parents of the bookies' keys are there from the beginning: upstream's clients take
// their absence for an error.
func (c *Cookies) Initialize(s *host.Scope) (string, error) {
	for _, pair := range [][2]string{
		{c.layout.WritableRoot(), ""},
		{c.layout.ReadOnlyRoot(), ""},
		{c.layout.LayoutKey(), layoutText},
		{c.layout.InstanceIDKey(), c.drawInstanceID()}, // last: InstanceID says that the others are there
	} {
		err := c.retry.attempts(c.h, c.g, s, again, func(bool) error {
			_, err := c.store.Create(pair[0], []byte(pair[1]), Persistent, s)
			if errors.Is(err, ErrExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return "", fmt.Errorf("create %s: %w", pair[0], err)
		}
	}
	return c.InstanceID(s)
}

// drawInstanceID draws a UUID of version 4, as text. The clock is mixed in for hosts that start again with the same seed.
func (c *Cookies) drawInstanceID() string {
	high, low := c.random.Uint64()+uint64(c.h.Now()), c.random.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 1<<63
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// Read returns the latest cookie of a bookie; ErrNotExist, ErrContent.
func (c *Cookies) Read(b ledger.BookieID, s *host.Scope) (Cookie, Version, error) {
	key := c.layout.CookieKey(b)
	v, err := c.latest(key, s)
	if err != nil {
		return Cookie{}, 0, fmt.Errorf("read %s: %w", key, err)
	}
	cookie, err := DecodeCookie(v.Data)
	if err != nil {
		return Cookie{}, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return cookie, v.Version, nil
}

// Create stores the cookie of a bookie that has none. ErrExist: there is another one. An equal one is taken for its own,
// by an attempt whose answer was lost; so cookies of different directories must differ, which only InstanceID can see to.
func (c *Cookies) Create(cookie Cookie, s *host.Scope) error {
	key := c.layout.CookieKey(cookie.Bookie)
	err := c.retry.attempts(c.h, c.g, s, again, func(bool) error {
		_, err := c.store.Create(key, cookie.Encode(), Persistent, s)
		if !errors.Is(err, ErrExist) {
			return err
		}
		found, _, readErr := c.Read(cookie.Bookie, s)
		switch {
		case readErr == nil && found == cookie:
			return nil
		case readErr == nil || errors.Is(readErr, ErrContent) || errors.Is(readErr, ErrNotExist):
			return err
		}
		return fmt.Errorf("%w: the key is taken, and: %w", ErrOutcomeUnknown, readErr)
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	return nil
}

// Delete removes the cookie of a bookie that will not come back with its directories, so that one of that name may start
// anew. Whoever calls it answers for what the directories held being on other bookies. After ErrOutcomeUnknown read the
// cookie again, some time later: what is under way has then been done or lost.
//
// Versions start over with the next cookie, so a deletion of this one that is done late must expect a version that the
// next one never has. The cookie is therefore written once more before it is deleted, which nobody else does. That is
// sent once: if it were done late, the next cookie would hold the wrong words, and its bookie would be refused.
func (c *Cookies) Delete(b ledger.BookieID, expected Version, s *host.Scope) error {
	key := c.layout.CookieKey(b)
	moved, err := c.moveOn(key, expected, s)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	err = c.retry.attempts(c.h, c.g, s, again, func(maybeDone bool) error {
		err := c.store.Delete(key, moved, s)
		if maybeDone && errors.Is(err, ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// moveOn gives a key with the expected version the next one, and returns that.
func (c *Cookies) moveOn(key string, expected Version, s *host.Scope) (Version, error) {
	before, err := c.latest(key, s)
	switch {
	case err != nil:
		return 0, err
	case expected != AnyVersion && expected != before.Version:
		return 0, fmt.Errorf("%w: %d, not %d", ErrVersion, before.Version, expected)
	}
	var moved Version
	err = c.retry.attempts(c.h, c.g, s, notDone, func(bool) error {
		var err error
		moved, err = c.store.Put(key, before.Data, before.Version, s)
		return err
	})
	if !errors.Is(err, ErrOutcomeUnknown) {
		return moved, err
	}
	after, readErr := c.latest(key, s)
	if readErr != nil || after.Version == before.Version || !bytes.Equal(after.Data, before.Data) {
		return 0, fmt.Errorf("it was to be written once more: %w", err)
	}
	return after.Version, nil
}

// latest reads a key.
func (c *Cookies) latest(key string, s *host.Scope) (v Value, err error) {
	err = Latest(c.store, s, func() (err error) {
		v, err = c.store.Get(key, s)
		return err
	})
	return v, err
}
