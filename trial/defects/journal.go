package defects

import "lakebed/model"

// journalDefects are mistakes in what makes an add durable.
func journalDefects() []Defect {
	return []Defect{
		{
			ID: "no-sync", Title: "the journal acknowledges groups that it has not synced",
			Origin: ours + "an add is acknowledged only after its journal group is durable",
			Edits: []Edit{{
				File: journalFolder + "journal.go", Function: "Journal.sync",
				Original: "j.syncCurrent()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "retry-after-failed-fsync", Title: "the journal syncs again after a failed sync, and goes on",
			Origin: "PostgreSQL fsyncgate (2018); Rebello et al., USENIX ATC 2020",
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
			Edits: []Edit{{
				File: journalFolder + "files.go", Function: "Journal.finish",
				Original: "err = j.dir.SyncDir()", Replacement: "",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "ack-before-write", Title: "adds are acknowledged before their journal group is written",
			Origin: ours + "an add is acknowledged only after its journal group is durable",
			Edits: []Edit{{
				File: "engine/host/groupcommit.go", Function: "GroupCommit.run",
				Original: "err = c.commit(payload)", Replacement: "ticket.gate.Open()\nerr = c.commit(payload)",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "failure-acknowledged", Title: "adds of a group that could not be written are acknowledged",
			Origin: ours + "fail-stop: after a failed write or sync nothing is acknowledged any more",
			Edits: []Edit{{
				File: "engine/host/groupcommit.go", Function: "GroupCommit.tell",
				Original: "o.ticket.err = o.err", Replacement: "",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerFence, model.CheckerDeleted),
		},
		{
			ID: "short-write-offset", Title: "a short write is taken for a whole one",
			Origin: "bookkeeper#4855: positions are off after a partly failed write",
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
			Edits: []Edit{{
				File: journalFolder + "files.go", Function: "Journal.forget",
				Original: "j.files[0].id < m.File", Result: "bool", Replacement: "return j.files[0].id <= m.File",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "last-file-not-replayed", Title: "replay leaves out the file that was written last, and the one made ahead of it",
			Origin: "bookkeeper#2220, #3956: replay silently ignores the rest",
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
