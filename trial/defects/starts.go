package defects

import "lakebed/model"

// startDefects are mistakes of a start after a crash. Most were this engine's own, found by campaigns: what an earlier
// process left visible need not be durable.
func startDefects() []Defect {
	return []Defect{
		{
			ID: "names-unsettled", Title: "a start relies on names that are visible and may not be durable",
			Origin: "found here: a crash kept a new journal file's name and took back an older one's",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.boot",
				Original: "s.settleNames()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "starts", Checkers: losses(),
		},
		{
			ID: "failed-start-looks-clean", Title: "a start that fails ends the journal with a footer, which calls what was replayed durable",
			Origin: "found here: a group that only the page cache held was called durable",
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
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.boot",
				Original: "s.checkpoint()", Result: "error", Replacement: "return nil",
			}},
			Scenario: "starts", Checkers: append(losses(), model.CheckerFence, model.CheckerDeleted, model.CheckerVanished),
		},
		{
			ID: "damaged-log-removed", Title: "a log of which nothing can be read is removed, and with it all doubt",
			Origin: "found here: what the log had held was answered as not there after the next start",
			Edits: []Edit{{
				File: logFolder + "remove.go", Function: "Logs.Dead",
				Original: "!f.damaged", Result: "bool", Replacement: "return true",
			}},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerVanished, model.CheckerLastEntry},
		},
	}
}
