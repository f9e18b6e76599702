// Package settings gives the settings of a bookie's process the names that bookkeeper.conf has for them.
//
// # What it promises
//
//   - A name that exists in bookkeeper.conf means here what it means there, in the same unit. What has no name there is
//     called "lakebed.…".
//   - A name that is not known is refused, with the one that was likely meant. So is a name of bookkeeper.conf that has no
//     meaning here, with the reason: a setting that is silently without effect is worse than a bookie that does not start.
//   - Everything that is wrong with a file is told at once.
//   - What is not set keeps the default of node.DefaultConfig.
//
// # What it does not promise
//
// It checks values by themselves. Whether they fit together is what node.Config.Validate says.
//
// # The file
//
// Java properties, as bookkeeper.conf is: "name=value" lines, "#" and "!" for comments, a backslash at the end of a line
// goes on with the next one, backslash escapes, UTF-8. There is no "${…}": a value is what stands there. Of a name that
// comes twice the last one counts, as in Java.
//
// It owns no tasks, keeps no state, and reads the file that it is given and nothing else.
package settings
