package defects

import (
	"fmt"
	"slices"

	"lakebed/model"
)

// Defect is a planted bug.
type Defect struct {
	ID     string `json:"id"`
	Title  string `json:"title"`  // what the engine does wrong
	Origin string `json:"origin"` // the issue of a real system, the rule of ours that it breaks, or "found here"
	// Mechanism is how it goes wrong: what must come together, and what is lost then.
	Mechanism string `json:"mechanism"`
	// UnitTest is what a plain test of the function or package would have seen, without crashes, faults or interleavings.
	UnitTest string   `json:"unit_test"`
	Edits    []Edit   `json:"edits"`
	Scenario string   `json:"scenario"`
	Checkers []string `json:"checkers"` // one of them must catch it
}

// Edit is one place of the engine's sources, and what stands there instead.
type Edit struct {
	File        string `json:"file"`        // from the module's root, with slashes
	Function    string `json:"function"`    // "name", or "Type.name" for a method
	Original    string `json:"original"`    // stands in the function's body exactly once; spaces and line ends count for nothing
	Replacement string `json:"replacement"` // statements
	// Result is the type of the original, if that is an expression; the replacement then ends in a return. Empty: the
	// original is one or more statements.
	Result string `json:"result,omitempty"`
}

// The checkers of package trial that judge more than the history.
const (
	checkerRestart  = "restart"   // a bookie refuses directories that nobody damaged
	checkerWorld    = "world"     // a panic, a deadlock, a task that is left over
	checkerLiveness = "liveness"  // a healed bookie does not start, serve and stop
	checkerMemory   = "memory"    // buffers are left after a clean close
	checkerScrub    = "scrub"     // rot in a closed log is passed over, or found where there is none
	checkerEjection = "ejection"  // a data directory that works is not taken back into service
	checkerHealed   = "available" // a healed segment log does not give out what it has acknowledged

	checkerAgreement = "agreement" // log, queues and key index of a commit log do not agree
	checkerRetention = "retention" // something is left that is to go
	checkerWritable  = "writable"  // a healed commit log takes no message
)

// losses are the checkers that see an acknowledged entry go: one by ordinary reads, one by the last look, and one if the
// bookie notices by itself and does not start.
func losses() []string {
	return []string{model.CheckerBookie, model.CheckerDurability, checkerRestart}
}

// ours marks an origin that is a rule of this engine.
const ours = "rule: "

// All returns the catalogue.
func All() []Defect {
	return slices.Concat(journalDefects(), recordDefects(), checkpointDefects(), logDefects(), ledgerDefects(), addDefects(),
		readDefects(), serverDefects(), startDefects(), damageDefects(), scrubDefects(),
		writerDefects(), lineDefects(), recoveryDefects(), readerDefects(), metadataDefects(), memberDefects(),
		segmentDefects(), segmentFileDefects(), messageDefects(), commitlogDefects(), livenessDefects(), memoryDefects(), rareDefects())
}

// Find returns the defect of this id.
func Find(id string) (Defect, error) {
	all := All()
	at := slices.IndexFunc(all, func(d Defect) bool { return d.ID == id })
	if at < 0 {
		return Defect{}, fmt.Errorf("no defect is called %q", id)
	}
	return all[at], nil
}

const (
	bookieFolder  = "engine/bookkeeper/bookie/"
	journalFolder = bookieFolder + "journal/"
	logFolder     = bookieFolder + "entrylog/"
	serverFolder  = bookieFolder + "server/"
	hostFolder    = "engine/host/"
)
