package client

import (
	"encoding/binary"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
)

// Entry is one entry as it was read and verified.
type Entry struct {
	ID      ledger.EntryID
	Payload []byte // valid until the Entries it came with are released
	// LastAddConfirmed is what the writer knew as confirmed when it encoded the entry.
	LastAddConfirmed ledger.EntryID
	// Length is the payload bytes of the ledger up to and including this entry.
	Length int64
}

// Entries are what a read returned. They belong to the caller, who calls Release; nothing may be used afterwards.
type Entries struct {
	List    []Entry // following entries
	answers []*channel.Request
	first   [1]*channel.Request // room for what is mostly the only one
}

// Release gives the memory of the entries back. It may be called again, and for nil.
func (e *Entries) Release() {
	if e == nil {
		return
	}
	for _, a := range e.answers {
		a.Release()
	}
	e.List, e.answers = nil, nil
}

// verified makes an entry of stored bytes, which must be the one asked for; ledger.NoEntry asks for any of the ledger.
func verified(d *ledger.Digester, stored []byte, id ledger.ID, entry ledger.EntryID) (Entry, error) {
	payload, err := d.Verify(stored, id, entry)
	if err != nil {
		return Entry{}, err
	}
	_, got, err := ledger.Key(stored)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		ID: got, Payload: payload,
		LastAddConfirmed: ledger.LastAddConfirmed(stored),
		Length:           int64(binary.BigEndian.Uint64(stored[24:])),
	}, nil
}
