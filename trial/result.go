package trial

import (
	"fmt"
	"regexp"
	"time"

	"lakebed/faults"
)

// Verdict is the outcome of a trial in one word.
type Verdict string

// The verdicts. Everything but OK fails a campaign.
const (
	OK        Verdict = "ok"
	Violation Verdict = "violation" // a checker found a broken promise
	Crashed   Verdict = "panic"     // engine code panicked
	Stalled   Verdict = "stalled"   // deadlock, livelock, no time advance, or the healed world did not finish
	Refused   Verdict = "refused"   // a bookie refused to start without a reason that the plan gives it
	LeftOver  Verdict = "left-over" // tasks or memory were left when a bookie had closed
)

// Finding is one broken promise.
type Finding struct {
	Checker   string `json:"checker"`
	Signature string `json:"signature"` // groups failures: the same bug gives the same text
	Text      string `json:"text"`
}

// Result is what a trial found. Two runs of the same trial give equal Hash, Events and Image.
type Result struct {
	Scenario   string           `json:"scenario"`
	Seed       uint64           `json:"seed"`
	Scheduler  string           `json:"scheduler"` // that picked which task ran next: random, fifo or pct
	Verdict    Verdict          `json:"verdict"`
	Findings   []Finding        `json:"findings,omitempty"`
	Hash       uint64           `json:"hash"`
	Events     int64            `json:"events"`
	Image      uint64           `json:"image"` // hash of all disks at the end
	Simulated  time.Duration    `json:"simulated_nanos"`
	Operations int64            `json:"operations"` // client operations that were started
	Answers    map[string]int64 `json:"answers"`    // by operation and outcome
	Effects    map[string]int64 `json:"effects"`    // faults, counted when engine code saw them
	Marks      map[string]int64 `json:"marks"`
	Plan       faults.Plan      `json:"plan"`
	Excused    []Finding        `json:"excused,omitempty"` // what is lost because the plan destroyed it; no failure
	Damage     []Wound          `json:"damage,omitempty"`  // what the plan destroyed, and what it was not allowed to
}

// Wound is a place where the plan destroyed synced bytes, or was kept from it.
type Wound struct {
	ID     string        `json:"id"` // of the plan's element
	At     time.Duration `json:"at_nanos"`
	Node   string        `json:"node"`
	Volume string        `json:"volume,omitempty"` // empty: all that the node held
	Path   string        `json:"path,omitempty"`   // empty: all of the volume
	Offset int64         `json:"offset,omitempty"`
	Length int64         `json:"length,omitempty"`
	Spared bool          `json:"spared,omitempty"` // the allowance forbade it
}

func (w *Wound) String() string {
	text := fmt.Sprintf("%s  %-10s", seconds(w.At), w.Node)
	switch {
	case w.Volume == "":
		text += " everything"
	case w.Path == "":
		text += " " + w.Volume
	default:
		text += fmt.Sprintf(" %s/%s, %d bytes at %d", w.Volume, w.Path, w.Length, w.Offset)
	}
	if w.Spared {
		text += ", spared"
	}
	return text + " by " + w.ID
}

// woundsTold is how many wounds a finding lists.
const woundsTold = 20

// explained ends the first finding with what the plan destroyed: whoever reads of a loss asks for that first.
func explained(findings []Finding, wounds []Wound) []Finding {
	if len(findings) == 0 || len(wounds) == 0 {
		return findings
	}
	text := "\n\nsynced bytes that the plan destroyed:"
	for i := range wounds {
		if i == woundsTold {
			text += fmt.Sprintf("\n  and %d more", len(wounds)-i)
			break
		}
		text += "\n  " + wounds[i].String()
	}
	findings[0].Text += text
	return findings
}

// damageDone is the driver's ledger of damage.
func damageDone(d *faults.Driver) []Wound {
	var done []Wound
	for _, w := range d.DamageLedger() {
		done = append(done, Wound(w))
	}
	return done
}

// digits are what signatures of one class may differ in: ids, sizes, addresses.
var digits = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// Class is the finding's checker and signature, without what differs from trial to trial.
func (f *Finding) Class() string { return f.Checker + ": " + digits.ReplaceAllString(f.Signature, "#") }

// Failed reports whether the trial broke a promise.
func (r *Result) Failed() bool { return r.Verdict != OK }
