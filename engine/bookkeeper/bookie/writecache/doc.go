// Package writecache holds what a bookie has accepted and not yet written to its entry log.
//
// # What it promises
//
//   - An entry that was inserted is found until its generation is released by the flush and by every reader.
//   - A Generation walks its ledgers in ascending order, and each ledger's entries in ascending order, whatever the
//     order of insertion: that is the order in which the entry log wants them.
//   - Memory is taken in chunks and given back as a whole when the last user lets go; a reader that holds a pin can
//     never see the bytes of another generation.
//
// # What it does not promise
//
//   - It has no lock of its own. Insert, Get, Range, Drop and the walks are called under the owner's mutex, or on a
//     generation that takes no more inserts. Only Unpin may be called from anywhere.
//   - It bounds nothing by itself: the owner looks at Bytes, which counts bodies and index.
//
// Nothing here survives a crash; the journal does.
package writecache
