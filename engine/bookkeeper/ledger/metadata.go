package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"lakebed/internal/invariant"
)

// BookieID names a bookie: its network address "host:port", which is BookKeeper's older form of an identity.
type BookieID string

// Validate reports an id that cannot be a key's name in the metadata store, or a word in metadata.
func (b BookieID) Validate() error {
	if b == "" || b == "." || b == ".." || len(b) > BookieIDBytesMax {
		return fmt.Errorf("bookie id %.40q: must be 1 to %d bytes and a name", string(b), BookieIDBytesMax)
	}
	for _, c := range []byte(b) {
		if c <= ' ' || c == '/' || c == 0x7f {
			return fmt.Errorf("bookie id %.40q: must not hold spaces, slashes or control characters", string(b))
		}
	}
	if b == "readonly" { // its key would be the folder of read-only bookies
		return fmt.Errorf("bookie id %q is a reserved name", string(b))
	}
	return nil
}

// BookieIDBytesMax bounds a bookie's id.
const BookieIDBytesMax = 255

// State is where a ledger is in its life. It only goes forward.
type State uint8

// The states, with their numbers in metadata.
const (
	Open       State = 1
	InRecovery State = 2
	Closed     State = 3
)

func (s State) String() string {
	switch s {
	case Open:
		return "OPEN"
	case InRecovery:
		return "IN_RECOVERY"
	case Closed:
		return "CLOSED"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Fragment is a stretch of a ledger that lies on one ensemble. It ends where the next one starts.
type Fragment struct {
	First    EntryID
	Ensemble []BookieID
}

// Index is where a bookie stands in the ensemble; -1 if it does not.
func (f Fragment) Index(b BookieID) int { return slices.Index(f.Ensemble, b) }

// CustomValue is what an application stores with a ledger.
type CustomValue struct {
	Key   string
	Value []byte
}

// Metadata is what the metadata store knows of a ledger.
type Metadata struct {
	Quorum    Quorum
	State     State
	LastEntry EntryID // NoEntry while it is not closed; may be NoEntry in a closed, empty ledger
	Length    int64   // payload bytes of a closed ledger, 0 before

	// Digest is DigestUnstored in metadata of old clients that store neither digest type nor password: both are then
	// what the application says.
	Digest   DigestType
	Password []byte

	Fragments []Fragment // ascending; the first starts at 0
	Created   int64      // milliseconds since the epoch; 0: not stored
	Custom    []CustomValue
	Token     int64 // drawn at random: a creator whose answer was lost knows its ledger by it; 0: not stored
}

// ErrMetadata means that a value is not metadata of a ledger that a client could work with.
var ErrMetadata = errors.New("no metadata of a ledger")

// Validate reports the first thing that cannot be.
//
// A closed ledger's last entry may lie far below its last fragment's start: a recovery without the lower bound of
// bookkeeper#2615 left such ledgers behind, and they must stay readable.
func (m Metadata) Validate() error {
	if err := m.Quorum.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrMetadata, err)
	}
	if m.State < Open || m.State > Closed {
		return fmt.Errorf("%w: %v", ErrMetadata, m.State)
	}
	if m.LastEntry < NoEntry || m.Length < 0 {
		return fmt.Errorf("%w: last entry %d, length %d", ErrMetadata, m.LastEntry, m.Length)
	}
	if m.State != Closed && (m.LastEntry != NoEntry || m.Length != 0) {
		return fmt.Errorf("%w: last entry %d and length %d while %v", ErrMetadata, m.LastEntry, m.Length, m.State)
	}
	if m.Digest > Dummy || m.Digest == DigestUnstored && len(m.Password) > 0 {
		return fmt.Errorf("%w: digest type %v with a password of %d bytes", ErrMetadata, m.Digest, len(m.Password))
	}
	if !slices.IsSortedFunc(m.Custom, func(a, b CustomValue) int { return strings.Compare(a.Key, b.Key) }) {
		return fmt.Errorf("%w: custom values are not sorted", ErrMetadata)
	}
	for i, c := range m.Custom[min(1, len(m.Custom)):] {
		if c.Key == m.Custom[i].Key {
			return fmt.Errorf("%w: two custom values %.40q", ErrMetadata, c.Key)
		}
	}
	return m.validateFragments()
}

