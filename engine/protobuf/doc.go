// Package protobuf reads and writes a few protocol buffer messages by hand: those that BookKeeper keeps in its metadata
// store (ledger metadata, cookies and what a bookie says of itself), and the payload of the segment log's messages. Their
// fields are known, and this is all of the format that they need.
//
// # Binary
//
// A message is fields one after the other: a tag, which is number<<3 | type as a varint, and by type a varint (0), 8
// bytes little-endian (1), a length as a varint and so many bytes (2), or 4 bytes little-endian (5). Groups (3 and 4) are
// refused: none of these messages ever had one. Negative numbers are varints of their 64-bit two's complement.
//
// # Text
//
// A message is "name: value" or "name { message }" one after the other, with spaces, commas and semicolons between. A
// value is a word (number, enum, bool) or strings in quotes, with the escapes of C in octal and hexadecimal; strings that
// follow each other are one. "#" starts a comment.
//
// # What it promises
//
// Decoders take any bytes. They answer ErrMalformed, never panic, read what is there in one pass, nest no deeper than
// DepthMax, and need memory in proportion to the input. What is appended is what upstream's library writes for the same
// fields in the same order.
//
// # What it does not promise
//
// It does not know which fields a message has, which are required and which may come twice. That is the caller's.
package protobuf
