package bench

import (
	"fmt"
	"strings"

	"lakebed/reports"
)

// Subject is what an arm measures.
type Subject string

// The subjects.
const (
	Journal Subject = "journal" // alone, without cache, table or checkpoints
	Bookie  Subject = "bookie"  // whole, in this process
)

// Submission is how entries are handed in.
type Submission string

// The ways of submission.
const (
	Batches Submission = "batches" // as connections would: a batch each, submitted again when it comes back
	Blocked Submission = "blocked" // one task an entry, which waits for it
)

// connectionsMax is how many connections the batches come from; with few outstanding there are fewer.
const (
	connectionsMax = 8
	batchMin       = 4
)

// Arm is one thing to measure.
type Arm struct {
	Subject      Subject
	Outstanding  int
	Submission   Submission
	PayloadBytes int
}

// Name is the arm's name on the command line and in files.
func (a Arm) Name() string {
	return fmt.Sprintf("%s/%s/%d/%s", a.Subject, a.Submission, a.Outstanding, sizeName(a.PayloadBytes))
}

// armPayloads are the lengths of the entries that arms append.
var armPayloads = []int{100, 1 << 10, 16 << 10}

// sizeWords is a size as tables say it.
func sizeWords(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}

// sizeName writes a size as names do.
func sizeName(bytes int) string { return strings.ReplaceAll(sizeWords(bytes), " ", "") }

// split says how many tasks the arm has and how many entries each hands in at a time.
func (a Arm) split() (tasks, batch int) {
	if a.Submission == Blocked {
		return a.Outstanding, 1
	}
	tasks = max(1, min(connectionsMax, a.Outstanding/batchMin))
	return tasks, a.Outstanding / tasks
}

// Goal is what an arm's ratio to the raw line should reach.
type Goal struct {
	Median float64
	Lower  float64 // bound of the interval; zero: none asked for
}

// Goal returns the arm's goal, if it has one: those with the most outstanding entries do.
func (a Arm) Goal() (Goal, bool) {
	switch {
	case a.Outstanding != outstandingMost:
		return Goal{}, false
	case a.Submission == Batches:
		return Goal{Median: 0.85, Lower: 0.80}, true
	default:
		return Goal{Median: 0.70}, true
	}
}

// Met reports whether the interval reaches the goal.
func (g Goal) Met(ratio reports.Figure) bool { return ratio.Value >= g.Median && ratio.Low >= g.Lower }

func (g Goal) String() string {
	if g.Lower == 0 {
		return fmt.Sprintf("%.2f", g.Median)
	}
	return fmt.Sprintf("%.2f, lower bound at least %.2f", g.Median, g.Lower)
}

// outstandingMost is the number of outstanding entries at which the goals are set.
const outstandingMost = 256

// Arms lists every arm, those with a goal first, so that a run that is cut short has measured what matters.
func Arms() []Arm {
	var goals, others []Arm
	for _, subject := range []Subject{Journal, Bookie} {
		for _, outstanding := range []int{outstandingMost, 64, 16, 1} {
			for _, submission := range []Submission{Batches, Blocked} {
				for _, payload := range armPayloads {
					a := Arm{subject, outstanding, submission, payload}
					if _, ok := a.Goal(); ok {
						goals = append(goals, a)
					} else {
						others = append(others, a)
					}
				}
			}
		}
	}
	return append(goals, others...)
}
