// Package metadata is what lives outside the bookies: which ledgers there are and where their fragments lie, which
// bookies are there, and their cookies. Store is the contract with whoever keeps it.
//
// # What a store promises
//
// The contract is the weakest of ZooKeeper, etcd and our own server, so that what works on it works on all of them.
//
//   - Writes take effect in one order for all. Create, Put and Delete look at the key and change it in one step: of
//     two that expect the same version at most one succeeds.
//   - A write that was answered is never undone and is not lost when the store restarts.
//   - Within a session, what Get and List see never goes back, whatever connections come and go. They see the session's
//     own writes that were answered, also those that were refused: after ErrVersion, Get returns the value that was in the
//     way or a later one. After a Wait of a watch they see what it told of. After a Sync they see all that was done before
//     the Sync was called.
//   - A session lives while its client reaches the store, and has ended at some time after it did not for the session's
//     timeout. Its ephemeral keys are then deleted, in one step.
//   - A change is told to every watch of the key, at some time. So is the end of the session.
//
// # What a store does not promise
//
//   - Reads may be stale, by seconds. The read before the first write of a session may be older than anything that
//     another session of the same client has seen: monotony ends with the session. So does what a Sync promised; Latest
//     reads with care for that.
//   - The answer to a write may be lost: ErrOutcomeUnknown. The write may also be done after its caller was told so,
//     once, before or after later requests of the same session, even after a Sync or after the session's end. What makes this harmless is to expect
//     a version, and to look again after a Sync.
//   - Versions say nothing but equal or not, and a key that was deleted and created again starts over. A late write may
//     therefore hit the key's next life. Keys whose writes matter must not come back with another meaning: ledger ids
//     are never used twice.
//   - Watches coalesce, come late, come for nothing, and carry no value.
//   - A session may expire at any time, even while its client talks to the store.
//   - Whether a key exists that was only made as the parent of another is open, as is what becomes of it when its
//     children have gone. Only List may be asked about it. Children of ephemeral keys are refused.
//   - Keys made in a session that has ended may be seen for a while: reads are stale.
//
// # Errors
//
// Reads are tried again until their scope ends; then they fail with ErrUnavailable. A write is sent once. It fails
// with ErrUnavailable or ErrSessionExpired if it was surely not done, and with ErrOutcomeUnknown if its connection broke
// or its scope ended before the answer came. There is no other error that leaves the outcome open.
//
// # Layout
//
// Keys and values are those of BookKeeper in ZooKeeper, so that its tools and clients find what ours wrote.
//
// # Packages below
//
// memory is the tree itself, service brings it to clients over the network, metatest is the contract as a test suite.
package metadata
