// Package messages is a client for a commit log that is served over HTTP or a unix socket (package messageserver, and "simrun mq
// serve"): topics in queues, sent to by producers and pulled from by consumers.
//
// # What it promises
//
// What package commitlog promises of the store, and what package call promises of the connection: nothing is sent twice, and an
// append without an answer fails with wire.OutcomeUnknown. Errors are classes of package wire, found by errors.Is.
//
// The server selects by the hash of a tag, and two tags may have one hash (R4-25). Pull compares the tags themselves, so its
// caller sees messages with the tags asked for only; Pulled.Next goes on behind those that were dropped.
//
// Each method may be called from any goroutine, and returns when its context ends. An append that was under way then goes on in
// the server.
//
// # What it does not promise
//
// No offset is kept for anybody: a consumer stores the offset at which it goes on (Pulled.Next). A client that appends again what
// had the outcome "unknown" may store it twice.
package messages
