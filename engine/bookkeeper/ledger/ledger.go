package ledger

import (
	"encoding/binary"
	"fmt"
)

// ID names a ledger. Valid ids are not negative.
type ID int64

// EntryID names an entry of a ledger; ids start at 0. NoEntry stands for none.
type EntryID int64

// NoEntry is the id before the first.
const NoEntry EntryID = -1

// HeaderBytes is the part of a stored entry before its digest. A bookie asks for no more than ShortestBytes, as
// BookKeeper's bookies do.
const (
	HeaderBytes   = 32
	ShortestBytes = 16
)

// StoredBytesMax is the longest stored entry that bookies take by default, as upstream's do: nettyMaxFrameSizeBytes, less
// 500 for what requests and answers put around an entry. A client that promises more loses its writer to every bookie's
// refusal, one after the other.
const StoredBytesMax = 5<<20 - 500

// MasterKey guards a ledger: SHA-1("ledger" ++ password). The first key a bookie sees for a ledger is the ledger's.
type MasterKey [20]byte

// Key reads the ids out of a stored entry.
func Key(stored []byte) (ID, EntryID, error) {
	if len(stored) < ShortestBytes {
		return 0, 0, fmt.Errorf("stored entry of %d bytes is too short to hold its ids", len(stored))
	}
	return ID(binary.BigEndian.Uint64(stored)), EntryID(binary.BigEndian.Uint64(stored[8:])), nil
}

// LastAddConfirmed reads the LAC that the writer put into a stored entry; NoEntry if it is too short to hold one.
func LastAddConfirmed(stored []byte) EntryID {
	if len(stored) < 24 {
		return NoEntry
	}
	return EntryID(binary.BigEndian.Uint64(stored[16:]))
}

// PutHeader writes the ids, the LAC and the length into the first HeaderBytes of stored.
func PutHeader(stored []byte, id ID, entry, lastAddConfirmed EntryID, length int64) {
	binary.BigEndian.PutUint64(stored, uint64(id))
	binary.BigEndian.PutUint64(stored[8:], uint64(entry))
	binary.BigEndian.PutUint64(stored[16:], uint64(lastAddConfirmed))
	binary.BigEndian.PutUint64(stored[24:], uint64(length))
}
