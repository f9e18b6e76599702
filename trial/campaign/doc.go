// Package campaign runs many trials and says what they prove together.
//
// A campaign is a row of consecutive seeds. Which scenario a seed runs is a pure function of the seed and the mix, so
// "replay 17" means the same trial as seed 17 of the default campaign. Trials run in worker processes, one a core: two
// workers in one process gain next to nothing, because all they do is allocate.
//
// # What it promises
//
//   - A complete campaign with the same options gives the same Summary, except for what was measured on a real clock,
//     and for which of many equal failures ran twice (Summary.Timeless leaves both out). That holds too if the campaign was
//     spread in shards and merged, and if it was killed and went on from its log, with a limit in seeds. With a limit in
//     time how many seeds there are depends on the machine.
//   - Every failure has a seed and a command that shows it again. Failures with one signature form a group: the same kind,
//     checker and broken rule, or for a panic the same innermost functions. A group shows its shortest trial, the one with
//     the fewest events: it is the fastest to replay wherever it runs.
//   - Beside the file of a failure lies a page of it (package page), for the gravest dozen of kinds. It is of the same trial,
//     run once more in this process; one that hangs, dies or goes another way has none.
//   - A trial that does not answer in time is a failure (hang), and so is one that takes its worker with it (died). What
//     the worker said last is kept; the other trials of its batch are run by its successor.
//   - One seed in twenty, and the first few of each kind of failure, run twice, in another process where there is one;
//     the first failure of each kind a third time, in a third process where there is one. If anything differs (trace,
//     disks, verdict), that is the gravest failure: nothing else can be trusted until it is mended. It is bisected to the
//     first event that differs.
//   - A canary scenario, which breaks its promise by an ordinary wrong setting, must be caught. Otherwise the campaign
//     has proved that it can pass, and no more.
//   - The rare states that the catalogue requires must each have been reached, or the campaign is weak.
//   - A trial that was cut short by an interrupt counts for nothing.
//
// # What it does not promise
//
// A trial that hangs or takes its worker with it does not run again by itself: a hang costs its whole guard, and what
// depends on the real clock says nothing of determinism.
//
// Hangs depend on the real clock: on a machine slower by orders of magnitude a long trial may be taken for one. Run in
// this process (no workers), a campaign has no hang guard and dies with a trial that panics outside its world; that is
// for profilers and debuggers.
//
// # Tasks
//
// Run owns a goroutine for each worker, and each worker process one more that reads its answers. All have ended, and
// all processes are gone, when Run returns.
//
// A worker whose parent was killed ends itself, in the middle of a trial if need be.
//
// # The log
//
// With Options.Log a campaign keeps each answer in a file while it runs, as JSON, one value a line, appended with one
// write call. The first line is the Header, with all that the outcome depends on. Lines of kind "seed" tell of the
// campaign's seeds, each once; "again" of their further runs; "canary" and "divergence" of what else ran. The last line,
// of kind "summary", is there when the campaign has come to its end, and only then. Hashes are hexadecimal text, since a
// number would lose digits in many readers; times are nanoseconds.
//
// The summary is a function of these lines: a campaign that finds its log goes on with what is not there, and Merge adds up
// the logs of shards. What is there survives the death of the process, by SIGKILL too; a torn last line is cut. Nothing is
// synced before the end, so a power cut may cost the last seconds, or tear the file: a log that is damaged anywhere but at
// its end is refused. A log is locked while a campaign appends to it, and belongs to one program: the digest of the
// executable is in its header.
//
// # Between parent and worker
//
// JSON, one value a line. The worker says {"ready":true} once. The parent writes {"batch":[job, ...]} and the worker
// answers each job in turn, one line each: {"result":...} for a trial, {"divergence":"..."} for a bisection. The end of
// its input ends a worker. SIGQUIT makes it write the stacks of all goroutines to its standard error and exit.
package campaign
