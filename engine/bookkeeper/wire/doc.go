// Package wire is BookKeeper's protocol, version 2, byte for byte: frames, requests, responses, and the cutting of a
// byte stream into frames. It knows nothing of what is stored or asked.
//
// # What it promises
//
//   - Decoding never panics, and never takes memory because of a length that a peer only claims: Input grows with the
//     bytes that have come.
//   - Decoded requests and responses alias the packet; nothing is copied. They are valid as long as the packet is.
//   - Encoding appends to the caller's buffer and allocates nothing if that has room.
//   - What it encodes, it decodes to the same; Java clients and bookies of BookKeeper 4.17 write and read the same bytes.
//
// # What it does not promise
//
// It does not check that an answer belongs to a question, nor a stored entry's digest. Version 3 (protobuf) is only
// recognised: IsVersion3.
//
// # Bytes
//
// Big-endian. A frame is a length and a packet; the length does not count itself. The longest frame, length included,
// is FrameBytesMax. Packets begin with a header, (version << 24) | (operation << 16) | flags; for version 0 it is just
// the operation. Responses repeat version and operation, with flags 0. Sizes in bytes; "entry" is a stored entry as
// package ledger describes it.
//
//	add         4 header, 20 master key, rest entry
//	read        4 header, 8 ledger, 8 entry id (-1: the last one)             [20 master key, if fencing]
//	batch read  4 header, 8 ledger, 8 first entry id, 8 request id, 4 count, 8 bytes [20 master key, if fencing]
//	auth        4 header, rest AuthMessage
//
//	add's answer         4 header, 4 code, 8 ledger, 8 entry id
//	read's answer        the same, and if the code is 0: rest entry
//	batch read's answer  the same 24 bytes, 8 request id, and if the code is 0, repeated: 4 size, entry
//	auth's answer        4 header, rest AuthMessage
//
// The layouts were read from BookieProtocol and BookieProtoEncoding of BookKeeper; the text of its proposal BP-62 names
// a field of the batch read that its code does not write.
package wire
