package message

import "encoding/binary"

// SetChecksum gives bytes the checksum of a record.
func SetChecksum(p []byte) { binary.BigEndian.PutUint32(p[checksumAt:], checksum(p)) }
