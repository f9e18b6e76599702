package defects

import "lakebed/model"

const checkpointFile = bookieFolder + "checkpoint.go"

// checkpointDefects are mistakes in the order of a checkpoint.
func checkpointDefects() []Defect {
	return append([]Defect{
		{
			ID: "mark-before-index", Title: "the mark is written before the ledger table",
			Origin:    ours + "each step of a checkpoint relies on the one before being durable",
			Mechanism: "a crash between mark and ledger table leaves a mark for logs that the durable table does not name",
			UnitTest:  "nothing: needs a crash between the two",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.checkpoint",
				Original: "s.writeTable()", Result: "(lastmark.Mark, error)",
				Replacement: `early := s.mark.Last()
					early.Journal = s.journal.MarkAt(sealed)
					if err := s.mark.Write(early); err != nil {
						return early, err
					}
					return s.writeTable()`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "trim-before-index", Title: "the journal is trimmed before log, table and mark are durable",
			Origin: ours + "each step of a checkpoint relies on the one before being durable",
			Mechanism: "a crash, or a flush that fails, comes when the journal is trimmed and the log does not have the " +
				"entries yet",
			UnitTest: "nothing: needs a crash or a failure in a checkpoint",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.checkpoint",
				Original: "s.flush()", Result: "error",
				Replacement: `if err := s.journal.Trim(s.journal.MarkAt(sealed)); err != nil {
						return err
					}
					return s.flush()`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "table-left-out", Title: "a checkpoint leaves out the changed rows of the ledger table",
			Origin:    ours + "the ledger table is part of every checkpoint",
			Mechanism: "fences, keys and deletes that only the trimmed journal held are gone after the next start",
			UnitTest:  "a test of fence, checkpoint and restart sees it",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.writeTable",
				Original:    "s.mutex.Unlock()",
				Replacement: "s.mutex.Unlock()\nif !whole {\nchanges.Rows = nil\n}",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerFence, model.CheckerList),
		},
		{
			ID: "mark-too-late", Title: "the mark is captured at the end of a checkpoint instead of its beginning",
			Origin: "bookkeeper#659: the mark advanced past data still in memory",
			Mechanism: "groups that were sealed during the checkpoint lie in the new generation only, and the mark lets a " +
				"start pass over them",
			UnitTest: "nothing: needs adds during a checkpoint, and then a crash",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.checkpoint",
				Original:    "mark.Journal = s.journal.MarkAt(sealed)",
				Replacement: "mark.Journal = s.journal.MarkAt(s.journal.Sealed())",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "mark-moved-back", Title: "an older mark is written after a newer one, whose journal files are trimmed",
			Origin:    "bookkeeper#4105: lastMark moved back to a journal that was gone",
			Mechanism: "the mark on the disk names a journal file that was trimmed, and the next start refuses",
			UnitTest:  "a test of two checkpoints and a restart sees it",
			Edits: []Edit{
				{
					File: checkpointFile, Function: "Store.checkpoint",
					Original: `if err := s.mark.Write(mark); err != nil {
						return err
					}
					s.h.Probe().Mark(host.Event{Name: PointCheckpointed, A: int64(sealed)})
					s.cleanUp(mark)`,
					Replacement: `older := s.mark.Last()
					if err := s.mark.Write(mark); err != nil {
						return err
					}
					s.h.Probe().Mark(host.Event{Name: PointCheckpointed, A: int64(sealed)})
					s.cleanUp(mark)
					if older.Journal.Sequence > 0 {
						return s.mark.Write(older)
					}`,
				},
				{
					File: bookieFolder + "lastmark/lastmark.go", Function: "Slots.Write",
					Original:    `invariant.Check(m.Journal.Sequence >= s.mark.Journal.Sequence, "the mark does not move back")`,
					Replacement: "",
				},
			},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "failed-flush-forgotten", Title: "a generation that could not be flushed is let go",
			Origin: "bookkeeper#4114: a checkpoint fails while writes pile up",
			Mechanism: "the disk fails in a flush, the generation is dropped, and the next checkpoint marks its groups as " +
				"stored",
			UnitTest: "a test with a disk that fails in a flush sees it",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.flush",
				Original: "if err != nil {\nreturn err\n}",
				Replacement: `if err != nil {
						s.mutex.Lock()
						defer s.mutex.Unlock()
						s.flushing.Unpin()
						s.flushing = nil
						return err
					}`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "generation-reused", Title: "a batch does not pin the generation that its journal group refers to",
			Origin: "bookkeeper#1737: memory was reused under those who kept references to it",
			Mechanism: "a checkpoint overtakes a slow journal write, the generation's memory is used again, and the group is" +
				" written with other entries' bytes",
			UnitTest: "nothing: needs a journal slower than a whole checkpoint",
			Edits: []Edit{
				{File: bookieFolder + "add.go", Function: "Store.pinWhileWriting", Original: "s.active.Pin()"},
				{File: bookieFolder + "add.go", Function: "Batch.Committed", Original: "b.generation.Unpin()"},
				{
					File: bookieFolder + "add.go", Function: "writing.Committed",
					Original: "(*writecache.Generation)(w).Unpin()",
				},
			},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerInvented),
		},
	}, sealDefects()...)
}

// sealDefects are mistakes in what a checkpoint leaves behind for the next start.
func sealDefects() []Defect {
	return []Defect{
		{
			ID: "log-removed-before-table", Title: "an entry log is removed while the durable ledger table still names it",
			Origin:    "bookkeeper#1534: the old log was deleted before the index was durable",
			Mechanism: "the file goes at once, a crash follows, and the durable table names a log that is not there",
			UnitTest:  "nothing: needs a crash in the middle of a checkpoint",
			Edits: []Edit{{
				File: checkpointFile, Function: "Store.writeTable",
				Original: "s.dead = append(s.dead, dead...)",
				Replacement: `if err := s.logs.Remove(dead); err != nil {
						return lastmark.Mark{}, err
					}`,
			}},
			Scenario: "endings", Checkers: losses(),
		},
		{
			ID: "close-without-checkpoint", Title: "a clean stop writes the footer and marks what only memory holds as stored",
			Origin: ours + "a clean stop leaves everything in the entry log",
			Mechanism: "the footer calls everything durable, the mark everything stored, and the write cache dies with the " +
				"process",
			UnitTest: "a test of close and reopen sees it",
			Edits: []Edit{{
				File: bookieFolder + "store.go", Function: "Store.journalEnd",
				Original: "err = s.checkpoint()",
				Replacement: `mark := s.mark.Last()
					mark.Journal = s.journal.MarkAt(s.journal.Sealed())
					err = s.mark.Write(mark)`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
	}
}
