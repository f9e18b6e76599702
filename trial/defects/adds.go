package defects

import "lakebed/model"

// insertOriginal is where an accepted entry gets into the write cache.
const insertOriginal = "s.active.Insert(a.ledger, a.entry, a.Body)"

// addDefects are mistakes in the write cache and its back-pressure.
func addDefects() []Defect {
	return []Defect{
		{
			ID: "slow-down-drops", Title: "while the cache fills, an add is acknowledged and does not reach it",
			Origin: ours + "adds are slowed and wait; none is refused late and nothing is dropped",
			Mechanism: "an add that was slowed down gets a copy of its body that the cache does not hold; after the flush " +
				"nobody has it",
			UnitTest: "nothing: needs a cache that fills during a flush",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Store.accept", Original: insertOriginal, Result: "[]byte",
				Replacement: `if s.slowDown() > 0 {
						return append([]byte(nil), a.Body...)
					}
					return s.active.Insert(a.ledger, a.entry, a.Body)`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "cache-after-journal", Title: "an add reaches the cache only after its group may have been sealed",
			Origin: ours + "cache insert precedes journal append",
			Mechanism: "a checkpoint comes between the seal of the group and the insert, and marks as stored what the " +
				"flushed generation did not hold",
			UnitTest: "nothing: needs a checkpoint in that moment, and a crash",
			Edits: []Edit{
				{
					File: bookieFolder + "add.go", Function: "Store.accept", Original: insertOriginal, Result: "[]byte",
					Replacement: "return append([]byte(nil), a.Body...)",
				},
				{
					File: bookieFolder + "add.go", Function: "Store.start",
					Original: "s.mutex.Unlock()",
					Replacement: `s.mutex.Unlock()
						for i := range adds {
							if adds[i].accepted {
								s.mutex.Lock()
								s.active.Insert(adds[i].ledger, adds[i].entry, adds[i].Body)
								s.mutex.Unlock()
							}
						}`,
				},
			},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "replaced-entry-kept", Title: "the write cache does not take a second version of an entry",
			Origin:    ours + "the newest version of an entry wins",
			Mechanism: "recovery writes an entry again with another header, and a read finds the old one",
			UnitTest:  "a test that inserts an entry twice sees it",
			Edits: []Edit{{
				File: bookieFolder + "writecache/generation.go", Function: "Generation.Insert",
				Original: "*r.at(place) = fresh",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "answer-at-submit", Title: "a bookie answers adds when they are in its memory; the journal follows a tenth of a second later",
			Origin:    ours + "an add is acknowledged only after its journal group is durable",
			Mechanism: "the process dies while what it has answered waits to be written",
			UnitTest:  "nothing: needs a kill within a tenth of a second",
			Edits: []Edit{
				{
					File: bookieFolder + "add.go", Function: "Store.start",
					Original: "completion = s.pinWhileWriting(done)", Replacement: "completion = s.pinWhileWriting(nil)",
				},
				{
					File: bookieFolder + "add.go", Function: "Store.start",
					Original: "done != nil && accepted == 0", Result: "bool", Replacement: "return done != nil",
				},
				{
					// Real processes are killed as well: what they have promised must not be written before that by luck.
					File: journalFolder + "journal.go", Function: "Journal.commit",
					Original: "j.sealed.Store(int64(sequence))",
					Replacement: `j.tasks.Sleep(100_000_000)
						j.sealed.Store(int64(sequence))`,
				},
			},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "half-batch-fails", Title: "of a batch whose group failed, only the first add says so",
			Origin:    ours + "after a failed write or sync nothing is acknowledged any more",
			Mechanism: "a group fails, the first add says so, and the others are told that they are durable",
			UnitTest:  "a test with a failing disk and a batch of two sees it",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Batch.Committed",
				Original: "b.Adds[i].accepted", Result: "bool", Replacement: "return i == 0 && b.Adds[i].accepted",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
	}
}
