package bookie

import (
	"encoding/binary"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

// The kinds of records in a bookie's journal. Big-endian.
//
//	kind 1  entry    the stored entry
//	kind 2  ledger   ledger 8, master key 20: first sight of a ledger
//	kind 3  fence    ledger 8
//	kind 4  delete   ledger 8
const (
	kindEntry  record.Kind = 1
	kindLedger record.Kind = 2
	kindFence  record.Kind = 3
	kindDelete record.Kind = 4
)

const ledgerRecordBytes = 8 + len(ledger.MasterKey{})

// ledgerRecord encodes the body of a ledger, fence or delete record.
func ledgerRecord(id ledger.ID, key *ledger.MasterKey) []byte {
	body := binary.BigEndian.AppendUint64(make([]byte, 0, ledgerRecordBytes), uint64(id))
	if key != nil {
		body = append(body, key[:]...)
	}
	return body
}

// replayRecord is a decoded journal record.
type replayRecord struct {
	kind   record.Kind
	ledger ledger.ID
	entry  ledger.EntryID
	key    ledger.MasterKey
	body   []byte
}

// decodeRecord reads a journal record. Its checksum was verified, so a failure means that the format is not ours.
func decodeRecord(kind record.Kind, body []byte) (replayRecord, error) {
	r := replayRecord{kind: kind, body: body}
	switch kind {
	case kindEntry:
		var err error
		if r.ledger, r.entry, err = ledger.Key(body); err != nil {
			return r, fmt.Errorf("journal record: %w: %w", err, record.ErrCorrupt)
		}
		return r, nil
	case kindLedger, kindFence, kindDelete:
	default:
		return r, fmt.Errorf("journal record of kind %d: %w", kind, record.ErrCorrupt)
	}
	want := 8
	if kind == kindLedger {
		want = ledgerRecordBytes
	}
	if len(body) != want {
		return r, fmt.Errorf("journal record of kind %d has %d bytes, want %d: %w", kind, len(body), want, record.ErrCorrupt)
	}
	r.ledger = ledger.ID(binary.BigEndian.Uint64(body))
	copy(r.key[:], body[8:])
	return r, nil
}
