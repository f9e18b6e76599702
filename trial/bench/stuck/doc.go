// Package stuck runs a cluster of which one bookie's disk hangs, and asks two things: do appends go on, and does memory
// stay within what is configured?
//
// # What it promises
//
//   - A Valve stands between a node and one of its volumes. While it is shut, the calls that it was made for do not
//     return: a disk that hangs, which is worse than one that fails, since nobody is told. Opened, it lets everything go
//     that waited.
//   - Run appends at full speed from several writers to ledgers of three copies, shuts the valve, goes on, opens it, and
//     reports how many appends were acknowledged in each phase, the longest pause between two of them, and the most memory
//     that the process had: resident, and live in Go's heap.
//   - Bounds lists the bounds that the settings give, one by one, for the load that Run makes. A bound that this load cannot
//     touch, such as that of answers to reads, is left out: the sum is smaller and the check stricter for it.
//   - Report.Problems says what was not as it must be.
//
// # What it does not promise
//
//   - Memory is that of the whole process. It means something only in a process that does nothing else, and not under the
//     race detector. Tests run it in a child.
//   - Socket buffers are the kernel's, and are not counted.
//   - A shut valve blocks the task that called. Nothing else about a dying disk is imitated; the simulator does that.
//
// # What the sum is made of
//
// Bytes of entries are bounded by settings in bytes, records about them by settings that count. A record is taken as
// bounds.RecordBytes. Left to itself Go's collector lets garbage lie until the heap has doubled, whatever is bounded. So Run tells
// it the bound, as an operator does with GOMEMLIMIT: the collector then works more and the heap stays, as long as what is
// alive stays. Options.LazyCollector is the other way.
package stuck
