package defects

import "lakebed/model"

// memberDefects are mistakes of a bookie that only show among others.
func memberDefects() []Defect {
	return []Defect{
		{
			ID: "entry-read-does-not-fence", Title: "a bookie fences on reads of the last entry only",
			Origin:    ours + "recovery reads fence, too",
			Mechanism: "recovery fences two bookies, its reads do not fence the third, and a late add there completes a quorum",
			UnitTest:  "nothing: needs a fence that is lost and an add that is late",
			Edits: []Edit{{
				File: serverFolder + "reader.go", Function: "reader.read",
				Original: "request.Flags&wire.Fencing != 0", Result: "bool",
				Replacement: "return request.Flags&wire.Fencing != 0 && request.Entry < 0",
			}, {
				File: serverFolder + "answer.go", Function: "Server.execute",
				Original: "r.Flags&wire.Fencing != 0", Result: "bool",
				Replacement: "return r.Flags&wire.Fencing != 0 && r.Entry == ledger.NoEntry",
			}},
			Scenario: inFences, Checkers: []string{model.CheckerAcked},
		},
		{
			ID: "two-handles", Title: "the first add and the fence of a ledger lock different objects",
			Origin: "bookkeeper#4701: two handles of one ledger existed for a moment, and an add was taken behind the fence",
			Mechanism: "the first add and the fence make two objects for one ledger, and the add looks at the one that is " +
				"not fenced",
			UnitTest: "nothing: needs an add and a fence of a new ledger in the same moment",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Store.accept",
				Original: "s.table.Get(a.ledger)", Result: "*ledgertable.Ledger",
				Replacement: `l := s.table.Get(a.ledger)
					if l != nil && s.fences[a.ledger] != nil && !a.Recovery && !l.Deleted &&
						s.active.Last(a.ledger) == ledger.NoEntry && s.logs.Last(a.ledger) == ledger.NoEntry {
						return s.table.Create(a.ledger) // the fence has made the other one a moment ago
					}
					return l`,
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence},
		},
		{
			ID: "negative-before-fence", Title: "a fencing read that finds nothing is answered before the fence is durable",
			Origin: "bookkeeper, read in ReadEntryProcessor: the answer \"no entry\" does not wait for the fence",
			Mechanism: "only reads that find nothing are answered before their fence is durable; a crash takes that, and the" +
				" old writer's add is taken",
			UnitTest: "nothing: needs a crash between answer and sync",
			Edits: []Edit{{
				File: serverFolder + "answer.go", Function: "Server.fence",
				Original: "s.store.Fence(r.Ledger, r.MasterKey)", Result: "error",
				Replacement: `e, err := s.store.Read(r.Ledger, r.Entry)
					e.Release()
					if err == nil {
						return s.store.Fence(r.Ledger, r.MasterKey)
					}
					id, key := r.Ledger, r.MasterKey
					s.tasks.Go("late-fence", func() { _ = s.store.Fence(id, key) })
					return nil`,
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence},
		},
		{
			ID: "deleted-in-memory-only", Title: "the ledger table leaves deletes out, so that a restart forgets them",
			Origin:    "bookkeeper#4462: fenced-and-deleted ledgers are remembered in memory only, and an old writer's add brings one back",
			Mechanism: "a restart forgets that the ledger was deleted, and the old writer's add makes it again",
			UnitTest:  "a test of delete, checkpoint and restart sees it",
			Edits: []Edit{{
				File: bookieFolder + "ledgertable/codec.go", Function: "appendLedger",
				Original: "flag(r.Deleted, flagDeleted)", Result: "byte", Replacement: "return 0",
			}},
			Scenario: "endings", Checkers: []string{model.CheckerDeleted},
		},
		{
			ID: "every-other-group-synced", Title: "every other group of a bookie's journal is acknowledged before it is synced",
			Origin: ours + "an add is acknowledged only after its journal group is durable",
			Mechanism: "half of the groups are synced with the next one only; power cuts at Qa bookies in between take an " +
				"acknowledged entry",
			UnitTest: "nothing: needs power cuts at several bookies",
			Edits: []Edit{{
				File: journalFolder + "journal.go", Function: "Journal.sync",
				Original: "j.syncCurrent()", Result: "error", Replacement: `if sequence%2 == 0 {
						return nil
					}
					return j.syncCurrent()`,
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerDurability},
		},
		{
			ID: "write-set-in-thirty-two-bits", Title: "the write set is computed in 32 bits",
			Origin: "BookKeeper, read in RoundRobinDistributionSchedule: an entry's id is cut to an int before the modulo",
			Mechanism: "beyond entry 2^31 the sign or the cut changes the place, so that two clients, or one after a " +
				"restart, look at other bookies",
			UnitTest: "a test with a large entry id sees it",
			Edits: []Edit{{
				File: "engine/bookkeeper/ledger/quorum.go", Function: "Quorum.WriteSet",
				Original: "int(int64(e) % int64(q.Ensemble))", Result: "int",
				Replacement: "return (int(int32(e))%q.Ensemble + q.Ensemble) % q.Ensemble",
			}},
			Scenario: inForeign, Checkers: []string{model.CheckerAcked},
		},
	}
}
