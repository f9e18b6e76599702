// Package segments is a client for a segment log that is served over HTTP or a unix socket (package segmentserver, and
// "simrun log serve"): topics in partitions, appended to by producers and read in order by consumers.
//
// # What it promises
//
// What package seglog promises of the store, and what package call promises of the connection: nothing is sent twice, and an
// append without an answer fails with wire.OutcomeUnknown. Errors are classes of package wire, found by errors.Is.
//
// Each method may be called from any goroutine, and returns when its context ends. An append that was under way then goes on in
// the server.
//
// # What it does not promise
//
// No cursor is kept for anybody: a consumer stores the cursor at which it goes on (Batch.Next). A client that appends again what
// had the outcome "unknown" may store it twice.
//
// The wire format is that of the server's OpenAPI document. Log groups travel as JSON (Append) or as the protobuf message that
// the store keeps (AppendEncoded, Fetch), which package engine/seglog/message encodes and decodes.
package segments
