// Package inspection holds what the inspectors of all stores have in common: problems with their severity and class, and how files that
// may be damaged are read.
//
// # What it promises
//
//   - A report of a store that is damaged everywhere fills no memory: Findings lists the first ListedMax problems and counts all.
//   - A Reader and ReadAll take no more memory than the bytes that are asked for, which they check against the file first.
//
// # What it does not promise
//
//   - It locks nothing. What is written meanwhile may be seen in part.
//
// An inspector shares as little with its store as it can: it is to find what the store's own code is wrong about. So this package knows nothing
// of formats.
package inspection
