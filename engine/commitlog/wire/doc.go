// Package wire is the protocol of a commit log over a connection: produce and pull, in frames. It is ours and not RocketMQ's
// remoting.
//
// # What it promises
//
//   - Parse functions take exactly what Append functions have made. Any other bytes, of any length, are an error that wraps
//     ErrFrame and never a panic, and no count in them makes anyone allocate more than the frame is long.
//   - What is parsed are parts of the frame's bytes.
//
// # What it does not promise
//
//   - There is no checksum of a frame: TCP has one, and each message carries its own (package message). The bytes of messages
//     in the answer to a pull are those of the log, whatever became of them there; who receives them has to check each.
//   - There is no authentication, and no version but this one.
//
// No tasks, no files: the package is pure.
//
// # Bytes
//
// All integers are big-endian. A text is a u16 length and bytes. A frame is
//
//	offset  bytes  content
//	     0      4  n, the number of bytes that follow
//	     4      1  operation: 1 produce, 2 pull
//	     5      8  sequence, chosen by the client; the answer has the same
//	    13    n-9  body
//
//	body of a produce                     body of its answer
//	queue i32, -1: any                    code u8, 0: done
//	flag i32                              queue i32
//	sysFlag i32                           offset in the queue i64
//	born timestamp i64, ms                physical offset i64
//	topic: text                           store timestamp i64, ms
//	properties: text
//	body: u32 length, bytes
//
//	body of a pull                        body of its answer
//	flags u8, bit 0: checked              code u8, 0: done
//	queue i32                             status u8, see commitlog.Status
//	offset i64                            where to go on i64
//	messages at most u32                  offset of the queue's first message i64
//	bytes at most u32                     offset behind its last i64
//	milliseconds to wait u32              number of spans u32; of each
//	topic: text                             physical offset i64, length u32
//	number of tags u8; each a text        number of messages u32; of each
//	                                        offset in the queue i64, physical offset i64, size u32
//	                                      the bytes of all spans, one after the other
//
// An answer with another code has a text behind it, and nothing else. Each message lies within one span. Between messages a
// span may have bytes that belong to nobody who asked.
package wire
