// Package keyindex finds messages by key: hash files of topic#key to offsets in the CommitLog.
//
// # What it promises
//
//   - A message that was added is found under each of its keys until the log has removed it, whatever crash comes between:
//     Flush returns a state, and who stores that and adds again what came after it has lost nothing. Upstream removes the
//     newest file after a crash, with what was safely in it (rocketmq#3868).
//   - Adding a message again that the index has is harmless.
//   - Open finds a file that is missing, whichever it is, one that was cut, a header that has rotted, and what has rotted of the entries that it
//     reads, and says from where on messages have to be added again (Lack). It removes the files from there on.
//   - What a look-up meets is as it was written, as far as that can be told: a chain runs backwards, through entries of its slot, which lead to
//     ever older messages of the file. One that does not is ErrDamaged.
//
// # What it does not promise
//
//   - Slots and entries have no checksums, as upstream's: rot that leaves a sound chain is not told by a look-up, and may hide messages. That is a
//     number that has become zero, or that of an entry further back in the same chain; and a time between those beside it. Package inspect
//     finds all but the times.
//   - It compares hashes. Who looks up reads the messages, and compares the keys.
//   - The newest entries are found from memory; the slots of the file that is being filled are there only, and are made anew
//     at a start from a snapshot and the entries behind it: see snapshot.go. What a start reads does not grow with the file.
//
// It has no tasks. Add and Lookup may be called from any task, Flush and RemoveBelow from one at a time.
//
// # Bytes
//
// Files named by the physical offset of their first message with 20 digits: upstream names them by time, which a clock step
// makes ambiguous. Layout of upstream, big-endian, with S slots and at most N entries:
//
//	header    0  8  store timestamp of the first message, ms     8  8  of the last
//	         16  8  physical offset of the first message        24  8  of the last
//	         32  4  slots in use                                36  4  number of the next entry, from 1
//	slots    40+4s  newest entry of the slot; zero: none
//	entries  40+4S+20n, n from 1: 4 hash, 8 physical offset, 4 seconds since the header's first timestamp, 4 the entry before
//	         in this slot. In the place of entry 0: 4 CRC32C of the header and of what follows, 8 and 8 offset of the first and of
//	         the last message of the file before, -1 for the first if there is none; upstream leaves it zero, and so did
//	         earlier versions
//
// Header and slots are written when the file is full, and with them the first entries, up to where one begins a sector; other
// entries as they come, in whole sectors. What is not in the file is part of the state. A file that is not the one being filled
// is complete.
package keyindex
