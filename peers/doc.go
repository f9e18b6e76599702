// Command peers measures our single-node stores beside foreign ones: see the help text, and docs/peers.md in the root.
//
// It is a module of its own, so that the root module gets none of what it needs. Package stores has what is measured, jvm the
// brokers' processes, measure the run and its result.
package main
