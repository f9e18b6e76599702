package bookie

import (
	"slices"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
)

// Flaw is a place of a file in the ledger directory where the scrubber did not find what was written there.
type Flaw struct {
	File    string         `json:"file"`
	Part    entrylog.Part  `json:"part"`
	Offset  int64          `json:"offset"`
	Bytes   int64          `json:"bytes"`
	Ledger  ledger.ID      `json:"ledger"` // -1 if it is not of one ledger
	Entry   ledger.EntryID `json:"entry"`  // -1 if it is not of one entry
	Rot     bool           `json:"rot"`    // false: it could not be read, which may be a passing trouble
	Message string         `json:"message"`

	pass int64
}

// Scrubbed is what the scrubber of this process has done and found so far.
type Scrubbed struct {
	Passes  int64  `json:"passes"` // whole ones
	Flaws   []Flaw `json:"flaws"`  // as of the last time that their files were read
	LeftOut int64  `json:"left_out"`
}

// Scrubbed tells what the scrubber knows. Flaws of files that were removed are gone with the next whole pass.
func (s *Store) Scrubbed() Scrubbed {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	flaws := append([]Flaw{}, s.scrub.flaws.list...)
	for i := range flaws {
		flaws[i].pass = 0 // nobody else's
	}
	return Scrubbed{Passes: s.scrub.passes, Flaws: flaws, LeftOut: s.scrub.flaws.leftOut}
}

// flawList is a bounded list of flaws. What is known of a file stays until the file was read again.
type flawList struct {
	most    int
	list    []Flaw
	fresh   []Flaw // of the file that is being read
	leftOut int64  // in this pass
	pass    int64
}

func (l *flawList) beginPass() {
	l.pass++
	l.leftOut = 0
}

func (l *flawList) add(f Flaw) {
	f.pass = l.pass
	if len(l.fresh) == l.most {
		l.leftOut++
		return
	}
	l.fresh = append(l.fresh, f)
}

// endFile has what was found in a file take the place of what was known of it.
func (l *flawList) endFile(file string) {
	l.list = slices.DeleteFunc(l.list, func(f Flaw) bool { return f.File == file })
	room := min(l.most-len(l.list), len(l.fresh))
	l.list = append(l.list, l.fresh[:room]...)
	l.leftOut += int64(len(l.fresh) - room)
	l.fresh = nil
}

// endPass forgets files that were not there any more.
func (l *flawList) endPass() {
	l.list = slices.DeleteFunc(l.list, func(f Flaw) bool { return f.pass < l.pass })
}
