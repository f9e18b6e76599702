// Package commit gathers what many tasks append into groups, and commits one group at a time: in the task of an appender who
// finds nobody before it, and in a task of its own when there is a line.
//
// # What it promises
//
//   - Groups are committed in the order in which they were opened, one at a time: Config.Commit is never called twice at once,
//     and each call sees what the one before has done. Config.Settle is told of every group in the same order, and before
//     those who wait for the group are.
//   - It is fail-stop: once a commit fails, that group and every later one fail with the same error, and nothing is committed
//     again. Whether the failed group is durable is unknown. Fail stops it from outside in the same way.
//   - What arrives while a group is committed is the next group. Nothing waits for company, unless Config.Wait says how long a
//     group may: then the committing task commits all groups, also that of a lone append, and begins as soon as the group is
//     full, its time is over, or the line ends or fails. Hurry ends all such waits for good.
//   - Who waits for room in EnterInTurn gets it in turn, and none is woken for nothing: in a mode in which each append is a group,
//     many may wait.
//   - Memory is bounded by three payloads and Config.Limit.
//
// # What it does not promise
//
//   - An appender that commits (Config.ByAppender) is in the hands of the disk: while that hangs, so does Commit, and nobody can
//     free it. Whoever has promised to free appenders leaves ByAppender off, or frees all but this one.
//   - Without ByAppender it is host.GroupCommit, which the bookie's journal uses: there one batch of a connection completes
//     without any task that waits, so nobody is there to commit.
//
// # Tasks
//
// Two, below the group given to New: one commits while there is a line, one tells the outcomes of a group while the next is
// committed. A lone appender wakes neither. End ends both, and waits for an appender that commits.
//
// # Why
//
// To hand one append over to another task and to be woken by it takes two wake-ups, each of which may wake a thread and a
// core. A lone append of 100 B into the page cache cost three times as much as the write itself (docs/decisions/0018).
package commit
