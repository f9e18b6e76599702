package reports

import "time"

// Schema is the version of the format of results. It rises when a field changes its meaning or goes away.
const Schema = 1

// Kind says what a result is of.
type Kind string

// The kinds of results.
const (
	KindBench      Kind = "bench"
	KindExperiment Kind = "experiment"
)

// Clock says by which clock a figure was measured.
type Clock string

// The clocks. A count, or a ratio of two figures of one clock, is of no clock of its own: a ratio names that of its parts,
// a count ClockNone.
const (
	ClockWall    Clock = "wall"    // of this machine
	ClockVirtual Clock = "virtual" // of a simulated world
	ClockCPU     Clock = "cpu"     // user and system time of the processes measured
	ClockNone    Clock = "none"
)

// Better says which of two values is the better one.
type Better string

// The directions. NeitherBetter is for what only describes.
const (
	HigherBetter  Better = "higher"
	LowerBetter   Better = "lower"
	NeitherBetter Better = ""
)

// Result is everything one run of a benchmark or an experiment found.
type Result struct {
	Schema  int       `json:"schema"`
	Kind    Kind      `json:"kind"`
	ID      string    `json:"id"`      // "bench", or an experiment's number
	Title   string    `json:"title"`   // one line
	Command string    `json:"command"` // that repeats it, as a user would type it
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // it took, by the wall clock

	Build    Build     `json:"build"`
	Machine  Machine   `json:"machine"`
	Disk     *Disk     `json:"disk,omitempty"` // nil: no disk was measured
	Settings []Setting `json:"settings,omitempty"`

	Groups  []Group  `json:"groups"`          // of cells, in the order of the report
	Plots   []Plot   `json:"plots,omitempty"` // drawn from the groups by whoever measured
	Goals   []Goal   `json:"goals,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"` // of an experiment
	Notes   []string `json:"notes,omitempty"`   // what a reader must know to trust the figures: noise, what was left out
}

// Build says what was measured.
type Build struct {
	Commit   string `json:"commit"`   // "unknown" outside of version control
	Modified bool   `json:"modified"` // the tree had changes that are not in the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Machine says where.
type Machine struct {
	CPUs        int     `json:"cpus"`
	Model       string  `json:"model"` // of the processor
	MemoryBytes int64   `json:"memory_bytes"`
	Kernel      string  `json:"kernel"`
	OthersShare float64 `json:"others_share"` // of all processors' time, used by other processes during the run; -1: not known
}

// Disk says which disk, and how it was used.
type Disk struct {
	Dir        string `json:"dir"`
	FileSystem string `json:"file_system"`
	Device     string `json:"device"`
	FreeBytes  int64  `json:"free_bytes"`
	InMemory   bool   `json:"in_memory"` // no disk at all: no figure about syncing means anything
	Sync       string `json:"sync"`      // what was synced when, in words
	Warm       string `json:"warm"`      // what was in memory, in words
}

// Setting is one setting that a figure depends on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Group is a table: cells that differ in a few labels.
type Group struct {
	Name  string `json:"name"`
	Note  string `json:"note,omitempty"` // one sentence under the table
	Cells []Cell `json:"cells"`
}

// Cell is one arm: what was varied, and what was measured there.
type Cell struct {
	Name    string    `json:"name"`   // unique in the result, such as "write/3-3-2/100B/1000"
	Labels  []Setting `json:"labels"` // what distinguishes this cell; the same names in the same order all over a group
	Figures []Figure  `json:"figures"`
}

// Figure is one measured quantity: a median with its 95 % interval, and the samples of it.
type Figure struct {
	Name    string    `json:"name"` // such as "appends", "p99"
	Unit    string    `json:"unit"` // such as "1/s", "µs", "B/s", "1" for ratios and counts
	Clock   Clock     `json:"clock"`
	Better  Better    `json:"better,omitempty"`
	Value   float64   `json:"value"`             // median of the samples, or the only value
	Low     float64   `json:"low"`               // 95 % interval of the median; both equal Value if there is one sample
	High    float64   `json:"high"`              //
	Samples []float64 `json:"samples,omitempty"` // one a round, in their order
}

// Goal is a stated aim and whether it was reached.
type Goal struct {
	Name   string  `json:"name"` // in words: "batch reads of 100 B, 100 a batch, by single reads with ten outstanding"
	Cell   string  `json:"cell"`
	Figure string  `json:"figure"`
	Wanted string  `json:"wanted"` // in words, such as "at least 8"
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Met    bool    `json:"met"`
	Why    string  `json:"why,omitempty"` // if it was missed, what is known of the reason
}

// VerdictWord is the outcome of an experiment.
type VerdictWord string

// The outcomes. Undecided: the intervals overlap, or this machine cannot decide it.
const (
	Confirmed VerdictWord = "confirmed"
	Refuted   VerdictWord = "refuted"
	Undecided VerdictWord = "undecided"
)

// Verdict judges a hypothesis. It is computed from the figures by a rule stated before the run.
type Verdict struct {
	Word   VerdictWord `json:"word"`
	Reason string      `json:"reason"` // the figures that decided it, in one or two sentences
}

// Plot is a picture of figures, without what it looks like.
type Plot struct {
	Name   string  `json:"name"` // unique in the result; lower case, for files
	Title  string  `json:"title"`
	X      Axis    `json:"x"`
	Y      Axis    `json:"y"`
	Lines  []Line  `json:"lines"`
	Bars   bool    `json:"bars,omitempty"` // bars side by side instead of lines; X.Names names them
	Ideal  float64 `json:"ideal,omitempty"`
	Legend string  `json:"legend,omitempty"` // what distinguishes the lines
}

// Axis is one axis of a plot.
type Axis struct {
	Label string   `json:"label"`
	Unit  string   `json:"unit"`
	Log   bool     `json:"log,omitempty"`
	Names []string `json:"names,omitempty"` // of the positions 0, 1, 2, … if they are not numbers
}

// Line is one line of a plot, or one colour of bars.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is a value with its interval. Low and High equal Y where there is none.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
