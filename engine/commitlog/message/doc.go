// Package message is the record of the CommitLog: the bytes of one message, and the blank that fills the end of a file.
//
// # What it promises
//
//   - Decode takes exactly what Append has written. Any other bytes, of any length, are an error and never a panic.
//   - The checksum covers every byte of the record. Nothing of a record is believed before it holds.
//   - PhysicalOffset tells a record or a blank from an old one that lies in a file which is used again: see ErrElsewhere.
//
// # What it does not promise
//
//   - It does not know topics: whether a queue exists, or what a tag means. Properties are bytes to it, but for Property.
//   - It is not byte for byte what RocketMQ writes: the layout is, the checksum is not (see below).
//
// No tasks, no files: the package is pure.
//
// # Bytes
//
// All integers are big-endian. Offsets are those of IPv4 hosts; each IPv6 host adds 12 bytes and shifts what follows.
//
//	 0  4  total size of the record
//	 4  4  magic: 0xDAA320A7 (V1), 0xDAA320AB (V2: the topic's length has 2 bytes), 0xCBD43194 (blank)
//	 8  4  CRC32C of the whole record, with these four bytes as zeros
//	12  4  queue id
//	16  4  flag of the application
//	20  8  queue offset: index in the consume queue
//	28  8  physical offset of this record in the CommitLog
//	36  4  sysFlag: bit 0 compressed, bit 1 several tags, bits 2-3 transaction, bit 4 born host is IPv6,
//	       bit 5 store host is IPv6, bit 7 inner batch
//	40  8  born timestamp, ms, the producer's clock
//	48  8  born host: 4 (16) address, 4 port
//	56  8  store timestamp, ms, the broker's clock, taken in append order
//	64  8  store host
//	72  4  reconsume times
//	76  8  prepared transaction offset
//	84  4  body length B
//	88  B  body
//	    1  topic length T (V2: 2)
//	    T  topic, UTF-8
//	    2  properties length P
//	    P  properties: name 0x01 value 0x02 ...
//
// RocketMQ's checksum covers the body alone, so that a flipped bit in a header can move a message to another queue.
// Ours covers all of it; a reader that wants upstream's has to recompute.
//
// A blank has 20 bytes:
//
//	 0  4  how far it reaches, these 20 bytes included
//	 4  4  magic: 0xCBD43194
//	 8  8  physical offset of this blank in the CommitLog
//	16  4  CRC32C of the 16 bytes before
//
// What lies behind them means nothing. At the end of a file it reaches to that end: a record goes into a file only if a blank fits
// behind it, so no record spans two files (R4-26). Upstream knows no other. Ours also leads from the end of a group to the sector
// in which the next begins. The first 8 bytes are upstream's, which does not look at those behind them; they are the proof that the
// blank belongs where it lies. Without it a blank of a recycled file's former life, in a sector that a power cut has kept from being
// written, leads past the record that is lost there, to later ones that are not (rocketmq#10666). Earlier versions wrote none: to Decode's
// callers such a blank is no record.
package message
