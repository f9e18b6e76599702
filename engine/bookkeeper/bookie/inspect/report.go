package inspect

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// The classes of problems.
const (
	Unreadable      inspection.Class = "unreadable"       // the machine could not read it
	BadHeader       inspection.Class = "bad-header"       // of a file
	TornTail        inspection.Class = "torn-tail"        // the last group is bad
	Rot             inspection.Class = "rot"              // an earlier group, or one that is known to have been durable
	BadRecord       inspection.Class = "bad-record"       // its checksum is good, its content makes no sense
	Missing         inspection.Class = "missing"          // a file that another one names
	Gap             inspection.Class = "gap"              // sequences do not run on
	BadMark         inspection.Class = "bad-mark"         // a slot, or both
	MarkAhead       inspection.Class = "mark-ahead"       // the mark knows more than there is
	BadCookie       inspection.Class = "bad-cookie"       // cannot be decoded
	CookieMismatch  inspection.Class = "cookie-mismatch"  // the directories belong to different bookies
	BadIndex        inspection.Class = "bad-index"        // a block of an entry log's index
	IndexMismatch   inspection.Class = "index-mismatch"   // the index and the records of its log differ
	Unsorted        inspection.Class = "unsorted"         // entries of a flush are not in order
	UnlistedLedger  inspection.Class = "unlisted-ledger"  // entries of a ledger that the table does not know
	Orphan          inspection.Class = "orphan"           // a file that nothing names
	Unfinished      inspection.Class = "unfinished"       // bytes or files of a write that was not completed
	UnfinishedTable inspection.Class = "unfinished-table" // a ledger table without a snapshot's end
)

// Report is everything that was found.
type Report struct {
	InUse    []string             `json:"in_use,omitempty"` // directories that a running bookie holds
	Cookies  []Cookie             `json:"cookies,omitempty"`
	Mark     *Mark                `json:"mark,omitempty"`
	Journal  []Journal            `json:"journal,omitempty"`
	Tables   []Table              `json:"tables,omitempty"`
	Logs     []Log                `json:"logs,omitempty"`
	Ledgers  []Ledger             `json:"ledgers,omitempty"`
	Spares   []string             `json:"spares,omitempty"` // journal files to be used again; what they hold does not count
	Others   []string             `json:"others,omitempty"` // files that are not a bookie's
	Problems []inspection.Problem `json:"problems,omitempty"`

	// Scrubbed is what the bookie's own scrubber has listed. It is no problem by itself: what is still bad is found here too.
	Scrubbed *bookie.FlawList `json:"scrubbed,omitempty"`
}

// Cookie is one directory's cookie.
type Cookie struct {
	Directory string `json:"directory"`
	bookie.Cookie
}

// Mark is the newest valid mark and the slots it was chosen from.
type Mark struct {
	Slots         []Slot `json:"slots"`
	Sequence      uint64 `json:"sequence"`
	JournalFile   uint64 `json:"journal_file"`
	First         uint64 `json:"first"` // sequence of that file's first group
	TableFile     uint64 `json:"table_file"`
	TableSequence uint64 `json:"table_sequence"`
}

// Slot is one of the mark's two slots.
type Slot struct {
	State   string `json:"state"` // valid, empty, bad
	Counter uint64 `json:"counter,omitempty"`
}

// Groups is what the framing of one file looks like.
type Groups struct {
	Name     string `json:"name"`
	ID       uint64 `json:"id"`
	Identity string `json:"identity"` // hexadecimal
	Bytes    int64  `json:"bytes"`    // of the file
	DataEnd  int64  `json:"data_end"` // behind the last good group
	Groups   int    `json:"groups"`
	Records  int    `json:"records"`
	First    uint64 `json:"first,omitempty"` // sequence
	Last     uint64 `json:"last,omitempty"`
	End      string `json:"end"` // clean, footer, torn, rotten, unreadable
}

// Journal is one journal file.
type Journal struct {
	Groups
	Entries  int `json:"entries"`
	Fences   int `json:"fences"`
	Deletes  int `json:"deletes"`
	ToReplay int `json:"to_replay"` // groups behind the mark
}

// Table is one ledger table file.
type Table struct {
	Groups
	Finished  bool `json:"finished"` // its snapshot is complete
	Current   bool `json:"current"`  // the bookie would load it
	Ledgers   int  `json:"ledgers"`
	Logs      int  `json:"logs"`
	Uncertain bool `json:"uncertain"` // ledgers it does not list may have been lost
}

// Log is one entry log.
type Log struct {
	Groups
	Listed     bool   `json:"listed"` // the ledger table names it
	Durable    int64  `json:"durable,omitempty"`
	Closed     bool   `json:"closed"`
	Flushes    int    `json:"flushes"`
	Entries    int    `json:"entries"`
	Ledgers    int    `json:"ledgers"`
	IndexItems int    `json:"index_items"`
	Index      string `json:"index"` // none, good, bad
}

// Ledger is one ledger, as the table and what is to be replayed make it.
type Ledger struct {
	ID             ledger.ID      `json:"id"`
	Known          bool           `json:"state_known"` // a ledger table was there to say what is not fenced or deleted
	Fenced         bool           `json:"fenced"`
	Deleted        bool           `json:"deleted"`
	Limbo          bool           `json:"limbo"`
	HasKey         bool           `json:"has_key"`
	LogEntries     int            `json:"log_entries"` // a version in another log counts again
	JournalEntries int            `json:"journal_entries"`
	First          ledger.EntryID `json:"first"`
	Last           ledger.EntryID `json:"last"`
}

// Worst is the severity of the worst problem; empty if there is none.
func (r *Report) Worst() inspection.Severity {
	for _, s := range []inspection.Severity{inspection.Damage, inspection.Doubt, inspection.Note} {
		for _, p := range r.Problems {
			if p.Severity == s {
				return s
			}
		}
	}
	return ""
}

// Empty reports whether nothing of a bookie was found.
func (r *Report) Empty() bool {
	return len(r.Cookies)+len(r.Journal)+len(r.Tables)+len(r.Logs)+len(r.Spares)+len(r.Problems) == 0 && r.Mark == nil
}

// found adds a problem.
func (r *Report) found(p inspection.Problem, format string, args ...any) {
	p.Message = fmt.Sprintf(format, args...)
	r.Problems = append(r.Problems, p)
}

// classify says what an error about a file's framing means: how the file ends, and the problem if it is one.
func classify(err error) (end string, p inspection.Problem, bad bool) {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return "clean", inspection.Problem{}, false
	case errors.Is(err, record.ErrCorrupt):
		return "rotten", inspection.Problem{Severity: inspection.Damage, Class: Rot}, true
	case errors.Is(err, record.ErrTornTail):
		return "torn", inspection.Problem{Severity: inspection.Doubt, Class: TornTail}, true
	case errors.Is(err, host.ErrNotExist):
		return "unreadable", inspection.Problem{Severity: inspection.Damage, Class: Missing}, true
	default:
		return "unreadable", inspection.Problem{Severity: inspection.Damage, Class: Unreadable}, true
	}
}
