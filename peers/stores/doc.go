// Package stores has what is measured: our two single-node stores, their peers, and the raw line, behind one interface.
//
// # What it promises
//
//   - Append answers when the payload is as durable as the point says: synced to the disk by that store's own means, or
//     taken over by the kernel. No store acknowledges earlier than the others do.
//   - Read gives back every payload that was appended, byte by byte, those of one partition in their order.
//   - What a store cannot do at a point it says in words (Cannot); it is not imitated.
//
// # Who groups
//
// Stores that take concurrent appends get them. The two libraries that do not have group commit for many callers, tidwall/wal and
// etcd's WAL, get one from this package: the first appender of a group writes it for all (see committer). A broker's client
// puts together what waits for it, as its library does.
//
// # Tasks and files
//
// A store lies below the one directory that it is given, and whoever opened it closes it and removes the directory. A
// broker is a process of others (package jvm); its Log here is a client, which owns nothing on the disk.
package stores
