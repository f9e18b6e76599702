package death

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"lakebed/engine/bookkeeper/ledger"
)

// What is wrong, in a word.
const (
	Lost        = "lost"          // an acknowledged entry is not there
	Changed     = "changed"       // an entry is not what was written
	Disorder    = "disorder"      // acknowledgements out of order, twice, or of nothing
	NotShutOut  = "not-shut-out"  // an entry was acknowledged behind the end of a closed ledger
	EndMoved    = "end-moved"     // two recoveries end the ledger in different places
	NotClosed   = "not-closed"    // a recovered ledger is not closed
	WrongLength = "wrong-length"  // its metadata and its entries have different lengths
	WriterHangs = "writer-hangs"  // it was shut out, and has not noticed
	NotBack     = "does-not-come" // a process did not come back, or the round could not go on
	NoLoad      = "no-load"       // the writer had ended before anything was killed: the round shows nothing
)

// Finding is something that should not be.
type Finding struct {
	What   string         `json:"what"`
	Round  int            `json:"round"`
	Ledger ledger.ID      `json:"ledger"`
	First  ledger.EntryID `json:"first_entry"`
	Last   ledger.EntryID `json:"last_entry"`
	Detail string         `json:"detail,omitempty"`
}

// String is the finding in a line.
func (f Finding) String() string {
	entries := fmt.Sprintf("entry %d", f.First)
	if f.Last != f.First {
		entries = fmt.Sprintf("entries %d to %d", f.First, f.Last)
	}
	return fmt.Sprintf("round %d: %s: %s of ledger %d: %s", f.Round, f.What, entries, f.Ledger, f.Detail)
}

// Round is what one round did and found.
type Round struct {
	Number      int            `json:"round"`
	Kind        string         `json:"kind"`
	Writer      bool           `json:"writer_killed"`
	Bookies     []int          `json:"bookies_killed"`
	Ledger      ledger.ID      `json:"ledger"`
	AckedBefore ledger.EntryID `json:"acked_before_kill"` // entries
	Acked       ledger.EntryID `json:"acked"`             // entries, by the writer's end
	Length      ledger.EntryID `json:"entries"`           // of the recovered ledger
	Read        int64          `json:"read_back"`         // and equal
	WriterEnded string         `json:"writer_ended,omitempty"`
	Restart     time.Duration  `json:"restart_ns"`  // of the bookies, all together
	Recovery    time.Duration  `json:"recovery_ns"` // of the ledger, with reading all of it
	Findings    []Finding      `json:"findings,omitempty"`
	Further     int64          `json:"further_findings,omitempty"`
}

func (r *Round) add(f Finding) {
	f.Round = r.Number
	if len(r.Findings) >= findingsMax {
		r.Further++
		return
	}
	r.Findings = append(r.Findings, f)
}

func (r *Round) take(b readBack) {
	r.Read = b.read
	for _, f := range b.wrong {
		r.add(f)
	}
	r.Further += b.passed
}

// String is the round in a line.
func (r Round) String() string {
	verdict := "ok"
	if len(r.Findings) > 0 {
		verdict = r.Findings[0].What
	}
	return fmt.Sprintf("round %d: killed %s under load: %d acknowledged, %d read back: %s", r.Number, r.Kind, r.Acked, r.Read, verdict)
}

// Report is what all rounds found.
type Report struct {
	Seed     uint64  `json:"seed"`
	Defect   string  `json:"defect,omitempty"`
	Bookies  int     `json:"bookies"`
	Quorum   string  `json:"quorum"`
	InFlight int     `json:"in_flight"`
	Planned  int     `json:"rounds_planned"`
	Rounds   []Round `json:"rounds"` // that were finished
	// Interrupted: ended from outside. What was not finished is not counted, and the last look at everything is missing.
	Interrupted bool `json:"interrupted"`

	Kills    int           `json:"kills"` // of processes
	Acked    int64         `json:"acked"`
	Read     int64         `json:"read_back"`
	Again    int64         `json:"read_again"` // after all rounds, and after another restart of all bookies
	Findings []Finding     `json:"findings"`
	Further  int64         `json:"further_findings"`
	Took     time.Duration `json:"took_ns"`
	Clock    string        `json:"clock"`
}

func (r *Report) take(one Round) {
	r.Rounds = append(r.Rounds, one)
	r.Kills += len(one.Bookies)
	if one.Writer {
		r.Kills++
	}
	r.Acked += int64(one.Acked)
	r.Read += one.Read
	r.Findings = append(r.Findings, one.Findings...)
	r.Further += one.Further
}

// Exit codes, as everywhere in simrun.
const (
	exitOK          = 0
	exitBroken      = 1
	exitInterrupted = 3
)

// ExitCode is 1 if anything was found, which outweighs an interrupt.
func (r *Report) ExitCode() int {
	switch {
	case len(r.Findings) > 0:
		return exitBroken
	case r.Interrupted:
		return exitInterrupted
	}
	return exitOK
}

// verdict is the headline's beginning. A run that did not end cannot say that nothing is lost.
func (r *Report) verdict() string {
	found := int64(len(r.Findings)) + r.Further
	switch {
	case found > 0 && r.Interrupted:
		return fmt.Sprintf("BROKEN: %d findings, then INTERRUPTED; of %d rounds planned", found, r.Planned)
	case found > 0:
		return fmt.Sprintf("BROKEN: %d findings", found)
	case r.Interrupted:
		return fmt.Sprintf("INTERRUPTED, nothing found until then; of %d rounds planned", r.Planned)
	}
	return "nothing that was acknowledged is lost"
}

// kindRow sums up the rounds of a kind.
type kindRow struct {
	name              string
	rounds, wrong     int
	acked, read       int64
	restart, recovery time.Duration // the longest
}

func (r *Report) rows() []kindRow {
	var rows []kindRow
	for _, k := range kinds() {
		row := kindRow{name: k.Name}
		for _, one := range r.Rounds {
			if one.Kind != k.Name {
				continue
			}
			row.rounds++
			row.acked += int64(one.Acked)
			row.read += one.Read
			row.restart, row.recovery = max(row.restart, one.Restart), max(row.recovery, one.Recovery)
			if len(one.Findings) > 0 {
				row.wrong++
			}
		}
		if row.rounds > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// WriteText prints a headline, the table, and what was found.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d rounds, %d processes killed, %d entries acknowledged, %d read back equal, %d once more at the end (%.0f s)\n\n",
		r.verdict(), len(r.Rounds), r.Kills, r.Acked, r.Read, r.Again, r.Took.Seconds())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "killed\trounds\tacknowledged\tread back\tlongest restart\tlongest recovery\twith findings\t")
	for _, row := range r.rows() {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f ms\t%.0f ms\t%d\t\n", row.name, row.rounds, row.acked, row.read,
			millis(row.restart), millis(row.recovery), row.wrong)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range r.Findings {
		fmt.Fprintln(w, f)
	}
	if r.Further > 0 {
		fmt.Fprintf(w, "and %d further ones\n", r.Further)
	}
	_, err := fmt.Fprintf(w, "\n%d bookies, %s, %d entries in flight, seed %d; times on this machine's clock. Read back may be more than\n"+
		"acknowledged: an entry whose acknowledgement did not arrive may be there or not.\n", r.Bookies, r.Quorum, r.InFlight, r.Seed)
	return err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
