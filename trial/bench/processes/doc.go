// Package processes runs a cluster as processes of this machine: a metadata store and bookies, each a simrun of its own,
// that can be killed without warning and started again.
//
// # What it promises
//
//   - Start returns when every bookie serves and is registered; so does Restart. A child that ends instead is an error
//     that holds the end of what it wrote to standard error.
//   - Kill sends SIGKILL to all it names before it waits for any, so that they die at the same moment as far as the
//     kernel can do that. Stop sends SIGTERM, and fails unless the child ends with exit code 0.
//   - A bookie keeps its address and its directory for as long as the cluster lives. Its port is reserved: no other
//     process is given it, also not while the bookie is dead.
//   - No child outlives this process, however it dies. Each is in a process group of its own, so a terminal's interrupt
//     reaches this process only.
//
// # What it does not promise
//
//   - The metadata store is in memory: Kill does not reach it, and Close loses it.
//   - A SIGKILL loses no byte that was written, synced or not: the page cache survives. What a power cut loses is the
//     business of the simulated world, and of the trace of system calls in package death.
//   - What is below Options.Dir stays there.
//
// # Ports
//
// For each address the cluster holds a socket that is bound and does not listen, with SO_REUSEADDR. Linux then lets a
// child bind and listen at the same address, and gives the port to nobody who asks for a free one. Between choosing a
// port and using it there is no moment at which it could be lost.
//
// # Who owns what
//
// A Cluster is used by one goroutine at a time. It owns one goroutine that starts children and is locked to its thread:
// the kernel kills a child when the thread that started it ends, not only when the process does. Besides, two for each
// child that runs, which read its output and wait for its end.
package processes
