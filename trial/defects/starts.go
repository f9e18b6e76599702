package defects

import "lakebed/model"

// startDefects are mistakes of a start after a crash. Most were this engine's own, found by campaigns: what an earlier
// process left visible need not be durable.
func startDefects() []Defect {
	return []Defect{
		{
			ID: "names-unsettled", Title: "a start relies on names that are visible and may not be durable",
			Origin: "found here: a crash kept a new journal file's name and took back an older one's",
			Mechanism: "a crash kept a new file's name only in the page cache; the start relies on it, and a second crash " +
				"takes it",
			UnitTest: "nothing: needs two crashes",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.boot",
				Original: "s.settleNames()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "starts", Checkers: losses(),
		},
		{
			ID: "failed-start-looks-clean", Title: "a start that fails ends the journal with a footer, which calls what was replayed durable",
			Origin: "found here: a group that only the page cache held was called durable",
			Mechanism: "a start fails and writes a footer, and the next one takes torn bytes that only the page cache held " +
				"for durable",
			UnitTest: "nothing: needs a start that fails, and a power cut",
			Edits: []Edit{
				{
					File: bookieFolder + "open.go", Function: "Open",
					Original: "s.journal.Abandon(s.marking)", Replacement: "_ = s.journal.Close()",
				},
				{
					File: bookieFolder + "open.go", Function: "Store.boot",
					Original: "s.journal.Start(g, found.Last, mark.Journal.Sequence)", Result: "error",
					Replacement: "return s.journal.Start(g, found.Last, found.Last)",
				},
			},
			Scenario: "starts", Checkers: losses(),
		},
		{
			ID: "replay-not-rewritten", Title: "a start serves what it replayed without making it durable",
			Origin: "Rebello et al., USENIX ATC 2020: after a failed sync the page cache holds what the media does not",
			Mechanism: "a start reads from the page cache what a failed sync has not written, serves it, and a power cut " +
				"takes it",
			UnitTest: "nothing: needs a failed sync, a restart and a power cut",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.boot",
				Original: "s.checkpoint()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "starts", Checkers: append(losses(), model.CheckerFence, model.CheckerDeleted, model.CheckerVanished),
		},
		{
			ID: "rename-without-syncdir", Title: "the mark's file is replaced by a rename that no sync of the directory makes durable",
			Origin: "ALICE (Pillai et al., OSDI 2014): a rename is durable only after its directory is synced",
			Mechanism: "a start replaces the mark's file, checkpoints write into the new one, and the journal is trimmed; a power cut brings the old file " +
				"back, whose mark needs what is gone",
			UnitTest: "nothing: needs a power cut that takes back a rename",
			Edits: []Edit{{
				File: hostFolder + "file.go", Function: "ReplaceFile",
				Original: "d.SyncDir()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "starts", Checkers: losses(),
		},
		{
			ID: "damaged-log-removed", Title: "a log of which nothing can be read is removed, and with it all doubt",
			Origin: "found here: what the log had held was answered as not there after the next start",
			Mechanism: "a log of which nothing can be read counts as empty and goes; what it held is then answered as absent" +
				" instead of unknown",
			UnitTest: "a test that damages a whole log and starts twice sees it",
			Edits: []Edit{{
				File: logFolder + "remove.go", Function: "Logs.Dead",
				Original: "!f.damaged", Result: "bool", Replacement: "return true",
			}},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerVanished, model.CheckerLastEntry},
		},
	}
}
