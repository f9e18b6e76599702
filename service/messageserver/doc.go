// Package messageserver serves a commit log (engine/commitlog) with package service. It maps requests to calls of the store and
// errors to classes, and decodes messages; all else is the store's and the service's.
//
// # What it promises
//
//   - One request is one call of the store: an append is one Append of one message.
//   - Every error of the store has a class that its callers branch on: the table in errors.go. ErrOutcomeUnknown goes before all
//     others that an error may also be.
//   - A pull answers what Pull gave. Messages are selected by the hashes of tags, and the client compares the tags (R4-25).
//   - A pull that waits gives its slot back when its client leaves, or the service drains.
//
// # What it does not promise
//
//   - Transactions: halves cannot be sent.
//
// # Bodies of an append
//
// application/json: a message with its tag, keys and properties, see the OpenAPI document. application/octet-stream: the body of a
// message; tag and keys are parameters then.
//
// No tasks of its own, and no files.
package messageserver
