// Package series is a row of files of equal size that together are one range of bytes: the CommitLog's files (R4-20, R4-21).
//
// # What it promises
//
//   - An offset is global: the file that holds it is found by division. Files have no gap between them.
//   - A file is made, filled as Preallocation says, synced and named durably before the first byte of it is written. One
//     file lies ready ahead of the last that is in use.
//   - RemoveFirst and Cut leave no gap, whenever a crash comes: one name is gone for good before the next one goes.
//   - Cut ends the range for good: bytes behind the cut cannot come back, after whatever crash (rocketmq#10666: a cut that
//     only moved a position in memory let old records return).
//   - A file is not closed under a task that reads or writes it, under a Writer that wrote to it last, or to which it is lent. Files that are mapped for those are at
//     most Config.MappedFilesMax, and keep their size while they are: a mapping has no page behind the end.
//
// # What it does not promise
//
//   - It knows nothing of what the bytes mean. A recycled file is full of the bytes of its former life: whoever writes
//     records there must tell old from new.
//   - Sync is not sticky. Whoever was told of a failed sync must not sync again and take that for success.
//
// # Tasks
//
// "series-prepare" makes files ahead, below the group that Start is given; Close ends it.
//
// # Files
//
// %020d, the offset of the first byte. A name that ends in ".new" is a file that is being prepared. One that ends in
// ".spare" is a removed file that is kept to be used again, under Recycled only. Only the last file may be shorter than
// the others: a crash came between the two halves of Cut, and Cut has to be called again.
package series
