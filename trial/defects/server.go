package defects

import "lakebed/model"

// serverDefects are mistakes between a bookie's storage and its clients on the network.
func serverDefects() []Defect {
	return []Defect{
		{
			ID: "fencing-read-answered-early", Title: "a fencing read is answered without waiting for the fence",
			Origin: "bookkeeper, read in ReadEntryProcessor: a fencing read that finds nothing does not wait for the fence record",
			Mechanism: "a negative answer goes out before its fence is durable; a crash takes the fence, and the old " +
				"writer's add is acknowledged",
			UnitTest: "nothing: needs a crash between answer and sync",
			Edits: []Edit{{
				File: serverFolder + "answer.go", Function: "Server.fence",
				Original: "s.store.Fence(r.Ledger, r.MasterKey)", Result: "error",
				Replacement: `id, key := r.Ledger, r.MasterKey
					s.tasks.Go("late-fence", func() { _ = s.store.Fence(id, key) })
					return nil`,
			}},
			Scenario: "endings", Checkers: []string{model.CheckerFence, model.CheckerNegative},
		},
		{
			ID: "recovery-flag-ignored", Title: "the server takes recovery adds for ordinary ones",
			Origin:    "bookkeeper#4163: re-replication was sent without its flag and refused on fenced ledgers",
			Mechanism: "the store is told that a recovery add is an ordinary one, and refuses it on the fenced ledger",
			UnitTest:  "a test of a recovery add over a connection sees it",
			Edits: []Edit{{
				File: serverFolder + "reader.go", Function: "reader.add",
				Original: "request.Flags&wire.RecoveryAdd != 0", Result: "bool", Replacement: "return false",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerFence},
		},
		{
			ID: "failure-answered-ok", Title: "the server answers an add of unknown outcome with OK",
			Origin:    ours + "an add is answered only after the store has completed it",
			Mechanism: "the journal fails, and the client is told that its add is stored",
			UnitTest:  "a test with a failing disk over a connection sees it",
			Edits: []Edit{{
				File: serverFolder + "code.go", Function: "Server.code",
				Original: "err == nil", Result: "bool",
				Replacement: "return err == nil || errors.Is(err, bookie.ErrOutcomeUnknown)",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerFence),
		},
	}
}
