// Package ledger names what BookKeeper's layers share: ids, the stored entry and its digests, quorums and write sets, and
// the metadata of a ledger with its bytes in the metadata store.
//
// # Stored entry
//
// What a writer sends and a bookie keeps, byte for byte (BookKeeper's DigestManager). Big-endian:
//
//	 0  8  ledger id
//	 8  8  entry id
//	16  8  LAC: last entry the writer knew as confirmed when it encoded this one; -1 for none
//	24  8  length: payload bytes of the ledger up to and including this entry
//	32  D  digest over bytes 0..31 and the payload
//	32+D   payload
//
// A bookie looks at the first 24 bytes only. The digest belongs to clients: D is 8 for CRC32 (the sum in the low half of
// an int64), 20 for HMAC-SHA1 with the key SHA-1("mac" ++ password), 4 for CRC32C, 0 for none. The same entry may carry
// another LAC, and so another digest, on another bookie: recovery encodes it anew.
//
// An explicit LAC packet is a ledger id, a LAC, and a digest over these 16 bytes.
//
// # Placement
//
// Entry e of a ledger goes to the Write indexes (e+i) mod Ensemble of its fragment's ensemble. The arithmetic is in 64
// bits: upstream narrows to 32 first in one place, and indexes become negative from entry 2^31 on.
//
// # Metadata
//
// A value in the metadata store is the text "BookieMetadataFormatVersion", a tab, the format's number and a line feed, and
// then, by format (BookKeeper's LedgerMetadataSerDe):
//
//	1  text lines: Qw; E; length; for each fragment its first entry and its bookies, with tabs between; and, unless the
//	   ledger is open, "last entry, tab, CLOSED", where -102 stands for "in recovery". Qa is Qw.
//	2  LedgerMetadataFormat as protobuf text
//	3  its length as a varint, and LedgerMetadataFormat as protobuf
//
// Format 3 is written, all three are read. Decoding takes any bytes: it answers ErrMetadata for those that are not
// metadata which a client could work with, never panics, and needs memory in proportion to the bytes. Fields that it does
// not know are passed over, and so are lost when the ledger's metadata are written again, as in BookKeeper.
//
// # What it does not promise
//
// The password lies in the metadata in clear, and the master key is derived from it: this keeps accidents apart, it
// does not keep anybody out. Nothing here owns tasks or touches the host.
package ledger
