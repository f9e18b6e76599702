// Package trial turns a scenario and a seed into a verdict: it builds a world, boots the engine in it, lets clients and
// faults loose, heals the world, looks at everything once more, and asks the checkers.
//
// # What it promises
//
//   - Run of the same options gives the same Result, in any process, with any scheduling of the Go runtime.
//   - What a seed draws (configuration, mix, plan) is in the Result's plan or follows from scenario and seed. A trial
//     run with an explicit plan takes no fault from chance.
//   - After the faults comes a phase in which nothing is broken any more: whoever does not come back then is stalled.
//   - When a bookie has closed cleanly, tasks and buffers that are left are a failure.
//
// # Phases
//
// Work (faults fire) → heal (all ongoing faults end, what has not fired is cancelled) → restart → verify (every entry
// ever sent is read) → stop. A bookie that ends by itself, because a sync failed or because it could not read its
// directory, is started again; one that refuses its directories (ErrCorrupt, ErrCookie) has a reason only if the plan
// damaged media.
//
// Scenarios are TOML files in scenarios/, decoded strictly.
package trial
