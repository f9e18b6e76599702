// Package segmentserver serves a segment log (engine/seglog) with package service. It maps requests to calls of the store and
// errors to classes, and decodes the bodies of appends; all else is the store's and the service's.
//
// # What it promises
//
//   - One request is one call of the store: an append is one Append, whose messages get cursors one after the other or are
//     not stored at all.
//   - Every error of the store has a class that its callers branch on: the table in errors.go. ErrOutcomeUnknown goes before all
//     others that an error may also be.
//   - A fetch that waits gives its slot back when its client leaves, or the service drains.
//   - Fetch answers what Read gave, in order and without a gap. Config bounds its size and how long it may wait.
//
// # What it does not promise
//
//   - A time that a producer leaves out is this machine's at that moment, and says nothing about when the line was written.
//
// # Bodies of an append
//
// application/x-ndjson: each line, or each JSON value, is a message: an object is one log group, an array is several. What members a
// group has is said by the OpenAPI document; others are refused. application/x-protobuf: one message, a LogGroupList.
//
// No tasks of its own, and no files.
package segmentserver
