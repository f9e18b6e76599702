package defects

import "lakebed/model"

// journalDefects are mistakes in what makes an add durable.
func journalDefects() []Defect {
	return []Defect{
		{
			ID: "no-sync", Title: "the journal acknowledges groups that it has not synced",
			Origin:    ours + "an add is acknowledged only after its journal group is durable",
			Mechanism: "a group's adds are answered when the page cache has them; a power cut takes the pages",
			UnitTest:  "nothing: needs a power cut",
			Edits: []Edit{{
				File: journalFolder + "journal.go", Function: "Journal.sync",
				Original: "j.syncCurrent()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "retry-after-failed-fsync", Title: "the journal syncs again after a failed sync, and goes on",
			Origin: "PostgreSQL fsyncgate (2018); Rebello et al., USENIX ATC 2020",
			Mechanism: "the failed sync marks the pages clean, the second one succeeds without writing them, and a power cut" +
				" takes what was answered",
			UnitTest: "nothing: a fake file that fails once writes the second time",
			Edits: []Edit{{
				File: journalFolder + "journal.go", Function: "Journal.sync",
				Original: "j.syncCurrent()", Result: "error",
				Replacement: `if j.syncCurrent() == nil {
						return nil
					}
					j.syncFailed = nil
					return j.current.Sync()`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "no-syncdir", Title: "the name of a journal file is not made durable",
			Origin: ours + "a file's name is durable only after its directory is synced",
			Mechanism: "a synced journal file has a directory entry that a power cut takes back, and with it every group in " +
				"the file",
			UnitTest: "nothing: needs a power cut before the next sync of the directory",
			Edits: []Edit{{
				File: journalFolder + "files.go", Function: "Journal.finish",
				Original: "err = j.dir.SyncDir()", Replacement: "",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "ack-before-write", Title: "adds are acknowledged before their journal group is written",
			Origin:    ours + "an add is acknowledged only after its journal group is durable",
			Mechanism: "the ticket is opened before the write; a crash, or a write that fails, comes in between",
			UnitTest:  "a test with a disk that fails the write sees it",
			Edits: []Edit{{
				File: "engine/host/groupcommit.go", Function: "GroupCommit.run",
				Original: "err = c.commit(payload)", Replacement: "ticket.gate.Open()\nerr = c.commit(payload)",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "failure-acknowledged", Title: "adds of a group that could not be written are acknowledged",
			Origin:    ours + "fail-stop: after a failed write or sync nothing is acknowledged any more",
			Mechanism: "the outcome of a failed group does not reach its ticket, so that those who wait are told \"stored\"",
			UnitTest:  "a test with a disk that fails sees it",
			Edits: []Edit{{
				File: "engine/host/groupcommit.go", Function: "GroupCommit.tell",
				Original: "o.ticket.err = o.err", Replacement: "",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerFence, model.CheckerDeleted),
		},
		{
			ID: "short-write-offset", Title: "a short write is taken for a whole one",
			Origin:    "bookkeeper#4855: positions are off after a partly failed write",
			Mechanism: "the disk takes half of a write, the rest is never written, and what follows lies behind a hole",
			UnitTest:  "a test with a file that writes short sees it",
			Edits: []Edit{{
				File: "engine/host/file.go", Function: "WriteFull",
				Original: `if rest = after(rest, n); len(rest) == 0 {
					return done, nil
				}`,
				Replacement: "return done, nil",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerInvented),
		},
		{
			ID: "trim-too-much", Title: "trimming takes the file that replay would start with",
			Origin: ours + "trim removes only files of which every group is at or below the mark",
			Mechanism: "the file that holds the first group behind the mark goes, and a start finds the journal without its " +
				"beginning",
			UnitTest: "a test of trimming at the border of two files sees it",
			Edits: []Edit{{
				File: journalFolder + "files.go", Function: "Journal.forget",
				Original: "j.files[0].id < m.File", Result: "bool", Replacement: "return j.files[0].id <= m.File",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "last-file-not-replayed", Title: "replay leaves out the file that was written last, and the one made ahead of it",
			Origin:    "bookkeeper#2220, #3956: replay silently ignores the rest",
			Mechanism: "a start leaves out the newest groups, which no checkpoint has stored yet",
			UnitTest:  "a test of a start after a crash sees it",
			Edits: []Edit{{
				File: journalFolder + "replay.go", Function: "Journal.Replay",
				Original: "j.from(mark)", Result: "([]fileInfo, error)",
				Replacement: `files, err := j.from(mark)
					return files[:max(len(files)-2, 0)], err`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
	}
}
