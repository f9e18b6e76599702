// Package wire is what both sides of every HTTP service here share: the classes of failure, the document that tells one, and
// bytes in JSON.
//
// # What it promises
//
//   - A class is an error of its own: errors.Is(err, wire.OutcomeUnknown) is true on both sides of a connection.
//   - Each class has one status. That of OutcomeUnknown is 520, which no registry gives to anything else: the statuses that
//     tools repeat by themselves (curl --retry: 408, 429, 500, 502, 503, 504) must not stand for it, since an append that is
//     sent again may be stored twice. Whoever does not know 520 takes it for 500, as RFC 9110 says.
//   - Bytes come back as they were. Text stays readable: what is UTF-8 is a JSON string, all else {"base64": "…"}.
//
// Problem documents are those of RFC 9457, with one member more, "class".
//
// No tasks, no files, and nothing of the engine: a client links little.
package wire