// validateFragments checks that every entry has one place, and that the place is Ensemble different bookies: quorums
// mean nothing if one bookie may answer twice.
func (m *Metadata) validateFragments() error {
	if len(m.Fragments) == 0 || m.Fragments[0].First != 0 {
		return fmt.Errorf("%w: no fragment holds entry 0", ErrMetadata)
	}
	var seen []BookieID
	for i, f := range m.Fragments {
		if i > 0 && f.First <= m.Fragments[i-1].First {
			return fmt.Errorf("%w: fragment at %d follows fragment at %d", ErrMetadata, f.First, m.Fragments[i-1].First)
		}
		if len(f.Ensemble) != m.Quorum.Ensemble {
			return fmt.Errorf("%w: %d bookies in the fragment at %d, want %d", ErrMetadata, len(f.Ensemble), f.First, m.Quorum.Ensemble)
		}
		seen = append(seen[:0], f.Ensemble...)
		slices.Sort(seen)
		for j, b := range seen {
			if err := b.Validate(); err != nil {
				return fmt.Errorf("%w: fragment at %d: %w", ErrMetadata, f.First, err)
			}
			if j > 0 && b == seen[j-1] {
				return fmt.Errorf("%w: bookie %s is twice in the fragment at %d", ErrMetadata, b, f.First)
			}
		}
	}
	return nil
}

// FragmentOf returns the fragment that holds entry e, by binary search.
func (m *Metadata) FragmentOf(e EntryID) Fragment { return m.Fragments[m.FragmentIndex(e)] }

// FragmentIndex is the place in Fragments of the one that holds entry e.
func (m *Metadata) FragmentIndex(e EntryID) int {
	invariant.Check(e >= 0 && len(m.Fragments) > 0, "a fragment is asked for an entry of valid metadata")
	return sort.Search(len(m.Fragments), func(i int) bool { return m.Fragments[i].First > e }) - 1
}

// Last is the fragment that is written to, or was last.
func (m *Metadata) Last() *Fragment { return &m.Fragments[len(m.Fragments)-1] }

// Clone returns metadata that share nothing with m.
func (m Metadata) Clone() Metadata {
	m.Password = bytes.Clone(m.Password)
	m.Fragments = slices.Clone(m.Fragments)
	for i := range m.Fragments {
		m.Fragments[i].Ensemble = slices.Clone(m.Fragments[i].Ensemble)
	}
	m.Custom = slices.Clone(m.Custom)
	for i := range m.Custom {
		m.Custom[i].Value = bytes.Clone(m.Custom[i].Value)
	}
	return m
}

// String tells what matters of a ledger, for people. The password is not in it, and neither are custom values, which are
// the application's: upstream's toSafeString.
func (m Metadata) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, ensemble %d, write quorum %d, ack quorum %d, ", m.State, m.Quorum.Ensemble, m.Quorum.Write, m.Quorum.Ack)
	if m.State == Closed {
		fmt.Fprintf(&b, "last entry %d, length %d, ", m.LastEntry, m.Length)
	}
	if m.Digest == DigestUnstored {
		b.WriteString("digest not stored")
	} else {
		fmt.Fprintf(&b, "digest %v", m.Digest)
	}
	for _, f := range m.Fragments {
		fmt.Fprintf(&b, ", from entry %d on %v", f.First, f.Ensemble)
	}
	return b.String()
}

// Equal compares all that is stored.
func (m Metadata) Equal(o Metadata) bool {
	return m.Quorum == o.Quorum && m.State == o.State && m.LastEntry == o.LastEntry && m.Length == o.Length &&
		m.Digest == o.Digest && bytes.Equal(m.Password, o.Password) && m.Created == o.Created && m.Token == o.Token &&
		slices.EqualFunc(m.Fragments, o.Fragments, func(a, b Fragment) bool {
			return a.First == b.First && slices.Equal(a.Ensemble, b.Ensemble)
		}) &&
		slices.EqualFunc(m.Custom, o.Custom, func(a, b CustomValue) bool {
			return a.Key == b.Key && bytes.Equal(a.Value, b.Value)
		})
}
