package defects

import "lakebed/model"

// ledgerDefects are mistakes about fences, deletes and doubt.
func ledgerDefects() []Defect {
	return append([]Defect{
		{
			ID: "fence-not-replayed", Title: "replay forgets fences",
			Origin:    ours + "after an acknowledged fence no ordinary add is ever acknowledged, also not after restarts",
			Mechanism: "a fence that only the journal held is forgotten by a start, and the old writer's adds are taken again",
			UnitTest:  "a test of fence, kill and restart sees it",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.replay", Original: "l.Fenced = true",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence},
		},
		{
			ID: "fence-not-in-table", Title: "the ledger table leaves fences out",
			Origin:    ours + "the ledger table is part of every checkpoint",
			Mechanism: "a fence is forgotten once its journal file is trimmed",
			UnitTest:  "a test of fence, checkpoint and restart sees it",
			Edits: []Edit{{
				File: bookieFolder + "ledgertable/codec.go", Function: "appendLedger",
				Original: "flag(r.Fenced, flagFenced)", Result: "byte", Replacement: "return 0",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence},
		},
		{
			ID: "fence-answered-early", Title: "a fence is answered before it is durable",
			Origin:    "bookkeeper, read in BookieImpl: a fencing read that finds nothing does not wait for the fence record",
			Mechanism: "recovery relies on a fence that a crash takes back, and the old writer's add is acknowledged",
			UnitTest:  "nothing: needs a crash between answer and sync",
			Edits: []Edit{{
				File: bookieFolder + "fence.go", Function: "Store.Fence",
				Original: "if err := s.await(ticket); err != nil {\nreturn err\n}",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence, model.CheckerNegative},
		},
		{
			ID: "second-fence-answered-early", Title: "fencing again does not wait for the first fence",
			Origin: "bookkeeper, read in BookieImpl: a fencing read that finds nothing does not wait for the fence record",
			Mechanism: "the second recovery finds the fence in memory and is answered while its sync is under way; a crash " +
				"takes it",
			UnitTest: "nothing: needs two fences and a crash within one sync",
			Edits: []Edit{{
				File: bookieFolder + "fence.go", Function: "Store.Fence",
				Original: "ticket == nil", Result: "bool", Replacement: "return true",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence, model.CheckerNegative},
		},
		{
			ID: "add-after-fence", Title: "the fence is checked before the add waits for room, and not again",
			Origin:    "bookkeeper#4701: add and fence locked different objects",
			Mechanism: "an add that waits for room passes its check, the fence is answered, and then the add is taken",
			UnitTest:  "nothing: needs a full cache and a fence meanwhile",
			Edits: []Edit{
				{
					File: bookieFolder + "add.go", Function: "Store.prepare",
					Original: "a.header = record.MakeHeader(kindEntry, a.Body)",
					Replacement: `if l := s.table.Get(a.ledger); l != nil && l.Fenced && !a.Recovery {
						a.Err = fmt.Errorf("add entry %d of ledger %d: %w", a.entry, a.ledger, ErrFenced)
					}
					a.header = record.MakeHeader(kindEntry, a.Body)`,
				},
				{
					File: bookieFolder + "add.go", Function: "Store.refuse",
					Original: "l.Fenced", Result: "bool", Replacement: "return false",
				},
			},
			Scenario: "endings", Checkers: []string{model.CheckerFence, model.CheckerNegative},
		},
		{
			ID: "recovery-add-refused-on-fenced", Title: "a fenced ledger refuses recovery adds, too",
			Origin:    "bookkeeper#4163: re-replication was refused on fenced ledgers",
			Mechanism: "recovery fences a ledger, and the bookie refuses to take the entries that it writes again",
			UnitTest:  "a test of a recovery add on a fenced ledger sees it",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Store.refuse",
				Original: "a.Recovery", Result: "bool", Replacement: "return a.Recovery && !l.Fenced",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerFence},
		},
	}, deleteDefects()...)
}

// deleteDefects are mistakes about ledgers that should be gone.
func deleteDefects() []Defect {
	return []Defect{
		{
			ID: "delete-not-replayed", Title: "replay forgets deletes",
			Origin:    "bookkeeper#4462: a ledger that was deleted came back",
			Mechanism: "a ledger whose delete only the journal held comes back with all entries",
			UnitTest:  "a test of delete, kill and restart sees it",
			Edits: []Edit{
				{File: bookieFolder + "open.go", Function: "Store.replay", Original: "l.Deleted = true"},
				{File: bookieFolder + "open.go", Function: "Store.replay", Original: "s.active.Drop(r.ledger)"},
				{File: bookieFolder + "open.go", Function: "Store.replay", Original: "s.logs.Drop(r.ledger)"},
			},
			Scenario: "bookie", Checkers: []string{model.CheckerDeleted},
		},
		{
			ID: "add-revives-deleted", Title: "a late add makes a deleted ledger again",
			Origin:    "bookkeeper#4462: the old writer's add re-created the ledger",
			Mechanism: "the old writer's add arrives behind the delete and is acknowledged in a ledger that nobody knows",
			UnitTest:  "a test of an add behind a delete sees it",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Store.refuse",
				Original: "l.Deleted", Result: "bool", Replacement: "l.Deleted = false\nreturn false",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerDeleted},
		},
		{
			ID: "delete-answered-early", Title: "a delete is answered before it is durable",
			Origin:    ours + "a deleted ledger stays deleted, also after restarts",
			Mechanism: "a crash takes the delete record, and the ledger is there again after it was said to be gone",
			UnitTest:  "nothing: needs a crash between answer and sync",
			Edits: []Edit{{
				File: bookieFolder + "fence.go", Function: "Store.Delete",
				Original: "if err := s.await(ticket); err != nil {\nreturn err\n}",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerDeleted},
		},
		{
			ID: "deleted-entries-flushed", Title: "a flush publishes entries of a ledger that was deleted meanwhile",
			Origin:    ours + "from the answer to a delete on reads find no ledger",
			Mechanism: "a delete falls into a flush, which then publishes the entries of the deleted ledger",
			UnitTest:  "nothing, unless it deletes during a flush",
			Edits: []Edit{
				{File: bookieFolder + "read.go", Function: "Store.readable", Original: "l.Deleted", Result: "bool", Replacement: "return false"},
				{File: bookieFolder + "store.go", Function: "Store.kept", Original: "!l.Deleted", Result: "bool", Replacement: "return true"},
			},
			Scenario: "bookie", Checkers: []string{model.CheckerDeleted},
		},
		{
			ID: "deleted-listed", Title: "a list names deleted ledgers",
			Origin:    ours + "a list names the ledgers that are not deleted",
			Mechanism: "whoever lists ledgers to clean up meets those that are gone",
			UnitTest:  "a test of list behind delete sees it",
			Edits: []Edit{{
				File: bookieFolder + "store.go", Function: "Store.List",
				Original: "!l.Deleted", Result: "bool", Replacement: "return true",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerDeleted},
		},
	}
}
