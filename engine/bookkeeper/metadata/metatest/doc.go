// Package metatest is the contract of metadata.Store as programs that a node runs. Every store passes the same list: our
// server and client in both worlds, the hostile oracle of the laboratory, and the drivers of foreign stores.
//
// # How it works
//
// A contract is code inside a node and knows nothing of testing, as in host/hosttest. It allows all that the contract
// allows: an attempt in which an outcome stayed unknown, or a session ended, proves nothing and is made again under other
// keys, so that no late write of the first can reach the second. What must hold at some time is waited for as long as
// Env.Patience.
package metatest
