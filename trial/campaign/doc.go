// Package campaign runs many trials and says what they prove together.
//
// A campaign is a row of consecutive seeds. Which scenario a seed runs is a pure function of the seed and the mix, so
// "replay 17" means the same trial as seed 17 of the default campaign. Trials run in worker processes, one a core: two
// workers in one process gain next to nothing, because all they do is allocate.
//
// # What it promises
//
//   - A complete campaign with the same options gives the same Summary, except for what was measured on a real clock,
//     and for which of many equal failures ran twice.
//   - Every failure has a seed and a command that shows it again. Failures with one signature form a group, and a group
//     shows its shortest trial.
//   - A trial that does not answer in time is a failure (hang), and so is one that takes its worker with it (died). What
//     the worker said last is kept; the other trials of its batch are run by its successor.
//   - One seed in twenty, and the first few of each kind of failure, run twice, in another process where there is one.
//     If anything differs (trace, disks, verdict), that is the gravest failure: nothing else can be trusted until it is
//     mended. It is bisected to the first event that differs.
//   - A canary scenario, which breaks its promise by an ordinary wrong setting, must be caught. Otherwise the campaign
//     has proved that it can pass, and no more.
//   - The rare states that the catalogue requires must each have been reached, or the campaign is weak.
//   - A trial that was cut short by an interrupt counts for nothing.
//
// # What it does not promise
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
// # Between parent and worker
//
// JSON, one value a line. The worker says {"ready":true} once. The parent writes {"batch":[job, ...]} and the worker
// answers each job in turn, one line each: {"result":...} for a trial, {"divergence":"..."} for a bisection. The end of
// its input ends a worker. SIGQUIT makes it write the stacks of all goroutines to its standard error and exit.
package campaign
