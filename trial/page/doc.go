// Package page shows one trial on one page: what was broken, by which operations, under which faults, and what went on
// between the nodes meanwhile.
//
// # What it promises
//
//   - A page is one file: style, script and data are in it, and it asks for nothing. Without scripts everything but the
//     lanes and the list of events is there.
//   - The same trial gives the same page, byte for byte. Nothing in it tells when or where it was made.
//   - No text of a trial can become markup or script. The page's policy runs no script but its own.
//   - The page is bounded by Limits. What is left out is counted, with the command that shows it.
//   - Watching changes nothing: the trial has the trace hash of one that nobody watches.
//
// # What it does not promise
//
//   - Messages, and the entries in a write, are read off the bytes that went over the wire and to the disk. Bytes that
//     are in no form known here are shown as bytes.
//   - What is on a disk is not looked at: a replica's copy is told by what was written, synced, answered and lost.
//   - The form of the JSON model may change with the page.
//
// # Steps
//
// Recorder takes in what a sim.World shows while a trial runs. New puts it together with the trial's Result and Course
// into a Page, the model. Page.WriteHTML and the model's JSON form show the same facts. Run does all of it.
package page
