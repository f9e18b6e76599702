package defects

import "lakebed/model"

// logDefects are mistakes in writing and closing entry logs.
func logDefects() []Defect {
	return []Defect{
		{
			ID: "index-before-log", Title: "the entry log is synced with the next flush, after table and mark rely on it",
			Origin:    "bookkeeper#1345: a roll in between left a log unsynced",
			Mechanism: "table and mark name bytes of the log that no sync has reached; a power cut takes them",
			UnitTest:  "nothing: needs a power cut after a checkpoint",
			Edits: []Edit{
				{
					File: logFolder + "flush.go", Function: "writer.flush",
					Original:    "w.groups = w.synced",
					Replacement: "if err := w.sync(); err != nil {\nreturn nil, err\n}\nw.groups = w.synced",
				},
				{
					File: logFolder + "flush.go", Function: "writer.flush",
					Original: "if err := w.sync(); err != nil {\nreturn nil, err\n}",
				},
			},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "no-syncdir-log", Title: "the name of an entry log is not made durable",
			Origin:    ours + "a file's name is durable only after its directory is synced",
			Mechanism: "a synced entry log loses its name in a power cut, while the table names it",
			UnitTest:  "nothing: needs a power cut",
			Edits: []Edit{{
				File: logFolder + "flush.go", Function: "writer.sync",
				Original: "w.logs.dir.SyncDir()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "overlap-oldest-wins", Title: "of two runs of a ledger the older one is searched first",
			Origin:    ours + "the newest version of an entry wins",
			Mechanism: "recovery stores an entry again, and a read finds the version that was there before",
			UnitTest:  "a test that writes an entry twice with flushes between sees it",
			Edits: []Edit{{
				File: logFolder + "flush.go", Function: "Logs.attach",
				Original: "cmp.Compare(b.sequence, a.sequence)", Result: "int", Replacement: "return cmp.Compare(a.sequence, b.sequence)",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "closed-log-keeps-oldest", Title: "the index of a closed log keeps the oldest version of an entry",
			Origin:    ours + "the newest version of an entry wins",
			Mechanism: "an entry that was stored twice in one log loses its newer version when the log is closed",
			UnitTest:  "a test that writes twice into one log and closes it sees it",
			Edits: []Edit{{
				File: logFolder + "flush.go", Function: "mergeNewer",
				Original: "older = older[1:]", Replacement: "newer = newer[1:]",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "stale-read-ahead", Title: "a newer version of an entry leaves the old one in the read-ahead cache",
			Origin: ours + "a read answers with the newest version",
			Mechanism: "a read has cached the old version, a flush publishes the newer one, and the next read is answered " +
				"from the cache",
			UnitTest: "nothing, unless it reads, replaces and reads in this order",
			Edits: []Edit{{
				File: logFolder + "flush.go", Function: "Logs.forgetStale",
				Original: "l.ahead.drop(entryKey{id, it.entry})",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "read-ahead-races-flush", Title: "a slow read puts an entry into the cache after a newer version was published",
			Origin:    ours + "a read answers with the newest version",
			Mechanism: "a slow disk read ends behind a flush and puts the version it has read over the newer one",
			UnitTest:  "nothing: needs a read that is overtaken by a flush",
			Edits: []Edit{{
				File: logFolder + "find.go", Function: "Logs.cacheAhead",
				Original: "!l.newest(id, r, items[0].entry, items[len(items)-1].entry)", Result: "bool", Replacement: "return false",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "abandoned-log-continued", Title: "after a failed flush the next one goes on behind it in the same log",
			Origin:    ours + "pages of a file whose sync failed may count as clean without being so",
			Mechanism: "a flush fails, its pages count as clean without being written, and the next flush relies on them",
			UnitTest:  "nothing: a fake file that fails once keeps what was written",
			Edits: []Edit{{
				File: logFolder + "flush.go", Function: "Logs.Flush",
				Original: "l.abandon(f)", Replacement: "f.end, f.groups = w.offset, w.groups",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "orphan-adopted", Title: "the next log takes the name of one that the table does not know",
			Origin:    ours + "ids of logs rise and are not used again",
			Mechanism: "a crash leaves a log that the table does not know, and the next one is made under its name",
			UnitTest:  "a test that starts with a left-over file sees it",
			Edits: []Edit{{
				File: logFolder + "open.go", Function: "Logs.noteOrphans",
				Original: "l.nextID = max(l.nextID, id+1)",
			}},
			Scenario: "bookie", Checkers: append(losses(), checkerLiveness),
		},
	}
}
