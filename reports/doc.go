// Package reports holds what was measured and shows it: results as versioned JSON, the statistics over them, Markdown
// tables, plots, and pages that need nothing but themselves.
//
// # What it promises
//
//   - A Result says where it comes from: commit, Go release, machine, disk, settings, command. Each Figure says its unit,
//     its clock, and keeps the samples that it was made of, so that two results can be compared later.
//   - Nothing here measures, runs or knows the engine. Whoever measures fills a Result; a Result alone is enough to draw.
//   - The same result gives the same bytes: resampling is seeded, maps are not walked in their own order.
//
// # The file
//
// A result is one JSON object, Schema first. ReadResult refuses a newer schema, unknown fields and figures without a unit
// or clock. Times are RFC 3339, lengths seconds.
package reports
