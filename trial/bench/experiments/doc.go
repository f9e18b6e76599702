// Package experiments runs the numbered experiments of the requirements (X-07, X-45, …) and judges them.
//
// # What it promises
//
//   - Each experiment is a file in hypotheses/: the claim and its source, the arms, what refutes it, what it takes, and
//     what cannot be decided here. The file is written before the run, and a run changes nothing in it.
//   - The verdict is a function of the figures of the result (judge.go and judges.go): confirmed, refuted or undecided. No
//     word of it is written by hand, and a result that was read from a file is judged to the same word as it was when it
//     was measured (Rejudge).
//   - Two arms that are compared differ in one switch. On a real machine they take turns, round by round, so that a
//     slow minute meets all of them.
//   - Every figure says its clock. What is of virtual time is the same on every machine, and comes from seeds; what is of
//     wall clocks has at least five rounds in the full form.
//   - Quick runs do the same with fewer rounds, arms and seeds, in seconds. They try the machinery; their verdicts are
//     noted as those of quick runs.
//
// # The two worlds
//
// Loads (load.go, rolling.go) and courses (what a client does in an experiment) are written against host.Host. A cluster
// of the simulator (virtual.go) runs them in virtual time, and one on this machine (real.go) on sockets and disks. What
// slows a bookie down is the same in both: its journal's device takes so many times as long to sync, or takes only so
// many bytes a second (limit.go on a real host, a disk profile in the simulator).
//
// The single-node stores have a node of a world for themselves, with one process after the other, some of which
// crash (lives.go), or a process on this machine whose reads may be counted (onmachine.go, counted.go).
//
// # Campaigns
//
// are campaigns of trials over scenarios of this package's own (arms.go): those of package trial
// and others with one setting changed. Worker processes call Serve. Every history of a cluster is also judged by porcupine,
// ledger by ledger, where the ledger is small enough for a search, beside trial's own checkers.
//
// # What it does not promise
//
//   - A wall-clock figure of a busy machine. The result says how busy it was.
//   - That a bookie on this machine can be killed: it shares the process. What dies in an experiment on a real machine is
//     a bookie that stops or a disk that gets stuck; death itself is trial/bench/death's.
//
// # Who owns what
//
// Run owns everything that it starts: worker processes, worlds, clusters and the directory below Options.Dir. All are
// gone when it returns. Nothing is kept between experiments.
package experiments
