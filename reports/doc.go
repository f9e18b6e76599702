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
// # How figures are judged
//
// The interval of a figure is a 95 % bootstrap interval of the median of its rounds (4,000 resamples). Compare tests
// one figure of each cell that two results share, its first with rounds and a direction: do the rounds differ? A Mann-Whitney
// test must say so (counted exactly up to 40 rounds of both together, ties included, by the normal approximation with its tie
// correction past that), and Welch's t test over the logarithms, corrected after Holm for all cells that had enough rounds to
// show anything; the others are said to have too few, not to be equal.
//
// Costs fits a straight line through all rounds of cells that differ in the size of their entries: what an entry costs, and
// what its bytes cost. Drifts fits one through the rounds of each cell; where all of its interval is past a tenth of the median
// from the first round to the last, every form of the report warns of it.
//
// # What it draws
//
// A page is one HTML file without script or reference. Plots are drawn once by gonum.org/v1/plot, with marks for colours
// that become variables of the page's style, so that light, dark and paper each have colours of their own. Each plot has
// a table of the same values and a sentence for those who do not see it. Axes of values start at zero or are logarithmic.
//
// # The file
//
// A result is one JSON object, Schema first. ReadResult refuses a newer schema, unknown fields and figures without a unit
// or clock, intervals that do not hold their value, and numbers that no machine could have measured. A file holds one result
// or a list of them, and at most 64 MiB. Times are RFC 3339, lengths seconds.
package reports
