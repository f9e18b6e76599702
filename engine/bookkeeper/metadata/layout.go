package metadata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/internal/invariant"
)

// DefaultRoot is where BookKeeper keeps everything unless told otherwise.
const DefaultRoot = "/ledgers"

// ErrContent means that a key holds what nobody of us would have written.
var ErrContent = errors.New("unexpected content")

// Layout knows the keys of a cluster, below one root, as BookKeeper's hierarchical ledger manager has them in ZooKeeper:
//
//	ROOT/LAYOUT                        persistent   "2", line feed, factory class, ":1"
//	ROOT/INSTANCEID                    persistent   UUID as text, drawn when the cluster was made
//	ROOT/available/BOOKIE              ephemeral    BookieServiceInfo, or nothing
//	ROOT/available/readonly/BOOKIE     ephemeral    the same
//	ROOT/cookies/BOOKIE                persistent   Cookie
//	ROOT/dd/dddd/Ldddd                 persistent   ledger.Metadata; ids below 2^31-1, ten digits
//	ROOT/ddd/dddd/dddd/dddd/Ldddd      persistent   the same; other ids, nineteen digits
//	ROOT/idgen/NEXT                    persistent   decimal: the lowest ledger id that nobody was given
//
// The last is ours: BookKeeper takes ids from the sequence that ZooKeeper gives to keys below ROOT/idgen, which other
// stores do not have.
type Layout struct{ Root string }

// Validate reports a root below which not every key can lie.
func (l Layout) Validate() error {
	if l.Root == "/" {
		return fmt.Errorf("root %q is not a name: %w", l.Root, ErrInvalid)
	}
	if most := KeyBytesMax - len("/"+availableName+"/"+readonlyName+"/") - ledger.BookieIDBytesMax; len(l.Root) > most {
		return fmt.Errorf("root of %d bytes, %d are allowed: %w", len(l.Root), most, ErrInvalid)
	}
	return ValidateKey(l.Root)
}

// layoutText is what ROOT/LAYOUT holds.
const layoutText = "2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1"

const (
	availableName = "available"
	readonlyName  = "readonly"
)

// shortIDs is the first id whose key has the long form.
const shortIDs = 1<<31 - 1

// LayoutKey holds the name of the layout.
func (l Layout) LayoutKey() string { return l.Root + "/LAYOUT" }

// InstanceIDKey holds the cluster's identity.
func (l Layout) InstanceIDKey() string { return l.Root + "/INSTANCEID" }

// WritableRoot is the parent of the keys of bookies that take writes.
func (l Layout) WritableRoot() string { return l.Root + "/" + availableName }

// ReadOnlyRoot is the parent of the keys of bookies that only serve reads.
func (l Layout) ReadOnlyRoot() string { return l.WritableRoot() + "/" + readonlyName }

// WritableKey is there while the bookie lives and takes writes.
func (l Layout) WritableKey(b ledger.BookieID) string { return l.WritableRoot() + "/" + string(b) }

// ReadOnlyKey is there while the bookie lives and only serves reads.
func (l Layout) ReadOnlyKey(b ledger.BookieID) string { return l.ReadOnlyRoot() + "/" + string(b) }

// CookieKey holds the cookie of a bookie that has ever served.
func (l Layout) CookieKey(b ledger.BookieID) string { return l.Root + "/cookies/" + string(b) }

// NextIDKey holds the lowest ledger id that nobody was given.
func (l Layout) NextIDKey() string { return l.Root + "/idgen/NEXT" }

// LedgerKey holds the metadata of a ledger.
func (l Layout) LedgerKey(id ledger.ID) string {
	invariant.Check(id >= 0, "ledger ids are not negative")
	if id < shortIDs {
		d := fmt.Sprintf("%010d", int64(id))
		return l.Root + "/" + d[:2] + "/" + d[2:6] + "/L" + d[6:]
	}
	d := fmt.Sprintf("%019d", int64(id))
	return l.Root + "/" + d[:3] + "/" + d[3:7] + "/" + d[7:11] + "/" + d[11:15] + "/L" + d[15:]
}

// ParseLedgerKey returns the ledger whose metadata a key holds; false if it is none of LedgerKey's.
func (l Layout) ParseLedgerKey(key string) (ledger.ID, bool) {
	rest, below := strings.CutPrefix(key, l.Root+"/")
	if !below || len(rest) > len("ddd/dddd/dddd/dddd/Ldddd") {
		return 0, false
	}
	digits := strings.ReplaceAll(strings.Replace(rest, "/L", "", 1), "/", "")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id < 0 || l.LedgerKey(ledger.ID(id)) != key {
		return 0, false
	}
	return ledger.ID(id), true
}

// branch is one level of the tree of ledger keys: how its names look.
type branch struct {
	prefix string
	digits int
}

// The levels of short and of long ledger keys.
func shortBranches() []branch { return []branch{{"", 2}, {"", 4}, {"L", 4}} }
func longBranches() []branch  { return []branch{{"", 3}, {"", 4}, {"", 4}, {"", 4}, {"L", 4}} }

// holds reports whether a name is one of this level's.
func (b branch) holds(name string) bool {
	digits, ok := strings.CutPrefix(name, b.prefix)
	return ok && len(digits) == b.digits && strings.Trim(digits, "0123456789") == ""
}
