// Package message is the segment log's record and its payload: how a message lies in a .log file, and how the log groups in
// it are written.
//
// # Record
//
// Integers are big-endian. The order of the fields is that of the format's source, the widths are ours, since it names
// none.
//
//	 0  8  cursor: the message's number in its partition
//	 8  4  size of the whole record, these 21 bytes included
//	12  1  version: 1 a message, 255 filler
//	13  4  CRC32C over all bytes of the record, with this field zeroed
//	17  4  length of the payload, size - 21
//	21     payload
//
// Size and length say the same: a difference is damage. A filler carries zeros and the cursor of the message that comes
// next; it pads what was synced to whole sectors and is no message.
//
// # Payload
//
// A LogGroupList in protocol buffers (proto2), with the slips of its source corrected:
//
//	message LogColumn    { required bytes Name = 1; required uint32 Type = 2; }
//	message LogGroup     { required fixed64 TimeStamp = 1; required bytes Source = 2; repeated LogColumn Columns = 3;
//	                       required uint32 CompressType = 4; required bytes Payload = 5; optional string Topic = 6; }
//	message LogGroupList { repeated LogGroup logGroupList = 1; }
//
// Columns are declared required, once, in the source, whose name is a plural. Repeated reads all that required writes, so
// a list of any length is taken here, an empty one too.
//
// TimeStamp is in the store's unit, seconds in the source's example. A message's time is the largest of its groups, and a
// message without a group is refused: it would have none. The meaning of Type is the users'.
//
// CompressType says how the Payload of that group alone is packed. The source has no codes: 0 is plain, 1 is deflate
// (RFC 1951). Stores keep what they get; codes that this package does not know are for the consumer to open.
//
// # What it promises
//
// Decoders take any bytes, answer ErrMalformed or ErrCorrupt, never panic, and need memory in proportion to the input;
// Unpack to the bound that its caller gives. What is encoded decodes to the same.
package message
