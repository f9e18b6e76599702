package ledger

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"

	"lakebed/internal/invariant"
)

// DigestType says how a ledger's entries are protected on their way and on disk.
type DigestType uint8

// The digest types, with their numbers in metadata.
const (
	DigestUnstored DigestType = 0 // in metadata only: the application must say
	CRC32          DigestType = 1
	MAC            DigestType = 2
	CRC32C         DigestType = 3
	Dummy          DigestType = 4
)

func (t DigestType) String() string {
	switch t {
	case CRC32:
		return "CRC32"
	case MAC:
		return "HMAC"
	case CRC32C:
		return "CRC32C"
	case Dummy:
		return "DUMMY"
	}
	return fmt.Sprintf("DigestType(%d)", uint8(t))
}

// Bytes is how many bytes of each entry the digest takes.
func (t DigestType) Bytes() int {
	switch t {
	case CRC32:
		return 8 // upstream stores the sum as an int64
	case MAC:
		return sha1.Size
	case CRC32C:
		return 4
	}
	return 0
}

// LACBytes is the part of an explicit LAC packet before its digest.
const LACBytes = 16

// ErrDigest means that bytes are not the entry that was asked for: damaged, or another one.
var ErrDigest = errors.New("digest does not match")

// MasterKeyOf derives a ledger's master key from its password, which may be empty.
func MasterKeyOf(password []byte) MasterKey { return sha1.Sum(append([]byte("ledger"), password...)) }

// Digester seals and verifies the entries of one ledger. It allocates nothing once it is made, and is used by one task
// at a time.
type Digester struct {
	digest  DigestType
	mac     hash.Hash // of MAC only
	scratch [sha1.Size]byte
}

// NewDigester makes a digester. The password matters to MAC only. An unknown type is an error.
func NewDigester(t DigestType, password []byte) (*Digester, error) {
	switch t {
	case CRC32, CRC32C, Dummy:
		return &Digester{digest: t}, nil
	case MAC:
		key := sha1.Sum(append([]byte("mac"), password...))
		return &Digester{digest: t, mac: hmac.New(sha1.New, key[:])}, nil
	}
	return nil, fmt.Errorf("digest type %d is not known", uint8(t))
}

// Type is the digest's type.
func (d *Digester) Type() DigestType { return d.digest }

// Bytes is how many bytes of each entry the digest takes.
func (d *Digester) Bytes() int { return d.digest.Bytes() }

// Overhead is what a stored entry has besides its payload, which starts there.
func (d *Digester) Overhead() int { return HeaderBytes + d.Bytes() }

// Seal writes the digest into a stored entry whose header and payload are in place.
func (d *Digester) Seal(stored []byte) {
	invariant.Check(len(stored) >= d.Overhead(), "a sealed entry has room for its digest")
	copy(stored[HeaderBytes:], d.sum(stored[:HeaderBytes], stored[d.Overhead():]))
}

// Verify checks that stored is the entry of the ledger, undamaged, and returns its payload, a part of stored. With
// NoEntry it takes any entry of the ledger: so are answers to "your last entry" checked.
func (d *Digester) Verify(stored []byte, id ID, entry EntryID) ([]byte, error) {
	if len(stored) < d.Overhead() {
		return nil, fmt.Errorf("%d bytes for entry %d of ledger %d: %w", len(stored), entry, id, ErrDigest)
	}
	payload := stored[d.Overhead():]
	if string(d.sum(stored[:HeaderBytes], payload)) != string(stored[HeaderBytes:d.Overhead()]) {
		return nil, fmt.Errorf("entry %d of ledger %d: %w", entry, id, ErrDigest)
	}
	// Ids next: they are worth comparing only if they are what was sealed.
	gotID, got := ID(binary.BigEndian.Uint64(stored)), EntryID(binary.BigEndian.Uint64(stored[8:]))
	if gotID != id || got != entry && entry != NoEntry || got < 0 {
		return nil, fmt.Errorf("entry %d of ledger %d came for entry %d of ledger %d: %w", got, gotID, entry, id, ErrDigest)
	}
	return payload, nil
}

// AppendLAC appends an explicit LAC packet to b.
func (d *Digester) AppendLAC(b []byte, id ID, lastAddConfirmed EntryID) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	b = binary.BigEndian.AppendUint64(b, uint64(lastAddConfirmed))
	return append(b, d.sum(b[start:], nil)...)
}

// VerifyLAC checks an explicit LAC packet of the ledger and returns its LAC.
func (d *Digester) VerifyLAC(packet []byte, id ID) (EntryID, error) {
	if len(packet) != LACBytes+d.Bytes() || string(d.sum(packet[:LACBytes], nil)) != string(packet[LACBytes:]) {
		return NoEntry, fmt.Errorf("explicit LAC of ledger %d in %d bytes: %w", id, len(packet), ErrDigest)
	}
	got, lac := ID(binary.BigEndian.Uint64(packet)), EntryID(binary.BigEndian.Uint64(packet[8:]))
	if got != id || lac < NoEntry {
		return NoEntry, fmt.Errorf("explicit LAC %d of ledger %d came for ledger %d: %w", lac, got, id, ErrDigest)
	}
	return lac, nil
}

// sum returns the digest's bytes, valid until the next call.
func (d *Digester) sum(header, payload []byte) []byte {
	switch d.digest {
	case CRC32:
		sum := crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, payload)
		return binary.BigEndian.AppendUint64(d.scratch[:0], uint64(sum))
	case CRC32C:
		table := crc32.MakeTable(crc32.Castagnoli) // made once by the library
		sum := crc32.Update(crc32.Checksum(header, table), table, payload)
		return binary.BigEndian.AppendUint32(d.scratch[:0], sum)
	case MAC:
		d.mac.Reset()
		d.mac.Write(header)
		d.mac.Write(payload)
		return d.mac.Sum(d.scratch[:0])
	}
	return nil
}
