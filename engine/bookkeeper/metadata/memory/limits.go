package memory

// Limits bounds a tree.
type Limits struct {
	// KeysMax is the number of keys.
	KeysMax int
	// BytesMax is the bytes of all keys and values.
	BytesMax int64
	// NamesBytesMax is the bytes of the names of one key's children, with NameOverhead for each, so that a list fits
	// into one answer.
	NamesBytesMax int
	// SessionsMax is the number of sessions.
	SessionsMax int
	// WatchesMax is the number of keys that one watcher may watch.
	WatchesMax int
	// WatchesBytesMax is the bytes of the keys that all watchers watch, with WatchOverhead for each.
	WatchesBytesMax int64
	// HistoryChanges and HistoryBytesMax are how many changes, and how many bytes of replaced values, are kept for
	// GetAt and ListAt. Zero: none.
	HistoryChanges  int
	HistoryBytesMax int64
}

// NameOverhead is what a name costs besides its bytes.
const NameOverhead = 4

// WatchOverhead is about what a watch costs besides its key.
const WatchOverhead = 128

// DefaultLimits are for a server of a cluster of some thousand bookies and a million ledgers.
func DefaultLimits() Limits {
	return Limits{
		KeysMax: 4 << 20, BytesMax: 4 << 30, NamesBytesMax: 4 << 20, SessionsMax: 16 << 10, WatchesMax: 64 << 10,
		WatchesBytesMax: 512 << 20,
	}
}
