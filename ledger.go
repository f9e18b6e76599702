package lakebed

import (
	"maps"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
)

// LedgerID names a ledger. The store gives it; it is not negative, and never used twice.
type LedgerID = ledger.ID

// EntryID names an entry of a ledger. Ids start at 0 and have no holes.
type EntryID = ledger.EntryID

// NoEntry is the id before the first: the last entry of an empty ledger.
const NoEntry = ledger.NoEntry

// BookieID names a bookie by its address, "host:port".
type BookieID = ledger.BookieID

// DigestType says how a ledger's entries are protected on their way and on disk.
type DigestType = ledger.DigestType

// The digest types, as in BookKeeper. CRC32C is the default and the cheapest; HMAC-SHA1 also keeps out who does not know the
// password.
const (
	CRC32C   = ledger.CRC32C
	CRC32    = ledger.CRC32
	HMAC     = ledger.MAC
	NoDigest = ledger.Dummy
)

// LedgerState is where a ledger is in its life. It only goes forward.
type LedgerState = ledger.State

// The states of a ledger.
const (
	StateOpen       = ledger.Open
	StateInRecovery = ledger.InRecovery
	StateClosed     = ledger.Closed
)

// LedgerOptions say what a new ledger is like. The zero value asks for three copies on three bookies, acknowledged when two
// have them on disk.
type LedgerOptions struct {
	// Ensemble is how many bookies take part. More than WriteQuorum spread the entries: each goes to WriteQuorum of them in
	// turn. Default: WriteQuorum, or 3.
	Ensemble int
	// WriteQuorum is how many copies each entry has. Default: 3, or Ensemble if that is less.
	WriteQuorum int
	// AckQuorum is how many copies must be on disk for an append to succeed. As many less one may be lost. Default: more than
	// half of WriteQuorum.
	AckQuorum int

	// Digest protects the entries. Default CRC32C.
	Digest DigestType
	// Password must be told by whoever opens the ledger. Default: none.
	Password []byte
	// Custom is stored with the ledger, and returned by Stat. Values share 1 MiB with all other metadata of the ledger.
	Custom map[string][]byte
}

func (o *LedgerOptions) engine() client.CreateOptions {
	e := client.DefaultCreateOptions()
	q := ledger.Quorum{Ensemble: o.Ensemble, Write: o.WriteQuorum, Ack: o.AckQuorum}
	switch {
	case q.Ensemble == 0 && q.Write == 0:
		q.Ensemble, q.Write = e.Quorum.Ensemble, e.Quorum.Write
	case q.Ensemble == 0:
		q.Ensemble = q.Write
	case q.Write == 0:
		q.Write = min(e.Quorum.Write, q.Ensemble)
	}
	if q.Ack == 0 {
		q.Ack = q.Write/2 + 1
	}
	e.Quorum = q
	e.Digest = orDefault(o.Digest, e.Digest)
	e.Password = slices.Clone(o.Password)
	for _, key := range slices.Sorted(maps.Keys(o.Custom)) {
		e.Custom = append(e.Custom, ledger.CustomValue{Key: key, Value: slices.Clone(o.Custom[key])})
	}
	return e
}

// OpenOptions say how to open a ledger.
type OpenOptions struct {
	// Password is the one that the ledger was created with.
	Password []byte
	// Digest is needed only for ledgers of very old BookKeeper clients, whose metadata do not name it.
	Digest DigestType
}

func (o *OpenOptions) engine() client.OpenOptions {
	return client.OpenOptions{Password: slices.Clone(o.Password), Digest: o.Digest}
}

// LedgerInfo is what the metadata store knows of a ledger.
type LedgerInfo struct {
	ID          LedgerID
	State       LedgerState
	Ensemble    int
	WriteQuorum int
	AckQuorum   int
	Digest      DigestType
	LastEntry   EntryID // of a closed ledger; NoEntry before, and of an empty one
	Length      int64   // payload bytes of a closed ledger
	Created     time.Time
	Fragments   []Fragment
	Custom      map[string][]byte
}

// Fragment is a stretch of a ledger that lies on one ensemble of bookies. It ends where the next one starts.
type Fragment struct {
	First   EntryID
	Bookies []BookieID
}

// infoOf copies what a caller may know and change freely.
func infoOf(id LedgerID, m *ledger.Metadata) LedgerInfo {
	info := LedgerInfo{
		ID: id, State: m.State, Ensemble: m.Quorum.Ensemble, WriteQuorum: m.Quorum.Write, AckQuorum: m.Quorum.Ack,
		Digest: m.Digest, LastEntry: m.LastEntry, Length: m.Length,
	}
	if m.Created != 0 {
		info.Created = time.UnixMilli(m.Created)
	}
	for _, f := range m.Fragments {
		info.Fragments = append(info.Fragments, Fragment{First: f.First, Bookies: slices.Clone(f.Ensemble)})
	}
	if len(m.Custom) > 0 {
		info.Custom = make(map[string][]byte, len(m.Custom))
		for _, c := range m.Custom {
			info.Custom[c.Key] = slices.Clone(c.Value)
		}
	}
	return info
}

// Entry is one entry as it was read and verified.
type Entry struct {
	ID      EntryID
	Payload []byte
	// LastAddConfirmed is what the writer knew as confirmed when it sent the entry.
	LastAddConfirmed EntryID
	// Length is the payload bytes of the ledger up to and including this entry.
	Length int64
}
